"""An event of a whole rho covers every adaptive schedule that keeps within it; only zCDP composes it."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import exp, log

import pytest

from deniable.foundation.errors import InvalidInput
from deniable.privacy.accounting import best, compose
from deniable.privacy.composition import zcdp_to_epsilon
from deniable.privacy.loss import ConcentratedEvent, DiscreteGaussianEvent, ExponentialEvent, from_record

WHOLE = ConcentratedEvent(query="rounds", part="parameters", outputs=1, rho_per_output=Fraction(3, 100))
DELTA = 1e-9


def test_its_rho_is_the_whole() -> None:
    assert WHOLE.rho == Fraction(3, 100)
    assert WHOLE.epsilon is None
    assert from_record(WHOLE.to_record()) == WHOLE


@pytest.mark.parametrize("rho", [Fraction(0), Fraction(-1, 2)])
def test_an_event_without_rho_is_refused(rho: Fraction) -> None:
    with pytest.raises(InvalidInput, match="rho must be above 0"):
        ConcentratedEvent(query="rounds", part="parameters", outputs=1, rho_per_output=rho)


def test_it_is_composed_by_zcdp_alone_with_all_that_has_a_rho() -> None:
    said = {"part": "parameters", "outputs": 4}
    others = [
        DiscreteGaussianEvent(query="counts", sensitivity=1, variance=Fraction(200), **said),
        ExponentialEvent(query="choices", epsilon_per_choice=Fraction(1, 10), **said),
    ]
    found = compose([WHOLE, *others], DELTA)
    assert set(found) == {"zcdp"}
    rho = 0.03 + 4 / 400 + 4 * 0.01 / 8
    assert best([WHOLE, *others], DELTA).epsilon == pytest.approx(zcdp_to_epsilon(rho, DELTA))


def schedules(left: float, answers: tuple[int, ...]) -> float:
    """The rho of the next answer: what is left divided as earlier answers say; 0 when it ends."""
    if len(answers) == 3 or left <= 0:
        return 0.0
    return left if len(answers) == 2 else left * (0.2 if sum(answers) % 2 else 0.7)


def law(rho: float, *, is_there: bool, factor: float) -> Iterator[float]:
    """Probabilities of all outcomes of three randomized responses, each with the rho that earlier answers left.

    A response that is true with probability e^x / (1 + e^x) has losses of x and -x, a range of 2 x, and so a rho of
    x^2 / 2.
    """
    for outcome in product((0, 1), repeat=3):
        left, chance = rho, 1.0
        for number, answer in enumerate(outcome):
            spent = schedules(left, outcome[:number])
            left -= spent
            odds = exp((2 * factor * spent) ** 0.5)
            chance *= (odds if answer == is_there else 1.0) / (1 + odds)
        yield chance


def divergence(order: float, factor: float = 1.0) -> float:
    """Renyi divergence of the outcomes with a record from those without it."""
    there, not_there = (list(law(0.5, is_there=side, factor=factor)) for side in (True, False))
    return log(sum(p**order * q ** (1 - order) for p, q in zip(there, not_there, strict=True))) / (order - 1)


@pytest.mark.parametrize("order", [1.01, 1.5, 2.0, 5.0, 20.0])
def test_an_adaptive_schedule_has_the_divergence_of_the_whole_at_most(order: float) -> None:
    assert divergence(order) <= order * 0.5
    assert divergence(1.01) > 0.75 * 0.5, "and uses it"


def test_a_schedule_that_spends_more_is_found() -> None:
    assert divergence(1.01, factor=1.6) > 1.01 * 0.5
