"""Shares of the population, or of the rows, from released synthetic sets (multinomial_sets)."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Domain
from deniable.foundation.errors import Refused
from deniable.inference.answers import Answer, Asked
from deniable.inference.conditions import Conditions, Labels
from deniable.inference.others.asking import Found, OtherRelease, answered, require_sample, told
from deniable.inference.others.draws import UrnDraws, binomial_bounds
from deniable.measurements.noisy_tables import Cells

_OUTSIDE = 1e-4


class ReleasedSetsInference(OtherRelease):
    """Shares from synthetic sets, whose law given the rows is public.

    Args:
        domain: the public domain.
        counts: the number of records of each cell in all sets together, in the shape of the domain.
        trials: number of records from each urn.
        urns: number of urns.
        prior: prior weight of a cell.
        people: number of people in the table; None if it is not public.
        kept: probability with which a person was counted.
        labels: labels of values.
    """

    kind = "a release of synthetic sets"
    answers = "shares of all records"

    def __init__(
        self,
        domain: Domain,
        counts: NDArray[np.int64],
        *,
        trials: int,
        urns: int,
        prior: float,
        people: int | None,
        kept: float = 1.0,
        labels: Labels | None = None,
    ) -> None:
        self.conditions = Conditions(domain, labels)
        self._counts, self._trials, self._urns, self._prior = counts, trials, urns, prior
        self._people, self._kept = people, kept

    def share(self, condition: str, given: str, asked: Asked) -> Answer:
        """The share of records that satisfy a condition; see `OtherRelease`."""
        require_sample(asked)
        if given.strip():
            raise Refused("a share must be of all records here, not of a group, whose size is not known; leave it out.")
        if self._people is None:
            raise Refused("the number of people must be known, and the release does not state it; give --people N.")
        inside = self._cells(self.conditions.parse(condition))
        cells = int(inside.sum())
        if cells == inside.size:
            raise Refused("the condition must leave records out, and allows all of them; ask for less.")
        miss = (1 - asked.level) * _OUTSIDE if self._kept < 1 else 0.0
        draws = UrnDraws(
            drawn=int(self._counts[inside].sum()),
            trials=self._trials,
            urns=self._urns,
            inside=cells * self._prior,
            outside=(inside.size - cells) * self._prior,
            rows=binomial_bounds(self._people, self._kept, miss) if miss else (self._people, self._people),
        )
        found: Found = draws.share(asked.level + miss, of_population=asked.estimand == "population")
        return answered(
            f"share with {condition}",
            "share",
            found,
            asked,
            told("the sets, given the number of people", asked),
            {("synthetic sets",): 1.0},
        )

    def _cells(self, allowed: Mapping[int, Cells]) -> NDArray[np.bool_]:
        """The cells that a condition allows, in the shape of the domain."""
        found = np.ones(self._counts.shape, bool)
        for i, own in allowed.items():
            shape = [-1 if axis == i else 1 for axis in range(found.ndim)]
            found &= own.reshape(shape) > 0
        return found
