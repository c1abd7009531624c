"""Intervals cover what they say with the probability that they say; intervals that ignore the noise do not."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import ceil, sqrt
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from deniable.inference.answers import Answer, Asked, TableAnswer
from deniable.inference.bounds import count_bounds
from deniable.inference.comparisons import compare
from deniable.inference.estimation import Inference
from deniable.inference.intervals import Interval
from deniable.inference.laws import two_sided
from deniable.inference.quantiles import quantile
from deniable.inference.regression import regress
from deniable.inference.tables import cells, table
from deniable.measurements.noisy_tables import Law
from tests.extent import drawn
from tests.inferred import EVERYTHING, measured, people

pytestmark = pytest.mark.slow

REPLICATES = drawn(400)
ROWS, PEOPLE = 3000, 200_000
NO_TRIPLE = EVERYTHING
POPULATION = Asked(estimand="population", sampling="simple random")
AGES = np.asarray([18, 19, 20, 21, 22, 23.0])
Z = two_sided(0.95)


@cache
def population() -> NDArray[np.int64]:
    return people(0, PEOPLE)


@cache
def replicates(law: Law, kept: float, variance: int = 900) -> list[tuple[NDArray[np.int64], Inference]]:
    """Tables of rows, drawn with replacement, and what is inferred from their measurements."""
    found = []
    for seed in range(REPLICATES):
        draw = np.random.default_rng([13, seed])
        rows = population()[draw.integers(0, PEOPLE, ROWS)]
        part = rows[draw.random(ROWS) < kept]
        amount = Fraction(variance) if law == "gaussian" else Fraction(21)
        made = measured(part, law=law, amount=amount, seed=seed)
        found.append((rows, Inference(made, probability=Fraction(kept).limit_denominator(100))))
    return found


def share(codes: NDArray[np.int64], of: Callable[[Any], Any], given: Callable[[Any], Any] | None = None) -> float:
    inside = codes if given is None else codes[given(codes)]
    return float(of(inside).mean())


def is_rich(codes: Any) -> Any:
    return codes[:, 2] == 2


def is_female(codes: Any) -> Any:
    return codes[:, 1] == 0


def gap(codes: NDArray[np.int64]) -> float:
    return share(codes, is_rich, lambda c: ~is_female(c)) - share(codes, is_rich, is_female)


def slope(codes: NDArray[np.int64]) -> float:
    design = np.stack([np.ones(len(codes)), codes[:, 1]], axis=1)
    return float(np.linalg.lstsq(design, is_rich(codes).astype(float), rcond=None)[0][1])


def answer_of(found: Answer | TableAnswer, place: int) -> Answer:
    return found if isinstance(found, Answer) else found.answers[place]


STATISTICS: dict[str, tuple[Callable[[Any], float], Callable[[Inference, Asked], Answer]]] = {
    "a share": (lambda c: share(c, is_rich), lambda i, a: i.share("income=>50K", asked=a)),
    "a small share": (lambda c: share(c, lambda d: d[:, 0] == 1), lambda i, a: i.share("age=19", asked=a)),
    "a share in a group": (
        lambda c: share(c, is_rich, is_female),
        lambda i, a: i.share("income=>50K", "sex=f", a),
    ),
    "a mean": (lambda c: float(AGES[c[:, 0]].mean()), lambda i, a: i.mean("age", asked=a)),
    "a ratio": (
        lambda c: share(c, is_rich) / share(c, lambda d: d[:, 2] == 0),
        lambda i, a: i.ratio("income=>50K", "income=low", a),
    ),
    "a difference": (gap, lambda i, a: answer_of(compare(i, "income=>50K", "sex", asked=a), 2)),
    "a median": (
        lambda c: float(np.sort(AGES[c[:, 0]])[(len(c) + 1) // 2 - 1]),
        lambda i, a: quantile(i, "age", 0.5, asked=a),
    ),
    "a quantile where shares end": (
        lambda c: float(np.sort(AGES[c[:, 0]])[ceil(0.6 * len(c)) - 1]),
        lambda i, a: quantile(i, "age", 0.6, asked=a),
    ),
    "a slope": (slope, lambda i, a: answer_of(regress(i, "income=>50K", ["sex"], a), 1)),
}


def slack(level: float, replicates: int) -> float:
    """How much less than a level a rate of coverage may be, at a false-alarm rate of 1e-9."""
    return 6 * sqrt(level * (1 - level) / replicates) + 2 / replicates


def coverage(
    name: str, law: Law, kept: float, asked: Asked, interval: Callable[[Answer], Interval | None] = lambda a: a.interval
) -> float:
    truth, ask = STATISTICS[name]
    hits = 0
    for rows, inference in replicates(law, kept):
        found = interval(ask(inference, asked))
        assert found is not None
        right = truth(rows if asked.estimand == "finite" else population())
        hits += found.low - 1e-9 <= right <= found.high + 1e-9
    return hits / REPLICATES


@pytest.mark.parametrize(("kept", "asked"), [(1.0, Asked()), (0.5, Asked()), (1.0, POPULATION)])
@pytest.mark.parametrize("name", STATISTICS)
def test_intervals_cover(name: str, kept: float, asked: Asked) -> None:
    found = coverage(name, "gaussian", kept, replace(asked, level=0.8))
    assert found >= 0.8 - slack(0.8, REPLICATES), found
    # Intervals that are too wide would cover, too; quantiles have whole values.
    assert found <= 0.8 + slack(0.8, REPLICATES) or name in {"a median", "a quantile where shares end"}, found


@pytest.mark.parametrize(
    ("name", "kept", "asked"),
    [
        *((name, 1.0, Asked()) for name in ("a share", "a mean", "a share in a group", "a difference")),
        *((name, 0.5, Asked()) for name in ("a small share", "a ratio")),
        *((name, 1.0, POPULATION) for name in ("a small share", "a slope")),
    ],
)
def test_intervals_cover_with_laplace_noise(name: str, kept: float, asked: Asked) -> None:
    assert coverage(name, "laplace", kept, asked) >= 0.95 - slack(0.95, REPLICATES)


@pytest.mark.parametrize("name", ["a share", "a small share", "a share in a group", "a difference", "a slope"])
def test_intervals_that_ignore_the_noise_do_not_cover(name: str) -> None:
    def naive(answer: Answer) -> Interval:
        half = Z * answer.sampling_deviation
        return Interval(answer.estimate - half, answer.estimate + half)

    assert coverage(name, "gaussian", 1.0, POPULATION, naive) < 0.95 - slack(0.95, REPLICATES)


def test_intervals_that_ignore_that_a_part_was_measured_do_not_cover() -> None:
    def naive(answer: Answer) -> Interval:
        half = Z * answer.noise_deviation
        return Interval(answer.estimate - half, answer.estimate + half)

    truth, ask = STATISTICS["a share in a group"]
    both = [(ask(inference, Asked()), truth(rows)) for rows, inference in replicates("gaussian", 0.5, 1)]
    own = [answer.interval for answer, _ in both]
    right = [truth for _, truth in both]
    assert sum(i.low <= r <= i.high for i, r in zip(own, right, strict=True) if i) / len(both) >= 0.95 - slack(
        0.95, REPLICATES
    )
    short = [naive(answer) for answer, _ in both]
    hits = sum(i.low <= r <= i.high for i, r in zip(short, right, strict=True))
    assert hits / len(both) < 0.95 - slack(0.95, REPLICATES)


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("kind", ["count", "share"])
def test_cells_of_tables_cover_one_by_one_and_all_together(kind: str, law: Law) -> None:
    each, together, cells_seen = 0, 0, 0
    some = replicates(law, 1.0)[: REPLICATES if law == "gaussian" else REPLICATES // 4]
    for rows, inference in some:
        exact = np.zeros((3, 3))
        np.add.at(exact, (rows[:, 0] // 2, rows[:, 2]), 1)
        right = (exact if kind == "count" else exact / len(rows)).ravel()
        for simultaneous in (False, True):
            found = table(inference, ["age", "income"], kind, simultaneous=simultaneous).answers
            hits = [a.interval.low <= r <= a.interval.high for a, r in zip(found, right, strict=True) if a.interval]
            if simultaneous:
                together += all(hits)
            else:
                each, cells_seen = each + sum(hits), cells_seen + len(hits)
    assert each / cells_seen >= 0.95 - slack(0.95, len(some)), each / cells_seen
    assert each / cells_seen <= 0.95 + slack(0.95, len(some))
    assert together / len(some) >= 0.95 - slack(0.95, len(some)), together / len(some)


def test_the_squared_error_of_all_cells_is_what_the_variances_say() -> None:
    """The mean of squared standardized errors, which a variance that is wrong by a tenth in any release would move."""
    found = []
    for rows, inference in replicates("gaussian", 1.0):
        for attributes in [(0, 1), (1, 2), (0, 2)]:
            shape = tuple(inference.system.sizes[i] for i in attributes)
            exact = np.zeros(shape)
            columns = [inference.system.buckets[i][rows[:, i]] for i in attributes]
            np.add.at(exact, tuple(columns), 1)
            own = cells(inference, attributes)
            found.append(((own.counts - exact) ** 2 / own.variances).mean())
    assert np.mean(found) == pytest.approx(1, abs=6 * np.std(found) / sqrt(len(found)) * sqrt(3))
    assert np.mean(found) != pytest.approx(1.21, abs=0.05)


def test_a_quantile_at_a_step_has_both_of_its_sides() -> None:
    """Of exactly 60 % at most 20: the 0.6 quantile may be 20 or 21, whatever the noise makes of it."""
    rows = np.zeros((1000, 3), np.int64)
    rows[:, 0] = np.repeat(np.arange(6), [200, 200, 200, 200, 100, 100])
    both = 0
    for seed in range(20):
        found = quantile(Inference(measured(rows, seed=seed), probability=Fraction(1)), "age", 0.6)
        assert found.estimate in {20, 21}
        both += found.interval == Interval(20.0, 21.0)
    assert both >= 14, "19 of 20 are expected"


def test_what_is_stated_of_the_errors_is_what_intervals_are_made_of() -> None:
    _, inference = replicates("gaussian", 0.5)[0]
    found = [
        *compare(inference, "income=>50K", "sex", asked=POPULATION).answers[2:],
        *compare(inference, "income=>50K", "sex").answers[2:],
        *regress(inference, "income=>50K", ["sex"]).answers,
        *regress(inference, "age<=19", ["sex", "income"], POPULATION).answers,
    ]
    for answer in found:
        assert answer.interval is not None
        assert answer.noise_deviation > 0
        assert answer.sampling_deviation > 0
        assert answer.interval.high - answer.estimate == pytest.approx(Z * answer.deviation)
        assert sum(answer.sources.values()) == pytest.approx(1)


def test_bounds_contain_every_count_that_the_counts_of_parts_allow() -> None:
    """Random tables of three conditions; some of their counts are known, to within a random error."""
    tight = 0
    for seed in range(200):
        draw = np.random.default_rng([14, seed])
        cells = draw.integers(0, 12, (2, 2, 2)) * (draw.random((2, 2, 2)) < 0.6)
        known: dict[tuple[int, ...], Interval] = {}
        for subset in [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]:
            if subset == () or draw.random() < 0.7:
                exact = float(cells[tuple(1 if i in subset else slice(None) for i in range(3))].sum())
                below, above = draw.uniform(0, 3, 2)
                known[subset] = Interval(exact - below, exact + above)
        found = count_bounds((0, 1, 2), known)
        right = float(cells[1, 1, 1])
        assert found.low - 1e-9 <= right <= found.high + 1e-9, seed
        tight += found.low > 0
    assert tight > 10, "lower bounds say something"


def test_the_lower_bound_of_two_conditions_is_frechets() -> None:
    counts = {subset: Interval(count - 2, count + 1) for subset, count in (((), 100), ((0,), 80), ((1,), 70))}
    found = count_bounds((0, 1), counts)
    assert (found.low, found.high) == (80 - 2 + 70 - 2 - (100 + 1), 71)


def test_bounds_hold_for_what_was_not_counted_together() -> None:
    apart = tuple(query for query in EVERYTHING if query[0] != (1, 2))
    hits = 0
    for seed in range(REPLICATES // 2):
        rows = people(100 + seed, 1500)
        inference = Inference(measured(rows, apart, amount=Fraction(50), seed=seed), probability=Fraction(1))
        found = inference.share("income=>50K & sex=m")
        assert found.grade == "bounded"
        assert found.interval is not None
        right = share(rows, lambda c: is_rich(c) & ~is_female(c))
        hits += found.interval.low <= right <= found.interval.high
    assert hits == REPLICATES // 2, "bounds have more than their level unless the dependence is extreme"


def test_bounds_are_reached_where_the_dependence_is_extreme() -> None:
    rows = people(1, 3000)
    rows[:, 2] = np.where(rows[:, 1] == 1, 2, 0)
    apart = tuple(query for query in EVERYTHING if query[0] != (1, 2))
    inference = Inference(measured(rows, apart, amount=Fraction(50)), probability=Fraction(1))
    found = inference.count("income=>50K & sex=m")
    assert found.interval is not None
    right = int((rows[:, 1] == 1).sum())
    assert right - 50 < found.interval.high < right + 50
    assert found.interval.low <= right


def test_a_mean_of_bucketed_values_has_the_bounds_of_its_buckets() -> None:
    rows = people(5, 4000)
    inference = Inference(measured(rows, amount=Fraction(50)), probability=Fraction(1))
    found = inference.mean("age", "sex=f")
    assert found.grade == "bounded"
    assert found.interval is not None
    inside = rows[rows[:, 1] == 0, 0] // 2
    low, high = float(np.mean(18 + 2 * inside)), float(np.mean(19 + 2 * inside))
    assert low - 0.3 < found.interval.low < low
    assert high < found.interval.high < high + 0.3


def test_all_groups_of_a_comparison_are_there() -> None:
    _, inference = replicates("gaussian", 1.0)[0]
    found = compare(inference, "income=>50K", "age", test=True)
    assert found.cells == (("18..19",), ("20..21",), ("22..23",), ("20..21 - 18..19",), ("22..23 - 18..19",))
    assert [answer.p_value is None for answer in found.answers] == [True] * 3 + [False] * 2
    for (one, _), answer in zip(product(found.answers[1:3], [0]), found.answers[3:], strict=True):
        assert answer.estimate == pytest.approx(one.estimate - found.answers[0].estimate)


def test_bounds_of_a_share_are_of_its_own_group() -> None:
    """The condition is on an attribute of the group's as well: the group is not only of those who fulfil it."""
    apart = tuple(query for query in EVERYTHING if query[0] != (1, 2))
    rows = people(3, 4000)
    place = np.arange(4000)
    # All women have a low income, and so have as many men that it is half of all people.
    rows[:, 1], rows[:, 2] = place >= 800, place >= 2000
    inference = Inference(measured(rows, apart, amount=Fraction(50)), probability=Fraction(1))
    found = inference.share("income=low", "income=low|<=50K & sex=m")
    assert found.grade == "bounded"
    assert found.interval is not None
    assert found.interval.low <= 1200 / 3200 <= found.interval.high
    assert found.interval.low > 0.3, "1,200 of 3,200 is the least that the counts allow"


def by_a_linear_program(known: dict[tuple[int, ...], Interval], conditions: int) -> tuple[float, float]:
    """The least and the largest count of all conditions together, of tables that have all counts in their intervals."""
    cells = list(product((0, 1), repeat=conditions))
    rows, ends = [], []
    for subset, own in known.items():
        row = np.asarray([all(cell[i] for i in subset) for cell in cells], float)
        rows += [row, -row]
        ends += [own.high, -own.low]
    wanted = np.asarray([all(cell) for cell in cells], float)
    found = [linprog(sign * wanted, A_ub=np.asarray(rows), b_ub=ends) for sign in (1, -1)]
    assert all(each.status == 0 for each in found)
    return float(found[0].fun), -float(found[1].fun)


@pytest.mark.parametrize("conditions", [2, 3, 4])
def test_bounds_contain_those_of_a_linear_program_and_are_hardly_wider(conditions: int) -> None:
    """Of random tables of which all subsets of fewer conditions, or some of them, are known to within an error."""
    excess, spread, complements = 0.0, 0.0, 0
    for seed in range(drawn(120, 40)):
        draw = np.random.default_rng([19, conditions, seed])
        counts = draw.integers(0, 60, (2,) * conditions) * (draw.random((2,) * conditions) < 0.7)
        known = {}
        for size in range(conditions):
            for subset in combinations(range(conditions), size):
                if size <= 1 or draw.random() < 0.8:
                    exact = float(counts[tuple(1 if i in subset else slice(None) for i in range(conditions))].sum())
                    below, above = draw.uniform(0, 2, 2)
                    known[subset] = Interval(exact - below, exact + above)
        found = count_bounds(tuple(range(conditions)), known)
        low, high = by_a_linear_program(known, conditions)
        assert found.low <= low + 1e-6, seed
        assert high <= found.high + 1e-6, seed
        excess += (found.high - found.low) - (high - low)
        spread += high - low
        pairs = [known.get(pair) for pair in combinations(range(conditions), 2)]
        complements += found.high < min(each.high for each in pairs if each) - 1e-6 if any(pairs) else 0
    assert excess <= 0.02 * spread
    assert conditions == 2 or complements > 3, "complements say more than each count by itself"


def test_counts_that_no_table_has_do_not_stop_an_answer() -> None:
    """A noisy count of both may be above that of one by more than their errors; then what is left is an interval."""

    def about(count: float) -> Interval:
        return Interval(count - 1, count + 1)

    known = {(): about(100), (0,): about(10), (1,): about(60), (0, 1): about(40), (2,): about(50)}
    found = count_bounds((0, 1, 2), known)
    assert found.low >= 0
    assert found.high <= 11
