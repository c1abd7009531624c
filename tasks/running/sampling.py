"""Draws samples of tables for evaluations, always the same samples from the same tables."""

from collections.abc import Mapping, Sequence
from itertools import chain

from deniable.evaluation.utility import sample_rows
from deniable.foundation.domain import Codes
from deniable.foundation.errors import InvalidInput
from schemas.references import Reference
from stores.tables.tables import read_codes
from stores.vault.workspace import Workspace

_TRAINING_PARTS = ("seeds", "structure", "parameters", "shared")


def training_parts(parts: Mapping[str, Reference]) -> list[Reference]:
    """Return the parts whose records make a release; a learner without a structure has no structure part."""
    return [parts[name] for name in _TRAINING_PARTS if name in parts]


def sample_codes(workspace: Workspace, step: str, tables: Sequence[Reference], size: int) -> Codes:
    """Draw records of several tables, taken as one, uniformly without replacement and in random order.

    Args:
        workspace: the release.
        step: the step that needs the sample; each step has its own.
        tables: codes files of the release's domain.
        size: number of records requested; all are drawn if there are fewer.

    Returns:
        Codes, shape (at most size, m).

    Raises:
        InvalidInput: there are no records.
    """
    domain = workspace.spec.domain
    chunks = chain.from_iterable(read_codes(table.path, domain) for table in tables)
    first = next(chunks, None)
    if first is None:
        names = " and ".join(table.name for table in tables)
        msg = f"{names} must hold records to be evaluated, got none; give the part a larger share of the split."
        raise InvalidInput(msg)
    words = workspace.key().stream(
        step=step,
        mechanism="sample records",
        inputs=" ".join(table.digest for table in tables),
        parameters={"size": size},
    )
    return sample_rows(chain([first], chunks), words, size)
