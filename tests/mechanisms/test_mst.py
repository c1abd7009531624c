"""MST: amounts by hand, laws of noise and of choice, the audit with forced answers, and what verification finds."""

import json
from collections import Counter as Multiset
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import exp, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from deniable.evaluation.subgroup_error import subgroup_error
from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey, WordStream
from deniable.foundation.noise import DiscreteGaussian
from deniable.foundation.rules import Impossible
from deniable.learners.loglinear.estimation.counting import Partition, RowCounter
from deniable.learners.mst import learning as mst_learning
from deniable.learners.mst.learning import Learnt, impossible_cells, learn
from deniable.learners.mst.measuring import Queries
from deniable.learners.mst.network import network_of
from deniable.learners.mst.plan import Layout, MstPlan, MstRecipe, planned, stated_plan
from deniable.learners.mst.pooling import pooled, without_noise
from deniable.learners.mst.published import faults_of_estimates, faults_of_noise, faults_of_tree
from deniable.learners.mst.selection import candidates, choose_tree, dependence, expected_counts
from deniable.learners.mst.steps import made_of
from deniable.measurements.document import Choice, Measurements
from deniable.measurements.noisy_tables import MeasuredTable, NoiseLaw, Release
from deniable.models.bayes_net import UNIT, BayesNet
from deniable.models.model_formats import model_from_document
from deniable.privacy.accounting import best
from deniable.privacy.loss import DiscreteGaussianEvent, ExponentialEvent
from tests.drawn_noise import OneStream, each_is_on_its_own

FALSE_ALARM = 1e-9
RUNS = 4_000
Document = dict[str, Any]

PEOPLE = Domain(
    (
        Attribute("town", tuple("abcd"), "nominal", (0, 0, 1, 1)),
        Attribute("street", tuple("pqr"), "nominal", (0, 1, 2)),
        Attribute("planet", ("earth",), "nominal", (0,)),
        Attribute("sex", ("f", "m"), "nominal", (0, 1)),
        Attribute("age", tuple(range(30)), "numeric", tuple(i // 5 for i in range(30))),
    )
)


def people(rows: int, number: int = 0) -> Codes:
    """Streets follow from towns, ages from sexes, and few people are old; nothing else depends on anything."""
    draw = np.random.default_rng([number, *b"people"])
    town, sex = draw.integers(0, 4, rows), draw.integers(0, 2, rows)
    street = np.where(draw.random(rows) < 0.9, (town // 2) * 2, draw.integers(0, 3, rows))
    age = np.where(draw.random(rows) < 0.9, sex * 10 + draw.integers(0, 10, rows), draw.integers(0, 30, rows))
    return np.stack([town, street, 0 * town, sex, age], axis=1).astype(np.uint16)


def plan_for(epsilon: str = "1", domain: Domain = PEOPLE) -> MstPlan:
    return MstRecipe(Fraction(epsilon), Fraction(1, 10**6)).calibrate(domain, Layout.of_tree(domain))


def streams(number: int) -> Callable[..., WordStream]:
    return partial(ReleaseKey(number.to_bytes(32, "big")).stream, step="learn", inputs="people")


def learnt(plan: MstPlan, codes: Codes, number: int = 0) -> tuple[Queries, Learnt]:
    queries = Queries(plan, streams(number))
    return queries, learn(queries, RowCounter(lambda: [codes]), "noisy")


@pytest.fixture(scope="module")
def vectors(shared: Path) -> Document:
    known: Document = json.loads((shared / "vectors" / "vectors2.json").read_text())["mst"]
    return known


def binary(attributes: int) -> Domain:
    return Domain(tuple(Attribute(f"a{i}", (0, 1), "nominal", (0, 1)) for i in range(attributes)))


def test_amounts_are_those_of_the_paper(vectors: Document) -> None:
    domain = binary(11)
    recipe = MstRecipe(Fraction(1), Fraction(1, 10**9))
    plan = planned(recipe, domain, Layout.of_tree(domain), vectors["rho_eps1_delta1e9"])
    assert sqrt(plan.one_way_variance) == pytest.approx(vectors["sigma_per_1way_d11"], rel=5e-4)
    assert float(plan.choice_epsilon) == pytest.approx(vectors["eps_em_10_picks"], rel=1e-3)
    (variance,) = plan.table_variances
    assert sqrt(variance) == pytest.approx(vectors["sigma_per_2way_10"], rel=5e-4)


def test_rho_is_divided_into_three_equal_parts() -> None:
    domain = binary(11)
    plan = planned(MstRecipe(Fraction(1), Fraction(1, 10**9)), domain, Layout.of_tree(domain), 0.015)
    *ones, choices, pairs = plan.events
    assert [event.outputs for event in ones] == [1] * 11
    assert (choices.outputs, pairs.outputs) == (10, 10)
    costs = [float(event.outputs * event.rho) for event in plan.events if event.rho is not None]
    thirds = [sum(costs[:11]), *costs[11:]]
    assert thirds == pytest.approx([0.005] * 3, rel=2e-3)


def test_the_noise_uses_the_budget_by_the_tightest_accountant(vectors: Document) -> None:
    domain = binary(11)
    recipe = MstRecipe(Fraction(1), Fraction(1, 10**9))
    plan = recipe.calibrate(domain, Layout.of_tree(domain))
    assert 0.995 <= plan.guarantee.epsilon <= 1
    assert plan.guarantee == best(plan.events, recipe.delta)
    assert sqrt(plan.one_way_variance) < vectors["sigma_per_1way_d11"]


def test_nothing_to_choose_or_to_count_needs_no_noise_for_it() -> None:
    alone = Domain((PEOPLE.attributes[0], PEOPLE.attributes[2]))
    plan = plan_for(domain=alone)
    assert [event.outputs for event in plan.events] == [1]
    assert plan.guarantee.epsilon == pytest.approx(1, rel=5e-3)
    assert plan_for(domain=Domain((PEOPLE.attributes[2],))).events == ()
    queries, made = learnt(plan, people(100)[:, [0, 2]])
    assert len(queries.tables) == 1
    assert network_of(alone, made.pools, made.fitted.model).graph.parents == ((), ())
    queries, made = learnt(plan_for(domain=Domain((PEOPLE.attributes[2],))), people(9)[:, [2]])
    assert made.fitted.model.total == 1


def test_a_delta_that_covers_all_noise_is_refused() -> None:
    recipe = MstRecipe(Fraction(1, 10**6), Fraction(1, 10))
    with pytest.raises(InvalidInput, match=r"epsilon must be large enough relative to delta"):
        recipe.calibrate(PEOPLE, Layout.of_tree(PEOPLE))


TABLES = st.integers(1, 4).flatmap(
    lambda rows: st.lists(st.lists(st.integers(0, 30), min_size=3, max_size=3), min_size=rows, max_size=rows)
)


@given(TABLES, TABLES, st.integers(0, 3), st.integers(0, 2))
def test_one_record_changes_a_score_by_one_at_most(
    table: list[list[int]], released: list[list[int]], row: int, column: int
) -> None:
    before = np.array(table, np.int64)
    after = before.copy()
    after[row % len(after), column] += 1
    expected = np.resize(np.array(released, np.int64), before.shape)
    assert abs(dependence(after, expected) - dependence(before, expected)) == 1
    # Were the expected counts those of the records themselves, a record would change more.
    own = [
        dependence(counts, np.outer(counts.sum(1), counts.sum(0)) // max(counts.sum(), 1)) for counts in (before, after)
    ]
    assert all(score >= 0 for score in own)


def test_expected_counts_are_rounded_to_integers() -> None:
    expected = expected_counts(np.array([2.5, 7.5]), np.array([1.0, 9.0]), 10.0)
    assert expected.dtype == np.int64
    assert expected.tolist() == [[0, 2], [1, 7]]


def test_candidates_join_two_parts_of_the_forest_and_a_tree_results() -> None:
    assert candidates([0, 1, 3], []) == [(0, 1), (0, 3), (1, 3)]
    assert candidates([0, 1, 3, 4], [(0, 1), (3, 4)]) == [(0, 3), (0, 4), (1, 3), (1, 4)]
    assert candidates([0, 1, 3], [(0, 1), (1, 3)]) == []
    weights = {pair: number for number, pair in enumerate(combinations(range(5), 2))}
    tree = choose_tree(range(5), lambda those: max(range(len(those)), key=lambda i: weights[those[i]]))
    assert tree == ((3, 4), (2, 4), (1, 4), (0, 4)), "Kruskal takes the heaviest that closes no cycle"


def test_choices_follow_the_exponential_law() -> None:
    plan = plan_for("20")
    scores = [0, 1, 3]
    rate = float(plan.choice_epsilon) / 2
    queries = Queries(plan, OneStream("choices of mst"))
    drawn = Multiset[int]()
    for _ in range(RUNS):
        queries.choices.clear()
        drawn[queries.choose(scores, [(0, 1), (0, 3), (1, 3)])] += 1

    def p_value(rate: float) -> float:
        weights = [exp(rate * score) for score in scores]
        expected = [RUNS * weight / sum(weights) for weight in weights]
        return float(stats.chisquare([drawn[i] for i in range(3)], expected).pvalue)

    assert p_value(rate) > FALSE_ALARM
    assert p_value(2 * rate) < FALSE_ALARM


def test_tables_have_the_noise_that_is_charged() -> None:
    plan = plan_for("4")
    truth = np.arange(12).reshape(4, 3) * 10
    queries = Queries(plan, OneStream("tables of mst"))
    ones, pairs = [], []
    for _ in range(RUNS):
        queries.tables.clear()
        ones.append(queries.measure_one(0, truth[:, 0]).releases[0].sums - truth[:, 0])
        buckets = [np.arange(4, dtype=np.uint16), np.arange(3, dtype=np.uint16)]
        pairs.append((queries.measure_several((0, 1), truth, buckets, "tree").releases[0].sums - truth).ravel())
    for noise, variance in ((np.array(ones), plan.one_way_variance), (np.array(pairs), plan.table_variances[0])):
        assert p_value_of_noise(noise.ravel(), variance) > FALSE_ALARM
        for factor in ("4/5", "6/5"):
            assert p_value_of_noise(noise.ravel(), variance * Fraction(factor)) < FALSE_ALARM
        assert each_is_on_its_own(noise.astype(float))


def p_value_of_noise(draws: np.ndarray[Any, Any], variance: Fraction) -> float:
    """How probable draws of discrete Gaussian noise are that lie as far from its law."""
    law = DiscreteGaussian(variance)
    reach = next(z for z in range(10_000) if len(draws) * law.tail(z) < 10)
    edges = range(1 - reach, reach, 1 + reach // 30)
    expected = -np.diff([1, *(law.tail(edge) for edge in edges), 0])
    observed = np.bincount(np.searchsorted(edges, draws, "right"), minlength=len(expected))
    return float(stats.chisquare(observed, len(draws) * expected).pvalue)


def test_no_more_is_measured_than_was_planned() -> None:
    plan = plan_for()
    queries, _ = learnt(plan, people(500))
    drawn = len(queries.tables), len(queries.choices)
    buckets = [np.arange(4, dtype=np.uint16), np.arange(3, dtype=np.uint16)]
    for once_more in (
        lambda: queries.measure_one(0, np.zeros(4, np.int64)),
        lambda: queries.measure_several((0, 1), np.zeros((4, 3), np.int64), buckets, "tree"),
        lambda: queries.choose([0, 1], [(0, 1), (0, 3)]),
    ):
        with pytest.raises(InvalidInput, match="no more may be measured than was planned"):
            once_more()
    assert (len(queries.tables), len(queries.choices)) == drawn == (7, 3)


def test_pairs_without_any_score_are_offered_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which pairs are candidates is public: a pair that looks independent is one, among others that do not."""
    offered: list[list[int]] = []

    class Noting(Queries):
        def choose(self, scores: Sequence[int], pairs: Sequence[tuple[int, int]]) -> int:
            offered.append(list(scores))
            return super().choose(scores, pairs)

    monkeypatch.setattr(mst_learning, "dependence", lambda counts, _: int(counts.shape == (4, 3)))
    plan = plan_for()
    learn(Noting(plan, streams(0)), RowCounter(lambda: [people(500)]), "noisy")
    assert offered[0] == [1, 0, 0, 0, 0, 0]
    assert 0 in offered[1]


def test_what_rules_forbid_is_impossible_among_pooled_values() -> None:
    rule = Impossible("codebook", (("town", ("a", "b")), ("sex", ("m",))))
    domain = replace(PEOPLE, rules=(rule,))
    pools = [without_noise(size) for size in domain.cardinalities]
    # Towns a and b are pooled, c and d are by themselves; only the pool of a and b is never with m.
    pools[0] = replace(pools[0], bucket_of=np.array([2, 2, 0, 1], np.uint16), counts=np.zeros(3, np.int64))
    pools[3] = replace(pools[3], bucket_of=np.array([0, 1], np.uint16), counts=np.zeros(2, np.int64))
    (found,) = impossible_cells((0, 1, 3), pools, domain)
    assert found.attributes == (0, 3)
    assert found.cells.tolist() == [[False, False], [False, False], [False, True]]
    # A pool that holds one more town is possible.
    pools[0] = replace(pools[0], bucket_of=np.array([1, 1, 1, 0], np.uint16), counts=np.zeros(2, np.int64))
    assert list(impossible_cells((0, 3), pools, domain)) == []


def test_events_that_are_missing_leave_a_plan_of_the_right_form() -> None:
    recipe = MstRecipe(Fraction(1), Fraction(1, 10**6))
    for domain in (PEOPLE, binary(1)):
        layout = Layout.of_tree(domain)
        plan = stated_plan(recipe, domain, layout, ())
        assert plan.one_way_variance == 1
        assert len(plan.table_variances) == (1 if layout.choices else len(layout.cliques))


@dataclass
class Forced(Queries):
    """Answers as another run gave them; what was asked is kept."""

    answers: list[Any] = field(default_factory=list)
    asked: list[Any] = field(default_factory=list)

    def choose(self, scores: Sequence[int], pairs: Sequence[tuple[int, int]]) -> int:
        self.asked.append((list(scores), list(pairs)))
        choice = self.answers[len(self.tables) + len(self.choices)]
        self.choices.append(choice)
        return int(choice.chosen)

    def _released(self, attributes: tuple[int, ...], counts: Any, law: NoiseLaw, _: str, buckets: Any) -> MeasuredTable:
        self.asked.append((attributes, counts, law, [own.tolist() for own in buckets]))
        table = self.answers[len(self.tables) + len(self.choices)]
        assert isinstance(table, MeasuredTable)
        self.tables.append(table)
        return table


def answers_of(queries: Queries) -> list[Any]:
    """All answers, by turn."""
    found: list[MeasuredTable | Choice] = [*queries.tables, *queries.choices]
    return sorted(found, key=lambda each: each.turn if isinstance(each, Choice) else each.releases[0].turn)


def test_with_forced_answers_a_record_changes_nothing_but_what_is_asked_by_one() -> None:
    plan, codes = plan_for("3"), people(800)
    queries, made = learnt(plan, codes)
    draw = np.random.default_rng(8)
    strangers = draw.integers(PEOPLE.cardinalities, size=(3, len(PEOPLE))).astype(np.uint16)
    first: list[Any] = []
    for others in (codes, codes[1:], *(np.vstack([codes, each]) for each in strangers)):
        forced = Forced(plan, streams(0), answers=answers_of(queries))
        again = learn(forced, RowCounter(lambda others=others: [others]), "noisy")  # type: ignore[misc]
        assert made_of("mst", forced, again).products == made_of("mst", queries, made).products
        first = first or forced.asked
        for one, other in zip(first, forced.asked, strict=True):
            if isinstance(one[0], tuple):
                assert (one[0], one[2:]) == (other[0], other[2:])
                assert int(np.abs(one[1] - other[1]).sum()) == (others is not codes)
            else:
                assert one[1] == other[1]
                assert all(abs(a - b) <= 1 for a, b in zip(one[0], other[0], strict=True))


class Leaking(Forced):
    """The same, but a table carries the exact number of records."""

    def _released(self, *asked: Any) -> MeasuredTable:
        table = super()._released(*asked)
        (release,) = table.releases
        return replace(table, releases=(replace(release, sums=release.sums + int(asked[1].sum()) % 2),))


def test_an_exact_number_of_records_is_found_by_the_audit() -> None:
    plan, codes = plan_for("3"), people(800)
    queries, _ = learnt(plan, codes)
    models = []
    for others in (codes, codes[1:]):
        leaking = Leaking(plan, streams(0), answers=answers_of(queries))
        made = learn(leaking, RowCounter(lambda others=others: [others]), "noisy")  # type: ignore[misc]
        models.append(made_of("mst", leaking, made).products["model"])
    assert models[0] != models[1]


class NoRows:
    """Counts that are all 0: whoever needs others has read rows."""

    def tables(self, partition: Partition, wanted: Sequence[tuple[int, ...]]) -> list[Any]:
        return [np.zeros(partition.shape(attributes), np.int64) for attributes in wanted]


def test_the_model_follows_from_what_was_published_to_the_bit(measured: Measurements) -> None:
    plan = plan_for("4")
    queries, made = learnt(plan, people(2_000))
    answers: list[Any] = [*measured.tables, *measured.choices]
    answers.sort(key=lambda each: each.turn if isinstance(each, Choice) else each.releases[0].turn)
    forced = Forced(plan, streams(0), answers=answers)
    again = made_of("mst", forced, learn(forced, NoRows(), "noisy")).products
    assert json.dumps(again) == json.dumps(made_of("mst", queries, made).products)


def test_values_below_three_deviations_are_pooled_and_get_their_shares_back() -> None:
    noisy = np.array([29, 30, -40, 100, 10, 0])
    own = pooled(noisy, Fraction(100), "noisy")
    assert own.bucket_of.tolist() == [2, 0, 2, 1, 2, 2]
    assert own.counts.tolist() == [30, 100, -1]
    assert own.values.tolist() == [1, 1, 4]
    assert own.shares.tolist() == pytest.approx([29 / 39, 1, 0, 1, 10 / 39, 0])
    assert pooled(noisy, Fraction(100), "uniform").shares.tolist() == [0.25, 1, 0.25, 1, 0.25, 0.25]
    assert pooled(noisy + 1000, Fraction(100), "noisy").bucket_of.tolist() == list(range(6))
    nobody = pooled(np.array([-1, -5]), Fraction(100), "noisy")
    assert (nobody.bucket_of.tolist(), nobody.shares.tolist()) == ([0, 0], [0.5, 0.5])


def test_the_network_has_the_fitted_tables_and_divides_pools_by_their_shares() -> None:
    plan = plan_for("4")
    queries, made = learnt(plan, people(3_000))
    net = network_of(PEOPLE, made.pools, made.fitted.model)
    read = model_from_document(PEOPLE, json.loads(json.dumps(net.document())))
    assert isinstance(read, BayesNet)
    assert read.document() == net.document()
    assert made.pools[4].size < 30, "the old are pooled"
    for table in queries.tables:
        if len(table.attributes) == 2:
            a, b = table.attributes
            fitted = made.fitted.model.marginal((a, b)) / made.fitted.model.total
            by_values = fitted[np.ix_(made.pools[a].bucket_of, made.pools[b].bucket_of)]
            by_values = by_values * made.pools[a].shares[:, None] * made.pools[b].shares
            assert joint(read)[(a, b)] == pytest.approx(by_values, abs=1e-8)


def joint(net: BayesNet) -> dict[tuple[int, ...], Any]:
    """All marginals of pairs, from the whole joint distribution."""
    sizes = net.domain.cardinalities
    cells = np.indices(sizes).reshape(len(sizes), -1)
    probability = np.ones(cells.shape[1])
    for child, parents in enumerate(net.graph.parents):
        row = np.zeros(cells.shape[1], np.int64)
        for parent in parents:
            bucket = net.domain.attributes[parent].bucket_of
            row = row * net.domain.bucket_counts[parent] + bucket[cells[parent]]
        probability *= net.weights[child][row, cells[child]] / UNIT
    table = probability.reshape(sizes)
    return {
        (a, b): table.sum(axis=tuple(i for i in range(len(sizes)) if i not in (a, b)))
        for a, b in combinations(range(len(sizes)), 2)
    }


def test_what_depends_is_found_with_enough_budget_and_not_with_little() -> None:
    codes = people(3_000)

    def found(epsilon: str) -> int:
        runs = (learnt(plan_for(epsilon), codes, number)[0] for number in range(6))
        return sum({(0, 1), (3, 4)} <= {choice.attributes for choice in queries.choices} for queries in runs)

    assert found("4") == 6
    assert found("1/1000") < 5


@pytest.mark.parametrize("rows", [0, 1])
def test_hardly_any_records_make_a_model_too(rows: int) -> None:
    _, made = learnt(plan_for("1"), people(5)[:rows])
    assert made.fitted.model.total >= 1
    assert (network_of(PEOPLE, made.pools, made.fitted.model).weights[0].sum(axis=1) == UNIT).all()


@pytest.fixture(scope="module")
def measured() -> Measurements:
    queries, made = learnt(plan_for("4"), people(2_000))
    return Measurements.from_document(PEOPLE, made_of("mst", queries, made).products["measured"])


def test_what_was_measured_is_what_follows_and_was_paid_for(measured: Measurements) -> None:
    events = plan_for("4").events
    for check in (faults_of_tree, faults_of_noise, faults_of_estimates):
        assert list(check(measured, events)) == []


def test_each_change_of_what_was_measured_is_named(measured: Measurements) -> None:
    events = plan_for("4").events
    tables, choices = list(measured.tables), list(measured.choices)

    def faults(check: Any, **changed: Any) -> str:
        return " ".join(check(replace(measured, **changed), events))

    swapped = (*tables[:4], tables[5], tables[4], tables[6])
    assert "the pairs must be those that were chosen" in faults(faults_of_tree, tables=swapped)
    assert "a tree of 3 pairs, got 2" in faults(faults_of_tree, tables=tuple(tables[:6]))
    assert "each attribute of several values by itself" in faults(faults_of_tree, tables=tuple(tables[1:]))
    again = replace(choices[2], chosen=0, attributes=choices[0].attributes)
    assert "pairs that join two parts of the forest" in faults(faults_of_tree, choices=(*choices[:2], again))
    law = NoiseLaw("gaussian", tables[0].releases[0].noise.amount / 2)
    finer = replace(tables[0], releases=(Release(tables[0].releases[0].sums, law, 1),))
    assert "the noise of a table is not that of its event" in faults(faults_of_noise, tables=(finer, *tables[1:]))
    twice = replace(tables[0], releases=(*tables[0].releases, replace(tables[0].releases[0], turn=99)))
    assert "each table must have been released once" in faults(faults_of_tree, tables=(twice, *tables[1:]))
    valued = replace(tables[5], by_values=tables[5].attributes)
    assert "of pooled values otherwise" in faults(faults_of_tree, tables=(*tables[:5], valued, tables[6]))
    assert "but its integers give" in faults(faults_of_estimates, records=measured.records + 1)
    others = (measured.buckets[0][::-1].copy(), *measured.buckets[1:])
    assert "the pooled values of town do not follow" in faults(faults_of_estimates, buckets=others)


def test_events_state_what_is_measured() -> None:
    kinds = [type(event) for event in plan_for().events]
    assert kinds == [DiscreteGaussianEvent] * 4 + [ExponentialEvent, DiscreteGaussianEvent]
    # Small groups are told the noise of one table of one attribute, and of one of several.
    stated = [{**event.to_record(), "mechanism": event.mechanism} for event in plan_for().events]
    step = {"step": "learn_parameters", "probability": "1", "events": stated}
    one, several = subgroup_error([step])["counts"]
    assert one["noise_sd"] == pytest.approx(sqrt(plan_for().one_way_variance), rel=1e-2)
    assert several["noise_sd"] == pytest.approx(sqrt(plan_for().table_variances[0]), rel=1e-2)
