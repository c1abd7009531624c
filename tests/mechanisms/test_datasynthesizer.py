"""DataSynthesizer's modes, restored: figures by hand, laws of noise and of choice, and the tool's faults found."""

import json
from collections import Counter as Multiset
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import permutations, product
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError
from scipy import stats

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.keys import Parameter, ReleaseKey, WordStream
from deniable.foundation.noise import DiscreteLaplace
from deniable.foundation.tables import FamilyCounts, Tally
from deniable.learners.independent.histograms import Histograms, bin_of_value, laplace_scale, probabilities_of
from deniable.learners.loglinear.exponential_mechanism import choose
from deniable.learners.nist_mst.public_selection import mutual_information
from deniable.learners.privbayes import plan as plan_module
from deniable.learners.privbayes import structure
from deniable.learners.privbayes.conditionals import learn_tables, nearest_table, network_of, weights_of
from deniable.learners.privbayes.counting import Family, FamilyTables, by_values
from deniable.learners.privbayes.plan import (
    SENSITIVITY,
    NetworkPlan,
    network_plan,
    useful_cells,
    useful_degree,
    usefulness,
)
from deniable.learners.privbayes.scores import dependence
from deniable.learners.privbayes.spec import ChoiceBudget
from deniable.learners.privbayes.structure import NetworkSearch
from deniable.models.bayes_net import UNIT
from deniable.models.graph import Graph
from tests.drawn_noise import OneStream, each_is_on_its_own

FALSE_ALARM = 1e-9
RUNS = 4_000
Document = dict[str, Any]


def binary(attributes: int) -> Domain:
    return Domain(tuple(Attribute(f"a{i}", (0, 1), "nominal", (0, 1)) for i in range(attributes)))


def planned(domain: Domain, epsilon: str = "1", degree: int = 2, max_cells: int | None = 10_000) -> NetworkPlan:
    budget = Fraction(epsilon)
    return network_plan(
        domain,
        structure_epsilon=budget,
        parameter_epsilon=budget,
        degree=degree,
        rows=None,
        least=Fraction(4),
        max_cells=max_cells,
    )


class Rows:
    """Counts rows that are held in memory."""

    def __init__(self, codes: Codes) -> None:
        self.codes = codes
        self.counted: list[Tally] = []

    def count(self, empty: Callable[[], Any], _: str) -> Any:
        tally = empty()
        tally.add(self.codes)
        self.counted.append(tally)
        return tally

    def advance(self, amount: int) -> None:
        pass


def streams(number: int) -> Callable[..., WordStream]:
    return partial(ReleaseKey(number.to_bytes(32, "big")).stream, step="learn", inputs="people")


@pytest.fixture(scope="module")
def vectors(shared: Path) -> Document:
    known: Document = json.loads((shared / "vectors" / "vectors2.json").read_text())["privbayes"]
    return known


def test_the_noise_is_that_of_the_paper(vectors: Document) -> None:
    assert float(planned(binary(11), "1/2").scale) == vectors["lap_scale_counts_add_remove"]["d=11,k=2,eps2=.5"]
    assert float(2 * planned(binary(11), "1/2").scale) == vectors["lap_scale_counts_replace"]["d=11,k=2,eps2=.5"]
    # On shares of n = 100,000 records one of which is replaced by another, twice that over n.
    of_shares = 2 * laplace_scale(11, Fraction(1)) / 100_000
    assert float(of_shares) == vectors["independent_scale"]["d=11,eps=1,n=100000"]
    assert float(2 * planned(binary(11), "1/2").scale / 100_000) == pytest.approx(
        vectors["lap_scale_prob_paper"]["d=11,k=2,eps=1,n=100000"]
    )


def test_the_degree_follows_from_usefulness(vectors: Document) -> None:
    def useful(degree: int) -> Fraction:
        return usefulness(100_000, Fraction(1, 2), 11, degree)

    assert {f"k={k}": float(useful(k)) for k in range(1, 8)} == vectors["theta_usefulness_k"]
    for least, degree in ((50, 4), (60, 3), (100, 2), (200, 1), (313, 0)):
        assert useful_degree(100_000, Fraction(1, 2), 11, Fraction(least)) == degree
    # Of binary attributes, two parents' tables have eight cells, and one parent's four.
    for degree in (1, 2, 3):
        cells = 2 ** (degree + 1)
        least = useful(degree)
        assert useful_cells(100_000, Fraction(1, 2), 11 - degree, least) == cells
        assert useful_cells(100_000, Fraction(1, 2), 11 - degree, least * Fraction(101, 100)) == cells - 1
    assert planned(PEOPLE, max_cells=None).max_cells == 300
    # Fewer attributes than parents, and a table without any.
    assert [useful_degree(10**9, Fraction(1), attributes, Fraction(4)) for attributes in (3, 1)] == [2, 0]


def test_usefulness_by_hand_and_at_its_limits() -> None:
    assert usefulness(1000, Fraction(1, 2), 5, 2) == Fraction(500, 3 * 32)
    # A degree at which tables are just as useful as they must be is taken.
    assert useful_degree(1000, Fraction(1, 2), 5, Fraction(500, 3 * 32)) == 2
    assert useful_degree(1000, Fraction(1, 2), 5, Fraction(500, 3 * 32) + Fraction(1, 10**9)) == 1
    # So is a degree at which the first table has just as many cells as are useful.
    assert plan_module._fitting((2, 2, 3), 2, lambda _: 12) == (2, 12)
    assert plan_module._fitting((2, 2, 3), 2, lambda _: 11) == (1, 11)


def test_candidates_for_the_first_table_are_those_whose_cells_fit() -> None:
    sizes = (3, 3, 2)
    domain = Domain(tuple(Attribute(f"a{i}", tuple(range(n)), "nominal", tuple(range(n))) for i, n in enumerate(sizes)))
    for most, found in ((9, [1, 2]), (8, [2]), (6, [2]), (5, [2])):
        search = NetworkSearch(planned(domain, max_cells=most), Rows(np.zeros((1, 3), np.uint16)), streams(0))
        families = search._of_first_table([0], [1, 2])
        assert [(family.parents, family.child) for family in families] == [((0,), child) for child in found]


def test_every_choice_depends_on_the_domain() -> None:
    opened: list[tuple[str, Document]] = []

    def open_stream(*, mechanism: str, parameters: Document) -> WordStream:
        opened.append((mechanism, parameters))
        return streams(1)(mechanism=mechanism, parameters=parameters)

    NetworkSearch(planned(PEOPLE), Rows(people(100)), open_stream).run()
    choices = [parameters for mechanism, parameters in opened if mechanism == "choice"]
    assert len(choices) == 3
    for turn, parameters in enumerate(choices, 1):
        assert (parameters["turn"], parameters["domain"]) == (turn, PEOPLE.digest)
        assert parameters["epsilon"] == planned(PEOPLE).choice_epsilon


def test_the_first_table_by_values_bounds_the_degree() -> None:
    """Five attributes of Adult have 840 combinations of values at least, where fifty-odd cells are useful."""

    def degree(*sizes: int, rows: int = 24_421) -> tuple[int, int]:
        domain = Domain(
            tuple(Attribute(f"a{i}", tuple(range(n)), "nominal", tuple(range(n))) for i, n in enumerate(sizes))
        )
        half = Fraction(1, 2)
        plan = network_plan(
            domain,
            structure_epsilon=half,
            parameter_epsilon=half,
            degree=None,
            rows=rows,
            least=Fraction(4),
            max_cells=None,
        )
        return plan.degree, plan.max_cells

    of_adult = (42, 9, 16, 7, 15, 6, 5, 2, 20, 20, 20, 20, 16, 20, 2)
    assert useful_degree(24_421, Fraction(1, 2), 15, Fraction(4)) == 4
    assert degree(*of_adult) == (2, 58)
    assert degree(*of_adult, rows=10**6) == (4, 2840)
    assert degree(*(2 for _ in range(11)), rows=100_000)[0] == 4, "of binary attributes the rule is as it was"
    assert degree(500, 500, 500)[0] == 0


def test_choices_follow_the_exponential_law(vectors: Document) -> None:
    known = vectors["em_probs"]
    scores = [round(100 * information) for information in known["I"]]
    open_stream = OneStream("choices")
    stream = open_stream(mechanism="choice", parameters={})
    # Scores in hundredths, of which one record changes each by 2: exp(I / (2 Delta)) of the vector.
    drawn = Multiset(choose(scores, sensitivity=2, epsilon=Fraction(1), stream=stream) for _ in range(RUNS))
    observed = [drawn[i] for i in range(len(scores))]

    def p_value(probabilities: list[float]) -> float:
        return float(stats.chisquare(observed, [RUNS * p for p in probabilities]).pvalue)

    assert p_value(known["p"]) > FALSE_ALARM
    twice = [exp(information / known["Delta"]) for information in known["I"]]
    assert p_value([weight / sum(twice) for weight in twice]) < FALSE_ALARM


def test_mutual_information_would_need_noise_that_the_number_of_rows_decides(vectors: Document) -> None:
    """Neighbours that reach its sensitivity; in counts it grows with their number, where that of R is 4.

    Counts are twice those of the vector: mutual information is of shares.
    """
    in_counts = []
    for name, right in vectors["S_I"].items():
        rows = int(name.partition(",")[0].removeprefix("n="))
        if name.endswith("True"):
            before, after = [[2 * rows - 2, 0], [0, 2]], [[2 * rows, 0], [0, 0]]
        else:
            before = [[0, rows - 1, 0], [rows - 1, 0, 0], [0, 0, 2]]
            after = [[2, rows - 1, 0], [rows - 1, 0, 0], [0, 0, 0]]
        # One row of the vector's moves; information is rounded to six digits.
        assert mutual_information(before) - mutual_information(after) == pytest.approx(right, abs=1.1e-6)
        in_counts.append(rows * right)
    assert max(in_counts) > 5 * SENSITIVITY
    # A choice has a tenth of the budget here; its weights are exp(I / (2 temperature)).
    (temperature,) = vectors["em_temperature_Delta"].values()
    choice = planned(binary(11), "1/2").choice_epsilon
    assert vectors["S_I"]["n=100000,binary=False"] / float(choice) == pytest.approx(temperature)


TABLES = st.integers(1, 4).flatmap(
    lambda rows: st.lists(st.lists(st.integers(0, 30), min_size=3, max_size=3), min_size=rows, max_size=rows)
)


@given(TABLES, st.integers(0, 3), st.integers(0, 2))
def test_one_record_changes_a_score_by_four_at_most(table: list[list[int]], row: int, column: int) -> None:
    before = np.array(table, np.int64)
    after = before.copy()
    after[row % len(after), column] += 1
    assert abs(dependence(after) - dependence(before)) <= SENSITIVITY

    rows = int(before.sum())
    if rows:
        real = [Fraction(0), Fraction(0)]
        for place, counts in enumerate((before, after)):
            total = int(counts.sum())
            for i, j in product(range(counts.shape[0]), range(counts.shape[1])):
                expected = Fraction(int(counts[i].sum()) * int(counts[:, j].sum()), total)
                real[place] += abs(int(counts[i, j]) - expected)
            assert dependence(counts) == int(real[place])
        margin = Fraction(int(before[row % len(before)].sum()), rows), Fraction(int(before[:, column].sum()), rows)
        assert abs(real[1] - real[0]) <= Fraction(4 * rows, rows + 1) * (1 - margin[0]) * (1 - margin[1]) < SENSITIVITY


def test_a_score_is_changed_by_nearly_four() -> None:
    """Where records spread over all cells but those of one row and one column, and one comes to the corner."""
    before = np.full((60, 60), 50, np.int64)
    before[0], before[:, 0] = 0, 0
    after = before.copy()
    after[0, 0] = 1
    assert dependence(after) - dependence(before) == 3
    before[1, 1] += 40
    after[1, 1] += 40
    changes = {dependence(after + extra) - dependence(before + extra) for extra in (0 * before, before, 2 * before)}
    assert max(changes) >= 3


def test_scores_of_very_many_records_do_not_overflow() -> None:
    counts = np.array([[2**33, 0], [0, 2**33]], np.int64)
    assert dependence(counts) == 2**34
    assert dependence(np.zeros((2, 3), np.int64)) == 0


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
    """Streets follow from towns, ages from sexes; nothing else depends on anything."""
    draw = np.random.default_rng([number, *b"people"])
    town, sex = draw.integers(0, 4, rows), draw.integers(0, 2, rows)
    street = np.where(draw.random(rows) < 0.9, (town // 2) * 2, draw.integers(0, 3, rows))
    age = np.where(draw.random(rows) < 0.8, sex * 15 + draw.integers(0, 15, rows), draw.integers(0, 30, rows))
    return np.stack([town, street, 0 * town, sex, age], axis=1).astype(np.uint16)


def chosen(plan: NetworkPlan, codes: Codes, number: int = 0) -> structure.Network:
    return NetworkSearch(plan, Rows(codes), streams(number)).run()


def test_what_depends_is_found_with_enough_budget_and_not_with_little() -> None:
    codes = people(3_000)

    def found(epsilon: str) -> int:
        plan = planned(PEOPLE, epsilon, degree=1)
        ties = ({0, 1}, {3, 4})
        return sum(
            sum({family.child, *family.parents} in ties for family in chosen(plan, codes, number)) == 2
            for number in range(40)
        )

    assert found("20") == 40
    assert found("1/1000") < 20


def test_every_attribute_of_several_values_is_chosen_once_with_parents_that_were_chosen_before() -> None:
    for degree, number in product((1, 2, 3, 4), range(5)):
        plan = planned(PEOPLE, degree=degree)
        network = chosen(plan, people(500), number)
        assert sorted(family.child for family in network) == [0, 1, 3, 4]
        for place, (parents, _) in enumerate(network):
            before = {family.child for family in network[:place]}
            assert set(parents) <= before
            assert len(parents) == min(plan.degree, place)


def test_the_first_attribute_is_drawn_uniformly_and_whatever_the_people_are() -> None:
    plan = planned(PEOPLE, "20", degree=1)
    first = [chosen(plan, people(50), number)[0] for number in range(400)]
    assert first == [chosen(plan, people(60, 1), number)[0] for number in range(400)]
    counted = Multiset(family.child for family in first)
    assert stats.chisquare([counted[i] for i in (0, 1, 3, 4)]).pvalue > FALSE_ALARM


def test_tables_stay_small_where_they_can() -> None:
    for number in range(10):
        network = chosen(planned(PEOPLE, degree=3, max_cells=12), people(500), number)
        assert network[3].parents == tuple(sorted(family.child for family in network[:3])), "the first table has all"
    wide = binary(12)
    codes = np.random.default_rng(5).integers(0, 2, (300, 12)).astype(np.uint16)
    network = chosen(planned(wide, degree=3, max_cells=8), codes)
    assert all(len(family.parents) == min(place, 3 if place < 4 else 2) for place, family in enumerate(network))


def test_of_very_many_candidates_some_are_drawn_by_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure, "MOST_CANDIDATES", 60)
    codes = np.random.default_rng(6).integers(0, 2, (300, 12)).astype(np.uint16)
    rows = Rows(codes)
    network = NetworkSearch(planned(binary(12), degree=3), rows, streams(1)).run()
    assert network == chosen(planned(binary(12), degree=3), codes, 1)
    assert len(network) == 12
    assert max(len(tally.families) for tally in rows.counted if isinstance(tally, FamilyTables)) <= 60


def test_the_degree_does_not_depend_on_the_order_of_the_attributes() -> None:
    def degree(sizes: Sequence[int], rows: int) -> int:
        attributes = (Attribute(f"a{i}", tuple(range(k)), "nominal", tuple(range(k))) for i, k in enumerate(sizes))
        plan = network_plan(
            Domain(tuple(attributes)),
            structure_epsilon=Fraction(1),
            parameter_epsilon=Fraction(1),
            degree=None,
            rows=rows,
            least=Fraction(4),
            max_cells=None,
        )
        return plan.degree

    found = {rows: {degree(sizes, rows) for sizes in permutations((2, 3, 2, 50))} for rows in (100, 1000, 5000, 50_000)}
    assert [len(degrees) for degrees in found.values()] == [1, 1, 1, 1]
    assert len(set.union(*found.values())) > 1


def test_each_sample_of_candidates_is_drawn_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of sets of three, whose tables are too large, and then of two, for each attribute in each round."""
    monkeypatch.setattr(structure, "MOST_CANDIDATES", 60)
    codes = np.random.default_rng(6).integers(0, 2, (300, 12)).astype(np.uint16)
    opened: list[str] = []

    def open_stream(*, mechanism: str, parameters: Document) -> WordStream:
        opened.append(f"{mechanism} {sorted(parameters.items())}")
        return streams(1)(mechanism=mechanism, parameters=parameters)

    NetworkSearch(planned(binary(12), degree=3, max_cells=8), Rows(codes), open_stream).run()
    assert len(set(opened)) == len(opened)
    assert sum(each.startswith("candidates") for each in opened) > 2 * 11


def test_a_table_is_counted_the_same_in_chunks_and_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = people(900)
    whole = chosen(planned(PEOPLE), codes)
    monkeypatch.setattr(structure, "_CELLS_AT_A_TIME", 20)
    assert chosen(planned(PEOPLE), codes) == whole
    families = [Family((0, 4), 3), Family((), 1), Family((3,), 4)]
    one, other = FamilyTables(PEOPLE, families), FamilyTables(PEOPLE, families)
    one.add(codes)
    other.add(codes[:100])
    more = FamilyTables(PEOPLE, families)
    more.add(codes[100:])
    other.merge(more)
    assert all(np.array_equal(a, b) for a, b in zip(one.tables, other.tables, strict=True))
    again = FamilyTables(PEOPLE, families)
    again.restore(other.arrays)
    assert all(np.array_equal(a, b) for a, b in zip(one.tables, again.tables, strict=True))
    direct = FamilyCounts(PEOPLE, ((), (), (), (0, 4), (3,)))
    direct.add(codes)
    assert np.array_equal(direct.tables[3], one.tables[0])
    assert np.array_equal(direct.tables[4], one.tables[2])


NETWORK = (Family((), 3), Family((3,), 4), Family((3, 4), 0), Family((0, 3), 1))


class Recorded:
    """Opens streams, and knows which."""

    def __init__(self, number: int) -> None:
        self.open = streams(number)
        self.opened: list[dict[str, Parameter]] = []

    def __call__(self, *, mechanism: str, parameters: dict[str, Parameter]) -> WordStream:
        self.opened.append({"mechanism": mechanism, **parameters})
        return self.open(mechanism=mechanism, parameters=parameters)


def test_one_record_changes_one_count_of_each_table_that_is_charged() -> None:
    plan = planned(PEOPLE)
    before, after, opened = Rows(people(300)), Rows(np.vstack([people(300), people(1, 7)])), Recorded(3)
    tables = [learn_tables(plan, NETWORK, rows, opened)[0] for rows in (before, after)]
    changes = [
        sum(int(np.abs(a - b).sum()) for a, b in zip(one.tables, other.tables, strict=True))
        for one, other in zip(after.counted, before.counted, strict=True)
        if isinstance(one, FamilyTables) and isinstance(other, FamilyTables)
    ]
    (event,) = plan.parameter_events
    assert sum(changes) == event.outputs == plan.tables == 2
    # The same noise for both: what is released differs by that record alone.
    assert len(opened.opened) == 2 * plan.tables
    for one, other in zip(*tables, strict=True):
        assert int(np.abs(one.counts - other.counts).sum()) == 1


def noise_of_tables(plan: NetworkPlan, runs: int) -> NDArray[np.int64]:
    """Released less true counts of the cells that are released one by one, shape (runs, cells)."""
    codes = people(200)
    last = NETWORK[plan.degree]
    joint = FamilyTables(by_values(PEOPLE), [last])
    joint.add(codes)
    further = FamilyTables(PEOPLE, NETWORK[plan.degree + 1 :])
    further.add(codes)
    found = []
    for number in range(runs):
        tables, _ = learn_tables(plan, NETWORK, Rows(codes), streams(number))
        rest = zip(tables[plan.degree + 1 :], further.tables, strict=True)
        found.append(np.concatenate([(table.counts - true).ravel() for table, true in rest]))
    return np.array(found)


def follows_laplace(noise: NDArray[np.int64], scale: Fraction) -> bool:
    reach = int(20 * scale) + 5
    values = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(values) / float(scale))
    expected = weights / weights.sum() * noise.size
    observed = np.bincount(np.clip(noise.ravel() + reach, 0, 2 * reach), minlength=len(values))
    often = expected >= 10
    both = np.append(observed[often], observed[~often].sum()), np.append(expected[often], expected[~often].sum())
    return bool(stats.chisquare(*both).pvalue > FALSE_ALARM)


def test_tables_have_the_noise_that_is_charged() -> None:
    plan = planned(PEOPLE)
    noise = noise_of_tables(plan, RUNS)
    assert follows_laplace(noise, plan.scale)
    for factor in ("9/10", "11/10"):
        assert not follows_laplace(noise, plan.scale * Fraction(factor))
    assert each_is_on_its_own(noise.astype(float))


def test_the_first_table_has_noise_in_every_cell_by_values() -> None:
    plan = planned(PEOPLE)
    empty = np.zeros((0, len(PEOPLE)), np.uint16)
    last = NETWORK[2]
    noise = [learn_tables(plan, NETWORK, Rows(empty), streams(number))[0][2].counts for number in range(300)]
    together = np.array(noise)
    # By buckets of age and by sex: five values of age in each bucket.
    assert together.shape == (300, 12, PEOPLE.cardinalities[last.child])
    scale = float(plan.scale)
    variance = 5 * 2 * np.exp(-1 / scale) / (1 - np.exp(-1 / scale)) ** 2
    assert together.var() == pytest.approx(variance, rel=0.05)
    assert together.var() != pytest.approx(variance / 5, rel=0.5)


def test_with_enough_budget_the_model_says_what_the_people_do() -> None:
    plan, codes = planned(PEOPLE, "1000"), people(20_000)
    net = network_of(plan, learn_tables(plan, NETWORK, Rows(codes), streams(0))[0])
    drawn = net.sample(streams(1)(mechanism="sample", parameters={}).take(40_000 * len(PEOPLE)))
    for i, j in ((3, 4), (0, 1), (0, 3)):
        shape = PEOPLE.cardinalities[i], PEOPLE.cardinalities[j]
        real, synthetic = (
            np.bincount(rows[:, i].astype(int) * shape[1] + rows[:, j], minlength=shape[0] * shape[1]) / len(rows)
            for rows in (codes, drawn)
        )
        assert np.abs(real - synthetic).sum() / 2 < (0.05 if (i, j) != (0, 1) else 0.2)
    assert net.graph.order == (3, 4, 0, 1, 2)
    (strength,) = net.graph.similarity[4]
    assert 0.05 < strength < 1


def test_an_empty_configuration_has_the_attributes_own_shares_and_else_all_are_equal() -> None:
    counts = np.array([[-3, 0, -1], [8, 16, 1], [1, 0, -2]], np.int64)
    weights = weights_of(counts).astype(float) / UNIT
    # The total is 20. It is reached with 2 less in each of the two large cells, and nothing in any other.
    assert weights[1] == pytest.approx([6 / 20, 14 / 20, 0])
    # Noisy sums of values are 6, 16 and -2: less by 1 in the two that stay.
    assert weights[[0, 2]] == pytest.approx(np.tile([5 / 20, 15 / 20, 0], (2, 1)))
    assert weights_of(np.full((2, 2), -1, np.int64)).tolist() == [[UNIT // 2] * 2] * 2


def test_noise_on_cells_that_nobody_is_in_adds_nobody() -> None:
    """Two thousand people in one of 400 cells, in fifty configurations, with noise of mean size 10 in each cell."""
    noise = DiscreteLaplace(Fraction(10)).sample(streams(4)(mechanism="empty cells", parameters={}), 400)
    table = noise.reshape(50, 8)
    table[0, 0] += 2000
    counts = nearest_table(table)
    assert counts.min() == 0
    assert counts.sum() == pytest.approx(table.sum())
    assert counts[0, 0] > 0.9 * counts.sum()
    clamped = np.maximum(table, 0)
    assert clamped[0, 0] < 0.6 * clamped.sum(), "set to 0 where negative, the noise adds people to every cell"


def test_histograms_are_counted_in_bins_and_spread_evenly_over_their_values() -> None:
    histograms = Histograms(PEOPLE, Fraction(1000), bins=6)
    counts = FamilyCounts(PEOPLE, ((),) * len(PEOPLE))
    counts.add(people(5_000))
    net = histograms.run(counts, Graph.without_edges(PEOPLE), streams(0))
    (ages,) = net.weights[4].astype(float) / UNIT
    assert ages.reshape(6, 5) == pytest.approx(np.repeat(ages[::5, None], 5, axis=1), abs=1e-6)
    assert ages.reshape(6, 5).sum(axis=1) == pytest.approx(counts.tables[4].reshape(6, 5).sum(axis=1) / 5_000, abs=0.01)
    assert bin_of_value(PEOPLE.attributes[4], 30).tolist() == list(range(30))
    assert bin_of_value(PEOPLE.attributes[0], 2).tolist() == [0, 1, 2, 3], "categories are as they are"
    (event,) = histograms.events
    assert event.outputs == 4
    assert histograms.scale == Fraction(4, 1000)


def test_histograms_have_the_noise_that_is_charged() -> None:
    histograms = Histograms(PEOPLE, Fraction(1), bins=30)
    counts = FamilyCounts(PEOPLE, ((),) * len(PEOPLE))
    for table in counts.tables:
        table[:] = 10**6
        table[:, 0] = 2**40
    noise = []
    for number in range(300):
        net = histograms.run(counts, Graph.without_edges(PEOPLE), streams(number))
        # Shares of one value that has nearly all give back the others' noisy counts, to a quarter of a unit.
        noise.append(np.concatenate([table[0, 1:] / float(table[0, 0]) * 2**40 for table in net.weights]) - 10**6)
    spread = np.abs(np.array(noise)).mean()
    # In units of 2^40 / 2^32 = 256 only the width can be seen, not the law.
    assert spread < 2 * 256
    exact = Histograms(PEOPLE, Fraction(1, 1000), bins=30)
    wide = []
    for number in range(300):
        net = exact.run(counts, Graph.without_edges(PEOPLE), streams(number))
        wide.append(np.concatenate([table[0, 1:] / float(table[0, 0]) * 2**40 for table in net.weights]) - 10**6)
    assert np.abs(np.array(wide)).mean() == pytest.approx(float(exact.scale), rel=0.05)


def test_nothing_below_zero_is_a_share() -> None:
    assert probabilities_of(np.array([[-5, 3, 1], [-1, -1, 0]])).tolist() == [[0, 0.75, 0.25], [1 / 3] * 3]


@pytest.mark.parametrize(
    ("stated", "named"),
    [
        ({"epsilon": 1}, "exactly one of the degree and a public number of rows"),
        ({"epsilon": 1, "degree": 2, "rows": 1000}, "exactly one of the degree and a public number of rows"),
        ({"epsilon": 1, "degree": 5}, "less than or equal to 4"),
        ({"epsilon": 1, "degree": True}, "whole number"),
        ({"degree": 2}, "Field required"),
    ],
)
def test_a_budget_of_choices_that_is_none_is_refused(stated: Document, named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        TypeAdapter(ChoiceBudget).validate_python(stated)


# The tool as it is distributed (0.1.13, and before 0.1.5), in a few lines each, and what finds its faults.


def tools_histogram(counts: NDArray[np.int64], epsilon: float, seed: int = 0) -> NDArray[np.float64]:
    """The tool's noisy shares of one attribute: floating-point noise of a generator with a public seed."""
    generator = np.random.default_rng(seed)
    return np.asarray(counts / counts.sum() + generator.laplace(0, 1 / (counts.sum() * epsilon), len(counts)))


def test_noise_of_a_public_seed_is_taken_off_and_that_of_a_key_is_not() -> None:
    counts = np.array([17, 230, 4])
    released = tools_histogram(counts, 0.1)
    noise = np.random.default_rng(0).laplace(0, 1 / (251 * 0.1), 3)
    assert np.rint((released - noise) * 251).tolist() == counts.tolist()

    law = DiscreteLaplace(Fraction(10))
    noisy = counts + law.sample(streams(99)(mechanism="histogram", parameters={}), 3)
    guessed = noisy - law.sample(streams(0)(mechanism="histogram", parameters={}), 3)
    assert guessed.tolist() != counts.tolist()


def test_a_description_that_measures_twice_costs_twice() -> None:
    """The tool's correlated mode spends epsilon on histograms that it keeps, and epsilon on the network again."""
    plan = planned(PEOPLE, "1/2")
    ours = [*plan.structure_events, *plan.parameter_events]
    spent = sum(event.outputs * (event.epsilon or 0) for event in ours)
    assert spent == 1
    tools = [*ours, *Histograms(PEOPLE, Fraction(1), bins=20).events]
    assert sum(event.outputs * (event.epsilon or 0) for event in tools) == 2


def test_noise_that_is_n_times_too_small_is_found() -> None:
    plan = planned(PEOPLE)
    noise = noise_of_tables(plan, 400)
    too_small = np.rint(noise / 200).astype(np.int64)
    assert follows_laplace(noise, plan.scale)
    assert not follows_laplace(too_small, plan.scale)


def test_the_noise_of_a_histogram_names_everything_that_decides_it() -> None:
    opened = []

    def open_stream(*, mechanism: str, parameters: Document) -> WordStream:
        opened.append(parameters)
        return streams(0)(mechanism=mechanism, parameters=parameters)

    counts = FamilyCounts(PEOPLE, ((),) * len(PEOPLE))
    for bins in (6, 30):
        Histograms(PEOPLE, Fraction(1), bins=bins).run(counts, Graph.without_edges(PEOPLE), open_stream)
    by_name = [each for each in opened if each["attribute"] == PEOPLE.names[4]]
    assert [each["bins"] for each in by_name] == [[value // 5 for value in range(30)], [*range(30)]]
    assert all(each["domain"] == PEOPLE.digest and each["scale"] == 4 for each in opened)


@pytest.mark.parametrize("most", [1, 7])
def test_every_attribute_that_is_left_has_a_candidate_however_few_there_may_be(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One for each, if there may be fewer than attributes are left."""
    monkeypatch.setattr(structure, "MOST_CANDIDATES", most)
    codes = np.random.default_rng(6).integers(0, 2, (300, 12)).astype(np.uint16)
    search = NetworkSearch(planned(binary(12), degree=1), Rows(codes), streams(1))
    found = search._candidates((0, 1))
    assert [family.child for family in found] == [*range(2, 12)]
    assert all(len(family.parents) == 1 for family in found)
    assert len(search.run()) == 12
