"""Counts of the first attributes of records, from the histogram from which seeds were drawn (histogram_seeds).

Every prefix that occurs was counted with discrete Laplace noise, and kept if its noisy count reached the threshold.
With probability at least 1 - k Pr[|Z| > r], the noise of k prefixes is at most r, whichever are kept. Then the count
of a kept prefix is within r of its noisy count and at least 1, and that of a missing prefix is at most threshold - 1 +
r.
"""

from math import ceil, exp, log

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Domain
from deniable.foundation.errors import Refused
from deniable.inference.answers import Answer, Asked
from deniable.inference.conditions import Conditions, Labels
from deniable.inference.intervals import Interval
from deniable.inference.others.asking import Found, OtherRelease, answered

MOST_PREFIXES = 10_000


class PrefixInference(OtherRelease):
    """Counts of prefixes.

    Args:
        domain: the public domain.
        columns: column numbers of a prefix's attributes.
        cells: codes of the kept prefixes, shape (v, L).
        counts: their noisy counts.
        scale: scale of the noise.
        threshold: smallest noisy count that was kept.
        labels: labels of values.
    """

    kind = "a release whose seeds come from a histogram"
    answers = "counts of the attributes in the histogram"

    def __init__(
        self,
        domain: Domain,
        columns: tuple[int, ...],
        cells: NDArray[np.integer],
        counts: NDArray[np.int64],
        *,
        scale: float,
        threshold: int,
        labels: Labels | None = None,
    ) -> None:
        self.conditions = Conditions(domain, labels)
        self._columns, self._cells, self._counts = columns, cells, counts
        self._scale, self._threshold = scale, threshold

    def count(self, condition: str, asked: Asked) -> Answer:
        """The number of counted rows that satisfy a condition; see `OtherRelease`."""
        if asked.estimand == "population":
            raise Refused("a count must be of the rows that were counted (finite); the histogram has no share.")
        allowed = self.conditions.parse(condition)
        domain = self.conditions.domain
        if unknown := [domain.names[i] for i in allowed if i not in self._columns]:
            known = ", ".join(domain.names[i] for i in self._columns)
            raise Refused(f"the histogram has counts of {known}, not of {', '.join(unknown)}; ask for those.")
        every = {i: allowed.get(i, np.ones(domain.cardinalities[i])) for i in self._columns}
        prefixes = int(np.prod([own.sum() for own in every.values()]))
        if not 1 <= prefixes <= MOST_PREFIXES:
            raise Refused(f"a condition may have at most {MOST_PREFIXES:,} prefixes, got {prefixes:,}; ask for fewer.")
        inside = np.ones(len(self._cells), bool)
        for place, i in enumerate(self._columns):
            inside &= every[i][self._cells[:, place]] > 0
        reach = reach_of(self._scale, (1 - asked.level) / prefixes)
        kept, absent = self._counts[inside], prefixes - int(inside.sum())
        low = int(np.maximum(kept - reach, 1).sum())
        high = int((kept + reach).sum()) + absent * (self._threshold - 1 + reach)
        p = exp(-1 / self._scale)
        found = Found(
            estimate=float(kept.sum()),
            interval=Interval(float(low), float(high)),
            noise=len(kept) * 2 * p / (1 - p) ** 2,
        )
        gone = f"; {absent:,} of {prefixes:,} prefixes were below the threshold, and count as 0 in the estimate"
        return answered(
            f"number of records with {condition}" if condition.strip() else "number of records",
            "count",
            found,
            asked,
            f"The interval rests on the published law of the noise, and on no model{gone if absent else ''}.",
            {("histogram of seeds",): 1.0},
        )


def reach_of(scale: float, miss: float) -> int:
    """The smallest r that discrete Laplace noise exceeds in absolute value with at most a given probability.

    Pr[|Z| > r] = 2 p^(r + 1) / (1 + p) with p = exp(-1 / scale).
    """
    p = exp(-1 / scale)
    return max(0, ceil(-scale * log(miss * (1 + p) / 2)) - 1)
