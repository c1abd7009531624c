"""Plausible deniability: its privacy tests, and the privacy loss of one attempt at a record.

Counting plausible seeds (plausible_seeds) and the cost of many candidates (seed_accounting) do not belong here.

Mechanism 1 draws a seed from n rows and a candidate from the seed, counts the rows that give the candidate a
probability in the same geometric bucket as the seed does, and releases the candidate if that count passes the privacy
test.

Source: Bindschaedler, Shokri, Gunter 2017, section 2. The noise on the threshold k is Laplace there and discrete
Laplace here, because counts are integers and integer noise can be drawn exactly. With a = e^-eps0, Pr[Z = z] = (1 - a)
/ (1 + a) a^|z|, and q(c) = Pr[c >= k + Z] is a^(k-c) / (1 + a) below k and 1 - a^(c-k+1) / (1 + a) from k on. Laplace
noise has 1/2 instead of 1 / (1 + a) below k, and 1 - a^(c-k) / 2 from k on. The proofs use only properties that both
have: q(c) <= q(c+1) <= e^eps0 q(c), 1 - q(c+1) >= e^-eps0 (1 - q(c)), and q(c) <= a^(k-c).
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, expm1, floor, log, log1p
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.foundation.errors import InvalidInput
from deniable.privacy.composition import require_delta
from deniable.privacy.loss import Guarantee

NoiseLaw = Literal["discrete_laplace", "laplace"]
"""Distribution of the noise on the threshold: as drawn, or as in the paper's formulas."""

EXACT = "theorem_1_exact"
"""Name of the exact form of Theorem 1, as an accountant."""

_REACH = 60.0
# Logarithms decide the bucket of a probability unless it is this close to a bound, in relative terms.
_NEAR_A_BOUND = 1e-9
# Examining more counts than this individually would take gigabytes.
_MOST_COUNTS = 20_000_000
# Exceeds the total floating-point error of a bound on delta.
_ROUNDING = 1e-9
_DECIMALS = 10**6
_LARGEST_K = 100_000


@dataclass(frozen=True)
class PrivacyTest:
    """Decides by the number of plausible seeds whether a candidate is released.

    Test 1 passes when the count reaches k. It provides plausible deniability but not differential privacy. Test 2
    passes when the count reaches k plus discrete Laplace noise of scale 1 / eps0, fresh for each candidate.

    Attributes:
        k: number of plausible seeds required, at least 1.
        gamma: base of the geometric buckets, above 1.
        eps0: inverse scale of the noise; None for test 1.
        randomized: whether this is test 2.
    """

    k: int
    gamma: Fraction
    eps0: Fraction | None
    randomized: bool

    def __post_init__(self) -> None:
        """Refuse parameters outside the paper's definition."""
        if self.k < 1:
            raise InvalidInput(f"k must be at least 1, got {self.k}.")
        if self.gamma <= 1:
            raise InvalidInput(f"gamma must be above 1, got {self.gamma}; the paper's experiments use 4.")
        if self.randomized and (self.eps0 is None or self.eps0 <= 0):
            raise InvalidInput(f"the randomized test must have an eps0 above 0, got {self.eps0}.")
        if not self.randomized and self.eps0 is not None:
            raise InvalidInput(f"the deterministic test has no noise, got eps0={self.eps0}; leave it out.")

    def passes(self, count: int, noise: int = 0) -> bool:
        """Whether a count passes, given the noise drawn for this candidate (0 for test 1).

        Compiled code does the same for a block of attempts: `mechanism_one_kernels._keep`.
        """
        return count >= self.k + noise

    def pass_probability(self, count: int) -> float:
        """Probability q(c) that a count passes: 0 or 1 for test 1."""
        if self.eps0 is None:
            return float(count >= self.k)
        return float(pass_probability(count, k=self.k, eps0=self.eps0))


def pass_probability(
    counts: ArrayLike, *, k: int, eps0: Fraction | float, law: NoiseLaw = "discrete_laplace"
) -> NDArray[np.float64]:
    """Probability q(c) that the randomized test passes, for each count of plausible seeds."""
    distance, below, above, shrink = _around_threshold(counts, k, eps0, law)
    return np.where(distance < 0, below * shrink, 1 - above * shrink)


def fail_probability(
    counts: ArrayLike, *, k: int, eps0: Fraction | float, law: NoiseLaw = "discrete_laplace"
) -> NDArray[np.float64]:
    """Probability 1 - q(c) that the randomized test fails, to full relative precision."""
    distance, below, above, shrink = _around_threshold(counts, k, eps0, law)
    return np.where(distance < 0, 1 - below * shrink, above * shrink)


def fewest_seeds(*, k: int, eps0: Fraction | float, candidates: int, probability: float) -> int | None:
    """The largest m such that no candidate with fewer than m plausible seeds passes test 2, except with a probability.

    A candidate with c < k plausible seeds passes with probability q(c) = a^(k-c) / (1 + a), independently of others. By
    the union bound, some candidate with fewer than m passes with probability at most candidates * q(m - 1).

    Returns:
        m, from 2 to k; None if the bound is trivial, because every candidate has its own seed.
    """
    require_delta(probability)
    _require_parameters(1, eps0)
    missing = max(1, ceil((log(candidates / probability) - log1p(exp(-float(eps0)))) / float(eps0)))
    return k + 1 - missing if k + 1 - missing >= 2 else None


def bucket(probability: Fraction | float, gamma: Fraction | float) -> int:
    """The only integer i >= 0 with gamma^(-i-1) < probability <= gamma^-i, without rounding error.

    Args:
        probability: in (0, 1]. Probability 0 has no bucket.
        gamma: base of the buckets, above 1.

    Raises:
        InvalidInput: there is no such integer.

    Source: Bindschaedler, Shokri, Gunter 2017, Privacy Test 1.
    """
    if not 0 < probability <= 1:
        raise InvalidInput(f"a bucketed probability must be in (0, 1], got {probability}; 0 has no bucket.")
    if gamma <= 1:
        raise InvalidInput(f"gamma must be above 1, got {gamma}.")
    exact, base = Fraction(probability), Fraction(gamma)
    # The logarithm of a Fraction, which may be below the smallest float.
    quotient = (log(exact.denominator) - log(exact.numerator)) / log(base)
    found = max(0, floor(quotient))
    if abs(quotient - round(quotient)) < _NEAR_A_BOUND * (1 + quotient):
        while exact * base**found > 1:
            found -= 1
        while exact * base ** (found + 1) <= 1:
            found += 1
    return found


def theorem_1(*, k: int, gamma: Fraction | float, eps0: Fraction | float, t: int) -> Guarantee:
    """Cost of one attempt for its own record: (eps0 + ln(1 + gamma / t), e^(-eps0 (k - t))), 1 <= t < k.

    Neighbours differ by one row and both have at least k rows. The outputs are records; "nothing released" is not one
    of them, see `smallest_drop_probability`. Composition is over candidates tested, see seed_accounting.

    gamma = 1 is valid if a candidate has the same probability given each of its plausible seeds. This holds if the
    model copies the first m - omega attributes, in an order with parents first, and re-samples the others, with omega
    fixed: every re-sampled factor conditions on values of the candidate, so the probability is the same for every seed
    that shares the copied prefix and 0 for the others.

    Proof. Let D' = D + d', n = |D|, y a record, p > 0 its probability under d', and j the bucket of p, with c rows of
    D in it and S the sum of their probabilities; p <= gamma S / c. The probability of y is the sum over buckets of
    S_i q(c_i) / n, and for D' only bucket j grows. If c >= t then (S + p) q(c+1) <= (1 + gamma / t) S e^eps0 q(c). If
    c < t then q(c+1) <= q(t) <= e^(-eps0 (k - t)), and (S + p) / (n + 1) sums to at most 1 over all y. Removing a row
    multiplies the probability of y by at most (n + 1) / n, which is less than 1 + gamma / t because t < k <= n.

    Args:
        k: number of plausible seeds required.
        gamma: largest ratio between probabilities in one bucket, at least 1.
        eps0: inverse scale of the noise on k.
        t: trades epsilon against delta.

    Raises:
        InvalidInput: t is not in 1..k-1, gamma is below 1, or eps0 is not above 0.

    Source: Bindschaedler, Shokri, Gunter 2017, Theorem 1.
    """
    _require_parameters(gamma, eps0)
    if not 1 <= t < k:
        raise InvalidInput(f"t must be from 1 to k - 1 = {k - 1}, got {t}.")
    return Guarantee(
        epsilon=float(eps0) + log1p(float(gamma) / t), delta=exp(-float(eps0) * (k - t)), accountant="theorem_1"
    )


def best_t(*, k: int, eps0: Fraction | float, delta: float) -> int:
    """The t of Theorem 1 with the smallest epsilon, subject to a bound on delta.

    Raises:
        InvalidInput: no t satisfies it, because k is too small.
    """
    require_delta(delta)
    _require_parameters(1, eps0)
    t = min(k - 1, floor(k - log(1 / delta) / eps0) + 1)  # plus one, because the quotient may have been rounded
    while t >= 1 and exp(-float(eps0) * (k - t)) > delta:
        t -= 1
    if t < 1:
        raise InvalidInput(
            f"k must be at least {smallest_k(t=1, eps0=eps0, delta=delta)} for eps0={float(eps0):g} and "
            f"delta={delta:g}, got {k}; raise k, eps0 or delta."
        )
    return t


def t_for_epsilon(*, k: int, gamma: Fraction | float, eps0: Fraction | float, epsilon: float) -> int:
    """The t of Theorem 1 with the smallest delta, subject to a bound on epsilon.

    Raises:
        InvalidInput: no t satisfies it, because k or epsilon is too small.
    """
    _require_parameters(gamma, eps0)
    spare = epsilon - float(eps0)
    t = max(1, ceil(float(gamma) / expm1(spare)) - 1) if spare > 0 else k  # minus one, because it may have been rounded
    while t < k and theorem_1(k=k, gamma=gamma, eps0=eps0, t=t).epsilon > epsilon:
        t += 1
    if t >= k:
        raise InvalidInput(
            f"epsilon must be at least eps0 + ln(1 + gamma / (k - 1)) = "
            f"{float(eps0) + log1p(float(gamma) / max(k - 1, 1)):g}, got {epsilon:g}; raise k or lower eps0."
        )
    return t


def smallest_k(*, t: int, eps0: Fraction | float, delta: float) -> int:
    """The smallest k for which Theorem 1 at this t has at most this delta."""
    require_delta(delta)
    _require_parameters(1, eps0)
    return t + max(1, ceil(log(1 / delta) / eps0))


def smallest_drop_probability(*, epsilon: float, rows: int) -> float:
    """Smallest data-independent probability of dropping an attempt at which Theorem 1 covers "no output" as well.

    Without it, the outcome "nothing released" alone can cost delta = 1 / (n + 1): if all rows are alike, it is
    improbable, and a new row unlike them causes it whenever that row is drawn.

    Theorem 1'. If each attempt is first dropped with probability rho >= 1 / (1 + (n + 1) (e^epsilon - 1)), then the
    (epsilon, delta) of Theorem 1 holds on records and "no output" together, provided t <= gamma n.

    Proof. Dropping multiplies the probabilities of records by 1 - rho. Let B and B' be the probabilities of no output
    without dropping. The new row is drawn with probability 1 / (n + 1), and makes no other row fail more often, so
    B' <= n B / (n + 1) + 1 / (n + 1). With a = e^epsilon >= 1, rho + (1 - rho) B' - a (rho + (1 - rho) B) is at most
    rho (1 - a) + (1 - rho) / (n + 1), which is at most 0. Conversely B <= e^eps0 (n + 1) / n B', and
    (n + 1) / n <= 1 + gamma / t.

    Args:
        epsilon: the epsilon of Theorem 1.
        rows: n, or a public lower bound on it.
    """
    return 1 / (1 + (rows + 1) * expm1(epsilon))


def exact_delta(
    *,
    epsilon: float,
    rows: int,
    k: int,
    gamma: Fraction | float,
    eps0: Fraction | float,
    law: NoiseLaw = "discrete_laplace",
) -> float:
    """The smallest delta for the record of one attempt that holds for all models and all tables of n rows.

    Theorem 1-T. For e^epsilon = a >= 1, the supremum of E_a(F(D') || F(D)) over records is the largest value of
    q(c+1) (1 + c x) / (n + 1) - a c x q(c) / n with 0 <= c <= n and x in {1 / gamma, gamma}; removing a row costs
    nothing for epsilon >= ln(1 + 1/n).

    Proof. With the notation of Theorem 1 and S = c x p, the excess at y is at most p times that bracket, because the
    other buckets shrink. The bracket is linear in x, so its largest values are at the ends of [1 / gamma, gamma], and
    the p sum to at most 1 over y. The bound is approached arbitrarily closely by a d' with all its mass on one y and c
    rows that give y the probability x p.

    Args:
        epsilon: at least 0.
        rows: n, the number of rows of the smaller table.
        k: number of plausible seeds required.
        gamma: largest ratio between probabilities in one bucket, at least 1.
        eps0: inverse scale of the noise on k.
        law: distribution of that noise.
    """
    # Substituting a (n+1) / n for a turns Theorem A's bracket into this one.
    excess = np.array([expm1(epsilon) + exp(epsilon) / rows])
    gain = largest_release_gain(excess, k=k, gamma=gamma, eps0=eps0, law=law, most=rows)
    return float(gain[0]) / (rows + 1)


def delta_of_attempt(
    *,
    epsilon: float,
    k: int,
    gamma: Fraction | float,
    eps0: Fraction | float,
    public_rows: int,
    drop_probability: Fraction | float,
    law: NoiseLaw = "discrete_laplace",
) -> float:
    """The smallest delta for the record of one attempt of Mechanism 1* that holds for all models and tables.

    Theorem 1-T for Mechanism 1*. An attempt is dropped with probability rho, and draws its seed from max(n, N0) places
    (seed_accounting). For e^epsilon = a >= 1 + 1 / N0, the supremum of E_a over records, over all models, all tables
    of any size and either neighbour, is (1 - rho) u(a) / N0, where u(a) is the largest value of
    q(c+1) (1 + c x) - a c x q(c) with c >= 0 and x in {1 / gamma, gamma}, or 0.

    Proof. Let W = max(n, N0) and W' = max(n + 1, N0). Adding a row: as for Theorem 1-T, the excess at y is at most
    (1 - rho) p (q(c+1) (1 + c x) / W' - a c x q(c) / W); since W' >= W it is at most (1 - rho) p u(a) / W', and
    W' >= N0. For c < N0 it is attained as there, by a table of n = N0 - 1 rows, where W = W' = N0. Removing a row:
    every F(y) <= (W' / W) F'(y), because counts only grow, and W' / W <= 1 + 1 / N0 <= a.

    The bound is unconditional: it concerns the event that an attempt ends with a record from a set, without
    conditioning on a release. For a record that is known to have been released, the guarantee is weaker. If an attempt
    ends with a record with probability at least P on both tables, then, conditional on a release, epsilon is larger by
    at most ln(1 + 1 / N0), and delta is at most (1 + 1 / N0) delta / P.

    Proof. Let R and R' be the probabilities of a record on D and D'. By the result on removing a row,
    R <= (1 + 1/N0) R', so that F'(Y) / R' <= a F(Y) / R' + delta / R' <= a (1 + 1/N0) F(Y) / R + delta / P. And
    R' <= a R + delta, so that F(Y) / R <= (1 + 1/N0) (R' / R) F'(Y) / R' is at most (1 + 1/N0) a F'(Y) / R' +
    (1 + 1/N0) delta / P. P depends on the table, and may be arbitrarily small.

    Args:
        epsilon: at least ln(1 + 1 / N0).
        k: number of plausible seeds required.
        gamma: largest ratio between probabilities in one bucket, at least 1.
        eps0: inverse scale of the noise on k.
        public_rows: N0, a public lower bound on the number of places from which seeds are drawn.
        drop_probability: rho, the data-independent probability of dropping an attempt.
        law: distribution of the noise on k.
    """
    gain = largest_release_gain(np.array([expm1(epsilon)]), k=k, gamma=gamma, eps0=eps0, law=law)
    return (1 - float(drop_probability)) * float(gain[0]) / public_rows


def attempt_guarantee(
    *,
    delta: float,
    k: int,
    gamma: Fraction | float,
    eps0: Fraction | float,
    public_rows: int,
    drop_probability: Fraction | float,
    law: NoiseLaw = "discrete_laplace",
) -> Guarantee:
    """The smallest epsilon at a given delta, with six decimals, for the record of one attempt of Mechanism 1*.

    `delta_of_attempt` inverted: h - (a - 1) s <= delta N0 / (1 - rho) for all its lines of height h at a = 1 and slope
    -s, so a - 1 is the largest (h - delta N0 / (1 - rho)) / s.

    Raises:
        InvalidInput: no epsilon suffices at this delta, because k is too small.
    """
    require_delta(delta)
    _require_parameters(gamma, eps0)
    room = delta * public_rows / (1 - float(drop_probability)) * (1 - _ROUNDING)
    excess = 1 / public_rows
    for heights, slopes in _release_lines(k, gamma, eps0, law, None):
        over = heights > room
        if bool((slopes[over] == 0).any()):
            raise InvalidInput(
                f"k must be larger for one record to have any epsilon at delta={delta:g}, with eps0={float(eps0):g} "
                f"and {public_rows:,} public rows, got {k}; raise k, eps0 or delta."
            )
        excess = max(excess, float(((heights[over] - room) / slopes[over]).max(initial=0.0)))
    return Guarantee(ceil(log1p(excess) * _DECIMALS * (1 + _ROUNDING)) / _DECIMALS, delta, EXACT)


def smallest_k_of_attempt(
    *,
    epsilon: float,
    delta: float,
    gamma: Fraction | float,
    eps0: Fraction | float,
    public_rows: int,
    drop_probability: Fraction | float,
) -> int | None:
    """The smallest k at which one attempt of Mechanism 1* satisfies a given epsilon and delta; None if none does.

    The arguments are those of `attempt_guarantee`. Only k up to the number of public rows are useful, and searched.
    """
    if epsilon < log1p(1 / public_rows):
        return None

    def keeps(k: int) -> bool:
        spent = delta_of_attempt(
            epsilon=epsilon,
            k=k,
            gamma=gamma,
            eps0=eps0,
            public_rows=public_rows,
            drop_probability=drop_probability,
        )
        return spent <= delta * (1 - _ROUNDING)

    most = min(public_rows, _LARGEST_K)
    if not keeps(most):
        return None
    return bisect_left(range(most + 1), 1, lo=1, key=keeps)


def largest_release_gain(
    excess: NDArray[np.float64],
    *,
    k: int,
    gamma: Fraction | float,
    eps0: Fraction | float,
    law: NoiseLaw = "discrete_laplace",
    most: int | None = None,
) -> NDArray[np.float64]:
    """The largest q(c+1) (1 + c x) - a c x q(c), or 0, over counts c >= 0 and x in {1 / gamma, gamma}.

    Counts beyond k + 60 / eps0 are bounded instead of examined: there q(c+1) - q(c) is below e^-60 and c (q(c+1) -
    q(c)) decreases, so the bracket is at most 1 + x (c (q(c+1) - q(c)) - (a - 1) c q(c)) at the first of them.

    Args:
        excess: a - 1 at least 0, ascending, shape (points,).
        k: number of plausible seeds required.
        gamma: largest ratio between probabilities in one bucket, at least 1.
        eps0: inverse scale of the noise on k.
        law: law of that noise.
        most: the largest possible count; None for no limit.

    Returns:
        The largest value at each point, shape (points,).
    """
    largest = np.zeros(len(excess))
    for heights, slopes in _release_lines(k, gamma, eps0, law, most):
        largest = np.maximum(largest, highest_of_falling_lines(heights, slopes, excess))
    return largest


def _release_lines(
    k: int, gamma: Fraction | float, eps0: Fraction | float, law: NoiseLaw, most: int | None
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """For each x, the line in a - 1 of each count: its height at 0 and its negative slope, each of shape (counts,)."""
    counts = counts_that_matter(k, eps0, most)
    now = pass_probability(counts, k=k, eps0=eps0, law=law)
    after = pass_probability(counts + 1, k=k, eps0=eps0, law=law)
    failing = fail_probability(counts, k=k, eps0=eps0, law=law) - fail_probability(counts + 1, k=k, eps0=eps0, law=law)
    rise = np.where(counts < k, after - now, failing)
    for x in {1 / float(gamma), float(gamma)}:
        heights, slopes = after + x * counts * rise, x * counts * now
        if most is None or most > counts[-1]:
            heights, slopes = np.append(heights, 1 + x * counts[-1] * rise[-1]), np.append(slopes, slopes[-1])
        yield heights, slopes


def highest_of_falling_lines(
    heights: NDArray[np.float64], slopes: NDArray[np.float64], points: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The largest height - slope * point, or 0, at each of several ascending points; slopes are at least 0."""
    highest = np.zeros(len(points))
    for place, point in enumerate(points):
        values = heights - point * slopes
        highest[place] = values.max(initial=0.0)
        alive = values > 0  # negative values only decrease further
        if not alive.all():
            heights, slopes = heights[alive], slopes[alive]
    return highest


def counts_that_matter(k: int, eps0: Fraction | float, most: int | None = None) -> NDArray[np.int64]:
    """The counts 0, 1, ... up to where the test fails with probability e^-60, or up to the largest possible.

    Raises:
        InvalidInput: there are too many of them.
    """
    last = k + ceil(_REACH / eps0)
    if most is not None:
        last = min(last, most)
    if last > _MOST_COUNTS:
        raise InvalidInput(
            f"k + {_REACH:g} / eps0 must be at most {_MOST_COUNTS:,} for its cost to be computed, got {last:,}; "
            "raise eps0."
        )
    return np.arange(last + 1)


def _around_threshold(
    counts: ArrayLike, k: int, eps0: Fraction | float, law: NoiseLaw
) -> tuple[NDArray[np.float64], float, float, NDArray[np.float64]]:
    """Distance of each count from k, the noise masses on either side of it, and their decay over that distance."""
    decay = exp(-float(eps0))
    below, above = (0.5, 0.5) if law == "laplace" else (1 / (1 + decay), decay / (1 + decay))
    distance = np.asarray(counts, dtype=np.float64) - k
    return distance, below, above, np.exp(-float(eps0) * np.abs(distance))


def _require_parameters(gamma: Fraction | float, eps0: Fraction | float) -> None:
    if gamma < 1:
        raise InvalidInput(f"gamma must be at least 1, got {gamma}.")
    if eps0 <= 0:
        raise InvalidInput(f"eps0 must be above 0, got {eps0}.")
