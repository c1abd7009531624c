import json
import math
from dataclasses import FrozenInstanceError, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import pytest

from deniable.foundation.errors import InvalidInput
from deniable.privacy.loss import (
    KINDS,
    VACUOUS_EPSILON,
    ApproximateEvent,
    ConcentratedEvent,
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    Guarantee,
    MechanismEvent,
    PoissonAttemptsEvent,
    PrivacyTestEvent,
    SampledTestEvent,
    StabilityHistogramEvent,
    discrete_laplace_tail,
    from_record,
)

LAPLACE = DiscreteLaplaceEvent(
    query="counts of age given sex", part="parameters", outputs=11, sensitivity=2, scale=Fraction(40, 3)
)
GAUSSIAN = DiscreteGaussianEvent(
    query="counts of pairs", part="all", outputs=55, sensitivity=1, variance=Fraction(201, 2)
)
CHOICES = ExponentialEvent(query="edges", part="structure", outputs=10, epsilon_per_choice=Fraction(1, 20))
OTHER = ApproximateEvent(
    query="histogram", part="seeds", outputs=1, epsilon_per_output=Fraction(1), delta_per_output=Fraction(1, 10**9)
)
_TESTED: dict[str, Any] = {
    "query": "candidates",
    "part": "seeds",
    "outputs": 10_000,
    "k": 50,
    "gamma": Fraction(4),
    "eps0": Fraction(1),
    "public_rows": 100_000,
    "drop_probability": Fraction(1, 100),
    "sampling_rate": Fraction(1, 2),
}
CANDIDATES = PrivacyTestEvent(**_TESTED)
SAMPLED = SampledTestEvent(**_TESTED, check_probability=Fraction(1, 10), max_plausible=100)
PREFIXES = StabilityHistogramEvent(query="prefixes", part="seeds", outputs=1, scale=Fraction(2), threshold=28)
ROUNDS = ConcentratedEvent(query="rounds", part="parameters", outputs=1, rho_per_output=Fraction(3, 200))
ATTEMPTS = PoissonAttemptsEvent(
    query="attempts", part="seeds", outputs=1, attempts_per_row=Fraction(1, 4), plausible=50, passes=f"1 70 {1 << 64}"
)
EVENTS = [ATTEMPTS, LAPLACE, GAUSSIAN, CHOICES, OTHER, CANDIDATES, SAMPLED, PREFIXES, ROUNDS]


def test_every_kind_of_event_is_tried_here() -> None:
    assert {type(event) for event in EVENTS} == set(KINDS.values())


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_survives_being_written_as_json(event: MechanismEvent) -> None:
    assert from_record(json.loads(json.dumps(event.to_record()))) == event


def test_a_record_can_be_read_without_this_software() -> None:
    assert LAPLACE.to_record() == {
        "mechanism": "discrete_laplace",
        "query": "counts of age given sex",
        "part": "parameters",
        "outputs": 11,
        "sampling_rate": "1",
        "sensitivity": 2,
        "scale": "40/3",
    }


def test_a_record_written_before_a_field_with_a_default_existed_can_be_read() -> None:
    record = LAPLACE.to_record()
    del record["sampling_rate"]
    assert from_record(record) == LAPLACE


@pytest.mark.parametrize(
    "change",
    [
        {"mechanism": "magic"},
        {"scale": "wide"},
        {"scale": "0"},
        {"colour": "red"},
        {"outputs": "eleven"},
        {"outputs": 0},
    ],
)
def test_a_record_that_cannot_be_an_event_is_refused(change: dict[str, str | int]) -> None:
    with pytest.raises(InvalidInput):
        from_record({**LAPLACE.to_record(), **change})


def test_a_record_without_a_field_is_refused() -> None:
    record = LAPLACE.to_record()
    del record["scale"]
    with pytest.raises(InvalidInput, match="scale"):
        from_record(record)


def test_cost_of_one_output() -> None:
    assert (LAPLACE.epsilon, LAPLACE.rho, LAPLACE.delta) == (Fraction(3, 20), Fraction(9, 800), 0)
    assert (GAUSSIAN.epsilon, GAUSSIAN.rho) == (None, Fraction(1, 201))
    assert replace(GAUSSIAN, sensitivity=3).rho == Fraction(9, 201)
    assert (CHOICES.epsilon, CHOICES.rho) == (Fraction(1, 20), Fraction(1, 3200))
    assert (OTHER.epsilon, OTHER.delta, OTHER.rho) == (1, Fraction(1, 10**9), Fraction(1, 2))
    assert (CANDIDATES.epsilon, CANDIDATES.rho) == (None, None)
    assert (PREFIXES.epsilon, PREFIXES.rho) == (Fraction(1, 2), Fraction(1, 8))


def test_a_stability_histogram_costs_the_probability_of_releasing_a_cell_of_one_record() -> None:
    assert float(PREFIXES.delta) == pytest.approx(math.exp(-27 / 2) / (1 + math.exp(-1 / 2)), rel=1e-12)
    # noise that is never negative: every cell is released
    assert float(replace(PREFIXES, threshold=1, scale=Fraction(1, 40)).delta) == pytest.approx(1)


@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(7)])
@pytest.mark.parametrize("z", [0, 1, 17, 900])
def test_the_tail_of_discrete_laplace_noise_is_bounded_from_above_to_thirty_digits(epsilon: Fraction, z: int) -> None:
    with localcontext(prec=400):
        tail = (-Decimal(z) * epsilon.numerator / epsilon.denominator).exp() / (
            1 + (-Decimal(epsilon.numerator) / epsilon.denominator).exp()
        )
        bound = discrete_laplace_tail(epsilon, z)
        assert 0 < Decimal(bound.numerator) / bound.denominator - tail < tail * Decimal(10) ** -30


def test_plausible_seeds_of_equal_probability_are_accounted_for_with_gamma_one() -> None:
    assert CANDIDATES.ratio == 4
    assert replace(CANDIDATES, equal_probabilities=True).ratio == 1


@pytest.mark.parametrize(
    ("event", "change"),
    [
        (LAPLACE, {"sensitivity": 0}),
        (LAPLACE, {"scale": Fraction(0)}),
        (LAPLACE, {"sampling_rate": Fraction(0)}),
        (LAPLACE, {"sampling_rate": Fraction(3, 2)}),
        (GAUSSIAN, {"variance": Fraction(-1)}),
        (CHOICES, {"epsilon_per_choice": Fraction(0)}),
        (OTHER, {"delta_per_output": Fraction(11, 10)}),
        (OTHER, {"epsilon_per_output": Fraction(-1)}),
        (CANDIDATES, {"k": 0}),
        (CANDIDATES, {"gamma": Fraction(1)}),
        (CANDIDATES, {"eps0": Fraction(0)}),
        (CANDIDATES, {"public_rows": 0}),
        (CANDIDATES, {"drop_probability": Fraction(1)}),
        (PREFIXES, {"scale": Fraction(0)}),
        (PREFIXES, {"threshold": 0}),
    ],
)
def test_what_cannot_have_happened_is_no_event(event: MechanismEvent, change: dict[str, int | Fraction]) -> None:
    with pytest.raises(InvalidInput):
        replace(event, **change)  # type: ignore[arg-type]


def test_events_and_guarantees_cannot_be_altered() -> None:
    with pytest.raises(FrozenInstanceError):
        LAPLACE.outputs = 1  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        Guarantee(1.0, 0.0, "basic").epsilon = 0.0  # type: ignore[misc]


@pytest.mark.parametrize(("epsilon", "delta"), [(-0.1, 0.0), (float("nan"), 0.0), (1.0, -1e-9), (1.0, 1.1)])
def test_numbers_that_are_no_guarantee_are_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(InvalidInput):
        Guarantee(epsilon, delta, "basic")


def test_a_guarantee_that_says_nothing_of_use_is_called_vacuous() -> None:
    assert not Guarantee(VACUOUS_EPSILON, 1e-9, "basic").is_vacuous
    assert Guarantee(5.1, 1e-9, "basic").is_vacuous
    assert Guarantee(0.1, 1.0, "basic").is_vacuous
    assert Guarantee(0.1, 0.01, "basic").is_vacuous
    assert Guarantee(float("inf"), 0.0, "basic").is_vacuous


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (0.7, 0.0), (0.7, 1e-3), (3.0, 0.2), (0.0, 1.0)])
def test_a_guess_is_right_as_often_as_the_worst_mechanism_lets_it_be(epsilon: float, delta: float) -> None:
    likely, unlikely = (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon)), (1 - delta) / (1 + math.exp(epsilon))
    with_record, without = (delta, likely, unlikely, 0.0), (0.0, unlikely, likely, delta)
    best_guess = sum(map(max, with_record, without)) / 2
    assert Guarantee(epsilon, delta, "basic").guessing_bound == pytest.approx(best_guess, abs=1e-12)


def test_a_guess_may_be_right_always_where_nothing_is_guaranteed() -> None:
    assert Guarantee(float("inf"), 0.0, "none").guessing_bound == 1
    assert Guarantee(0.0, 1.0, "trivial").guessing_bound == 1
