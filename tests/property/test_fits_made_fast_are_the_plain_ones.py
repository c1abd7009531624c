"""What makes fits fast changes no digit: each kernel against the plain formula, on random inputs, bit for bit."""

from math import sqrt
from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.foundation.domain import Attribute, Domain
from deniable.learners.loglinear.candidate_queries import CandidateQueries, CandidateQuery
from deniable.learners.loglinear.estimation import compiled_mixtures, empirical_bayes, fitting, maximum_entropy
from deniable.learners.loglinear.estimation.buckets import Bucketed
from deniable.learners.loglinear.estimation.compiled_mixtures import maximise
from deniable.learners.loglinear.estimation.detected_zeros import _is_zero, _rest_of_rows
from deniable.learners.loglinear.estimation.empirical_bayes import plain_maximise
from deniable.learners.loglinear.estimation.fitting import Fit, Shape, draw
from deniable.learners.loglinear.estimation.maximum_entropy import Estimates, Evidence, FittedModel, OrderTrials

Cells = NDArray[np.float64]
SIZES = (2, 7, 4, 1, 13, 3)
TABLES = [(0, 1), (1, 2), (0, 2), (0, 1, 2), (1, 4), (2, 4), (4, 5), (0, 5), (3, 4)]


@pytest.mark.parametrize("cells", [1, 2, 9, 100, 191, 700])
@pytest.mark.parametrize("components", [1, 2, 3, 7, 8, 9, 16, 43, 64, 131, 240])
def test_weights_of_a_mixture_are_those_of_whole_sums(cells: int, components: int) -> None:
    chance = np.random.default_rng([cells, components])
    likelihood = chance.random((cells, components)) ** 8 + 1e-9
    prior = chance.random(components)
    weights = plain = prior / prior.sum()
    weights = weights.copy()
    maximise(likelihood, weights, prior, 4)
    plain_maximise(likelihood, plain, prior, 4)
    assert weights.tobytes() == plain.tobytes()


@pytest.mark.parametrize("cells", [1, 2, 9, 191])
@pytest.mark.parametrize("laplace", [True, False])
def test_posterior_means_are_those_of_the_plain_form(cells: int, *, laplace: bool) -> None:
    chance = np.random.default_rng([cells, laplace])
    for scale in (0.0, 1.0, 1e4):
        expected = chance.random(cells) ** 4 * scale
        noisy = expected * chance.integers(0, 3, cells) + 30 * chance.standard_normal(cells)
        for deviation in (30.0, 10 + chance.random(cells)):
            found = compiled_mixtures.posterior_mean(noisy, expected, deviation, laplace=laplace)
            plain = empirical_bayes.posterior_mean(noisy, expected, deviation, laplace=laplace)
            assert found.tobytes() == plain.tobytes()


@pytest.mark.parametrize("laplace", [True, False])
def test_posterior_means_of_several_tables_are_those_of_each_alone(*, laplace: bool) -> None:
    chance = np.random.default_rng(laplace)
    # Several tables at once, one beyond what is computed at once, and a few more.
    sizes = [2, 190, 9, 40, 2500, 1, 300, 7]
    expected = [chance.random(size) ** 4 * 1000 for size in sizes]
    noisy = [own * chance.integers(0, 3, len(own)) + 30 * chance.standard_normal(len(own)) for own in expected]
    deviations = [30.0 if size % 2 else 10 + chance.random(size) for size in sizes]
    tables = list(zip(noisy, expected, deviations, strict=True))
    together = compiled_mixtures.posterior_means(noisy, expected, deviations, laplace=laplace)
    assert [own.tobytes() for own in together] == [
        empirical_bayes.posterior_mean(*table, laplace=laplace).tobytes() for table in tables
    ]
    plain = empirical_bayes.posterior_means(noisy, expected, deviations, laplace=laplace)
    assert [own.tobytes() for own in together] == [own.tobytes() for own in plain]
    assert compiled_mixtures.posterior_means([], [], [], laplace=laplace) == []


@pytest.mark.parametrize("axes", [[(0,), (1,), (2,)], [(0,), (1,), (2,), (0, 2), (1, 2)], [(0, 1), (2,)], [(1,)]])
def test_a_table_is_raked_to_each_marginal_in_turn(axes: list[tuple[int, ...]]) -> None:
    chance = np.random.default_rng(len(axes))
    table, other = chance.random((4, 3, 5)), chance.random((4, 3, 5))
    without = [tuple({0, 1, 2} - {*those}) for those in axes]
    wanted = [(those, other.sum(axis=left)) for those, left in zip(axes, without, strict=True)]
    plain = table + 1e-12
    for _ in range(20):
        for (_those, counts), left in zip(wanted, without, strict=True):
            plain *= np.expand_dims(counts, left) / plain.sum(axis=left, keepdims=True)
    assert np.allclose(fitting.raked(table, wanted), plain, rtol=1e-12, atol=0)


def shape() -> Shape:
    return Shape(SIZES, np.zeros(len(SIZES), np.bool_), 0, laplace=False)


def population(records: int, chance: np.random.Generator) -> NDArray[np.int32]:
    return np.stack([np.minimum(chance.geometric(0.4, records) - 1, size - 1) for size in SIZES]).astype(np.int32)


@pytest.mark.parametrize("records", [1, 40, 3000])
@pytest.mark.parametrize("attribute", [1, 2, 4])
def test_a_fit_groups_and_adds_up_records_one_by_one(records: int, attribute: int) -> None:
    chance = np.random.default_rng([records, attribute])
    people = population(records, chance)
    tables = [those for those in TABLES if max(those) == attribute]
    fit = Fit(attribute, tables, shape(), people)
    counts = [chance.random([SIZES[i] for i in those]) + 0.01 for those in tables]
    fit.run(chance.random(SIZES[attribute]) + 0.1, counts)
    parents = sorted({i for those in tables for i in those if i != attribute})
    numbers: dict[bytes, int] = {}
    group = [numbers.setdefault(people[parents, r].tobytes(), len(numbers)) for r in range(records)]
    assert fit.group.tolist() == group
    others = [i for i in range(attribute) if i != 0]
    for other, found in zip(others, fit.expected(others, people), strict=True):
        plain = np.zeros((SIZES[other], SIZES[attribute]))
        for r in range(records):
            plain[people[other, r]] += fit.law[group[r]]
        assert found.tobytes() == (plain / records).tobytes()
    for other, found in zip(others, fit.expected(others, people, 0), strict=True):
        plain = np.zeros((SIZES[0], SIZES[other], SIZES[attribute]))
        for r in range(records):
            plain[people[0, r], people[other, r]] += fit.law[group[r]]
        assert found.tobytes() == (plain / records).tobytes()


@pytest.mark.parametrize("sizes", [(), (3,), (40, 2, 90), (2000, 3, 5000, 70), (1 << 20, 1 << 30, 7, 1 << 29, 1 << 30)])
@pytest.mark.parametrize("records", [1, 50, 20_000])
def test_joint_buckets_are_numbered_as_they_appear(sizes: tuple[int, ...], records: int) -> None:
    chance = np.random.default_rng([*sizes, records])
    # Few distinct buckets, some of them the largest, so that joint buckets recur.
    held = [np.append(chance.integers(0, size, 9), size - 1) for size in sizes]
    people = np.asarray([own[chance.integers(0, 10, records)] for own in held], np.int32).reshape(len(sizes), records)
    group, first = np.empty(records, np.int32), np.empty(records, np.int64)
    made = fitting._group(people, np.arange(len(sizes)), np.asarray(sizes, np.int64), group, first)
    numbers: dict[bytes, int] = {}
    own = [numbers.setdefault(people[:, r].tobytes(), len(numbers)) for r in range(records)]
    assert group.tolist() == own
    assert made == len(numbers)
    earliest = {number: r for r, number in reversed(list(enumerate(own)))}
    assert first[:made].tolist() == [earliest[number] for number in range(made)]


@pytest.mark.parametrize("records", [1, 6, 3000])
@pytest.mark.parametrize("attribute", [1, 2, 4])
def test_a_fit_scales_each_distribution_entry_by_entry(records: int, attribute: int) -> None:
    chance = np.random.default_rng([records, attribute, 1])
    people = population(records, chance)
    tables = [those for those in TABLES if max(those) == attribute]
    share = chance.random(SIZES[attribute]) + 0.1
    fit = Fit(attribute, tables, shape(), people)
    fit.run(share, [chance.random([SIZES[i] for i in those]) + 0.01 for those in tables])
    first = [fit.group.tolist().index(group) for group in range(len(fit.law))]
    for codes, those in zip(fit._codes, tables, strict=True):
        parents = [i for i in those if i != attribute]
        cells = np.ravel_multi_index(tuple(people[parents][:, first]), [SIZES[i] for i in parents])
        assert codes.tolist() == cells.tolist()
    law = np.tile(share / share.sum(), (len(fit.law), 1))
    logs = [np.zeros_like(target) for target in fit._targets]
    scales = [np.ones_like(target) for target in fit._targets]
    for turn in range(fitting.PASSES * len(tables) + 1):
        before, now = ((turn + step) % len(tables) for step in (-1, 0))
        if turn:
            law *= scales[before][fit._codes[before]]
        law *= np.asarray([[1 / _from_first_to_last(own)] for own in law])
        if turn == fitting.PASSES * len(tables):
            break
        model = np.zeros_like(logs[now])
        np.add.at(model, fit._codes[now], fit._weights[:, None] * law)
        assert (model > 0).any()
        for cell in np.argwhere(model > 0):
            at, most = tuple(cell), fitting.LARGEST_FACTOR
            moved = min(max(_logarithm(fit._targets[now][at] / model[at]) + logs[now][at], -most), most)
            scales[now][at] = _exponential(moved - logs[now][at])
            logs[now][at] = moved
        scales[now][model == 0] = 1
    assert fit.law.tobytes() == law.tobytes()
    for factor, own in zip(fit.factors, logs, strict=True):
        assert factor.weights.tobytes() == own.tobytes()


@pytest.mark.parametrize("attribute", [1, 2, 4])
def test_a_fit_that_starts_from_factors_starts_where_the_fit_before_ended(attribute: int) -> None:
    chance = np.random.default_rng([attribute, 2])
    people = population(3000, chance)
    tables = [those for those in TABLES if max(those) == attribute]
    share = chance.random(SIZES[attribute]) + 0.1
    counts = [chance.random([SIZES[i] for i in those]) + 0.01 for those in tables]
    before, after, anew = (Fit(attribute, tables, shape(), people) for _ in range(3))
    before.run(share, counts, 1)
    after.run(share, counts, 0, before.factors)
    assert np.allclose(after.law, before.law, rtol=1e-12, atol=0)
    for one, other in zip(after.factors, before.factors, strict=True):
        assert one.weights.tobytes() == other.weights.tobytes()
    after.run(share, counts, 3, before.factors)
    anew.run(share, counts, 4)
    assert np.allclose(after.law, anew.law, rtol=1e-9, atol=0)
    assert np.allclose(after.law, before.law, rtol=1e-9, atol=0) == (len(tables) == 1)


@pytest.mark.parametrize("tables", [[(1, 4)], [(1, 4), (1, 2)], [(0, 1), (1, 4)], [(0, 1, 4)]])
def test_a_law_is_the_margin_times_its_factors_wherever_the_attribute_stands_in_a_table(
    tables: list[tuple[int, ...]],
) -> None:
    chance = np.random.default_rng([len(tables), 4])
    people = population(3000, chance)
    share = chance.random(SIZES[1]) + 0.1
    fit = Fit(1, tables, shape(), people)
    fit.run(share, [chance.random([SIZES[i] for i in those]) + 0.01 for those in tables])
    plain = np.tile(share, (3000, 1))
    for factor in fit.factors:
        assert np.ptp(factor.weights) > 0
        rows = np.ravel_multi_index(tuple(people[list(factor.parents)]), [SIZES[i] for i in factor.parents])
        plain *= np.exp(factor.weights[rows])
    plain /= plain.sum(axis=1, keepdims=True)
    assert np.allclose(fit.law[fit.group], plain, rtol=1e-9, atol=0)


@pytest.mark.parametrize("attribute", [1, 2, 4])
def test_misfits_are_distances_of_expected_counts_from_those_of_each_table(attribute: int) -> None:
    chance = np.random.default_rng([attribute, 3])
    people = population(3000, chance)
    tables = [those for those in TABLES if max(those) == attribute]
    counts = [chance.dirichlet(np.ones(np.prod([SIZES[i] for i in those]))) * 700 for those in tables]
    shaped = [own.reshape([SIZES[i] for i in those]) for own, those in zip(counts, tables, strict=True)]
    fit = Fit(attribute, tables, shape(), people)
    fit.run(chance.random(SIZES[attribute]) + 0.1, shaped, 1)
    for those, own, found in zip(tables, shaped, fit.misfits(700.0), strict=True):
        expected = np.zeros_like(own)
        for x in range(SIZES[attribute]):
            at = tuple(np.full(3000, x) if i == attribute else people[i] for i in those)
            np.add.at(expected, at, fit.law[fit.group, x] * 700 / 3000)
        assert found == pytest.approx(np.abs(expected - own).sum(), rel=1e-9)
        assert found > 0


def _from_first_to_last(values: Cells) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


@numba.njit
def _logarithm(value: float) -> float:
    """The logarithm of compiled code, whose last digit is not everywhere that of Python's."""
    return float(np.log(value))


@numba.njit
def _exponential(value: float) -> float:
    return float(np.exp(value))


@pytest.mark.parametrize("shape", [(1, 1), (50, 2), (400, 3), (400, 12), (100, 40)])
def test_the_empty_rest_of_a_row_is_found_row_by_row(shape: tuple[int, int]) -> None:
    chance = np.random.default_rng(shape)
    rest = 0
    for deviation in (1.0, 30.0):
        independent = chance.random(shape) * 2000
        # Rows with at most two large cells, whose other cells together hold from none to several deviations of noise.
        noisy = chance.random(shape) * (8 * deviation / shape[1])
        for row, large in enumerate(chance.integers(0, 3, shape[0])):
            noisy[row, chance.permutation(shape[1])[:large]] += 2000
        found = _rest_of_rows(noisy, independent, deviation)
        plain = np.zeros(shape, np.bool_)
        for row, order in enumerate(np.argsort(-noisy, axis=1, kind="stable")):
            for cells in range(1, min(2, shape[1] - 1) + 1):
                others = order[cells:]
                noise = deviation * sqrt(min(cells, shape[1] - cells))
                if _is_zero(noisy[row, others].sum(), independent[row, others].sum(), noise):
                    plain[row, others] = True
                    break
        assert np.array_equal(found, plain)
        rest += int(found.sum())
    assert (rest > 0) == (shape[1] > 1)


@pytest.mark.parametrize("size", [1, 2, 5, 43])
def test_a_bucket_is_drawn_by_walking_along_the_distribution(size: int) -> None:
    chance = np.random.default_rng(size)
    law = chance.random((50, size)) ** 4
    law /= law.sum(axis=1, keepdims=True)
    group = chance.integers(0, 50, 2000).astype(np.int32)
    words = chance.integers(0, 1 << 32, 2000, dtype=np.uint32)
    words[:4] = 0, 1, (1 << 32) - 1, 1 << 31
    drawn = np.empty(2000, np.int32)
    draw(group, law, words, drawn)
    for r in range(2000):
        x, running = 0, law[group[r], 0]
        while running <= words[r] / 2**32 and x < size - 1:
            x += 1
            running += law[group[r], x]
        assert drawn[r] == x


def test_of_tried_orders_the_one_with_the_least_misfit_wins_whatever_they_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(maximum_entropy, "TRIAL_PASSES", fitting.PASSES)
    chance = np.random.default_rng(7)
    records, rest = 500, list(range(1, len(SIZES)))
    for _ in range(4):
        orders = [(0, *chance.permutation(rest).tolist()) for _ in range(8)]
        words = chance.integers(0, 1 << 32, (len(SIZES), records), dtype=np.uint32)
        tables: Any = tuple(_Table(those) for those in TABLES)
        evidence = Evidence(shape(), (), tables, (None,) * len(TABLES))
        margins = tuple(chance.dirichlet(np.ones(size)) * 1000 for size in SIZES)
        counts = tuple(chance.dirichlet(np.ones(np.prod([SIZES[i] for i in those]))) * 1000 for those in TABLES)
        shaped = tuple(own.reshape([SIZES[i] for i in those]) for own, those in zip(counts, TABLES, strict=True))
        estimates = Estimates(1000.0, margins, shaped)
        misfits = [_misfit(_alone(order, evidence, estimates, words)) for order in orders]
        assert OrderTrials(evidence, estimates, words).best_of(orders) == orders[int(np.argmin(misfits))]


class _Table:
    """The attributes of a table, all that a fit reads of it."""

    def __init__(self, attributes: tuple[int, ...]) -> None:
        self.attributes = attributes


def _alone(order: tuple[int, ...], evidence: Evidence, estimates: Estimates, words: NDArray[np.uint32]) -> FittedModel:
    asked = [those for those in TABLES if len(those) == 2]
    return maximum_entropy.fit_along(order, evidence, estimates, words, asked=asked)


def _misfit(glued: FittedModel) -> float:
    return sum(
        float(np.abs(glued.expected(those) - counts).sum())
        for those, counts in zip(TABLES, glued.tables, strict=True)
        if len(those) == 2
    )


def test_extra_tables_are_ruled_out_as_they_are_chosen() -> None:
    attributes = tuple(Attribute(f"a{i}", (0, 1, 2), "nominal", (0, 1, 2)) for i in range(4))
    buckets = (Bucketed(np.arange(3, dtype=np.uint16), np.ones(3)),) * 4
    queries = CandidateQueries(Domain(attributes, target="a0"), buckets, 0)
    pair, other = CandidateQuery((1, 2)), CandidateQuery((1, 3))
    triples = [CandidateQuery(those) for those in ((0, 1, 2), (0, 1, 3), (0, 2, 3))]
    assert queries.most_triples == 3
    every = [pair, other, *triples, CandidateQuery((0, 1, 2, 3))]
    assert queries.may_follow(every, []) == every
    assert queries.may_follow(every, [pair]) == every[1:]
    assert queries.may_follow(every, triples) == [pair, other]
    by_values = [
        CandidateQuery((1, 2), 1),
        CandidateQuery((1, 2), 2),
        CandidateQuery((2, 3), 3),
        CandidateQuery((1, 3), 3),
    ]
    # The guide of 1 is 2: 1 has its guide, 2 may get none, and 1 may guide nothing.
    assert queries.may_follow(by_values, [by_values[0]]) == [CandidateQuery((2, 3), 3)]
