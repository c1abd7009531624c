"""Commuters by origin and destination, and shares of origins, from released commuting flows (origin_destination).

The number of counted workers follows from noisy totals, or from public totals and the probability with which a worker
was counted. Prior weights are public: those of probabilistic privacy are a public function of the number of counted
workers. If that is not known exactly, an interval is the union of those at both ends of its bounds.

**One destination.** The law of the draws given the workers is inverted (draws).

**Several destinations** with public totals N: of n counted workers, x from the origins, the m draws have S from the
origins, beta-binomial with p = (x + a) / (n + W), a the prior weight of the origins and W that of all. So
(S / m)(n + W) - a is an unbiased estimate of x, with variance (n + W)^2 p (1 - p) (1 + (m - 1) / (n + W + 1)) / m.
Estimates and variances of destinations, whose draws are independent, add up; the sum is taken as normal. If workers
were counted with probability c, N x / n estimates the number of the table's workers. To first order its variance has
two more parts: N q (1 - q) (1 - c) / c of which workers were counted, where q = x / n, and that of n in
(p W - a) N / n.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import ceil, log, sqrt

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Domain
from deniable.foundation.errors import Refused
from deniable.inference.answers import Answer, Asked
from deniable.inference.conditions import Conditions, Labels
from deniable.inference.intervals import Interval
from deniable.inference.laws import two_sided
from deniable.inference.others.asking import TABLE, Found, OtherRelease, answered, require_sample, told
from deniable.inference.others.draws import UrnDraws, binomial_bounds
from deniable.measurements.noisy_tables import Cells

Integers = NDArray[np.int64]

_PART_OF_TOTALS = 0.2
_NORMAL = "; the sum over destinations is taken as normal"


class FlowsInference(OtherRelease):
    """Numbers of commuters, and shares of origins, given destinations.

    Args:
        domain: the public domain, of a destination and an origin.
        codes: the released records, shape (records, 2).
        places: column numbers of destination and origin.
        areas: the area of each origin; origins were drawn by area.
        prior: for each destination, the prior weight of an area; 0 if no records were drawn.
        prior_of: the prior weight of an area, of a destination with a number of counted workers, if it depends on it.
        added: for each area, the number of public workers added to the counts of every destination.
        workers: for each destination, the number of workers, public or noisy.
        scale: scale of the noise of these numbers; None if they are public.
        kept: probability with which a worker was counted.
        labels: labels of values.
    """

    kind = "a release of commuting flows"
    answers = (
        "shares of origins among the workers of a destination (--given DESTINATION=VALUE), and, if numbers of workers "
        "are public, of several, and counts"
    )

    def __init__(
        self,
        domain: Domain,
        codes: NDArray[np.integer],
        *,
        places: tuple[int, int],
        areas: NDArray[np.integer],
        prior: Sequence[float],
        prior_of: Callable[[int, int], float] | None = None,
        added: Sequence[int] | None = None,
        workers: Sequence[int],
        scale: float | None,
        kept: float = 1.0,
        labels: Labels | None = None,
    ) -> None:
        self.conditions = Conditions(domain, labels)
        self._destination, self._origin = places
        self._areas, self._workers = areas, workers
        self._prior = prior_of or (lambda place, _: prior[place])
        self._is_fixed = prior_of is None
        self._scale, self._kept = scale, kept
        several = int(areas.max()) + 1
        self._added = np.zeros(several) if added is None else np.asarray(added, np.float64)
        self._drawn = np.zeros((domain.cardinalities[self._destination], several), np.int64)
        np.add.at(self._drawn, (codes[:, self._destination], areas[codes[:, self._origin]]), 1)

    def count(self, condition: str, asked: Asked) -> Answer:
        """The number of workers of some destinations who come from some origins; see `OtherRelease`."""
        if asked.estimand == "population":
            raise Refused("a count must be of the confidential table (finite); of the population ask for a share.")
        require_sample(asked)
        allowed = self.conditions.parse(condition)
        works = self._works_in(allowed)
        self._require_totals("a count")
        areas = self._areas_in({i: own for i, own in allowed.items() if i == self._origin})
        whole = sum(self._workers[place] for place in works)
        question = f"number of workers with {condition}"
        if len(works) > 1 or not self._drawn[works].sum():
            found, more = self._of_several(works, areas, asked), _NORMAL
        else:
            # The workers who were counted are a part of the table's, as the table's are of a population.
            one, more = self._of_one(works[0], areas, asked, of_population=self._kept < 1), ""
            found = Found(
                estimate=one.estimate * whole,
                interval=Interval(one.interval.low * whole, one.interval.high * whole),
                noise=one.noise * whole**2,
                sampling=one.sampling * whole**2 * (1 - self._kept),
            )
        words = told("the draws of each destination" + more, asked)
        return answered(question, "count", found, asked, words, {("flows",): 1.0}, TABLE)

    def share(self, condition: str, given: str, asked: Asked) -> Answer:
        """The share of the workers of some destinations who come from some origins; see `OtherRelease`."""
        require_sample(asked)
        chosen, inside = self.conditions.parse(given), self.conditions.parse(condition)
        name = self.conditions.domain.names[self._destination]
        works = self._works_in(chosen)
        if set(chosen) - {self._destination} or (len(works) > 1 and self._scale is not None):
            raise Refused(f"a share must be of the workers of one destination: give --given '{name}=VALUE'.")
        areas = self._areas_in(inside)
        question = f"share with {condition}" + (f" among those with {given}" if given.strip() else "")
        if len(works) == 1:
            found = self._of_one(works[0], areas, asked, of_population=asked.estimand == "population")
            words = told("the draws of the destination", asked)
            return answered(question, "share", found, asked, words, {("flows",): 1.0})
        if asked.estimand == "population":
            raise Refused("a share of several destinations must be of the table (finite); ask for one destination.")
        whole = sum(self._workers[place] for place in works)
        if not whole:
            raise Refused("the destinations must have workers for a share, and have none; ask for others.")
        own = self._of_several(works, areas, asked)
        found = Found(
            estimate=own.estimate / whole,
            interval=Interval(own.interval.low / whole, own.interval.high / whole),
            noise=own.noise / whole**2,
            sampling=own.sampling / whole**2,
        )
        words = told("the draws of each destination" + _NORMAL, asked)
        return answered(question, "share", found, asked, words, {("flows",): 1.0}, TABLE)

    def _works_in(self, allowed: Mapping[int, Cells]) -> list[int]:
        """The destinations in a condition."""
        own = allowed.get(self._destination)
        return list(range(len(self._drawn))) if own is None else np.flatnonzero(own).tolist()

    def _require_totals(self, what: str) -> None:
        if self._scale is not None:
            raise Refused(
                f"{what} needs public numbers of workers, and this release measured them; ask for the share of origins "
                "among the workers of one destination."
            )

    def _areas_in(self, inside: Mapping[int, Cells]) -> Integers:
        """The areas of the origins in a condition.

        Raises:
            Refused: it is not one on origins, divides areas, or allows all.
        """
        origin = self.conditions.domain.names[self._origin]
        if set(inside) != {self._origin}:
            raise Refused(f"a share must be of origins among workers: ask for '{origin}=VALUE'.")
        allowed = inside[self._origin]
        areas = np.unique(self._areas[allowed > 0])
        if not np.array_equal(np.isin(self._areas, areas), allowed > 0):
            raise Refused(self.conditions.edges(self._origin, self._areas, allowed).rstrip(".") + ".")
        if len(areas) == self._drawn.shape[1]:
            raise Refused("the condition must leave origins out, and allows all of them; ask for less.")
        return areas

    def _weights(self, place: int, areas: Integers, rows: int) -> tuple[float, float]:
        """The prior weights of some areas, and of the others, at a destination with a number of counted workers."""
        prior, added = self._prior(place, rows), self._added
        several, inside = self._drawn.shape[1], float(added[areas].sum())
        return len(areas) * prior + inside, (several - len(areas)) * prior + float(added.sum()) - inside

    def _of_one(self, place: int, areas: Integers, asked: Asked, *, of_population: bool) -> Found:
        """The share at one destination."""
        own = self._drawn[place]
        miss = (1 - asked.level) * _PART_OF_TOTALS
        rows = self._rows(place, miss)
        if not own.sum() or not self._prior(place, rows[1]):
            raise Refused("no worker of this destination was drawn; ask for another destination.")
        level = asked.level if rows[0] == rows[1] else asked.level + miss

        def found(at: int) -> Found:
            inside, outside = self._weights(place, areas, at)
            drawn, trials = int(own[areas].sum()), int(own.sum())
            draws = UrnDraws(drawn=drawn, trials=trials, urns=1, inside=inside, outside=outside, rows=rows)
            return draws.share(level, of_population=of_population)

        middle = found(sum(rows) // 2)
        if self._is_fixed or rows[0] == rows[1]:
            return middle
        ends = [middle.interval, *(found(at).interval for at in rows)]
        return replace(middle, interval=Interval(min(each.low for each in ends), max(each.high for each in ends)))

    def _of_several(self, works: Iterable[int], areas: Integers, asked: Asked) -> Found:
        """The number of the table's workers of several destinations, with public totals."""
        estimate = noise = sampling = 0.0
        kept, whole = self._kept, 0
        for place in works:
            workers, draws = self._workers[place], int(self._drawn[place].sum())
            whole += workers
            if not workers or not draws:
                continue
            rows = max(workers * kept, 1.0)
            inside, outside = self._weights(place, areas, round(rows))
            weight = inside + outside
            drawn = float(self._drawn[place][areas].sum()) / draws
            p = min(max(drawn, inside / (rows + weight)), (rows + inside) / (rows + weight))
            scale = workers / rows
            estimate += scale * (drawn * (rows + weight) - inside)
            spread = p * (1 - p) * (1 + (draws - 1) / (rows + weight + 1)) / draws
            noise += (scale * (rows + weight)) ** 2 * spread
            if kept < 1:
                share = min(max((p * (rows + weight) - inside) / rows, 0.0), 1.0)
                slope = scale * (p * weight - inside) / rows
                sampling += workers * share * (1 - share) * (1 - kept) / kept + slope**2 * rows * (1 - kept)
        reach = two_sided(asked.level) * sqrt(noise + sampling)
        interval = Interval(estimate - reach, estimate + reach).cut(0.0, float(whole))
        return Found(estimate=estimate, interval=interval, noise=noise, sampling=sampling)

    def _rows(self, place: int, miss: float) -> tuple[int, int]:
        """Bounds on the number of counted workers of a destination."""
        number = self._workers[place]
        if self._scale is None:
            return binomial_bounds(number, self._kept, miss)
        reach = ceil(self._scale * log(1 / miss)) if miss < 1 else 0
        return max(0, number - reach), max(0, number + reach)
