"""At 100,000 draws the noise has its own law and no other: one that is a tenth wider or narrower is refuted."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from deniable.foundation import noise
from deniable.foundation.keys import ReleaseKey, WordStream
from deniable.foundation.noise import DiscreteGaussian, DiscreteLaplace, Draws, Law, bernoulli_exp, uniform_below

SIZE = 100_000
FALSE_ALARM = 1e-20
# So wide that single values are too rare to be counted, and so many that whole numbers no longer matter.
CONTINUOUS_VARIANCE = 1e6

LAPLACE_SCALES = [Fraction(1, 3), Fraction(1), Fraction(10), Fraction(10_000, 134), Fraction(2**33) + Fraction(1, 7)]
SIGMAS_SQUARED = [Fraction(1, 2), Fraction(1), Fraction(1963, 10), Fraction(2**24), Fraction(2**70) + Fraction(1, 3)]
LAWS = [*map(DiscreteLaplace, LAPLACE_SCALES), *map(DiscreteGaussian, SIGMAS_SQUARED)]


def stream_of(test: str) -> WordStream:
    key = ReleaseKey(test.encode().ljust(32)[:32])
    return key.stream(step="test", mechanism=test, inputs="", parameters={})


def wider(law: Law, factor: Fraction) -> Law:
    if isinstance(law, DiscreteLaplace):
        return DiscreteLaplace(law.scale * factor)
    return DiscreteGaussian(law.sigma_squared * factor**2)


def p_value(draws: Draws, law: Law) -> float:
    """How probable draws of this law are that lie as far from it: chi-squared, or Kolmogorov-Smirnov if it is wide."""
    if law.variance > CONTINUOUS_VARIANCE:
        spread = float(law.scale) if isinstance(law, DiscreteLaplace) else float(law.sigma_squared) ** 0.5
        continuous = stats.laplace if isinstance(law, DiscreteLaplace) else stats.norm
        return float(stats.kstest(draws / spread, continuous.cdf).pvalue)
    reach = next(z for z in range(10_000) if SIZE * law.tail(z) < 10)
    # With too many bins the test would no longer tell one width from another.
    edges = range(1 - reach, reach, 1 + reach // 30)
    expected = -np.diff([1, *(law.tail(edge) for edge in edges), 0])
    observed = np.bincount(np.searchsorted(edges, draws, "right"), minlength=len(expected))
    return float(stats.chisquare(observed, SIZE * expected).pvalue)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_noise_follows_its_law_and_neither_a_narrower_nor_a_wider_one(law: Law) -> None:
    draws = law.sample(stream_of("noise_follows_its_law"), SIZE)
    assert p_value(draws, law) > FALSE_ALARM
    assert p_value(draws, wider(law, Fraction(9, 10))) < FALSE_ALARM
    assert p_value(draws, wider(law, Fraction(11, 10))) < FALSE_ALARM


def test_rejection_follows_the_law_that_inversion_follows() -> None:
    law = DiscreteGaussian(Fraction(1963, 10))
    draws = noise._sample_by_rejection(law.sigma_squared, stream_of("rejection"), SIZE)
    assert p_value(draws, law) > FALSE_ALARM
    assert p_value(draws, wider(law, Fraction(11, 10))) < FALSE_ALARM


def test_noise_made_by_python_integers_follows_its_law() -> None:
    law = DiscreteLaplace(Fraction(7, 3))
    stream = stream_of("python_integers")
    draws = np.array([noise._draw_by_digits(law, stream) for _ in range(SIZE)])
    assert p_value(draws, law) > FALSE_ALARM
    assert p_value(draws, wider(law, Fraction(11, 10))) < FALSE_ALARM


@pytest.mark.parametrize(
    ("exponent", "size"),
    # The wrong probability is at least 33 standard deviations away, and 16 at the last exponent.
    [(Fraction(1, 50), 25_000), (Fraction(1, 3), 25_000), (Fraction(1), 25_000), (Fraction(7, 2), SIZE)],
)
def test_bernoulli_draws_have_their_probability(exponent: Fraction, size: int) -> None:
    stream = stream_of("bernoulli")
    successes = sum(bernoulli_exp(stream, exponent) for _ in range(size))

    def p_value_of(probability: float) -> float:
        return float(stats.binomtest(successes, size, probability).pvalue)

    assert p_value_of(np.exp(-float(exponent))) > FALSE_ALARM
    assert p_value_of(np.exp(-float(exponent) - 0.3)) < FALSE_ALARM


@pytest.mark.parametrize("bound", [7, 1000, 3 * 2**40])
def test_uniform_integers_are_uniform(bound: int) -> None:
    words = stream_of("uniform").take(3 * SIZE)
    draws, position = np.empty(SIZE, np.int64), 0
    for index in range(SIZE):
        draws[index], position = uniform_below(words, position, bound)
    bins = 7
    counts = np.bincount(draws * bins // bound, minlength=bins)
    expected = np.diff([-(-place * bound // bins) for place in range(bins + 1)]) * (SIZE / bound)
    assert stats.chisquare(counts, expected).pvalue > FALSE_ALARM
    slanted = expected * (1 + 0.1 * np.linspace(-1, 1, bins))
    assert stats.chisquare(counts, slanted * SIZE / slanted.sum()).pvalue < FALSE_ALARM


def pairs_that_agree(draws: Draws) -> float:
    """Two-sided p-value of as many neighbouring draws lying on the same side of zero as do here."""
    signs = np.sign(draws)
    same = int((signs[:-1] * signs[1:] > 0).sum())
    return float(stats.binomtest(same, int((signs[:-1] * signs[1:] != 0).sum()), 0.5).pvalue)


@pytest.mark.parametrize(("mixed", "independent"), [(lambda draws: draws, True), (np.sort, False)])
def test_neighbouring_draws_are_independent(mixed: Callable[[Draws], Draws], independent: bool) -> None:  # noqa: FBT001
    draws = DiscreteLaplace(Fraction(10)).sample(stream_of("neighbours"), SIZE)
    assert (pairs_that_agree(mixed(draws)) > FALSE_ALARM) == independent
