from collections import Counter
from decimal import Decimal, getcontext
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from scipy import stats

from deniable.foundation.errors import InvalidInput
from deniable.foundation.exact_probabilities import poisson_tail_probabilities
from deniable.foundation.keys import ReleaseKey, WordStream
from deniable.plausible_deniability.poisson_numbers import _sum_of_draws, draw_poisson

FALSE_ALARM = 1e-9


def stream(number: int) -> WordStream:
    return ReleaseKey(number.to_bytes(32, "big")).stream(step="test", mechanism="poisson", inputs="", parameters={})


class Words(WordStream):
    """A stream of given words, and zeros after them."""

    def __init__(self, *words: int) -> None:
        self._words = list(words)
        self.taken = 0

    def take(self, count: int) -> np.ndarray:
        taken, self._words = self._words[:count], self._words[count:]
        self.taken += count
        return np.asarray([*taken, *[0] * (count - len(taken))], np.uint32)


@pytest.mark.parametrize("mean", [Fraction(1), Fraction(1, 3), Fraction(1, 10**6)])
def test_tails_agree_with_decimals(mean: Fraction) -> None:
    getcontext().prec = 80
    exact = Decimal(mean.numerator) / Decimal(mean.denominator)
    term, total, tails = Decimal(1), Decimal(1), []
    for order in range(1, 40):
        tails.append(1 - (-exact).exp() * total)
        term *= exact / order
        total += term
    found = poisson_tail_probabilities(mean, 64)
    assert found == [int(tail * 2**64) for tail in tails[: len(found)]]
    assert found[-1] == 0 < found[-2]


@pytest.mark.parametrize("mean", [Fraction(1, 5), Fraction(1), Fraction(7, 3)])
def test_draws_follow_their_law_and_not_one_with_a_tenth_more(mean: Fraction) -> None:
    words = stream(1)
    seen = Counter(draw_poisson(mean, words) for _ in range(6000))

    def fit(rate: float) -> float:
        last = int(rate + 5 * sqrt(rate) + 3)
        expected = [6000 * stats.poisson.pmf(j, rate) for j in range(last)] + [6000 * stats.poisson.sf(last - 1, rate)]
        observed = [seen[j] for j in range(last)] + [sum(n for j, n in seen.items() if j >= last)]
        common = [(o, e) for o, e in zip(observed, expected, strict=True) if e > 5]
        rest = (6000 - sum(o for o, _ in common), 6000 - sum(e for _, e in common))
        pairs = [*common, rest] if rest[1] > 1e-9 else common
        statistic = sum((o - e) ** 2 / e for o, e in pairs)
        return float(stats.chi2.sf(statistic, len(pairs) - 1))

    assert fit(float(mean)) > FALSE_ALARM
    assert fit(1.1 * float(mean)) < 1e-3


def test_a_large_mean_is_the_sum_of_small_ones() -> None:
    words = stream(2)
    drawn = [draw_poisson(Fraction(5001, 10), words) for _ in range(200)]
    z = (sum(drawn) - 200 * 500.1) / sqrt(200 * 500.1)
    assert abs(z) < stats.norm.isf(FALSE_ALARM / 2)
    assert 0.5 < np.var(drawn) / 500.1 < 1.6


def test_a_tie_is_decided_by_further_digits() -> None:
    mean = Fraction(1, 3)
    first = poisson_tail_probabilities(mean, 64)[0]
    more = poisson_tail_probabilities(mean, 96)[0] & 0xFFFFFFFF
    for digit, expected in ((more - 1, 1), (more + 1, 0)):
        words = Words(first >> 32, first & 0xFFFFFFFF, digit)
        assert draw_poisson(mean, words) == expected
        assert words.taken == 3
    assert draw_poisson(mean, Words((first - 1) >> 32, (first - 1) & 0xFFFFFFFF)) == 1
    assert draw_poisson(mean, Words((first + 1) >> 32, (first + 1) & 0xFFFFFFFF)) == 0


def test_a_tie_with_any_threshold_is_decided_by_further_digits() -> None:
    """Ties with the first and with the third tail, whose next digits decide; a third number ties with none."""
    mean = Fraction(1, 2)
    tails, finer = poisson_tail_probabilities(mean, 64), poisson_tail_probabilities(mean, 96)
    uniform = [tails[0], tails[2], tails[1] - 1]
    digits = [finer[0] & 0xFFFFFFFF, finer[2] & 0xFFFFFFFF]
    words = [half for number in uniform for half in divmod(number, 1 << 32)]
    for steps, more in (((-1, -1), (1, 3, 2)), ((1, -1), (0, 3, 2)), ((-1, 1), (1, 2, 2))):
        decided = [digit + step for digit, step in zip(digits, steps, strict=True)]
        assert _sum_of_draws(mean, Words(*words, *decided), 3) == sum(more)


@pytest.mark.parametrize("mean", [Fraction(0), Fraction((1 << 30) + 1), 0.5])
def test_other_means_are_refused(mean: Fraction) -> None:
    with pytest.raises(InvalidInput, match="the mean of a Poisson number"):
        draw_poisson(mean, stream(3))
