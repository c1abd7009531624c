"""Draws samples of tables for evaluations, always the same samples from the same tables."""

from collections.abc import Mapping, Sequence
from itertools import chain

from deniable.evaluation.utility import sample_rows
from deniable.foundation.domain import Codes
from deniable.foundation.errors import InvalidInput
from deniable.record.exact_stops import EMPTY_PART, decided_exactly
from schemas.references import Reference
from stores.tables.tables import read_codes
from stores.vault.workspace import Workspace
from tasks.running.threads import threads

_TRAINING_PARTS = ("seeds", "structure", "parameters", "shared")


def training_parts(parts: Mapping[str, Reference]) -> list[Reference]:
    """Return the parts whose records make a release; a learner without a structure has no structure part."""
    return [parts[name] for name in _TRAINING_PARTS if name in parts]


def sample_tables(
    workspace: Workspace, step: str, tables: Mapping[str, Sequence[Reference]], size: int
) -> dict[str, Codes]:
    """Draw a sample of each table, at the same time.

    Args:
        workspace: the release.
        step: the step that needs the samples; each step has its own.
        tables: for each table its codes files of the release's domain, taken as one.
        size: number of records requested of each; all are drawn if there are fewer.

    Returns:
        For each table codes, shape (at most size, m), drawn uniformly without replacement and in random order.

    Raises:
        InvalidInput: a table has no records.
    """
    # Files are read, and words are drawn and sorted, without the interpreter's lock.
    with threads() as pool:
        drawn = {name: pool.submit(_sample, workspace, step, files, size) for name, files in tables.items()}
    return {name: sample.result() for name, sample in drawn.items()}


def _sample(workspace: Workspace, step: str, tables: Sequence[Reference], size: int) -> Codes:
    """Draw the sample of one table."""
    domain = workspace.spec.domain
    chunks = chain.from_iterable(read_codes(table.path, domain) for table in tables)
    first = next(chunks, None)
    if first is None:
        names = " and ".join(table.name for table in tables)
        msg = f"{names} must hold records to be evaluated, got none; give the part a larger share of the split."
        raise decided_exactly(EMPTY_PART, InvalidInput(msg))
    words = workspace.key().stream(
        step=step,
        mechanism="sample records",
        inputs=" ".join(table.digest for table in tables),
        parameters={"size": size},
    )
    return sample_rows(chain([first], chunks), words, size)
