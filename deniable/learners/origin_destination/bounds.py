"""Prior weights of the origins of one destination, and the privacy of its draws.

The origins of n workers, n_i in origin i of k, are the counts of a Polya urn with prior weight alpha for each origin;
m origins are drawn. Neighbours differ in the origin of one worker, and n is public.

- Pure: epsilon if and only if alpha >= m / (e^epsilon - 1) (paper, theorem 4.1). The same holds, with the same epsilon,
  if one worker is added or removed (deniable.privacy.urn_costs).
- Probabilistic: with a smaller alpha the ratio of probabilities exceeds e^epsilon for some draws, whose probability is
  at most delta. A draw is not one of these if m_i <= (e^epsilon - 1)(alpha + max(n_i - 1, 0)) for every i (theorem
  4.3). This implies (epsilon, delta)-differential privacy, which is what is claimed, because probabilistic
  differential privacy is not preserved by post-processing (Meiser 2018).
- Theorem 4.4 bounds that probability by the number of origins times the worst origin's, theorem O by a union over
  origins in which the occupied ones share the n workers. README.md has the proofs.

All bounds are computed in logarithms: in theorem 4.4 they are as small as 1e-320. Needs NumPy alone, and no data.
"""

from collections.abc import Callable
from math import ceil, exp, expm1, floor, isfinite, lgamma, log

import numpy as np

_STEP = 0.98
_BISECTIONS = 40
_SMALLEST_ALPHA = 1e-12
# The smallest factor by which a bound must stay below delta; rounding errors are far smaller.
_MARGIN = 1 - 1e-6
_LOWER = 1 - 1e-12
_TERMS = 64
# Sums of terms are compared with bounds on them; rounding errors of sums are a thousand times as small.
_BELOW, _ABOVE = 1 - 1e-9, 1 + 1e-9
# Numbers near it have few digits.
_TINY = 1e-300
# Below this logarithm a term loses digits or underflows.
_UNDERFLOW = -700.0
_GRID = 1.1
_AT_ONCE = 64
"""Largest number of steps of a search that one bound covers."""


def pure_alpha(draws: int, epsilon: float) -> float:
    """The smallest prior weight with which draws of origins cost epsilon: m / (e^epsilon - 1).

    Source: the paper, theorem 4.1.
    """
    return draws / expm1(epsilon)


def log_rho(people: int, draws: int, alpha: float, others: float, growth: float) -> float:
    """Logarithm of rho, the largest probability of a 0-sample's worst count; the number of draws may be fractional.

    Args:
        people: number of workers n.
        draws: number of draws m.
        alpha: prior weight of an origin.
        others: total prior weight of all other origins.
        growth: e^epsilon - 1.

    Source: the paper, before theorem 4.4.
    """
    best = -np.inf
    for x in range(people):
        worst = min(float(draws), growth * (alpha + max(x - 1, 0)))
        best = max(
            best,
            lgamma(draws + 1)
            - lgamma(worst + 1)
            - lgamma(draws - worst + 1)
            + lgamma(people + alpha + others)
            - lgamma(x + alpha)
            - lgamma((people - x) + others)
            + lgamma(x + worst + alpha)
            + lgamma((people - x) + (draws - worst) + others)
            - lgamma(people + draws + alpha + others),
        )
        if worst == draws and x > 0:
            # From here on the worst count stays m, and its probability increases with x: the last x decides.
            last = people - 1
            return max(best, _log_all(people, draws, alpha, others, last))
    return float(best)


def _log_all(people: int, draws: int, alpha: float, others: float, x: int) -> float:
    """Logarithm of the probability that all draws come from an origin with x workers."""
    return (
        lgamma(people + alpha + others)
        - lgamma(x + alpha)
        + lgamma(x + draws + alpha)
        - lgamma(people + draws + alpha + others)
    )


def satisfies_theorem_4_4(people: int, origins: int, alpha: float, epsilon: float, delta: float) -> bool:
    """Whether theorem 4.4 proves (epsilon, delta) with m = n and equal prior weights; it needs epsilon > ln 3.

    Source: the paper, theorem 4.4.
    """
    if exp(epsilon) <= 3:
        return False
    bound = log(delta * _MARGIN * (exp(epsilon) - 2) / (2 * origins * exp(epsilon)))
    return log_rho(people, people, alpha, (origins - 1) * alpha, expm1(epsilon)) <= bound


def disclosure(people: int, draws: int, origins: int, alpha: float, growth: float) -> float:
    """Theorem O: a bound on the probability of draws that are not within g + 1 = e^epsilon of a neighbour's.

    It is (k - 1) delta(0) + n max_x delta(x) / x, with delta(x) the probability that an origin of x workers is drawn
    more than g (alpha + max(x - 1, 0)) times, which is beta-binomial.

    Args:
        people: number of workers n.
        draws: number of draws m.
        origins: number of origins k.
        alpha: prior weight of each origin.
        growth: g, e^epsilon - 1.
    """
    if people == 0 or origins == 1:
        return 0.0
    others = (origins - 1) * alpha
    # At least one origin is occupied, and the numbers of workers of occupied origins sum to n.
    empty = (origins - 1) * _tail(people, draws, 0, alpha, others, growth)
    shares = _shares(people, draws, alpha, others, growth)
    # Only an origin that may have the largest share is summed up: the others' bounds are below its own.
    least = max((low for _, low, _ in shares), default=0.0)
    worst = max(
        (_tail(people, draws, x, alpha, others, growth) / x for x, _, high in shares if high >= least), default=0.0
    )
    return empty + people * worst


def _shares(
    people: int, draws: int, alpha: float, others: float, growth: float, *, most: float | None = None
) -> list[tuple[int, float, float]]:
    """Bounds from below and above on delta(x) / x, for every number x of workers with which an origin may disclose.

    With `most`, an origin has at most that prior weight, the others at least `others` together, and its draws are too
    many from the number on that is too large for `alpha`: an upper bound for all prior weights from alpha to most.
    """
    own = alpha if most is None else most
    found = []
    for x in range(1, people + 1):
        if growth * (alpha + x - 1) >= draws:
            break
        low, high = _tail_bounds(draws, _too_often(x, alpha, growth), x + own, (people - x) + others)
        found.append((x, low / x, high / x))
    return found


def _tail_bounds(draws: int, first: int, own: float, rest: float) -> tuple[float, float]:
    """Bounds on `_tail` as it is computed, from its first term and a geometric series.

    The ratio of successive terms is (c + own) / (c + 1) times (m - c) / (m - c - 1 + rest) at count c. The first factor
    is at most 1 or its value at the first count, the second at most its value at the first count or at the last.

    Args:
        draws: number of draws m.
        first: smallest count of the tail.
        own: weight of the origin, x + alpha.
        rest: weight of all others.
    """
    if first > draws:
        return 0.0, 0.0
    start = exp(min(_log_first(draws, first, own, rest), 0.0))
    ratio = max(1.0, (first + own) / (first + 1))
    ratio *= max((draws - first) / ((draws - first - 1) + rest), 1 / rest) if first < draws else 0.0
    if ratio >= 1:
        return 0.0, 1.0
    return max(start * _BELOW - _TINY, 0.0), min(start / (1 - ratio) * _ABOVE + _TINY, 1.0)


def _tail(people: int, draws: int, x: int, alpha: float, others: float, growth: float) -> float:
    """Probability that an origin with x workers is drawn too often."""
    first = _too_often(x, alpha, growth)
    if first > draws:
        return 0.0
    own, rest = x + alpha, (people - x) + others
    start = _log_first(draws, first, own, rest)
    total, last, position = 0.0, 1.0, first
    while position <= draws:
        # Ratios of successive terms; their products are the terms, relative to the first.
        counts = np.arange(position, min(position + _TERMS, draws))
        ratios = (draws - counts) * (counts + own) / ((counts + 1) * ((draws - counts - 1) + rest))
        with np.errstate(over="ignore"):
            terms = last * np.concatenate([[1.0], np.cumprod(ratios)])
            total += float(terms.sum() if position == first else terms[1:].sum())
        if len(counts) < _TERMS:
            break
        last, position = float(terms[-1]), position + len(counts)
        if last < total * 1e-18 and ratios[-1] < 0.5 and np.all(np.diff(ratios[-8:]) <= 0):
            # The omitted rest is less than the last term, because later ratios are even smaller.
            total += last
            break
    # Far below the mean the first term underflows, while the sum relative to it may overflow; no probability is lost.
    return (
        exp(min(start + log(total), 0.0))
        if isfinite(total) and start < _UNDERFLOW
        else _at_most_one(exp(start) * total)
    )


def _too_often(x: int, alpha: float, growth: float) -> int:
    """The smallest number of draws that is too large for an origin with x workers."""
    return floor(growth * (alpha + max(x - 1, 0)) * _LOWER) + 1


def _log_first(draws: int, first: int, own: float, rest: float) -> float:
    """Logarithm of the beta-binomial probability of a count."""
    return (
        lgamma(draws + 1)
        - lgamma(first + 1)
        - lgamma(draws - first + 1)
        + lgamma(first + own)
        + lgamma((draws - first) + rest)
        - lgamma(draws + own + rest)
        + lgamma(own + rest)
        - lgamma(own)
        - lgamma(rest)
    )


def _at_most_one(probability: float) -> float:
    """A probability; 1 in place of NaN, which a maximum would ignore."""
    return probability if probability <= 1 else 1.0


def theorem_4_4_alpha(people: int, origins: int, epsilon: float, delta: float, *, unit: int | None = None) -> float:
    """The smallest prior weight, searched downwards from the pure one, that satisfies theorem 4.4.

    The condition need not be monotone, so the search proceeds downwards in steps of 2 % and ends with bisection. For
    few origins theorem 4.4 requires more than pure privacy does; the result is then the pure weight.

    Args:
        people: number of workers n, which is that of draws.
        origins: number of origins k.
        epsilon: budget of the draws.
        delta: probability that draws exceed epsilon.
        unit: the search may end as soon as it is decided which multiple of 1 / unit is the next one above.
    """
    return _smallest(
        pure_alpha(people, epsilon), lambda alpha: satisfies_theorem_4_4(people, origins, alpha, epsilon, delta), unit
    )


def satisfies_theorem_o(people: int, draws: int, origins: int, alpha: float, growth: float, delta: float) -> bool:
    """Whether theorem O bounds the probability of disclosing draws by delta."""
    limit = delta * _MARGIN
    if people > 0 and origins > 1:
        # Far from the limit, where most of a search is, bounds decide as the sums would.
        others = (origins - 1) * alpha
        low, high = _tail_bounds(draws, _too_often(0, alpha, growth), alpha, people + others)
        shares = _shares(people, draws, alpha, others, growth)
        if (origins - 1) * high + people * max((most for _, _, most in shares), default=0.0) <= limit * _BELOW:
            return True
        if (origins - 1) * low + people * max((least for _, least, _ in shares), default=0.0) > limit * _ABOVE:
            return False
    return disclosure(people, draws, origins, alpha, growth) <= limit


def satisfies_theorem_o_between(
    people: int, draws: int, origins: int, weights: tuple[float, float], growth: float, delta: float
) -> bool:
    """Whether theorem O surely bounds the probability of disclosing draws by delta for a range of prior weights.

    A beta-binomial number of draws of an origin grows stochastically with the weight of the origin, and falls with that
    of the others. Therefore no prior weight in the range gives draws beyond its own limit, which is the larger the
    larger it is, a probability above that of an origin with the largest weight, among others with the smallest one, to
    be drawn more often than the smallest limit. False means that this is not decided.

    Args:
        people: number of workers n.
        draws: number of draws m.
        origins: number of origins k.
        weights: the smallest and the largest prior weight.
        growth: g.
        delta: bound on the probability of draws that exceed epsilon.
    """
    least, most = weights
    others = (origins - 1) * least
    _, empty = _tail_bounds(draws, _too_often(0, least, growth), most, people + others)
    shares = _shares(people, draws, least, others, growth, most=most)
    whole = (origins - 1) * empty + people * max((high for _, _, high in shares), default=0.0)
    return whole <= delta * _MARGIN * _BELOW


def satisfies_theorem_o_for_fewer(
    people: int, draws: int, origins: int, alpha: float, growth: float, delta: float, kept: float = 1.0
) -> bool:
    """The same for every number of origins from 1 to k, because domain sampling may leave any.

    The probability of an origin decreases with the number of others; hence between two numbers of origins, from 2 on,
    the sum over empty ones is at most the larger number times the probability at the smaller one. A single origin is
    left if all workers come from it and no other stays, with probability at most (1 - f)^(k-1); all draws then come
    from it.

    Args:
        people: number of workers n.
        draws: number of draws m.
        origins: number of origins k.
        alpha: prior weight of each origin.
        growth: g.
        delta: bound on the probability of draws that exceed epsilon.
        kept: the smallest probability f with which an empty origin stays.
    """
    alone = (1 - kept) ** (origins - 1) if draws > growth * (alpha + max(people - 1, 0)) * _LOWER else 0.0
    occupied = people * max(
        (_tail(people, draws, x, alpha, alpha, growth) / x for x in range(1, people + 1)), default=0.0
    )
    empty, fewer = 0.0, 2
    while fewer <= origins:
        more = min(max(fewer, int(fewer * _GRID)), origins)
        empty = max(empty, (more - 1) * _tail(people, draws, 0, alpha, (fewer - 1) * alpha, growth))
        fewer = more + 1
    return alone + empty + occupied <= delta * _MARGIN


def theorem_o_alpha(
    people: int,
    draws: int,
    origins: int,
    growth: float,
    delta: float,
    *,
    kept: float | None = None,
    unit: int | None = None,
) -> float:
    """The smallest prior weight, searched downwards from the pure one, that satisfies theorem O.

    Args:
        people: number of workers n.
        draws: number of draws m.
        origins: number of origins k.
        growth: g, which is e^epsilon - 1 except for accept/reject.
        delta: bound on the probability of draws that exceed epsilon.
        kept: with domain sampling, the smallest probability with which an empty origin stays; the bound must then hold
            for every smaller number of origins as well.
        unit: the search may end as soon as it is decided which multiple of 1 / unit is the next one above.
    """

    def holds(alpha: float) -> bool:
        if kept is None:
            return satisfies_theorem_o(people, draws, origins, alpha, growth, delta)
        return satisfies_theorem_o_for_fewer(people, draws, origins, alpha, growth, delta, kept)

    def holds_between(least: float, most: float) -> bool:
        return satisfies_theorem_o_between(people, draws, origins, (least, most), growth, delta)

    is_plain = kept is None and people > 0 and origins > 1
    return _smallest(draws / growth, holds, unit, holds_between if is_plain else None)


def _smallest(
    pure: float,
    condition: Callable[[float], bool],
    unit: int | None,
    between: Callable[[float, float], bool] | None = None,
) -> float:
    """The end of the run of weights from the pure one downwards that satisfy a condition.

    Args:
        pure: the pure weight, with which privacy needs no bound.
        condition: whether a weight suffices.
        unit: bisection ends as soon as all weights that are left have the same next multiple of 1 / unit above them.
        between: whether all weights between two surely suffice. It saves steps and changes no result.
    """
    low, many = pure, _AT_ONCE if between else 0
    while low > _SMALLEST_ALPHA:
        if between and many:
            steps = _steps_below(low, many)
            if between(steps[-1], steps[0]):
                low = steps[-1]
            else:
                many //= 2
        elif condition(low * _STEP):
            low *= _STEP
        else:
            break
    below = low * _STEP
    for _ in range(_BISECTIONS):
        if unit and ceil(low * unit) == floor(below * unit) + 1:
            break
        middle = (below + low) / 2
        if condition(middle):
            low = middle
        else:
            below = middle
    return low


def _steps_below(weight: float, many: int) -> list[float]:
    """The next weights of a search, which ends at the first that is too small."""
    found: list[float] = []
    while len(found) < many and weight > _SMALLEST_ALPHA:
        weight *= _STEP
        found.append(weight)
    return found


def acceptance_growth(epsilon: float, delta: float) -> float:
    """G of accept/reject: with p = delta, ln((g + 1) / (1 - p)) is epsilon."""
    return exp(epsilon) * (1 - delta) - 1
