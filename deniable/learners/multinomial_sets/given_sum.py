r"""Exact means and variances of whole numbers that are independent except that they have a given sum.

Let x = (x_1 .. x_K) have the law P(x) ~ f_1(x_1) .. f_K(x_K) on the whole numbers of 0 or more whose sum is n, where
every f_k is log-concave: f_k(j + 1) / f_k(j) does not increase with j. Nothing is simulated or enumerated.

**Tilting.** P does not change if every f_k(j) is multiplied by e^(-s j), because that multiplies P by e^(-s n). So x
has the law of independent X_k with probabilities q_k(j) ~ f_k(j) e^(-s j), given that their sum S is n. s is chosen so
that n is within half a standard deviation of the mean of S, which is log-concave, too: then P(S = n) is of the order of
one over that deviation, and nothing underflows.

**Inversion.** With phi_k the characteristic function of X_k, t_l = 2 pi l / T, and any function g,

    E[g(X_k); S = n mod T] = (1 / T) sum over l < T of E[g(X_k) e^(i t_l X_k)] prod_{h not k} phi_h(t_l) e^(-i t_l n).

g = 1, the number and its square give the mean and the variance. Products without one factor are products of those
before it and those after it, so nothing is divided. Numbers with the same f share their transforms.

**Error.** Three parts are left out, each of relative size e^-60 = 9e-27 times at most a few powers of n and K:
- probabilities of X_k below e^-60 of the largest: by log-concavity they decrease geometrically beyond the window;
- sums that equal n modulo T only: P(|S - n| >= T) <= e^(C(r) - r T) with C(r) = ln E[e^(+-r (S - n))], for
  any r > 0 (Chernoff); T is the smallest power of two for which that is e^-60, or for which there are no such sums;
- frequencies at which the product is below e^-60: a unimodal law with largest probability M has |phi(t)| <= M /
  sin(t / 2), because |1 - e^(it)| |phi(t)| is at most the sum of |q(j) - q(j - 1)|, which is 2 M. The bound on the
  product decreases with t.

Rounding errors are larger: u = 2^-53 for each of K factors, of the log2 T steps of a transform, and of up to 60 w
additions of logarithms in a window of w numbers. The absolute values of the terms sum to a few times their sum, since n
is near the mode. So means and deviations are right to within (K + log2 T + 60 w) u deviations times a small factor:
below 1e-9 for w up to 10^5, and in tests against exact fractions below 1e-11.

Needs NumPy alone.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil, exp, log, log1p, pi

import numpy as np
from numpy.typing import NDArray

from deniable.command_names import command_line
from deniable.foundation.errors import InvalidInput

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
LogRatio = Callable[[Integers, Floats], Floats]
"""ln f(j + 1) / f(j) of some factors, shape (factors,), at numbers j, shape (factors, numbers) or (factors,)."""

MOST_PROBABILITIES, MOST_VALUES = 20_000_000, 20_000_000
"""Largest numbers of probabilities, and of values of characteristic functions, that are held at once."""
_NEGLIGIBLE = 60.0
_NEAR = 0.5
_NARROW = 1e-3
_IN_A_BLOCK = 1 << 20
_RATES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True)
class _Block:
    """The tilted laws of some factors, on windows of one width.

    Attributes:
        factors: the factors, shape (b,).
        low: the first number of each window, shape (b,).
        law: probabilities of the numbers from there on, shape (b, width).
    """

    factors: Integers
    low: Integers
    law: Floats

    @property
    def numbers(self) -> Floats:
        """The numbers of each window, less the first."""
        return np.arange(self.law.shape[1], dtype=np.float64)

    @property
    def means(self) -> Floats:
        """Means of the laws, less the first number."""
        return np.asarray((self.law * self.numbers).sum(axis=1))

    @property
    def variances(self) -> Floats:
        """Variances of the laws."""
        return np.asarray((self.law * (self.numbers - self.means[:, np.newaxis]) ** 2).sum(axis=1))


def moments_given_sum(log_ratio: LogRatio, several: Integers, total: int, expected: float) -> tuple[Floats, Floats]:
    """Means and variances of the numbers, given their sum.

    Args:
        log_ratio: of the different factors f, decreasing with the number, and 0 or more for all of them.
        several: how many numbers have each factor, shape (factors,); two or more in all.
        total: the sum n, 1 or more.
        expected: about how large the sum of the shapes of the factors is, if f is like that of a negative binomial law;
            where the search for the tilt begins.

    Returns:
        For each factor the mean and the variance of a number that has it, shapes (factors,).

    Raises:
        InvalidInput: it would take too much memory.
    """
    blocks, deviation = _tilted(log_ratio, several, total, expected)
    low = _in_order([block.low for block in blocks], blocks)
    centres = _in_order([block.means for block in blocks], blocks)
    target = total - int((several * low).sum())
    period = _period(blocks, several, target, deviation)
    count = _frequencies(blocks, several, period)
    if len(several) * count > MOST_VALUES:
        raise _too_large(total, int(several.sum()))
    transforms = np.empty((len(several), count), np.complex128)
    for block in blocks:
        transforms[block.factors] = _transform(block.law, period, count)
    places = np.arange(count)
    rest = np.exp(2j * pi / period * ((places * (target % period)) % period))
    # Conjugate frequencies are not listed: all but 0 and half the period count twice.
    rest *= np.where((places == 0) | (2 * places == period), 1.0, 2.0)
    after = np.empty_like(transforms)
    product = np.ones(count, np.complex128)
    for factor in range(len(several) - 1, -1, -1):
        after[factor] = product
        product = product * transforms[factor] ** several[factor]
    whole = float((rest * product).real.sum())
    place_of = {int(factor): (block, row) for block in blocks for row, factor in enumerate(block.factors)}
    means, variances = np.empty(len(several)), np.empty(len(several))
    for factor in range(len(several)):
        own = transforms[factor] ** (several[factor] - 1)
        others = rest * own * after[factor]
        block, row = place_of[factor]
        gaps = block.numbers - centres[factor]
        law = block.law[row]
        first, second = (
            float((_transform(law * gaps**power, period, count) * others).real.sum()) / whole for power in (1, 2)
        )
        means[factor] = low[factor] + centres[factor] + first
        variances[factor] = max(second - first**2, 0.0)
        rest = rest * own * transforms[factor]
    return means, variances


def _tilted(log_ratio: LogRatio, several: Integers, total: int, expected: float) -> tuple[list[_Block], float]:
    """The tilted laws whose sum has a mean near the total, and the standard deviation of that sum.

    The mean of a negative binomial law is linear in u = 1 / (e^s - 1). Newton's steps are in u, and at most double it:
    far too large a mean would need far too wide windows. Steps that leave the bracket divide it, in ln u.
    """
    least, most, reach, is_wide = -np.inf, np.inf, 1.0, False
    place = log(total / expected)
    while True:
        tilt = float(np.logaddexp(0.0, -place))
        low, high = _windows(log_ratio, np.arange(len(several)), total, tilt)
        share = -1.0
        if int((high - low + 1).sum()) <= MOST_PROBABILITIES:
            blocks = list(_laws(log_ratio, low, high, tilt))
            mean = float(sum((several[block.factors] * (block.low + block.means)).sum() for block in blocks))
            variance = float(sum((several[block.factors] * block.variances).sum() for block in blocks))
            gap = total - mean
            if abs(gap) <= max(_NEAR * variance**0.5, _NEAR):
                return blocks, max(variance**0.5, _NEAR)
            if variance > 0:
                share = min(gap * (1 + exp(min(place, _NEGLIGIBLE))) / variance, 1.0)
            least, most, is_wide = (place, most, is_wide) if gap > 0 else (least, place, False)
        else:
            most, is_wide = place, True
        place += log1p(share) if share > -1 else -np.inf
        if not least < place < most:
            place, reach = (least + most) / 2, 2 * reach
            if least == -np.inf or most == np.inf:
                place = least + reach if most == np.inf else most - reach
        if is_wide and most - least < _NARROW:
            raise _too_large(total, int(several.sum()))


def _laws(log_ratio: LogRatio, low: Integers, high: Integers, tilt: float) -> Iterator[_Block]:
    """The tilted laws on their windows, in blocks of similar widths."""
    widths = high - low + 1
    order = np.argsort(widths, kind="stable")
    start = 0
    while start < len(order):
        # Rows of a block are at most twice as wide as its narrowest.
        narrow = widths[order[start]]
        stop = start + 1
        while stop < len(order) and widths[order[stop]] <= min(2 * narrow, _IN_A_BLOCK // (stop + 1 - start)):
            stop += 1
        own = order[start:stop]
        numbers = low[own, np.newaxis] + np.arange(widths[order[stop - 1]])
        steps = log_ratio(own, numbers.astype(np.float64)) - tilt
        logs = np.zeros(numbers.shape)
        np.cumsum(steps[:, :-1], axis=1, out=logs[:, 1:])
        logs[numbers > high[own, np.newaxis]] = -np.inf
        law = np.exp(logs - logs.max(axis=1, keepdims=True))
        yield _Block(own, low[own], law / law.sum(axis=1, keepdims=True))
        start = stop


def _windows(log_ratio: LogRatio, factors: Integers, total: int, tilt: float) -> tuple[Integers, Integers]:
    """The first and last number of each law's window, outside of which probabilities are below e^-60 of the largest.

    Beyond a number at which a law decreases by a ratio e^-d, it decreases by at least that ratio from each number to
    the next, so that 60 / d numbers further it is negligible. The nearest of several such ends is taken.
    """

    def slope(numbers: Integers) -> Floats:
        return log_ratio(factors, numbers.astype(np.float64)) - tilt

    below, above = np.zeros(len(factors), np.int64), np.full(len(factors), total)
    while (below < above).any():
        middle = (below + above) // 2
        rises = slope(middle) > 0
        below, above = np.where(rises & (below < above), middle + 1, below), np.where(rises, above, middle)
    mode = below
    low, high = np.zeros(len(factors), np.int64), np.full(len(factors), total)
    reach = 0
    while reach <= total:
        right, left = mode + reach, mode - 1 - reach
        with np.errstate(divide="ignore"):
            ends = right + np.ceil(_NEGLIGIBLE / np.maximum(-slope(right), 0.0))
            begins = left + 1 - np.ceil(_NEGLIGIBLE / np.maximum(slope(np.maximum(left, 0)), 0.0))
        high = np.minimum(high, np.where(ends < total, ends, total).astype(np.int64))
        low = np.maximum(low, np.where((left >= 0) & (begins > 0), begins, 0).astype(np.int64))
        reach = max(1, 2 * reach)
    return low, high


def _period(blocks: list[_Block], several: Integers, target: int, deviation: float) -> int:
    """The smallest power of two at which sums that equal the target modulo it are negligible, or do not occur."""
    width = sum(int(several[block.factors].sum()) * (block.law.shape[1] - 1) for block in blocks)
    least = float(max(width, target, width - target) + 1)
    mean = float(sum((several[block.factors] * block.means).sum() for block in blocks))
    for factor in _RATES:
        rate = factor / deviation
        bounds = []
        for side in (rate, -rate):
            found = side * (mean - target)
            for block in blocks:
                gaps = block.numbers - block.means[:, np.newaxis]
                found += float((several[block.factors] * _log_mean_exp(block.law, side * gaps)).sum())
            bounds.append(found)
        least = min(least, (max(bounds) + _NEGLIGIBLE) / rate)
    return 1 << max(1, (ceil(least) - 1).bit_length())


def _log_mean_exp(law: Floats, exponents: Floats) -> Floats:
    largest = exponents.max(axis=1, keepdims=True)
    return np.asarray(np.log((law * np.exp(exponents - largest)).sum(axis=1)) + largest[:, 0])


def _frequencies(blocks: list[_Block], several: Integers, period: int) -> int:
    """Number of frequencies from 0 on at which a product without one factor is not negligible."""
    largest = np.log(_in_order([block.law.max(axis=1) for block in blocks], blocks))
    least = float(largest.min())

    def is_negligible(place: int) -> bool:
        sine = log(np.sin(pi * place / period))
        bound = float((several * np.minimum(largest - sine, 0.0)).sum()) - min(least - sine, 0.0)
        return bound < -_NEGLIGIBLE

    low, high = 1, period // 2 + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_negligible(middle) else (middle + 1, high)
    return low


def _transform(law: Floats, period: int, count: int) -> NDArray[np.complex128]:
    """The sum over the numbers of a law times e^(-i t number), at the first frequencies."""
    spare = -law.shape[-1] % period
    folded = np.pad(law, [(0, 0)] * (law.ndim - 1) + [(0, spare)])
    folded = folded.reshape(*law.shape[:-1], -1, period).sum(axis=-2)
    return np.asarray(np.fft.rfft(folded, axis=-1)[..., :count])


def _in_order(parts: list[NDArray], blocks: list[_Block]) -> NDArray:  # type: ignore[type-arg]
    """An array by factor, from its parts by block."""
    found = np.empty(sum(map(len, parts)), parts[0].dtype)
    for part, block in zip(parts, blocks, strict=True):
        found[block.factors] = part
    return found


def _too_large(total: int, numbers: int) -> InvalidInput:
    return InvalidInput(
        f"the posterior of {total:,} people in {numbers:,} cells would take too much memory; ask for the shares of a "
        f"few cells with {command_line('data infer')}."
    )
