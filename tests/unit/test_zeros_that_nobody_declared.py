"""Structural zeros that nobody declared: found in noisy pairs, and kept in records of wide tables."""

from fractions import Fraction
from functools import cache, partial
from itertools import combinations
from statistics import fmean

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.keys import ReleaseKey
from deniable.learners.loglinear import learning
from deniable.learners.loglinear.estimation import maximum_entropy
from deniable.learners.loglinear.estimation.buckets import bucketed
from deniable.learners.loglinear.estimation.counting import RowCounter
from deniable.learners.loglinear.estimation.detected_zeros import occupied
from deniable.learners.loglinear.estimation.fitting import Shape
from deniable.learners.loglinear.mechanism import learn_network
from deniable.learners.loglinear.plan import LoglinearRecipe
from tests.unit.test_loglinear_learning import attribute, table

Cells = NDArray[np.float64]
DEVIATION = 100.0
ROWS, OTHERS = 20_000, 26
ASKED_OF = {"work": 6, "school": 4}
"""Attributes that apply to the same people: value 0 of each is that it does not apply."""


def noisy(truth: Cells, seed: int) -> Cells:
    """Noisy counts whose sums are those of the truth."""
    noise = np.random.default_rng(seed).normal(0, DEVIATION, truth.shape)
    noise -= noise.mean(axis=0)
    noise -= noise.mean(axis=1, keepdims=True)
    return np.asarray(truth + noise)


def skipping() -> Cells:
    """Two attributes of ten values that apply to the same people, and take values independently there."""
    truth = np.zeros((10, 10))
    truth[0, 0] = 9_000
    truth[1:, 1:] = np.multiply.outer(np.arange(1, 10), np.arange(1, 10)) * 4.5
    return truth


@pytest.mark.parametrize("seed", range(5))
def test_a_skip_pattern_is_found_though_no_cell_shows_it(seed: int) -> None:
    truth = skipping()
    rows, columns = truth.sum(axis=1), truth.sum(axis=0)
    independent = np.multiply.outer(rows, columns) / truth.sum()
    small = independent < 8 * DEVIATION
    held = occupied(noisy(truth, seed), DEVIATION, rows, columns)
    assert small[0, 1:].sum() >= 3
    assert not held[0, 1:].any()
    assert not held[1:, 0].any()
    assert held[0, 0]
    assert held[truth > 3 * DEVIATION].all()


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_found_where_attributes_are_independent_or_noise_hides_all(seed: int) -> None:
    share = np.random.default_rng(seed).dirichlet(np.full(8, 2.0), 2)
    truth = 20_000 * np.multiply.outer(*share)
    assert occupied(noisy(truth, seed), DEVIATION, truth.sum(axis=1), truth.sum(axis=0)).all()
    few = skipping() / 100
    assert occupied(noisy(few, seed), DEVIATION, few.sum(axis=1), few.sum(axis=0)).all()


def test_a_cell_is_empty_only_if_it_is_missed_and_noise_explains_what_is_left() -> None:
    truth = np.asarray([[450.0, 4_550.0, 5_000.0], [4_550.0, 450.0, 5_000.0], [5_000.0, 5_000.0, 10_000.0]])
    margins = truth.sum(axis=1)
    assert occupied(truth, 200.0, margins, margins).all()
    assert np.argwhere(~occupied(truth, 310.0, margins, margins)).tolist() == [[0, 0], [1, 1]]
    assert occupied(truth, 313.0, margins, margins).all()


def test_zeros_that_the_margins_rule_out_are_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    margins = (np.asarray([500.0, 500.0, 500.0]),) * 2
    shape = Shape((3, 3), np.zeros(2, np.bool_), None, laplace=False, searched=True)
    one = table([[500.0 / 3] * 3] * 3, 1.0, (0, 1))
    evidence = maximum_entropy.Evidence(shape, (), (one,), (None,))
    plain = maximum_entropy.denoise_tables(evidence, margins, 1500.0)[0]
    monkeypatch.setattr(maximum_entropy, "occupied", lambda *_: np.asarray([[1, 1, 1], [1, 0, 0], [1, 0, 0]], bool))
    assert maximum_entropy.denoise_tables(evidence, margins, 1500.0)[0].tolist() == plain.tolist()
    monkeypatch.setattr(maximum_entropy, "occupied", lambda *_: np.asarray([[0, 1, 1], [1, 0, 1], [1, 1, 1]], bool))
    found = maximum_entropy.denoise_tables(evidence, margins, 1500.0)[0]
    assert found[[0, 1], [0, 1]] == pytest.approx(0, abs=1e-6)
    assert found.sum(axis=0) == pytest.approx(margins[0])


def test_what_counts_exceed_their_sum_by_is_taken_off_equally() -> None:
    one = table([1_050.0, 50.0, 60.0, 40.0], 5.0)
    found = bucketed(attribute(4), one, 1_000.0, 1.0, 1e3, equally=True).counts
    assert found.sum() == pytest.approx(1_000)
    assert found[1:] == pytest.approx([0, 10, 0], abs=7)
    assert bucketed(attribute(4), one, 1_000.0, 1.0, 1e3).counts[1:].min() > 25


@cache
def people() -> tuple[Domain, Codes]:
    """A wide table of whom groups of attributes apply to the same people, and others are loosely tied."""
    chance, columns = np.random.default_rng(7), {}
    latent = chance.normal(size=ROWS)
    for name, share in (("work", 0.55), ("school", 0.3)):
        applies = latent + chance.normal(size=ROWS) > np.sqrt(2) * (0.5 - share) * 2.5
        level = chance.normal(size=ROWS)
        for i in range(ASKED_OF[name]):
            value = np.digitize(level + 1.5 * chance.normal(size=ROWS), [-2.0, -1.0, 0.0, 1.0, 2.0][: 3 + i % 3]) + 1
            columns[f"{name}{i}"] = np.where(applies, value, 0)
    for i in range(OTHERS):
        columns[f"other{i:02}"] = np.digitize(0.5 * latent + chance.normal(size=ROWS), [-0.5, 0.7, 1.5][: 1 + i % 3])
    rows = np.stack(list(columns.values()), axis=1).astype(np.uint16)
    sizes = [int(column.max()) + 1 for column in columns.values()]
    values = [(tuple(range(size)), (0,) * size) for size in sizes]
    attributes = [Attribute(name, own, "nominal", one) for name, (own, one) in zip(columns, values, strict=True)]
    return Domain(tuple(attributes), target="other00"), rows


def broken(seed: int) -> list[float]:
    """For each two attributes of a group: in how many records only one of them applies."""
    domain, rows = people()
    key = ReleaseKey(seed.to_bytes(32, "big"))

    plan = LoglinearRecipe(Fraction(4), Fraction(1, 10**9)).calibrate(domain)
    net, _ = learn_network(plan, RowCounter(lambda: [rows]), partial(key.stream, step="test", inputs=""))
    words = key.stream(step="draw", mechanism="sample", inputs="", parameters={}).take(rows.size)
    drawn, found, begun = net.sample_evenly(words), [], 0
    for size in ASKED_OF.values():
        applies = drawn[:, begun : begun + size] > 0
        found += [float((applies[:, i] != applies[:, j]).mean()) for i, j in combinations(range(size), 2)]
        begun += size
    return found


@pytest.mark.slow
def test_skip_patterns_of_a_wide_table_hold_in_nearly_all_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 4 breaks them several times as often; its draw is what is left if zeros are not looked for.

    A few of the pairs are never measured, and hold only as far as others imply them.
    """
    found = broken(1)
    assert fmean(found) < 0.0015
    monkeypatch.setattr(learning, "SEARCHED", 10**6)
    before = broken(1)
    assert fmean(before) > 0.0025
    assert max(before) > 2 * max(found)
