"""Shares of origins among the workers of a destination, from released commuting flows (origin_destination).

Only for pure differential privacy, whose prior weights are public. The number of counted workers follows from noisy
totals, or from public totals and the probability with which a worker was counted.
"""

from collections.abc import Sequence
from math import ceil, log

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Domain
from deniable.foundation.errors import Refused
from deniable.inference.answers import Answer, Asked
from deniable.inference.conditions import Conditions, Labels
from deniable.inference.others.asking import OtherRelease, answered, require_sample, told
from deniable.inference.others.draws import UrnDraws, binomial_bounds

_PART_OF_TOTALS = 0.2


class FlowsInference(OtherRelease):
    """Shares of origins, given a destination.

    Args:
        domain: the public domain, of a destination and an origin.
        codes: the released records, shape (records, 2).
        places: column numbers of destination and origin.
        areas: the area of each origin; origins were drawn by area.
        prior: for each destination, the prior weight of an area; 0 if no records were drawn.
        added: for each area, the number of public workers added to the counts of every destination.
        workers: for each destination, the number of workers, public or noisy.
        scale: scale of the noise of these numbers; None if they are public.
        kept: probability with which a worker was counted.
        labels: labels of values.
    """

    kind = "a release of commuting flows"
    answers = "shares of origins among the workers of one destination (--given DESTINATION=VALUE)"

    def __init__(
        self,
        domain: Domain,
        codes: NDArray[np.integer],
        *,
        places: tuple[int, int],
        areas: NDArray[np.integer],
        prior: Sequence[float],
        added: Sequence[int] | None = None,
        workers: Sequence[int],
        scale: float | None,
        kept: float = 1.0,
        labels: Labels | None = None,
    ) -> None:
        self.conditions = Conditions(domain, labels)
        self._destination, self._origin = places
        self._areas, self._prior, self._workers = areas, prior, workers
        self._scale, self._kept = scale, kept
        several = int(areas.max()) + 1
        self._added = np.zeros(several) if added is None else np.asarray(added, np.float64)
        self._drawn = np.zeros((domain.cardinalities[self._destination], several), np.int64)
        np.add.at(self._drawn, (codes[:, self._destination], areas[codes[:, self._origin]]), 1)

    def share(self, condition: str, given: str, asked: Asked) -> Answer:
        """The share of a destination's workers who come from some origins; see `OtherRelease`."""
        require_sample(asked)
        chosen, inside = self.conditions.parse(given), self.conditions.parse(condition)
        name = self.conditions.domain.names[self._destination]
        if set(chosen) != {self._destination} or chosen[self._destination].sum() != 1:
            raise Refused(f"a share must be of the workers of one destination: give --given '{name}=VALUE'.")
        if set(inside) != {self._origin}:
            origin = self.conditions.domain.names[self._origin]
            raise Refused(f"a share must be of origins among workers: ask for '{origin}=VALUE'.")
        allowed = inside[self._origin]
        areas = np.unique(self._areas[allowed > 0])
        if not np.array_equal(np.isin(self._areas, areas), allowed > 0):
            raise Refused(self.conditions.edges(self._origin, self._areas, allowed).rstrip(".") + ".")
        place = int(np.argmax(chosen[self._destination]))
        own = self._drawn[place]
        if len(areas) == len(own):
            raise Refused("the condition must leave origins out, and allows all of them; ask for less.")
        if not own.sum() or not self._prior[place]:
            raise Refused("no worker of this destination was drawn; ask for another destination.")
        miss = (1 - asked.level) * _PART_OF_TOTALS
        rows = self._rows(place, miss)
        draws = UrnDraws(
            drawn=int(own[areas].sum()),
            trials=int(own.sum()),
            urns=1,
            inside=len(areas) * self._prior[place] + float(self._added[areas].sum()),
            outside=(len(own) - len(areas)) * self._prior[place] + float(self._added.sum() - self._added[areas].sum()),
            rows=rows,
        )
        level = asked.level if rows[0] == rows[1] else asked.level + miss
        found = draws.share(level, of_population=asked.estimand == "population")
        question = f"share with {condition} among those with {given}"
        return answered(question, "share", found, asked, told("the draws of the destination", asked), {("flows",): 1.0})

    def _rows(self, place: int, miss: float) -> tuple[int, int]:
        """Bounds on the number of counted workers of a destination."""
        number = self._workers[place]
        if self._scale is None:
            return binomial_bounds(number, self._kept, miss)
        reach = ceil(self._scale * log(1 / miss)) if miss < 1 else 0
        return max(0, number - reach), max(0, number + reach)
