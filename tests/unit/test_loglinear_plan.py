from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput
from deniable.learners.loglinear.learning import _LEFT_FOR_TABLES, _SIGNAL_OF_A_TABLE, _WEAK_SIGNAL, WIDE, extra_tables
from deniable.learners.loglinear.plan import BATCHES, Layout, LoglinearRecipe, NoiseChoice, in_batches
from deniable.privacy.accounting import _LIBRARY_AGREES, _as_by_library, best, best_again
from deniable.privacy.loss import ApproximateEvent, DiscreteGaussianEvent, ExponentialEvent

DELTA = Fraction(1, 10**9)


def domain(*sizes: int, target: int | None = 0) -> Domain:
    return Domain(
        tuple(Attribute(f"a{i}", tuple(range(size)), "nominal", (0,) * size) for i, size in enumerate(sizes)),
        target=None if target is None else f"a{target}",
    )


MANY = domain(*[4] * 15)


@pytest.mark.parametrize("epsilon", ["1/10", "1", "10"])
@pytest.mark.parametrize("table", [domain(3, 4), domain(3, 4, 5, 2, 2), MANY, domain(*[2] * 60, target=None)])
def test_a_plan_costs_no_more_than_its_recipe_allows_and_wastes_little(epsilon: str, table: Domain) -> None:
    plan = LoglinearRecipe(Fraction(epsilon), DELTA).calibrate(table)
    assert 0.97 * Fraction(epsilon) < plan.guarantee.epsilon <= float(Fraction(epsilon))
    assert plan.guarantee.delta <= float(DELTA)
    assert best_again(plan.events, DELTA).epsilon == pytest.approx(plan.guarantee.epsilon, rel=2e-3)


@pytest.mark.parametrize("delta", [5, 9, 10, 11])
@pytest.mark.parametrize("table", [domain(3, 4, 5, 2, 2), domain(*[5] * 60)])
def test_the_search_for_the_least_noise_foresees_what_the_library_finds(delta: int, table: Domain) -> None:
    plan = LoglinearRecipe(Fraction(1, 2), Fraction(1, 10**delta), "gaussian").calibrate(table)
    foreseen = best(plan.events, float(plan.recipe.delta), pld=_as_by_library).epsilon
    assert foreseen * (1 + _LIBRARY_AGREES) <= 0.5
    assert plan.guarantee.epsilon == pytest.approx(foreseen, rel=_LIBRARY_AGREES)


def test_tight_accounting_allows_a_tenth_more_than_concentrated_privacy() -> None:
    plan = LoglinearRecipe(Fraction(1), DELTA).calibrate(MANY)
    spent = sum(event.outputs * event.rho for event in plan.events if event.rho is not None)
    assert 0.0162 < spent < 0.0166


def test_pure_privacy_is_the_sum_of_all_epsilons() -> None:
    plan = LoglinearRecipe(Fraction(1), Fraction(0)).calibrate(MANY)
    assert plan.noise == "laplace"
    assert sum(event.outputs * (event.epsilon or 0) for event in plan.events) == 1
    assert plan.guarantee.delta == 0


def test_laplace_shares_of_tables_are_not_composed_one_by_one() -> None:
    """Ten shares are one release at ten times the epsilon: a bound that takes them for ten releases would be wrong."""
    plan = LoglinearRecipe(Fraction(1), DELTA, "laplace").calibrate(MANY)
    (tables,) = [event for event in plan.events if isinstance(event, ApproximateEvent)]
    assert tables.outputs == 1
    assert plan.law(10).scale == plan.amount / 10  # type: ignore[union-attr]
    assert tables.epsilon == plan.layout.table_shares / plan.amount


def test_single_attributes_are_released_at_once_and_other_shares_one_by_one() -> None:
    plan = LoglinearRecipe(Fraction(1), DELTA).calibrate(MANY)
    counted = [event for event in plan.events if isinstance(event, DiscreteGaussianEvent)]
    m, layout = len(MANY), plan.layout
    assert [event.outputs for event in counted[:m]] == [1] * m
    assert [plan.amount / event.variance for event in counted[:m]] == list(layout.one_way_shares)
    assert {event.variance for event in counted[m:]} == {plan.amount}
    assert sum(event.outputs for event in counted[m:]) == layout.table_shares
    assert plan.law(10) == plan.law(1)
    assert plan.law(10, at_once=True).variance == plan.amount / 10  # type: ignore[union-attr]
    assert (plan.releases(10, at_once=False), plan.releases(10, at_once=True)) == (10, 1)
    assert plan.deviation(4) == pytest.approx(plan.deviation(1) / 2)


def test_shares_grow_with_the_number_of_values_and_take_none_from_tables() -> None:
    small, wide = Layout.of(domain(*[4] * 9, 40)), Layout.of(domain(*[4] * 9, 40_000))
    assert wide.one_way_shares[:9] == small.one_way_shares[:9]
    assert wide.table_shares == small.table_shares
    assert wide.one_way_shares[9] == pytest.approx(100 * small.one_way_shares[9], rel=0.02)
    before = Layout.of_version_2(domain(*[4] * 9, 40_000))
    assert before.one_way_shares == small.one_way_shares
    numbers = Domain((*domain(*[4] * 9).attributes, Attribute("a9", tuple(range(1000)), "numeric", (0,) * 1000)))
    assert Layout.of(numbers).one_way_shares[9] == pytest.approx(10 ** (2 / 3) * small.one_way_shares[9], rel=0.02)


@pytest.mark.parametrize("table", [domain(3, 4), MANY, domain(*[3] * 80), domain(*[3] * 80, target=None)])
def test_each_table_and_each_choice_is_an_event_of_its_own(table: Domain) -> None:
    plan = LoglinearRecipe(Fraction(1), DELTA, "gaussian").calibrate(table)
    layout, m = plan.layout, len(table)
    queries = [event.query for event in plan.events]
    assert len(set(queries)) == len(queries)
    assert [query for query in queries if query.startswith("choice of")] == [
        *(f"choice of tree table {turn}" for turn in range(1, layout.tree_choices + 1)),
        *(f"choice of extra table, {slot}" for slot in layout.extra_slots),
    ]
    assert len(layout.extra_slots) == layout.extra_choices
    tree = sum(query.startswith("tree table") for query in queries)
    with_target = sum(query.startswith("counts of") and query.endswith(" and a0") for query in queries)
    extra = sum(query.startswith("extra table") for query in queries)
    assert (tree, extra) == (layout.tree_choices, layout.extra_choices)
    assert with_target == (0 if table.target is None else m - 1)
    assert tree + with_target >= m - 1
    assert sum(query.startswith("counts of") for query in queries) == m + with_target
    assert {event.outputs for event in plan.events[m:-1]} == {1}


@pytest.mark.parametrize("planned", range(40))
def test_no_round_has_more_tables_than_were_planned_for_it(planned: int) -> None:
    """How many extra tables there are for the signal, earlier answers say; what each round has of them is named."""
    layout = replace(LoglinearRecipe(Fraction(1), DELTA).calibrate(MANY).layout, extra_choices=planned)
    named = Counter(slot.split(",")[0] for slot in layout.extra_slots)
    for extras in range(planned + 1):
        picks = in_batches(extras, BATCHES)
        assert sum(picks) == extras
        assert all(each <= named[f"batch {batch}"] for batch, each in enumerate(picks, 1))


def test_batches_of_version_2_are_what_they_were() -> None:
    for m in range(2, 200):
        rounds = [4 * m * (each + 1) // 3 for each in range(3)]
        assert in_batches(4 * m, 3) == np.diff([0, *rounds]).tolist()


@pytest.mark.parametrize("target", [0, None])
def test_there_is_a_share_for_every_table_however_many_attributes_there_are(target: int | None) -> None:
    """All that may be asked fits, round by round, with what single attributes may have had of it before."""
    for m in [*range(2, 20), *range(20, 120, 9), *range(119, 132), *range(132, 400, 31), 1000]:
        layout = Layout.of(domain(*[4] * m, target=target))
        assert layout.first_tables == (m - 1 if target is None else m - 2 + m - 1)
        assert layout.first_tables + layout.extra_choices <= layout.table_shares
        assert min(layout.one_way_shares) >= 1
        again = max(0, layout.table_shares // m - _LEFT_FOR_TABLES) * m
        weak = round(m * _WEAK_SIGNAL / min(_SIGNAL_OF_A_TABLE.values()))
        left = layout.table_shares - again
        for noise in ("gaussian", "laplace"):
            wanted = min(extra_tables(m, _WEAK_SIGNAL, noise), layout.extra_choices, left - layout.first_tables)
            require_a_share_for_each(left, layout.first_tables, wanted)
        require_a_share_for_each(layout.table_shares, layout.first_tables, layout.extra_choices)
        require_a_share_for_each(layout.table_shares - again, layout.first_tables, min(weak, layout.extra_choices))


def test_wide_tables_alone_have_more_extra_tables_at_the_same_signal() -> None:
    assert [extra_tables(m, 300.0, "gaussian") for m in (2, 20, WIDE)] == [2, 20, WIDE]
    assert extra_tables(80, 300.0, "gaussian") == round(80 * (80 / WIDE) ** 2)
    assert extra_tables(400, 300.0, "gaussian") == 3 * 400
    assert extra_tables(400, 400.0, "laplace") == 400


def require_a_share_for_each(left: int, first: int, extras: int) -> None:
    """That shares suffice, as they are handed out in turn: to the first tables, then in rounds."""
    available = left * first // (first + extras)
    assert available >= first
    left -= available
    for picks in in_batches(extras, BATCHES):
        available = left * picks // extras if picks else 0
        assert available >= picks
        left, extras = left - available, extras - picks


def test_every_choice_is_planned() -> None:
    layout = LoglinearRecipe(Fraction(1), DELTA).calibrate(MANY).layout
    assert (layout.tree_choices, layout.extra_choices) == (13, 60)
    assert LoglinearRecipe(Fraction(1), DELTA).calibrate(domain(2, 3, 4)).layout.choices == 1
    events = LoglinearRecipe(Fraction(1), DELTA).calibrate(domain(2, 3)).events
    assert not any(isinstance(event, ExponentialEvent) for event in events)


def test_what_has_one_value_costs_nothing() -> None:
    plan = LoglinearRecipe(Fraction(1), DELTA).calibrate(domain(1, 1))
    assert plan.events == ()
    assert plan.guarantee.epsilon == 0


def test_gaussian_noise_needs_a_delta() -> None:
    with pytest.raises(InvalidInput, match="above 0 for Gaussian"):
        LoglinearRecipe(Fraction(1), Fraction(0), "gaussian").calibrate(MANY)


def test_gaussian_noise_is_not_scaled_where_delta_alone_covers_it() -> None:
    with pytest.raises(InvalidInput, match=r"epsilon must be large enough relative to delta .* take Laplace noise"):
        LoglinearRecipe(Fraction(1, 10**6), Fraction(1, 10), "gaussian").calibrate(domain(3, 3, 3, 3))


@pytest.mark.parametrize("noise", ["auto", "laplace", "gaussian"])
def test_the_largest_epsilon_beside_the_smallest_delta_is_planned_for(noise: NoiseChoice) -> None:
    plan = LoglinearRecipe(Fraction(100), Fraction(1, 10**30), noise).calibrate(domain(3, 3, 3, 3))
    assert 99 < plan.guarantee.epsilon <= 100


def test_few_answers_take_laplace_noise_and_many_take_gaussian() -> None:
    assert LoglinearRecipe(Fraction(1), DELTA).calibrate(domain(3, 4, 2)).noise == "laplace"
    assert LoglinearRecipe(Fraction(1), DELTA).calibrate(MANY).noise == "gaussian"


def test_shares_minimise_the_sum_of_cells_times_noise() -> None:
    """Of two tables with cells c, the noise is c / s with Laplace noise, and c / sqrt(s) with Gaussian noise."""
    shares = np.linspace(0.05, 0.95, 9001)
    for noise, delta, power in (("laplace", Fraction(0), 1.0), ("gaussian", DELTA, 0.5)):
        plan = LoglinearRecipe(Fraction(1), delta, noise).calibrate(domain(3, 4))  # type: ignore[arg-type]
        best_share = float(shares[np.argmin(4 / shares**power + 64 / (1 - shares) ** power)])
        weights = [plan.share_weight(cells) for cells in (4, 64)]
        assert weights[0] / sum(weights) == pytest.approx(best_share, abs=2e-4)
