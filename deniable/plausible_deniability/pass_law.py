"""The law of passing: with which probability a record is released, by its number of plausible seeds.

The mechanism and its theorem do not belong here (poisson_attempts), nor the curves of its pairs (privacy.poisson_pairs)
and the certificate of a law together with a model (privacy.loss_laws).

Let g(c) = c q(c), where q(c) is the probability of passing with c plausible seeds. A bound on both curves of the pair
(tau g(c), tau g(c + 1)) bounds the cost of any one row. Starting from g = 0 at the floor, the largest admissible next g
is taken at each c, and never more than c. *No law with that bound and that floor passes more, at any c*: the largest
admissible next mean rises with the present one (fact 3 of poisson_pairs), so by induction over c every other law's g is
at most this one's. The bound is that of Desfontaines, Voss, Gipson, Mandayam 2022 (partition selection), for many draws
in place of one.

The search computes in floats, and only proposes: the law that it returns is rounded down to integers, and what those
cost is computed from them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, expm1, inf, log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from deniable.foundation.errors import InvalidInput
from deniable.privacy.accounting import four_digits
from deniable.privacy.loss import PASSES_OUT_OF, MechanismEvent, PoissonAttemptsEvent
from deniable.privacy.loss_laws import pld_by_hand
from deniable.privacy.poisson_pairs import poisson_curves
from deniable.privacy.remembered import REMEMBERED, question

MOST_COUNTS = 5_000
"""The largest number of counts with a probability between 0 and 1."""

SHARE_OF_MODEL = 0.75
"""The model's share of the squared shift, where a spec states only the total."""

_SMALLEST_EPSILON = 1e-9
_SMALLEST_LOG = log(1e-300)
# Precision of the logarithm of a step, relative to the step.
_FINE = 2e-4
# A law is rounded down to this many binary digits, so that all machines find the same one.
_DIGITS = 16
# The search for the bound that a law is built on: its shares of delta.
_FIRST_SHARE, _SMALLEST_SHARE, _FALL, _RISE = 0.16, 1e-3, 1.6, 1.25
_DEVIATIONS = 9
# Beside other mechanisms: how near to the total a law must come, how narrow the logarithms of shares may be and how
# many laws are tried before that, and the typical rise of the cost with the logarithm, relative to the total.
_NEAR, _NARROW, _MOST_LAWS, _TYPICAL_SLOPE = 4e-3, 0.02, 12, 0.05
# The share of the attempts' own delta that a pair's delta may be.
_OWN_SHARE = 0.9


@dataclass(frozen=True)
class PassLaw:
    """A law of passing, in integers.

    Attributes:
        plausible: the floor: with fewer plausible seeds no record passes.
        passes: the probability for each number of seeds from the floor on, out of 2^64; 1 for every larger number.
    """

    plausible: int
    passes: tuple[int, ...]

    @property
    def full(self) -> int:
        """The smallest number of plausible seeds with which every record passes."""
        return self.plausible + len(self.passes)

    @property
    def half(self) -> int:
        """The smallest number of plausible seeds with which at least half of the records pass."""
        return self.plausible + int(np.searchsorted(np.asarray(self.passes, np.float64), PASSES_OUT_OF / 2))

    def probability(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """The probability of passing with some numbers of plausible seeds, rounded to floats, of the same shape."""
        table = np.asarray([0, *self.passes, PASSES_OUT_OF], np.float64) / PASSES_OUT_OF
        found: NDArray[np.float64] = table[np.clip(counts - self.plausible + 1, 0, len(table) - 1)]
        return found

    def event(self, attempts_per_row: Fraction, part: str) -> PoissonAttemptsEvent:
        """The event of a release by this law.

        Args:
            attempts_per_row: tau.
            part: the part of the rows that are the seeds.
        """
        return PoissonAttemptsEvent(
            query="records released by their number of plausible seeds",
            part=part,
            outputs=1,
            attempts_per_row=attempts_per_row,
            plausible=self.plausible,
            passes=" ".join(map(str, self.passes)),
        )


@dataclass(frozen=True)
class _Bound:
    """What each pair of neighbouring means may cost, composed with a Gaussian mechanism on the same rows.

    Attributes:
        epsilon: the epsilon of both curves.
        delta: their largest value.
        mu: the Gaussian mechanism's shift in deviations; 0 if there is none.
    """

    epsilon: float
    delta: float
    mu: float

    @property
    def leaves_room(self) -> bool:
        """Whether the Gaussian mechanism alone costs less."""
        return self.mu == 0 or float(self.gaussian(np.array(self.epsilon))) < self.delta

    def holds(self, a: float, b: float) -> bool:
        """Whether both curves of a pair of means are at most delta, a <= b."""
        if self.mu == 0:
            return all(float(side[0]) <= self.delta for side in poisson_curves(a, b, np.array([self.epsilon])))
        numbers = np.arange(
            max(0, int(a - _DEVIATIONS * sqrt(a) - 5)), int(b + _DEVIATIONS * sqrt(b) + 45) + 1, dtype=np.float64
        )
        of_b = _poisson(b, numbers)
        if a == 0:
            nothing = exp(-b)
            added = nothing * float(self.gaussian(np.array(self.epsilon + b))) - expm1(-b)
            return max(added, float(self.gaussian(np.array(self.epsilon - b)))) <= self.delta
        losses = numbers * log(b / a) - (b - a)
        added = float((of_b * self.gaussian(self.epsilon - losses)).sum())
        removed = float((_poisson(a, numbers) * self.gaussian(self.epsilon + losses)).sum())
        return max(added, removed) <= self.delta

    def gaussian(self, epsilons: NDArray[np.float64]) -> NDArray[np.float64]:
        """The privacy curve of the Gaussian mechanism (Balle, Wang 2018, Theorem 8)."""
        mu = self.mu
        found: NDArray[np.float64] = ndtr(mu / 2 - epsilons / mu) - np.exp(epsilons + log_ndtr(-mu / 2 - epsilons / mu))
        return found


def _poisson(mean: float, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities of consecutive numbers, which hold all but a negligible part, shape (numbers,)."""
    logs = np.cumsum(np.log(mean / np.maximum(numbers, 1)))
    weights = np.exp(logs - logs.max())
    found: NDArray[np.float64] = weights / weights.sum()
    return found


def largest_law(
    attempts_per_row: float,
    *,
    plausible: int,
    epsilon: float,
    delta: float,
    mu: float = 0.0,
    most_counts: int = MOST_COUNTS,
) -> PassLaw | None:
    """The law that passes most, at every count, of those whose every pair costs at most (epsilon, delta).

    Args:
        attempts_per_row: tau, above 0.
        plausible: the floor, at least 1.
        epsilon: above 0.
        delta: in (0, 1).
        mu: shift of a Gaussian mechanism on the same rows with which each pair is composed; 0 for none.
        most_counts: the largest number of counts with a probability between 0 and 1.

    Returns:
        The law; None if no law within the bound passes all records from some count on, or only from one too large.
    """
    bound, tau = _Bound(epsilon, delta, mu), attempts_per_row
    if not bound.leaves_room:
        return None
    passes: list[float] = []
    count, rate, step = plausible, 0.0, 0.0
    while not bound.holds(rate, tau * count):
        if len(passes) == most_counts:
            return None
        reached = _next_rate(bound, rate, tau * count, step)
        least = tau * count * passes[-1] if passes else 0.0
        if reached <= least:
            # Not even a constant probability of passing may be within the bound.
            if not passes or not bound.holds(rate, least):
                return None
            reached = least
        step = log(reached / rate) if rate > 0 else 0.0
        passes.append(reached / (tau * count))
        count, rate = count + 1, reached
    return PassLaw(plausible, _rounded_down(passes))


def _next_rate(bound: _Bound, rate: float, most: float, step: float) -> float:
    """The largest admissible next mean, up to the search's precision, from below.

    Args:
        bound: what a pair may cost.
        rate: the present mean.
        most: a mean that is too large.
        step: logarithm of the last step, which the next one rarely exceeds; 0 if unknown.
    """
    low = log(rate) if rate > 0 else _SMALLEST_LOG
    high = log(most)
    for share in (1.0, 0.98, 0.9, 0.7) if step and rate > 0 else ():
        tried = low + share * step
        if tried < high and bound.holds(rate, exp(tried)):
            low = tried
            break
        high = min(high, tried)
    while high - low > _FINE * max(1e-3, step or 1.0):
        middle = (low + high) / 2
        low, high = (middle, high) if bound.holds(rate, exp(middle)) else (low, middle)
    return exp(low)


def _rounded_down(passes: Sequence[float]) -> tuple[int, ...]:
    """Probabilities as integers out of 2^64, of a few leading digits, rising."""
    found, before = [], 0
    for each in passes:
        whole = min(int(each * PASSES_OUT_OF), PASSES_OUT_OF)
        dropped = max(0, whole.bit_length() - _DIGITS)
        before = max(before, whole >> dropped << dropped)
        found.append(before)
    return tuple(found)


@lru_cache(maxsize=64)
def law_within(
    attempts_per_row: Fraction,
    *,
    plausible: int,
    epsilon: float,
    delta: float,
    others: tuple[MechanismEvent, ...] = (),
    own_delta: float | None = None,
) -> PassLaw | None:
    """A law that, with other mechanisms on the same rows, costs at most a total; None if none was found.

    The prefix may depend on what the others released, so that the worst count may differ from branch to branch. What is
    composed is therefore the envelope of all counts' curves, and the pairs are searched at a smaller delta, as large as
    the total permits.

    Args:
        attempts_per_row: tau.
        plausible: the floor.
        epsilon: the total.
        delta: its delta.
        others: events of the other mechanisms.
        own_delta: delta of the attempts alone, at which they are charged too, with others; by default that of all.
    """
    spent = pld_by_hand(others, delta) if others else 0.0
    if spent >= epsilon:
        return None
    mu = shift_of(spent, delta) if others else 0.0

    def law_of(share: float) -> PassLaw | None:
        return largest_law(float(attempts_per_row), plausible=plausible, epsilon=epsilon, delta=share * delta, mu=mu)

    def cost_of(law: PassLaw | None) -> float:
        return inf if law is None else pld_by_hand((*others, law.event(attempts_per_row, "seeds")), delta)

    if others:
        # A record that cannot be released without the row has almost all of a pair's delta at the floor.
        most = min(1.0, _OWN_SHARE * (own_delta or delta) / delta)
        asked = question("share of delta", others, attempts_per_row, plausible, epsilon, delta, most)
        return _law_near(asked, epsilon, most, law_of, cost_of)

    def found(share: float) -> PassLaw | None:
        law = law_of(share)
        return None if cost_of(law) > epsilon else law

    share = _FIRST_SHARE
    good = found(share)
    if good is not None:
        while (share := share * _RISE) <= 1 and (more := found(share)) is not None:
            good = more
    while good is None and share > _SMALLEST_SHARE:
        share /= _FALL
        good = found(share)
    return good


def _law_near(
    asked: str,
    epsilon: float,
    most: float,
    law_of: Callable[[float], PassLaw | None],
    cost_of: Callable[[PassLaw | None], float],
) -> PassLaw | None:
    """The law whose cost comes near to a total from below; None if none was found.

    The cost rises almost in proportion to the logarithm of the share of delta on which a law is built.

    Args:
        asked: the question, under which the share is remembered; what it costs is computed again.
        epsilon: the total.
        most: the largest share of delta.
        law_of: the law for a share of delta.
        cost_of: the cost of a law with all other mechanisms; infinite for none.
    """
    known = REMEMBERED.recall(asked)
    if known is not None and _SMALLEST_SHARE <= known <= most and cost_of(again := law_of(known)) <= epsilon:
        return again
    good, low, high = None, log(_SMALLEST_SHARE), log(most)
    place, slope = min(log(_FIRST_SHARE), high), _TYPICAL_SLOPE * epsilon
    before: tuple[float, float] | None = None
    failed = False
    for _ in range(_MOST_LAWS):
        law = law_of(exp(place))
        cost = cost_of(law)
        if cost <= epsilon:
            good, low = law, place
            REMEMBERED.note(asked, exp(place))
        else:
            high, failed = place, True
        if (good is not None and epsilon * (1 - _NEAR) <= cost <= epsilon) or high - low < _NARROW:
            break
        if before is not None and cost < inf and (cost - before[1]) * (place - before[0]) > 0:
            slope = (cost - before[1]) / (place - before[0])
        if cost < inf:
            before = place, cost
        aim = place + (epsilon * (1 - _NEAR / 2) - cost) / slope if cost < inf else -inf
        # Within what is left, and never less than a tenth of it from its ends.
        place = min(max(aim, low + 0.1 * (high - low)), high - 0.1 * (high - low) * failed)
    return good


def shift_of(epsilon: float, delta: float) -> float:
    """The shift mu of the Gaussian mechanism that costs epsilon at a delta, to a relative precision of 1e-7.

    Raises:
        InvalidInput: epsilon is not above 0, or delta not in (0, 1).
    """
    if not epsilon > 0 or not 0 < delta < 1:
        raise InvalidInput(f"epsilon must be above 0 and delta in (0, 1), got {epsilon} and {delta}.")
    if epsilon == inf:
        return inf
    low, high = 1e-6, 1e3
    while high > low * (1 + 1e-7):
        middle = sqrt(low * high)
        curve = float(_Bound(epsilon, delta, middle).gaussian(np.array(epsilon)))
        low, high = (middle, high) if curve <= delta else (low, middle)
    return low


def epsilon_of_shift(mu: float, delta: float) -> float:
    """Epsilon of the Gaussian mechanism of a shift mu at a delta, to a relative precision of 1e-7, from above.

    Raises:
        InvalidInput: mu is not above 0, or delta not in (0, 1).
    """
    if not mu > 0 or not 0 < delta < 1:
        raise InvalidInput(f"the shift must be above 0 and delta in (0, 1), got {mu} and {delta}.")
    low, high = 0.0, 1.0
    while float(_Bound(high, delta, mu).gaussian(np.array(high))) > delta:
        high *= 2
    while high > low * (1 + 1e-7) and high > _SMALLEST_EPSILON:
        middle = (low + high) / 2
        low, high = (
            (low, middle) if float(_Bound(middle, delta, mu).gaussian(np.array(middle))) <= delta else (middle, high)
        )
    return high


def epsilon_of_model(total: Fraction, delta: Fraction, own_delta: Fraction, share: float = SHARE_OF_MODEL) -> Fraction:
    """Epsilon of a model that leaves the rest of a total to attempts with which it is charged together.

    Unless another share is given, the model gets three quarters of the squared shift of the Gaussian mechanism with
    that total: what the seeds take from it costs the pairs of attributes least there, and half or more leaves attempts
    room at any total.

    Args:
        total: epsilon of both.
        delta: delta of both.
        own_delta: delta of the model alone.
        share: the model's share of the squared shift, in (0, 1).

    Returns:
        Its epsilon at `own_delta`, rounded down to four digits, so that all machines find the same one.
    """
    mu = shift_of(float(total), float(delta)) * sqrt(share)
    return min(total, four_digits(epsilon_of_shift(mu, float(own_delta)), -1))
