"""Copy the requested columns into the vault once, so that a resumed discovery has the same counts."""

from deniable.discovery.plan import DiscoveryPlan
from schemas.references import Audience, Reference
from schemas.spec.release_spec import ReleaseSpec
from stores.releases.discoveries import SNAPSHOT, Begun, begun_as, note, request_digest, require_same_copy
from stores.tables.sources.reading import opened_source
from stores.tables.tables import write_snapshot
from stores.tracking.step_run import recorded_step
from stores.vault.workspace import Workspace
from tasks.running.step import as_task


def copy_columns(workspace: Workspace, plan: DiscoveryPlan) -> Reference:
    """Copy the columns, and note that the discovery has begun; if it had begun before, describe its copy.

    Args:
        workspace: the discovery.
        plan: what is requested.

    Returns:
        The copy, restricted.

    Raises:
        InvalidInput: the source lacks a column, or cannot be read.
        Refused: the copy with which it began is missing or was changed.
    """
    begun = begun_as(workspace)
    with recorded_step(workspace, "copy_columns") as step:
        if begun is not None:
            return step.output(require_same_copy(workspace, workspace.vault / SNAPSHOT, begun.snapshot))
        spec = workspace.spec
        with (
            opened_source(spec, workspace.state, columns_of(spec, plan)) as source,
            workspace.writing(SNAPSHOT, Audience.RESTRICTED) as path,
        ):
            write_snapshot(path, source)
        copied = workspace.refer("snapshot", SNAPSHOT, Audience.RESTRICTED)
        commitment, request = workspace.key().commitment(), request_digest(spec, plan)
        note(workspace, Begun(workspace.release_id, spec.dataset_name, request, commitment, copied.digest))
        return step.output(copied)


def columns_of(spec: ReleaseSpec, plan: DiscoveryPlan) -> tuple[str, ...]:
    """Return the columns to read from the source: those requested, and the person identifier."""
    asked = tuple(question.column for question in plan.questions)
    return asked if spec.person is None else (*asked, spec.person.column)


copy_columns_task = as_task(copy_columns, kept=False)
