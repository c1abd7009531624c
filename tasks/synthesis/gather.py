"""Concatenate the records that the blocks released, in the order of the attempts, up to the number requested."""

from collections.abc import Iterator, Sequence

from deniable.foundation.domain import Codes
from deniable.foundation.errors import RefusedForGood
from deniable.record.exact_stops import NOTHING_PASSED, decided_exactly
from schemas.references import Audience, Reference
from stores.ledger.charging import commit
from stores.tables.tables import CodesWriter, read_codes
from stores.tracking.step_run import recorded_step
from stores.vault.models import forget_shared
from stores.vault.step_log import SEEDED, seeded_of_blocks
from stores.vault.workspace import Workspace
from tasks.running.step import as_task


def gather(workspace: Workspace, blocks: Sequence[Reference], seeds: Reference | None = None) -> Reference:
    """Keep the first records that passed. All candidates were tested and are charged, whether or not they are kept.

    Seeds are drawn independently and uniformly, so the order of the attempts reveals nothing about the order of the
    data.

    Args:
        workspace: the release.
        blocks: the records that each block released, in order.
        seeds: the seeds of the candidates, with the charge that paid for them.

    Returns:
        Codes of the released records.

    Raises:
        RefusedForGood: nothing passed; the draws follow from the release's key, so that nothing ever will.
    """
    spec = workspace.spec
    passed = sum(block.rows or 0 for block in blocks)
    with recorded_step(workspace, "gather", inputs=blocks) as step:
        forget_shared()
        if spec.synthesis.tests:
            rate = passed / spec.synthesis.attempts
            step.figures({"candidates_passed": passed, "acceptance_rate": rate}, Audience.INTERNAL)
        if passed == 0:
            msg = (
                "at least one candidate must pass the privacy test, got none; "
                "raise omega, lower k, give seeds a larger share, or bring more records."
            )
            raise decided_exactly(NOTHING_PASSED, RefusedForGood(msg))
        with (
            workspace.writing("released.parquet", Audience.INTERNAL) as path,
            # The published table has these row groups, whereas those of the blocks reveal how many of each chunk
            # passed.
            CodesWriter(path, spec.domain, spec.chunk_rows) as writer,
        ):
            for codes in _first(blocks, workspace):
                writer.write(codes)
        step.figures({"records_released": writer.rows}, Audience.PUBLIC)
        if (seeded := seeded_of_blocks(workspace)) is not None:
            step.figures({SEEDED: seeded, "records_filled": writer.rows - seeded}, Audience.PUBLIC)
        released = step.output(workspace.refer("released", "released.parquet", Audience.INTERNAL, writer.rows))
        if seeds is not None and seeds.charge:
            commit(workspace, seeds.charge, released)
        return released


def _first(blocks: Sequence[Reference], workspace: Workspace) -> Iterator[Codes]:
    """Yield the released codes, chunk by chunk, until the requested number is reached."""
    left = workspace.spec.synthesis.records
    for block in blocks:
        for codes in read_codes(block.path, workspace.spec.domain):
            if left <= 0:
                return
            yield codes[:left]
            left -= len(codes)


gather_task = as_task(gather)
