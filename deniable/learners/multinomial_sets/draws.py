"""The counts and the draws of this learner; see `deniable.mechanisms.ChargedDraws`.

Sets are drawn in sequence: records (s - 1) n~ + 1 to s n~ are set s. Each urn has its own stream: an urn whose draws
are in two chunks is drawn in both, with the same result.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes, Domain
from deniable.learners.multinomial_sets.plan import FORMAT, SetsPlan, caution_of_prior, plan_of
from deniable.learners.multinomial_sets.spec import Entry
from deniable.mechanisms import ChargedDraws, ChunkStreams, Counter, Draw
from deniable.models.sequential_model import require_format
from deniable.models.urns import draw_polya

if TYPE_CHECKING:
    from deniable.foundation.keys import Parameter

Integers = NDArray[np.int64]


@dataclass
class CellCounts:
    """Numbers of records in each cell of the cross-classification of all attributes.

    Attributes:
        cardinalities: number of values of each attribute.
        cells: the numbers, shape (cells,); the last attribute varies fastest.
    """

    cardinalities: tuple[int, ...]
    cells: Integers = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Make an empty table."""
        self.cells = np.zeros(int(np.prod(self.cardinalities)), np.int64)

    def add(self, codes: Codes) -> None:
        """Count more rows, value codes of shape (rows, m)."""
        found = np.ravel_multi_index(tuple(codes.T.astype(np.int64)), self.cardinalities)
        self.cells += np.bincount(found, minlength=len(self.cells))

    def merge(self, other: "CellCounts") -> None:
        """Add the counts of other rows of the same table."""
        self.cells += other.cells

    @property
    def arrays(self) -> dict[str, Integers]:
        """The counts so far, as named arrays to be stored."""
        return {"cells": self.cells}

    def restore(self, arrays: Mapping[str, Integers]) -> None:
        """Restore the counts from the stored arrays."""
        self.cells = arrays["cells"]


def draws(entry: Entry, domain: Domain, *, records: int, chunk: int) -> ChargedDraws:
    """Plan the draws; see `deniable.learners.registry.draws_of`.

    Raises:
        InvalidInput: there are too many cells, the records do not divide into sets, or the budget is too small.
    """
    plan = plan_of(dict(entry), domain, records)
    people = entry.people or max((sum(total.counts) for total in domain.totals), default=None)
    parameters: dict[str, Parameter] = {
        "learner": entry.kind,
        "prior": plan.prior,
        "sets": plan.sets,
        "shared": plan.shared,
        "records": records,
        "chunk_candidates": chunk,
    }
    return ChargedDraws(
        events=plan.events,
        parameters=parameters,
        count=partial(_count, domain),
        open=partial(_open, domain, plan, chunk),
        caution=caution_of_prior(plan, people),
        # The records of an urn are no number of people: a person decides only on a stated one.
        is_held=people is not None,
    )


def _count(domain: Domain, counter: Counter, _: Mapping[str, Any]) -> Sequence[NDArray[Any]]:
    return (counter.count(partial(CellCounts, domain.cardinalities), "cells").cells,)


def _open(
    domain: Domain,
    plan: SetsPlan,
    chunk_records: int,
    document: Mapping[str, Any],
    arrays: Sequence[NDArray[Any]],
    open_stream: ChunkStreams,
) -> Draw:
    require_format(document, FORMAT)
    (cells,) = arrays

    @lru_cache(2)
    def urn(number: int) -> Integers:
        parameters: dict[str, Parameter] = {"urn": number, "prior": plan.prior, "draws": plan.draws}
        stream = open_stream(mechanism="sets", parameters=parameters, chunk=0)
        return draw_polya(stream, cells, plan.prior, plan.draws)

    def draw(chunk: int, candidates: int) -> Codes:
        codes = np.zeros((candidates, len(domain)), np.uint16)
        if plan.cells == 1:
            return codes
        first, done = chunk * chunk_records, 0
        while done < candidates:
            number, skipped = divmod(first + done, plan.draws)
            taken = urn(number)[skipped : skipped + candidates - done]
            codes[done : done + len(taken)] = np.stack(np.unravel_index(taken, domain.cardinalities), axis=1)
            done += len(taken)
        return codes

    return draw
