"""Exact leading binary digits of irrational probabilities.

Uses integer arithmetic only. Draws with these probabilities do not belong here.
"""

import math
from fractions import Fraction

# Extra bits, so that the bounds on a probability agree in the requested bits.
_GUARD_BITS = 96


def tail_probabilities(linear: Fraction, quadratic: Fraction, bits: int, cut_off: int | None = None) -> list[int]:
    """Leading bits of Pr[M >= j], j = 1, 2 ..., where Pr[M = i] is proportional to exp(-linear i - quadratic i^2).

    Irrational values are bounded by two integers. If the bounds disagree in a bit, the computation is repeated with
    higher precision.

    Args:
        linear: 0 or more.
        quadratic: 0 or more, not both 0.
        bits: number of bits.
        cut_off: strict upper bound on M. If None, M is unbounded, and the list ends with the first probability whose
            leading bits are all 0, so that a number that may be below later probabilities ties with this one.

    Returns:
        The integer parts of 2^bits Pr[M >= j], descending.
    """
    guard_bits = _GUARD_BITS
    while True:
        lower, upper = _tail_sums(linear, quadratic, bits + guard_bits, cut_off)
        floors = [(tail << bits) // upper[0] for tail in lower[1:]]
        if floors == [(tail << bits) // lower[0] for tail in upper[1:]]:
            return floors if cut_off else floors[: floors.index(0) + 1]
        guard_bits *= 2


def exp_probability(exponent: Fraction, bits: int) -> int:
    """Leading bits of exp(-exponent): the integer part of 2^bits exp(-exponent)."""
    guard_bits = _GUARD_BITS
    while True:
        low, high = _exp_bounds(exponent, bits + guard_bits)
        if low >> guard_bits == high >> guard_bits:
            return low >> guard_bits
        guard_bits *= 2


def poisson_tail_probabilities(mean: Fraction, bits: int) -> list[int]:
    """Leading bits of Pr[N >= j], j = 1, 2 ..., for a Poisson number N.

    Pr[N >= j] = 1 - exp(-mean) (1 + mean + ... + mean^(j - 1) / (j - 1)!), bounded by two integers as in
    `tail_probabilities`.

    Args:
        mean: above 0, at most 1.
        bits: number of bits.

    Returns:
        The integer parts of 2^bits Pr[N >= j], descending, up to the first that is 0.
    """
    guard_bits = _GUARD_BITS
    while True:
        precision = bits + guard_bits
        one = 1 << precision
        none_low, none_high = _exp_bounds(mean, precision)
        term_low = term_high = sum_low = sum_high = one
        floors, order = [1], 0
        while floors[-1]:
            low = max(0, one - _up(none_high * sum_high, one))
            if (one - (none_low * sum_low >> precision)) >> guard_bits != low >> guard_bits:
                break
            floors.append(low >> guard_bits)
            order += 1
            term_low = term_low * mean.numerator // (mean.denominator * order)
            term_high = _up(term_high * mean.numerator, mean.denominator * order)
            sum_low, sum_high = sum_low + term_low, sum_high + term_high
        else:
            return floors[1:]
        guard_bits *= 2


def _tail_sums(
    linear: Fraction, quadratic: Fraction, precision: int, cut_off: int | None
) -> tuple[list[int], list[int]]:
    """Bounds on 2^precision sum_(i >= j) exp(-linear i - quadratic i^2), j = 0, 1 ..., from below and from above."""
    ratio_low, ratio_high = _exp_bounds(linear + quadratic, precision)
    shrink_low, shrink_high = _exp_bounds(2 * quadratic, precision)
    low = high = 1 << precision
    weights: list[tuple[int, int]] = []
    while len(weights) < cut_off if cut_off else high >> (_GUARD_BITS // 2):
        weights.append((low, high))
        low, high = low * ratio_low >> precision, _up(high * ratio_high, 1 << precision)
        ratio_low, ratio_high = ratio_low * shrink_low >> precision, _up(ratio_high * shrink_high, 1 << precision)
    # The ratio of successive weights is non-increasing, so the omitted terms are bounded by a geometric series.
    rest = 0 if cut_off else _up(high << precision, (1 << precision) - ratio_high)
    sums = [(0, rest)]
    for low, high in reversed(weights):
        sums.append((sums[-1][0] + low, sums[-1][1] + high))
    if cut_off:
        sums = sums[1:]
    return [low for low, _ in reversed(sums)], [high for _, high in reversed(sums)]


def _exp_bounds(exponent: Fraction, precision: int) -> tuple[int, int]:
    """Bounds on 2^precision exp(-exponent): the Taylor series for a fraction of it, then repeated squaring."""
    one = 1 << precision
    if exponent == 0:
        return one, one
    squarings = math.ceil(exponent).bit_length() + 1
    numerator, denominator = exponent.numerator, exponent.denominator << squarings
    # The fraction is at most 1/2: each term is at most half the previous one, and the remainder is at most the last.
    term_low = term_high = sum_low = sum_high = one
    order = 0
    while term_high > 1:
        order += 1
        term_low = term_low * numerator // (denominator * order)
        term_high = _up(term_high * numerator, denominator * order)
        sum_low, sum_high = sum_low + term_low, sum_high + term_high
    low, high = one * one // (sum_high + 1), _up(one * one, sum_low)
    for _ in range(squarings):
        low, high = low * low >> precision, _up(high * high, one)
    return low, high


def _up(numerator: int, denominator: int) -> int:
    """Quotient rounded up."""
    return -(-numerator // denominator)
