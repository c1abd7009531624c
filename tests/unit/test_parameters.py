"""Noisy counts made non-negative, posteriors of conditional probability tables, and their rounding to integers."""

from fractions import Fraction
from functools import partial
from hashlib import sha256
from itertools import product

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.keys import ReleaseKey
from deniable.foundation.tables import FamilyCounts
from deniable.learners.cfs.parameters import (
    ParameterRecipe,
    integer_weights,
    nearest_with_noisy_totals,
    posterior_mean,
    posterior_mode,
    posterior_sample,
)
from deniable.models.bayes_net import UNIT
from deniable.models.graph import Graph


def some_words(size: int, name: str) -> np.ndarray:
    """Words for a test, from its name."""
    seed = int.from_bytes(sha256(name.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).integers(0, UNIT, size, dtype=np.uint32)


def test_noisy_counts_are_projected_on_their_total_by_hand() -> None:
    noisy = np.array([[5, -2, 0, 1], [7, 7, -20, 8], [3, 0, 0, 0], [-1, -2, -3, -4], [1, 1, -2, 0], [2, 2, -1, 0]])
    third = [[4, 0, 0, 0], [1 / 3, 1 / 3, 0, 4 / 3], [3, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [3 / 2, 3 / 2, 0, 0]]
    assert nearest_with_noisy_totals(noisy) == pytest.approx(np.array(third))


def test_no_other_non_negative_counts_with_the_noisy_total_are_nearer() -> None:
    """By the conditions that only the nearest satisfies: what is above 0 was lowered by one amount, others by less."""
    rows = np.array(list(product(range(-3, 5), repeat=4)))
    nearest = nearest_with_noisy_totals(rows)
    total = np.maximum(rows.sum(axis=1), 0)
    assert nearest.min() >= 0
    assert nearest.sum(axis=1) == pytest.approx(total)
    lowered = rows - nearest
    taken = np.where(nearest > 0, lowered, -np.inf).max(axis=1)
    some = total > 0
    assert (np.abs(np.where(nearest > 0, lowered - taken[:, None], 0))[some] < 1e-12).all()
    assert (lowered <= taken[:, None] + 1e-12)[some].all()
    assert (nearest[~some] == 0).all()


def test_noise_on_values_that_nobody_has_takes_no_share_from_those_that_people_have() -> None:
    """Set to 0 where negative, the noise of 39 such values would add several hundred records to the 1,000."""
    attribute = Attribute("town", tuple(range(40)), "nominal", tuple(range(40)))
    domain = Domain((attribute,))
    graph = Graph.without_edges(domain)
    counts = FamilyCounts(domain, graph.parents)
    counts.add(np.zeros((1000, 1), np.uint16))
    recipe = ParameterRecipe(Fraction(1, 20), Fraction(0), "laplace", Fraction(1), "mean")
    open_stream = partial(ReleaseKey(bytes(32)).stream, step="learn_parameters", inputs="")
    shares = recipe.calibrate(domain).run(counts, graph, open_stream).weights[0][0] / UNIT
    assert shares[0] > 0.9


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
