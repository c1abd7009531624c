"""Posteriors of conditional probability tables and their rounding to integers."""

from hashlib import sha256

import numpy as np
import pytest

from deniable.learners.cfs.parameters import integer_weights, posterior_mean, posterior_mode, posterior_sample
from deniable.models.bayes_net import UNIT


def some_words(size: int, name: str) -> np.ndarray:
    """Words for a test, from its name."""
    seed = int.from_bytes(sha256(name.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).integers(0, UNIT, size, dtype=np.uint32)


def test_posterior_mean_and_mode_of_hand_computed_counts() -> None:
    counts = np.array([[5, 0, 2]])
    assert posterior_mean(counts, 1.0)[0] == pytest.approx([3 / 5, 1 / 10, 3 / 10])
    assert posterior_mode(counts, 1.0)[0] == pytest.approx([5 / 7, 0, 2 / 7])
    assert posterior_mean(np.zeros((1, 3), np.int64), 1 / 3)[0] == pytest.approx([1 / 3] * 3)


def test_posterior_mode_falls_back_on_the_mean_where_there_is_none() -> None:
    assert posterior_mode(np.zeros((1, 2), np.int64), 0.5)[0] == pytest.approx([0.5, 0.5])


def test_posterior_samples_have_the_posteriors_mean_and_variance() -> None:
    rows = 40_000
    counts = np.tile([[5, 0, 2]], (rows, 1))
    draws = posterior_sample(counts, 0.1, some_words(2 * counts.size, "posterior sample"))
    alpha = np.array([5.1, 0.1, 2.1])
    mean = alpha / alpha.sum()
    variance = mean * (1 - mean) / (alpha.sum() + 1)
    assert draws.sum(axis=1) == pytest.approx(np.ones(rows))
    assert np.abs(draws.mean(axis=0) - mean).max() < 6 * np.sqrt(variance.max() / rows)
    assert draws.var(axis=0) == pytest.approx(variance, rel=0.08)
    # the same check refuses draws from a posterior that saw one person more
    other = posterior_sample(counts + np.array([1, 0, 0]), 0.1, some_words(2 * counts.size, "posterior sample"))
    assert np.abs(other.mean(axis=0) - mean).max() > 6 * np.sqrt(variance.max() / rows)


def test_tiny_priors_neither_underflow_nor_divide_by_zero() -> None:
    draws = posterior_sample(np.zeros((2000, 4), np.int64), 1e-4, some_words(16_000, "tiny priors"))
    assert np.isfinite(draws).all()
    assert draws.sum(axis=1) == pytest.approx(np.ones(2000))


def test_integer_weights_add_up_and_keep_what_is_positive() -> None:
    probabilities = np.array(
        [[1 / 3, 1 / 3, 1 / 3], [1 - 1e-15, 1e-15, 0.0], [1.0, 0.0, 0.0], [0.5, 0.5 - 1e-12, 1e-12]]
    )
    weights = integer_weights(probabilities)
    assert (weights.sum(axis=1) == UNIT).all()
    assert ((weights > 0) == (probabilities > 0)).all()
    assert weights[0].tolist() == [1431655766, 1431655765, 1431655765]
    assert weights[1].tolist() == [UNIT - 1, 1, 0]


def test_integer_weights_of_many_drawn_rows_are_within_a_unit() -> None:
    words = some_words(50_000, "many rows").astype(float).reshape(500, 100) ** 8
    probabilities = words / words.sum(axis=1, keepdims=True)
    weights = integer_weights(probabilities)
    assert (weights.sum(axis=1) == UNIT).all()
    large = probabilities * UNIT > 2
    others = weights.argmax(axis=1)[:, None] != np.arange(100)
    assert np.abs(weights - probabilities * UNIT)[large & others].max() <= 1
