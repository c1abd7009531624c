"""A release is judged by its uses and its groups, and by how many real records are as close to others as it is."""

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from math import log2, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import jensenshannon
from sklearn.metrics import normalized_mutual_info_score

from deniable.evaluation.classifiers import classifiers
from deniable.evaluation.contract import Scope, Value
from deniable.evaluation.evidence import UtilityEvidence
from deniable.evaluation.metrics import (
    groups,
    jensen_shannon,
    marginal_distances,
    mutual_information,
    numbers,
    rare_values,
    subsample,
)
from deniable.evaluation.metrics.subsample import equivalent_size
from deniable.evaluation.registry import figures_of
from deniable.evaluation.uses import USES, Use, judged
from deniable.evaluation.utility import MarginalCounts, count_marginals
from deniable.foundation.domain import Attribute, Codes, Domain
from tests.conftest import ROOT
from tests.evaluated_release import KEY, independent, population

ROWS = 4000
SIZES = {"age": 40, "income": 40, "town": 30, "sex": 2, "sick": 2}
DOMAIN = Domain(
    tuple(Attribute(name, tuple(range(size)), "numeric", tuple(range(size))) for name, size in SIZES.items()),
    target="sex",
)
SIGMAS = 6.0
"""Standard errors; by the normal law, one deviation in 1e9 is larger."""


def evidence_of(
    released: Codes, training: Codes, holdout: Codes, pool: ThreadPoolExecutor, domain: Domain = DOMAIN
) -> UtilityEvidence:
    words = KEY.stream(step="test", mechanism="classifiers", inputs="", parameters={})
    return UtilityEvidence(
        domain=domain,
        tables={"released": released, "training": training},
        holdout=holdout,
        rows=500,
        classifiers=(),
        factories=classifiers(words, trees=2),
        groups=[domain.index(name) for name in ("sex", "sick", "town") if name in domain.names],
        pool=pool,
    )


def measured(
    metric: object, released: Codes, training: Codes | None = None, holdout: Codes | None = None
) -> dict[str, Value]:
    """What a metric measures of a release of the made-up population."""
    real = [population(ROWS, name) if table is None else table for name, table in (("one", training), ("two", holdout))]
    with ThreadPoolExecutor(2) as pool:
        return dict(metric.METRIC.measure(evidence_of(released, *real, pool)))  # type: ignore[attr-defined]


def test_the_size_that_has_a_distance_is_found_on_the_law_of_sampling_error() -> None:
    def distance(size: float) -> float:
        return sqrt(0.01 * (1 / size + 1 / 4000))

    curve = [(size, distance(size)) for size in (15, 62, 250, 1000, 4000)]
    for size in (15, 40, 250, 700, 3999):
        assert equivalent_size(curve, distance(size), 0.001).value == pytest.approx(size)
    at_700 = equivalent_size(curve, distance(700), 1e-4)
    moved = equivalent_size(curve, distance(700) + 1e-5, 0).value
    assert at_700.error == pytest.approx(10 * (at_700.value - moved), rel=0.05)


def test_a_release_that_is_closer_or_further_than_all_samples_has_the_size_of_the_last() -> None:
    curve = [(10, 0.5), (40, 0.2), (160, 0.1)]
    assert equivalent_size(curve, 0.05, 0.01).value == 160
    assert equivalent_size(curve, 0.7, 0.01).value == 10
    assert equivalent_size([(10, 0.1)], 0.7, 0.01) == Value(10.0, 0.0)


def test_a_sample_that_is_further_away_than_a_smaller_one_does_not_confuse_the_curve() -> None:
    curve = [(10, 0.5), (40, 0.15), (160, 0.2), (640, 0.1)]
    found = [equivalent_size(curve, distance, 0.0).value for distance in (0.45, 0.3, 0.19, 0.15, 0.11)]
    assert found == sorted(found)


@pytest.mark.parametrize("size", [250, 1000, 3000])
def test_a_sample_of_real_records_is_equivalent_to_as_many(size: int) -> None:
    found = measured(subsample, population(size, f"sample of {size}"))
    for order in (2, 3):
        value = found[subsample.name_of(order)]
        assert value.error is not None
        assert abs(value.value - size) < SIGMAS * value.error
        assert value.error < size / 3
        assert found[subsample.share_of(order)].value == pytest.approx(value.value / ROWS)


def test_independent_attributes_are_equivalent_to_few_records() -> None:
    found = measured(subsample, independent(ROWS, "independent"))[subsample.name_of(2)]
    assert found.value + SIGMAS * (found.error or 0) < ROWS / 4


def test_sdnists_score_is_1000_less_500_times_the_mean_distance_of_pairs() -> None:
    released, holdout = population(300, "small"), population(ROWS, "two")
    pairs = [(i, j) for i in range(5) for j in range(i + 1, 5)]
    shapes = [(list(SIZES.values())[i], list(SIZES.values())[j]) for i, j in pairs]
    distances = []
    for (i, j), shape in zip(pairs, shapes, strict=True):
        tables = [np.zeros(shape), np.zeros(shape)]
        for table, codes in zip(tables, (released, holdout), strict=True):
            np.add.at(table, (codes[:, i], codes[:, j]), 1 / len(codes))
        distances.append(np.abs(tables[0] - tables[1]).sum())
    assert measured(marginal_distances, released)[marginal_distances.score_of()].value == pytest.approx(
        (2 - np.mean(distances)) * 500
    )


def spoiled(codes: Codes, town: int) -> Codes:
    """Records in which age and income in one town are those of few."""
    here = (codes[:, 2] == town)[:, None]
    return np.where(here & (np.arange(5) < 2), codes % 3, codes).astype(np.uint16)


def test_the_group_that_a_release_fails_is_named_and_no_other() -> None:
    found = measured(groups, spoiled(population(ROWS, "best"), 7))
    flags = dict(zip(groups.groups_of(DOMAIN, ("sex", "sick", "town")), found[groups.FAILED].summarizes, strict=True))
    assert [group for group, failed in flags.items() if failed] == [("town", "7")]
    assert found[groups.FAILED].value == 1
    sizes = found[groups.JUDGED].summarizes
    assert sizes[:2] == tuple(np.bincount(population(ROWS, "two")[:, 3]))
    assert found[groups.WORST].value == max(found[groups.WORST].summarizes)


def test_no_group_of_a_sample_of_the_population_fails() -> None:
    found = measured(groups, population(ROWS, "best"))
    assert found[groups.FAILED].value == 0
    assert found[groups.JUDGED].value == 2 + 2 + 30
    gaps, errors = np.array(found[groups.WORST].summarizes), np.array(found[groups.WORST].errors)
    assert (np.abs(gaps) < SIGMAS * errors).all()


def test_a_group_that_is_not_released_is_as_far_away_as_can_be() -> None:
    released = population(ROWS, "best")
    found = measured(groups, released[released[:, 3] == 0])
    assert found[groups.WORST].summarizes[1] > 0.7
    assert found[groups.FAILED].summarizes[:2] == (0.0, 1.0)


def test_a_group_of_few_released_records_does_not_fail_for_certain() -> None:
    released = population(ROWS, "best")
    few = np.concatenate((released[released[:, 2] != 7], released[released[:, 2] == 7][:3]))
    found = measured(groups, few)
    place = groups.groups_of(DOMAIN, ("sex", "sick", "town")).index(("town", "7"))
    assert found[groups.WORST].summarizes[place] > 0.3
    assert found[groups.WORST].errors[place] > 0.25
    assert found[groups.FAILED].value == 0


def test_small_groups_are_not_judged() -> None:
    holdout = population(ROWS, "two")
    few = np.concatenate((holdout[holdout[:, 3] == 0], holdout[holdout[:, 3] == 1][: groups.FEWEST - 1]))
    found = measured(groups, population(ROWS, "best"), holdout=few)
    assert found[groups.JUDGED].summarizes[1] == groups.FEWEST - 1
    assert found[groups.FAILED].summarizes[1] == 0


def test_the_distance_within_a_group_is_that_of_the_other_attributes_beyond_chance() -> None:
    released, training, holdout = (population(500, name) for name in ("r", "t", "h"))
    found = measured(groups, released, training, holdout)[groups.WORST].summarizes[1]

    def within(codes: Codes) -> float:
        one, other = codes[codes[:, 3] == 1], holdout[holdout[:, 3] == 1]
        shares = [[np.bincount(table[:, j], minlength=40) / len(table) for table in (one, other)] for j in (0, 1, 2, 4)]
        return float(np.mean([np.abs(a - b).sum() / 2 for a, b in shares]))

    assert found == pytest.approx(within(released) - within(training))


def test_the_size_from_which_on_all_groups_are_good_is_that_of_the_smallest_larger_than_any_bad_one() -> None:
    sizes = np.array([10, 20, 30, 40])
    assert groups._good_from(sizes, np.array([True, False, True, True])) == 30
    assert groups._good_from(sizes, np.array([True, True, True, True])) == 10
    assert groups._good_from(sizes, np.array([True, True, True, False])) is None


def test_gaps_of_numbers_are_those_of_means_quantiles_and_correlations() -> None:
    released, training, holdout = independent(900, "r"), population(800, "t"), population(700, "h")
    found = measured(numbers, released, training, holdout)
    one = [[table[:, j].astype(float) for j in range(5)] for table in (released, training, holdout)]
    spread = [column.std() for column in one[2]]
    means = [
        abs(one[0][j].mean() - one[2][j].mean()) / spread[j] - abs(one[1][j].mean() - one[2][j].mean()) / spread[j]
        for j in range(5)
    ]
    assert found[numbers.MEANS].summarizes == pytest.approx(means)
    assert found[numbers.MEANS].value == max(found[numbers.MEANS].summarizes)
    r = [np.corrcoef(np.array(table)) for table in one]
    pairs = [(i, j) for i in range(5) for j in range(i + 1, 5)]
    gaps = [abs(r[0][pair] - r[2][pair]) - abs(r[1][pair] - r[2][pair]) for pair in pairs]
    assert found[numbers.CORRELATIONS].summarizes == pytest.approx(gaps)
    steps = [np.array([[(column <= x).mean() for x in range(40)] for column in table]) for table in one]
    quantiles = np.abs(steps[0] - steps[2]).max(axis=1) - np.abs(steps[1] - steps[2]).max(axis=1)
    assert found[numbers.QUANTILES].summarizes == pytest.approx(quantiles)


def test_a_value_that_stands_for_a_missing_number_is_no_number() -> None:
    ages = Attribute("age", (-1, 10, 20), "numeric", (0, 1, 2), missing=-1)
    columns = numbers.numeric_columns(Domain((ages, Attribute("sex", ("f", "m"), "nominal", (0, 1)))))
    assert list(columns) == [0]
    assert np.isnan(columns[0][0])
    assert list(columns[0][1:]) == [10, 20]


def test_rare_values_are_lost_if_they_are_half_as_frequent() -> None:
    rare = np.repeat(np.arange(5), (2000, 12, 12, 12, 8))
    table = np.column_stack((rare % 40, rare * 0, rare * 0, rare * 0, rare * 0)).astype(np.uint16)
    released = table[~((rare == 1) | ((rare == 2) & (np.arange(len(rare)) % 3 > 0)))]
    assert measured(rare_values, released, table, table)[rare_values.LOST].value == pytest.approx(2 / 3)


def test_the_divergence_is_the_square_of_scipys_distance_in_bits() -> None:
    tables = [population(size, name) for size, name in ((300, "one"), (200, "two"))]
    marginals = tuple((j,) for j in range(5))
    counts = [count_marginals([table], tuple(SIZES.values()), marginals) for table in tables]
    found, _ = jensen_shannon.divergence(*counts)
    expected = [jensenshannon(*(each.table(marginal) for each in counts), base=2) ** 2 for marginal in marginals]
    assert found == pytest.approx(expected)


def test_the_error_of_a_divergence_is_the_spread_of_tables_drawn_anew() -> None:
    drawn = [
        measured(jensen_shannon, population(400, f"drawn {i}"), population(50, "t"), population(400, f"h {i}"))
        for i in range(40)
    ]
    far = [table[table[:, 0] < 20][:400] for table in (population(1200, f"far {i}") for i in range(40))]
    moved = [
        measured(jensen_shannon, table, population(50, "t"), population(400, f"h {i}")) for i, table in enumerate(far)
    ]
    name = jensen_shannon.name_of()
    for each, largest in ((drawn, 2.2), (moved, 1.5)):
        spread = float(np.std([found[name].value for found in each], ddof=1))
        stated = float(np.mean([found[name].error for found in each]))
        # To first order, which is conservative where tables differ by chance alone.
        assert 0.7 * spread < stated < largest * spread


def test_mutual_information_is_that_of_scikit_learn() -> None:
    """Normalized by the arithmetic mean of the entropies, as the inspector of DataSynthesizer does."""
    table = population(300, "one")
    marginals = tuple(combinations(range(5), 2))
    found, _ = mutual_information.normalized_information(count_marginals([table], tuple(SIZES.values()), marginals))
    expected = [normalized_mutual_info_score(table[:, a], table[:, b]) for a, b in marginals]
    assert found == pytest.approx(expected, abs=1e-12)
    assert found.max() > 0.1


def test_mutual_information_of_copies_is_1_and_of_constants_0() -> None:
    rows = np.array([[0, 0, 0], [1, 1, 0], [2, 2, 0]], np.uint16)
    counted = count_marginals([rows], (3, 3, 2), ((0, 1), (0, 2)))
    assert mutual_information.normalized_information(counted)[0] == pytest.approx([1, 0])
    alone = count_marginals([rows[:1]], (3, 3, 2), ((0, 1),))
    assert mutual_information.normalized_information(alone)[0].tolist() == [0]


def test_the_slopes_of_mutual_information_are_its_differences() -> None:
    """Of the shares of two cells, one of which gains what the other loses."""
    counted = count_marginals([population(500, "one")], tuple(SIZES.values()), ((0, 3), (1, 4)))
    _, slopes = mutual_information.normalized_information(counted)
    there = np.flatnonzero(counted.counts[: counted.starts[1]] > 2)[:2]
    ends = []
    for step in (1, -1):
        moved = replace_counts(counted, 1000 * counted.counts, there, step)
        ends.append(mutual_information.normalized_information(moved)[0][0])
    assert (ends[0] - ends[1]) * 500_000 / 2 == pytest.approx(slopes[there[0]] - slopes[there[1]], rel=1e-4)


def replace_counts(
    counted: MarginalCounts, counts: NDArray[np.int64], cells: NDArray[np.int64], step: int
) -> MarginalCounts:
    """The same table with a thousand times the rows, of which one moves from a cell to another."""
    moved = MarginalCounts(counted.cardinalities, counted.marginals, 1000 * counted.rows)
    moved.counts[:] = counts
    moved.counts[cells] += (step, -step)
    return moved


def test_the_error_of_a_difference_of_information_is_the_spread_of_tables_drawn_anew() -> None:
    name = mutual_information.gap_of()
    found = [
        measured(mutual_information, independent(400, f"i {i}"), population(50, "t"), population(400, f"h {i}"))[name]
        for i in range(40)
    ]
    spread = float(np.std([each.value for each in found], ddof=1))
    assert 0.7 * spread < float(np.mean([each.error for each in found])) < 1.6 * spread


USE = Use(name="x", words="x", figure="x", unit="", good=0.02, usable=0.05, caution="Take care.", refusal="Do not.")


@pytest.mark.parametrize(
    ("value", "error", "grade"),
    [
        (0.01, 0.005, "good"),
        (0.01, 0.006, "with caution"),
        (0.03, 0.01, "with caution"),
        (0.03, 0.02, None),
        (0.06, 0.006, None),
        (0.06, 0.005, "do not"),
        (-0.1, 0.05, "good"),
        (0.0, None, None),
    ],
)
def test_a_use_is_graded_by_the_whole_interval(value: float, error: float | None, grade: str | None) -> None:
    assert USE.grade(Value(value, error)) == grade


def test_every_use_is_judged_by_a_figure_that_has_an_error() -> None:
    for scope in (Scope(), Scope(classifiers=("tree",))):
        declared = figures_of(scope)
        for use in USES:
            assert declared[use.figure_in(scope)].has_error
            assert 0 < use.good < use.usable
            assert all(advice.endswith(".") for advice in (use.caution, use.refusal))


def test_a_use_whose_figure_is_missing_is_not_judged() -> None:
    assert judged({"tvd_1way_beyond": Value(0.0, 0.001)}, Scope()) == {"shares": "good"}


def test_the_divergence_of_halves_is_known_by_hand() -> None:
    marginals = ((0,),)
    one, other = (count_marginals([np.array(rows, np.uint16)[:, None]], (2,), marginals) for rows in ([0, 0], [0, 1]))
    entropy = -(0.75 * log2(0.75) + 0.25 * log2(0.25))
    assert jensen_shannon.divergence(one, other)[0] == pytest.approx([entropy - 0.5])


def test_the_page_states_the_rules_by_which_uses_are_judged() -> None:
    page = (ROOT / "docs" / "statistician" / "what-a-release-is-good-for.md").read_text(encoding="utf-8")
    rows = [
        f"| {use.words} | `{use.figure_in(Scope())}` | {use.good:g} | {use.usable:g} | {use.unit} |" for use in USES
    ]
    assert "\n".join(rows) in page
    assert f"fewer than {groups.FEWEST} held-out" in page
    assert f"at most {groups.MOST_VALUES} values" in page
    assert groups.MOST_ATTRIBUTES == 10
    assert "the first ten" in page
    assert f"at most {rare_values.MOST_SHARE:.0%} and at least {rare_values.FEWEST} of the held-out" in page
