from fractions import Fraction

import mpmath
import pytest

from deniable.foundation.exact_probabilities import exp_probability, tail_probabilities


@pytest.mark.parametrize("bits", [1, 31, 63, 200])
@pytest.mark.parametrize("exponent", [Fraction(1, 10**30), Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(1000)])
def test_exp_has_true_digits(exponent: Fraction, bits: int) -> None:
    with mpmath.workprec(2000):
        expected = int(mpmath.floor(mpmath.exp(-mpmath.mpf(exponent.numerator) / exponent.denominator) * 2**bits))
    assert exp_probability(exponent, bits) == expected


def test_exp_of_nothing_is_certain() -> None:
    assert exp_probability(Fraction(0), 32) == 1 << 32


@pytest.mark.parametrize("scale", [Fraction(1, 50), Fraction(1, 3), Fraction(10), Fraction(5000, 67)])
def test_geometric_tail_has_true_digits(scale: Fraction) -> None:
    ours = tail_probabilities(1 / scale, Fraction(0), 63)
    with mpmath.workprec(400):
        ratio = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
        assert ours == [int(mpmath.floor(ratio**j * 2**63)) for j in range(1, len(ours) + 1)]
    assert ours[-1] == 0
    assert 0 not in ours[:-1]


@pytest.mark.parametrize("scale", [Fraction(70), Fraction(2**50) + Fraction(1, 7)])
def test_geometric_tail_that_is_cut_off_has_true_digits(scale: Fraction) -> None:
    ours = tail_probabilities(1 / scale, Fraction(0), 63, cut_off=64)
    with mpmath.workprec(400):
        ratio = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
        expected = [int(mpmath.floor((ratio**j - ratio**64) / (1 - ratio**64) * 2**63)) for j in range(1, 64)]
    assert ours == expected


@pytest.mark.parametrize("sigma_squared", [Fraction(1, 100), Fraction(1, 2), Fraction(1963, 10), Fraction(10**4, 3)])
def test_gaussian_tail_has_true_digits(sigma_squared: Fraction) -> None:
    ours = tail_probabilities(Fraction(0), 1 / (2 * sigma_squared), 63)
    with mpmath.workprec(400):
        twice = 2 * mpmath.mpf(sigma_squared.numerator) / sigma_squared.denominator
        weights = [mpmath.exp(-(i**2) / twice) for i in range(3 * len(ours))]
        total = mpmath.fsum(weights)
        assert ours == [int(mpmath.floor(mpmath.fsum(weights[j:]) / total * 2**63)) for j in range(1, len(ours) + 1)]


def test_more_digits_begin_with_the_same_digits() -> None:
    few = tail_probabilities(Fraction(1, 10), Fraction(0), 63)
    many = tail_probabilities(Fraction(1, 10), Fraction(0), 95)
    assert [threshold >> 32 for threshold in many[: len(few)]] == few
