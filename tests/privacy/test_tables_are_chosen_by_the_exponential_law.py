"""The choice of a table has exactly the law that it is charged for."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey, WordStream
from deniable.learners.loglinear import exponential_mechanism
from deniable.learners.loglinear.exponential_mechanism import _LOG2_E, _accepted, choose

SCORES = [12, 0, 9, 12, -40, 10, 3, -100_000]
EPSILON = Fraction(7, 10)
DRAWS = 20_000


def stream(name: str) -> WordStream:
    return ReleaseKey(bytes(32)).stream(step="test", mechanism=name, inputs="", parameters={})


def law(epsilon: float) -> np.ndarray:
    weights = np.exp(epsilon * (np.asarray(SCORES, float) - max(SCORES)) / 2)
    return weights / weights.sum()


@pytest.fixture(scope="module")
def counts() -> np.ndarray:
    words = stream("law")
    picks = [choose(SCORES, sensitivity=1, epsilon=EPSILON, stream=words) for _ in range(DRAWS)]
    return np.bincount(picks, minlength=len(SCORES))


def fit(counts: np.ndarray, epsilon: float) -> float:
    expected = law(epsilon) * DRAWS
    frequent = expected > 5
    observed = np.append(counts[frequent], counts[~frequent].sum())
    wanted = np.append(expected[frequent], expected[~frequent].sum())
    kept = wanted > 0
    return float(chisquare(observed[kept], wanted[kept] * observed.sum() / wanted[kept].sum()).pvalue)


def test_choices_follow_the_exponential_law(counts: np.ndarray) -> None:
    assert fit(counts, float(EPSILON)) > 1e-9


@pytest.mark.parametrize("factor", [0.85, 1.15])
def test_another_epsilon_would_be_noticed(counts: np.ndarray, factor: float) -> None:
    assert fit(counts, float(EPSILON) * factor) < 1e-9


def test_scores_are_scaled_by_their_sensitivity() -> None:
    words = stream("scaled")
    picks = [
        choose([5 * score for score in SCORES], sensitivity=5, epsilon=EPSILON, stream=words) for _ in range(DRAWS)
    ]
    assert fit(np.bincount(picks, minlength=len(SCORES)), float(EPSILON)) > 1e-9


def test_what_is_far_behind_is_refused_by_its_exact_probability() -> None:
    """At level 3 an exponent of 4 ln 2 is accepted every other time, one of 300 never."""
    words = stream("accepted")
    exponent = Fraction(2_772_588_722_239_781, 10**15)
    accepted = sum(_accepted(words, exponent, 3) for _ in range(4_000))
    assert 1_800 < accepted < 2_200
    assert not any(_accepted(words, Fraction(300), 256) for _ in range(100))
    assert all(_accepted(words, Fraction(0), 0) for _ in range(100))


def test_a_candidate_that_is_far_behind_is_proposed_with_the_smallest_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proposal weights are 2^256 for the best candidate and 1 at the end; their sum is the bound of the first draw."""
    bounds: list[int] = []

    def first(_: WordStream, bound: int) -> int:
        bounds.append(bound)
        return 0

    monkeypatch.setattr(exponential_mechanism, "uniform_integer", first)
    assert choose([0, -100_000, -1], sensitivity=1, epsilon=2 / _LOG2_E, stream=stream("far")) == 0
    assert bounds == [2**256 + 1 + 2**255]


def test_scores_must_be_whole_numbers() -> None:
    with pytest.raises(InvalidInput, match="all of them integers"):
        choose([1.5], sensitivity=1, epsilon=EPSILON, stream=stream("refused"))  # type: ignore[list-item]
    with pytest.raises(InvalidInput, match="at least one"):
        choose([], sensitivity=1, epsilon=EPSILON, stream=stream("refused"))
