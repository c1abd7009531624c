"""AIM's plan: weights, amounts and events follow from spec and domain; no schedule of rounds exceeds it."""

import json
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput
from deniable.learners.aim.candidates import candidates, countable, size_limit
from deniable.learners.aim.plan import MEASURING, RoundsPlan, _amounts, rho_of_choice, rho_of_table, rounded
from deniable.learners.aim.spec import Entry
from deniable.learners.aim.steps import steps
from deniable.learners.aim.workload import Workload
from deniable.privacy.accounting import compose
from deniable.privacy.loss import ConcentratedEvent, DiscreteGaussianEvent

EPSILON, DELTA = Fraction(1), Fraction(1, 10**9)


def domain(*sizes: int) -> Domain:
    return Domain(
        tuple(Attribute(f"a{i}", tuple(range(size)), "nominal", tuple(range(size))) for i, size in enumerate(sizes))
    )


ELEVEN = domain(*[2] * 11)


def plan_of(table: Domain, workload: Any = "triples", epsilon: Fraction = EPSILON) -> RoundsPlan:
    return RoundsPlan.of(table, Workload.of(table, workload), epsilon, DELTA)


@pytest.fixture(scope="module")
def vectors(shared: Path) -> dict[str, Any]:
    known: dict[str, Any] = json.loads((shared / "vectors" / "vectors2.json").read_text())["aim"]
    return known


def test_amounts_are_those_of_the_paper(vectors: dict[str, Any]) -> None:
    plan = plan_of(ELEVEN)
    assert float(plan.rho) == pytest.approx(vectors["rho"], rel=1e-5)
    assert plan.rounds == vectors["T"]
    assert float(plan.first.variance) ** 0.5 == pytest.approx(vectors["sigma0"], rel=1e-5)
    assert float(plan.first.epsilon) == pytest.approx(vectors["eps0"], rel=1e-5)
    assert float(plan.first.rho) == pytest.approx(vectors["per_round_cost"], rel=1e-5)


def test_weights_are_those_of_the_paper(vectors: dict[str, Any]) -> None:
    found = Workload.of(ELEVEN, "triples").candidates
    for size in (1, 2, 3):
        weights = {weight for own, weight in found.items() if len(own) == size}
        assert weights == {vectors["weights_all_3way_d11"][f"|r|={size}"]}
    assert len(found) == 11 + 55 + 165


def test_the_closure_of_listed_tables_has_their_parts_and_weights() -> None:
    table = domain(2, 3, 1, 4)
    asked = [
        {"attributes": ("a0", "a1"), "weight": Fraction(1, 2)},
        {"attributes": ("a3", "a1", "a2"), "weight": Fraction(2)},
    ]
    workload = Workload.of(table, asked)
    assert workload.tables == ((0, 1), (1, 3)), "an attribute of one value has nothing to be measured"
    # In halves: the first table weighs 1, the second 4.
    assert workload.candidates == {(0,): 1, (1,): 5, (3,): 4, (0, 1): 2 + 4, (1, 3): 1 + 8}


def test_a_table_that_is_listed_twice_weighs_twice() -> None:
    asked = [{"attributes": ("a0", "a1"), "weight": Fraction(1)}, {"attributes": ("a1", "a0"), "weight": Fraction(3)}]
    assert Workload.of(domain(2, 3), asked).weights == (4,)


def test_events_are_the_one_way_marginals_and_the_rho_that_is_left() -> None:
    plan = plan_of(domain(2, 3, 1, 4))
    *ones, rest = plan.events
    assert [event.query for event in ones] == ["counts of a0", "counts of a1", "counts of a3"]
    assert all(isinstance(event, DiscreteGaussianEvent) and event.variance == plan.first.variance for event in ones)
    assert isinstance(rest, ConcentratedEvent)
    assert sum(event.rho or 0 for event in plan.events) == plan.rho
    assert plan.guarantee.accountant == "zcdp"
    assert 1 - 1e-5 < plan.guarantee.epsilon <= 1
    assert set(compose(plan.events, DELTA)) == {"zcdp"}, "no loss of an adaptive schedule is put on a grid"


@pytest.mark.parametrize(("sizes", "events"), [((1, 1), 0), ((1, 3), 1)])
def test_with_nothing_to_choose_all_of_rho_is_for_the_one_way_marginals(sizes: tuple[int, ...], events: int) -> None:
    plan = plan_of(domain(*sizes))
    assert len(plan.events) == events
    assert not plan.has_rounds
    if events:
        assert plan.rho * (1 - Fraction(1, 10**5)) < rho_of_table(plan.one_way_variance) <= plan.rho


@given(st.lists(st.booleans(), min_size=400, max_size=400), st.sampled_from([1, 10, 300]), st.integers(2, 20))
def test_no_schedule_exceeds_rho_and_every_schedule_spends_it(
    annealed: list[bool], thousandths: int, attributes: int
) -> None:
    """Whatever the answers are: noise is reduced after any rounds."""
    plan = plan_of(domain(*[3] * attributes), "pairs", Fraction(thousandths, 100))
    left, wished = plan.rho_of_rounds, plan.first
    number = 0
    while (amounts := plan.next_amounts(wished, left)) is not None:
        left -= amounts.rho
        assert left >= 0
        wished = amounts.annealed() if annealed[number] else amounts
        number += 1
    assert left <= plan.rho / 10**5
    assert number <= plan.rounds
    if not any(annealed[:number]):
        assert number >= plan.rounds - attributes - 1


@given(st.fractions(min_value="1/1000000", max_value=10**9))
def test_rounding_goes_one_way_and_no_further_than_six_digits(value: Fraction) -> None:
    assert value * (1 - Fraction(1, 10**5)) <= rounded(value, -1) <= value <= rounded(value, 1)
    assert rounded(value, 1) <= value * (1 + Fraction(1, 10**5))


def test_candidates_leave_the_model_small_or_as_it_is() -> None:
    table = domain(10, 10, 10, 10)
    plan = plan_of(table)
    measured = [(0,), (1,), (2,), (3,), (0, 1), (1, 2)]
    megabytes = Fraction(4_000, 10**6)
    alone = candidates(plan, measured, plan.rho, megabytes)
    assert set(alone) == {(0,), (1,), (2,), (3,), (0, 1), (1, 2)}, "at first nothing but what is there already"
    # Two cliques of 100 cells and one more take 2,400 bytes; a circle of pairs needs a triple of 1,000 cells.
    later = candidates(plan, measured, plan.rho * Fraction(4, 10), megabytes)
    assert {own for own in later if own not in alone} == {(0, 3), (1, 3), (2, 3)}
    assert size_limit(plan, Fraction(0), megabytes) == 4_000
    assert set(countable(plan, megabytes)) == {own for size in (1, 2) for own in combinations(range(4), size)}


def entry(**changes: Any) -> Entry:
    return Entry.model_validate({"kind": "aim", "parameters": {"epsilon": 1, "delta": 1e-9}, **changes})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"max_model": 0}, "greater than 0"),
        ({"max_model": 10**6}, "from 0.001 to 2000"),
        ({"max_seconds": 0}, "greater than or equal to 1"),
        ({"engine": "other"}, "'own' or 'mbi'"),
        ({"workload": "quadruples"}, "'pairs' or 'triples'"),
        ({"workload": []}, "at least 1 item"),
        ({"workload": [{"attributes": ["a0", "a0"]}]}, "name each attribute once"),
        ({"workload": [{"attributes": ["a0", "a9"]}]}, "must name attributes of the schema"),
        ({"workload": [{"attributes": ["a0"], "weight": 0}]}, "greater than 0"),
        ({"noise": "laplace"}, "'gaussian'"),
        ({"rounds": 5}, "Extra inputs"),
    ],
)
def test_an_entry_that_makes_no_sense_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Entry.model_validate(
            {"kind": "aim", "parameters": {"epsilon": 1, "delta": 1e-9}, **changes},
            context={"domain": domain(2, 3)},
        )


def test_a_workload_whose_counts_would_not_fit_in_memory_is_refused() -> None:
    with pytest.raises(InvalidInput, match="at most 100,000,000 cells together"):
        steps(entry(max_model=2000), domain(*[600] * 4), lambda delta: delta)


def test_the_step_is_planned_with_what_decides_the_draw() -> None:
    (step,) = steps(entry(max_model=1, max_seconds=7), domain(2, 3, 4), lambda delta: delta)
    assert step.parameters["max_seconds"] == 7
    assert step.parameters["tables"] == [["a0", "a1", "a2"]]
    assert step.work == 100


def test_a_round_whose_root_is_a_number_of_six_digits_is_not_reduced() -> None:
    """Epsilon 1 costs 1/8, which is all that is left for the choice."""
    assert _amounts(Fraction(1, 8) / (1 - MEASURING)).epsilon == 1


def test_a_root_that_was_rounded_up_to_six_digits_is_reduced_below_what_is_left() -> None:
    """A hair less than epsilon 1 costs, of which the root is rounded to 1."""
    left = Fraction(1, 8) - Fraction(1, 10**30)
    amounts = _amounts(left / (1 - MEASURING))
    assert amounts.epsilon == Fraction(999_999, 10**6)
    assert rho_of_choice(amounts.epsilon) < left
