"""Keep the rows that are in scope, complete and valid, and encode them."""

from deniable.foundation.errors import Refused
from schemas.references import Audience, Reference
from stores.tables.tables import VALID, CodesWriter, encode, read_frames
from stores.tracking.step_run import recorded_step
from stores.vault.workspace import Workspace
from tasks.running.step import as_task


def clean(workspace: Workspace, checked: Reference) -> Reference:
    """Keep only the rows that validation marked as valid, independently of one another, and replace values by codes.

    Args:
        workspace: the release.
        checked: recoded rows with their marks.

    Returns:
        Codes of the rows that are kept, in their order.

    Raises:
        Refused: no row is kept.
    """
    domain = workspace.spec.domain
    with recorded_step(workspace, "clean", inputs=[checked]) as step:
        with workspace.writing("codes.parquet", Audience.RESTRICTED) as path:
            with CodesWriter(path, domain, workspace.spec.chunk_rows) as writer:
                for frame in read_frames(checked.path):
                    writer.write(encode(frame[frame[VALID]], domain))
            if writer.rows == 0:
                raise Refused(
                    "a release must have records, and no row is in scope, complete and valid; see the report of the "
                    "step validate, and the schema's universe and codes for missing values."
                )
        step.figures({"rows_clean": writer.rows}, Audience.INTERNAL)
        return step.output(workspace.refer("codes", "codes.parquet", Audience.RESTRICTED, writer.rows))


clean_task = as_task(clean)
