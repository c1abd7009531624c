"""What a total buys: from how many plausible seeds on half of the attempts pass, by four accounts, before any data.

An account is a law of passing and a way of charging it. The law is Laplace noise on a threshold, as in Mechanism 1, or
the law that passes most (pass_law). Its cost is added to the model's, or composed with the model's noise. The attempts
are Poisson in all four, so that the accounts differ in nothing else.

The model stands here for a Gaussian mechanism with its share of the squared shift, which it nearly is. The design of a
release composes the model's own events (`sampler.law_of`), and that alone is charged.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import exp, expm1, floor, inf, log, log1p, sqrt
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.polynomial.hermite_e import hermegauss

from deniable.foundation.errors import InvalidInput
from deniable.plausible_deniability.pass_law import MOST_COUNTS, PassLaw, epsilon_of_shift, largest_law, shift_of
from deniable.plausible_deniability.privacy_tests import pass_probability, theorem_1
from deniable.privacy.loss import Guarantee
from deniable.privacy.poisson_pairs import poisson_curves, released_rates
from deniable.samplers.entry import LARGEST_K
from deniable.samplers.poisson_seeds.verification import ATTEMPTS_PER_RECORD

Pairs: TypeAlias = Sequence[tuple[float, float]]
Halves: TypeAlias = dict[str, int | None]
Quantity: TypeAlias = Literal["records", "half", "share", "epsilon"]

ACCOUNTS: Final = {
    "laplace_added": "Laplace threshold, costs added",
    "laplace_composed": "Laplace threshold, composed",
    "largest_added": "law that passes most, costs added",
    "largest_composed": "law that passes most, composed",
}
"""The accounts, from today's test of `tested_seeds` to the one that `poisson_seeds` is charged by."""
QUANTITIES: Final[tuple[Quantity, ...]] = ("records", "half", "share", "epsilon")

_NODES = 201
"""Points of the quadrature over the model's loss."""
# The logarithm of delta rises with that of the share on which a law is built with about this slope.
_SLOPE = 0.93
_FIRST_SHARE, _NEAR, _MOST_LAWS = 0.16, 0.98, 8
# Noise scales of the threshold that are tried: k eps0 less ln(tau / (2 delta)), below which count 1 costs too much.
_SPARE = (1.0, 2.5, 4.5, 7.0)
_OFFSETS = np.concatenate([np.linspace(-24, 8, 65), [12, 20]])
_FINE_THRESHOLD = 0.004
# Quantities that are solved for: their ranges, and the precision of the search in their logarithm.
_RANGES: Final[dict[str, tuple[float, float]]] = {
    "records": (10, 1e8),
    "share": (0.05, 0.97),
    "epsilon": (0.02, 20),
}
_FINE = 4e-3
_COUNTS_PER_HALF, _MORE_COUNTS = 3, 100


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What a release of seeds is to be, in public numbers.

    Attributes:
        records: number of records.
        public_rows: a public number of rows that are read.
        plausible: the floor; no record from a seed has fewer plausible seeds.
        epsilon: epsilon of the whole release.
        delta: delta of the whole release.
        share: the model's share of the squared shift, lambda, in (0, 1).
        read: probability that a record is read, in (0, 1].
    """

    records: int
    public_rows: int
    plausible: int
    epsilon: float
    delta: float
    share: float
    read: float = 1.0

    @property
    def attempts_per_row(self) -> float:
        """Tau."""
        return float(ATTEMPTS_PER_RECORD) * self.records / self.public_rows

    @property
    def of_read(self) -> tuple[float, float]:
        """Epsilon and delta for the records that are read (composition.joint_split)."""
        return log1p(expm1(self.epsilon) / self.read), self.delta / self.read

    @property
    def shift(self) -> float:
        """The model's shift in deviations."""
        return shift_of(*self.of_read) * sqrt(self.share)

    @property
    def left(self) -> tuple[float, float]:
        """Epsilon and delta left for attempts whose cost is added to the model's, which has half of delta."""
        epsilon, delta = self.of_read
        return epsilon - epsilon_of_shift(self.shift, delta / 2), delta / 2


def halves(wish: Wish, accounts: Iterable[str] = ACCOUNTS) -> Halves:
    """From how many plausible seeds on at least half of the attempts pass, by each account.

    Returns:
        The number for each account; None if none within the bounds of a spec is found.
    """
    return {account: _half(wish, account) for account in accounts}


def _half(wish: Wish, account: str) -> int | None:
    if account == "laplace_added":
        return smallest_threshold(wish, composed=False)
    if account == "laplace_composed":
        return smallest_threshold(wish, composed=True)
    law = _added_law(wish) if account == "largest_added" else composed_law(wish)
    return None if law is None else law.half


def _added_law(wish: Wish) -> PassLaw | None:
    """The law that passes most of those whose cost, added to the model's, is the total."""
    epsilon, delta = wish.left
    if epsilon <= 0:
        return None
    return largest_law(wish.attempts_per_row, plausible=wish.plausible, epsilon=epsilon, delta=delta)


def composed_law(wish: Wish, most_counts: int = MOST_COUNTS) -> PassLaw | None:
    """The law that, composed with the model's Gaussian noise, costs at most the total, whatever prefix is chosen.

    Args:
        wish: the release.
        most_counts: the largest number of counts with a probability between 0 and 1.
    """
    epsilon, delta = wish.of_read
    tau, mu = wish.attempts_per_row, wish.shift
    good, share = None, _FIRST_SHARE
    for _ in range(_MOST_LAWS):
        law = largest_law(
            tau, plausible=wish.plausible, epsilon=epsilon, delta=share * delta, mu=mu, most_counts=most_counts
        )
        if law is None:
            # A smaller share passes less.
            break
        rates = released_rates(Fraction(tau), law.plausible, law.passes)
        _, envelope = deltas_beside(list(pairwise(rates.tolist())), mu, epsilon)
        if envelope <= delta:
            good = law
            if envelope > _NEAR * delta:
                break
        share = min(1.0, share * ((1 + _NEAR) / 2 * delta / envelope) ** (1 / _SLOPE))
    return good


def deltas_beside(pairs: Pairs, mu: float, epsilon: float) -> tuple[float, float]:
    """Delta of attempts together with a Gaussian mechanism: of the worst count, and of the envelope of all counts.

    The first holds if the prefix is fixed before the mechanism is run, the second whatever prefix it leads to
    (loss_laws). Each is a mean over the mechanism's loss l, normal with mean mu^2 / 2 and deviation mu.

    Args:
        pairs: means of the released numbers without and with a row, for each count.
        mu: the mechanism's shift in deviations.
        epsilon: the total.
    """
    nodes, weights = hermegauss(_NODES)
    weights = weights / weights.sum()
    points = epsilon - (mu * nodes + mu * mu / 2)
    envelope = np.zeros((2, _NODES))
    worst = 0.0
    for a, b in pairs:
        curves = np.array(poisson_curves(a, b, points))
        envelope = np.maximum(envelope, curves)
        worst = max(worst, *(curves * weights).sum(axis=1).tolist())
    return worst, float((envelope * weights).sum(axis=1).max())


def smallest_threshold(wish: Wish, *, composed: bool) -> int | None:
    """The smallest k of a threshold with Laplace noise within the total, at the best scale of noise; None if too large.

    Counts between those tried may cost a little more, so that the threshold needed may be a little larger.

    Args:
        wish: the release.
        composed: whether its cost is composed with the model's noise instead of added.
    """
    tau, mu = wish.attempts_per_row, wish.shift
    epsilon, delta = wish.of_read if composed else wish.left
    if epsilon <= 0:
        return None

    def holds(k: int, eps0: float) -> bool:
        pairs = _threshold_pairs(tau, k, eps0)
        if composed:
            return deltas_beside(pairs, mu, epsilon)[1] <= delta
        at = np.array([epsilon])
        return all(float(side[0]) <= delta for a, b in pairs for side in poisson_curves(a, b, at))

    best: int | None = None
    for spare in _SPARE:
        scaled = max(0.0, log(tau / (2 * delta))) + spare
        low, high = 0, LARGEST_K if best is None else best
        if not holds(high, scaled / high):
            continue
        while high - low > max(1, int(_FINE_THRESHOLD * high)):
            middle = (low + high) // 2 if low else max(1, high // 4)
            low, high = (low, middle) if holds(middle, scaled / middle) else (middle, high)
        best = high
    return best


def _threshold_pairs(tau: float, k: int, eps0: float) -> Pairs:
    """Means with c and c + 1 rows of a threshold's law, for counts c far below it, around it and beyond."""
    counts = np.unique(np.concatenate([[0, 1, 2], np.round(k + _OFFSETS / eps0), [2 * k, 4 * k]]))
    counts = counts[counts >= 0]
    below = tau * counts * pass_probability(counts.astype(np.int64), k=k, eps0=eps0)
    above = tau * (counts + 1) * pass_probability(counts.astype(np.int64) + 1, k=k, eps0=eps0)
    return list(zip(below.tolist(), above.tolist(), strict=True))


def solved(wish: Wish, half: int, asked: Quantity) -> Wish:
    """The release that passes half of its attempts from so many plausible seeds on, in one quantity.

    Args:
        wish: the release; its value of the wanted quantity is ignored.
        half: the number of plausible seeds from which half of the attempts are to pass, at most.
        asked: `records`, the largest number; `share`, the largest of the model; or `epsilon`, the smallest total.

    Raises:
        InvalidInput: no value meets the target.
    """

    def meets(value: float) -> bool:
        # Most laws pass all from about twice as many seeds on.
        law = composed_law(_with(wish, asked, value), _COUNTS_PER_HALF * half + _MORE_COUNTS)
        return law is not None and law.half <= half

    least, most = _RANGES[asked]
    # Epsilon is to be small, the others large. From the release's own value the search goes on in doubling steps.
    better, limit = (0.5, least) if asked == "epsilon" else (2.0, most)
    worst = most if asked == "epsilon" else least
    start = min(max(float(getattr(wish, asked)), least), most)
    good, bad = (start, 0.0) if meets(start) else (0.0, start)
    while not good or not bad:
        place = good * better if good else bad / better
        place = min(max(place, least), most)
        if meets(place):
            good = place
            if place == limit:
                return _with(wish, asked, place)
        else:
            bad = place
            if place == worst:
                raise InvalidInput(
                    f"the target must be possible, but half of the attempts pass from {half:,} plausible seeds on for "
                    f"no {asked} from {least:g} to {most:g}; ask for more plausible seeds{_OTHERS[asked]}."
                )
    while abs(log(good / bad)) > _FINE:
        middle = sqrt(good * bad)
        good, bad = (middle, bad) if meets(middle) else (good, middle)
    return _with(wish, asked, good)


_OTHERS: Final = {
    "records": ", a larger epsilon or a smaller share of the model",
    "share": ", a larger epsilon or fewer records",
    "epsilon": ", fewer records or a smaller share of the model",
}


def _with(wish: Wish, name: Quantity, value: float) -> Wish:
    if name == "records":
        return replace(wish, records=max(1, floor(value)))
    return replace(wish, share=value) if name == "share" else replace(wish, epsilon=value)


def between(wanted: float, points: Sequence[tuple[float, float | None]]) -> float | None:
    """The x at which a falling curve reaches a height, straight in logarithms between its points.

    Args:
        wanted: the height.
        points: x and height, x ascending; a height of None is infinite.

    Returns:
        The x; None if the curve does not reach the height between its first and last points.
    """
    for (x, high), (y, low) in pairwise(points):
        if low is None or low > wanted:
            continue
        if high is None or high < wanted:
            return None
        share = log(high / wanted) / log(high / low) if high > low else 0.0
        return exp(log(x) + share * (log(y) - log(x)))
    return None


def trade_off(*, k: int, gamma: float, eps0: float, points: int = 12) -> list[tuple[int, Guarantee]]:
    """Theorem 1 for one record over t: a larger t has a smaller epsilon and a larger delta.

    Args:
        k: the threshold, at least 2.
        gamma: the largest ratio of plausible seeds' probabilities, at least 1.
        eps0: inverse scale of the noise on k.
        points: about how many values of t, from 1 to k - 1.
    """
    if k < 2 or not gamma >= 1 or not 0 < eps0 < inf:
        raise InvalidInput(f"k must be at least 2, gamma at least 1 and eps0 above 0, got {k}, {gamma:g} and {eps0:g}.")
    values = sorted({round(t) for t in np.geomspace(1, k - 1, points).tolist()})
    return [(t, theorem_1(k=k, gamma=gamma, eps0=eps0, t=t)) for t in values]


@dataclass(frozen=True, kw_only=True)
class Curves:
    """Plausible seeds by total and by records, by each account.

    Attributes:
        wish: the release that they are about.
        by_place: from how many plausible seeds on half pass, by number of records and total.
        half: from how many on half pass in that release; None if its law is not known.
    """

    wish: Wish
    by_place: dict[tuple[int, float], Halves]
    half: int | None

    @property
    def totals(self) -> list[float]:
        """The totals, ascending."""
        return sorted({total for _, total in self.by_place})

    @property
    def records(self) -> list[int]:
        """The numbers of records, ascending."""
        return sorted({records for records, _ in self.by_place})

    def total_for(self, records: int, account: str) -> float | None:
        """The total at which half pass from as many seeds on as in the release; None if not within the totals shown."""
        if self.half is None:
            return None
        return between(self.half, [(total, self.by_place[records, total][account]) for total in self.totals])


TIMES: Final = ((0.25, 1.0, 4.0), (0.5, 1.0, 2.0, 4.0))
"""Records and totals of the curves, in multiples of those of the release."""


def curves_about(wish: Wish, half: int | None, advance: Callable[[], None] = lambda: None) -> Curves:
    """Compute the curves around a release.

    Args:
        wish: the release.
        half: from how many plausible seeds on half of its attempts pass.
        advance: called after each point.
    """
    by_place = {}
    for more in TIMES[0]:
        for larger in TIMES[1]:
            there = replace(wish, records=max(1, round(wish.records * more)), epsilon=wish.epsilon * larger)
            by_place[there.records, there.epsilon] = halves(there)
            advance()
    return Curves(wish=wish, by_place=by_place, half=half)
