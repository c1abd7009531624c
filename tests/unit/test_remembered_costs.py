from collections.abc import Iterator
from fractions import Fraction

import pytest

from deniable.foundation.domain import Attribute, Domain
from deniable.learners.loglinear import plan as loglinear
from deniable.learners.loglinear.plan import LoglinearPlan, LoglinearRecipe
from deniable.privacy import accounting
from deniable.privacy.accounting import calibrate_discrete_gaussian, calibrate_discrete_laplace, pld_by_library
from deniable.privacy.loss import DiscreteGaussianEvent
from deniable.privacy.remembered import REMEMBERED, question

DOMAIN = Domain(tuple(Attribute(f"a{i}", tuple(range(4)), "nominal", tuple(range(4))) for i in range(4)), target="a0")
DELTA = Fraction(1, 10**9)
EVENT = DiscreteGaussianEvent(query="", part="", outputs=4, sensitivity=1, variance=Fraction(90))


def forget_all() -> None:
    """Forget what this process has worked out, except what is kept."""
    accounting._composed_by_library.cache_clear()
    loglinear._calibrate_gaussian.cache_clear()
    calibrate_discrete_gaussian.cache_clear()
    calibrate_discrete_laplace.cache_clear()


@pytest.fixture
def kept() -> Iterator[dict[str, float]]:
    """Where answers are kept, at first none."""
    answers: dict[str, float] = {}
    forget_all()
    REMEMBERED.keep_in(answers)
    yield answers
    REMEMBERED.keep_in(None)
    forget_all()


@pytest.fixture
def composed(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Every epsilon that the library works out."""
    compose, found = accounting._composed, list[float]()

    def noted(*asked: object) -> float:
        found.append(compose(*asked))  # type: ignore[arg-type]
        return found[-1]

    monkeypatch.setattr(accounting, "_composed", noted)
    return found


def calibrated(epsilon: Fraction = Fraction(1)) -> LoglinearPlan:
    return LoglinearRecipe(epsilon=epsilon, delta=DELTA, noise="gaussian").calibrate(DOMAIN)


def test_a_plan_is_calibrated_once_and_is_the_same_afterwards(kept: dict[str, float], composed: list[float]) -> None:
    first = calibrated()
    assert not composed, "the search needs no library"
    cost = first.guarantee
    assert len(composed) == 1
    forget_all()
    again = calibrated()
    assert (again.amount, again.choice_epsilon, again.guarantee) == (first.amount, first.choice_epsilon, cost)
    assert len(composed) == 1, "nothing is worked out a second time"
    REMEMBERED.keep_in(None)
    forget_all()
    assert calibrated() == first, "what is kept changes no plan"


def test_another_budget_is_another_question(kept: dict[str, float], composed: list[float]) -> None:
    first, second = calibrated(), calibrated(Fraction(2))
    assert second.amount != first.amount
    assert second.guarantee.epsilon > first.guarantee.epsilon
    assert len(composed) == 2


def test_no_kept_cost_is_believed_that_is_too_low(kept: dict[str, float]) -> None:
    honest = pld_by_library([EVENT], float(DELTA))
    (asked,) = kept
    nearly = accounting.pld_by_hand((EVENT,), float(DELTA)) * (1 - 1e-6)
    for wrong in (nearly, honest * 0.99, honest / 2, 0.0, honest * 1.01):
        kept[asked] = wrong
        forget_all()
        assert pld_by_library([EVENT], float(DELTA)) == honest, "our own derivation certifies no other figure"
        assert kept[asked] == honest


def test_no_kept_amount_is_used_that_overspends(kept: dict[str, float]) -> None:
    honest = calibrated()
    searches = {asked: answer for asked, answer in kept.items() if answer < honest.recipe.rho * 2}
    assert searches
    for asked in searches:
        kept[asked] *= 1.02
    forget_all()
    assert calibrated() == honest


def test_calibrated_noise_is_kept_and_checked(kept: dict[str, float], composed: list[float]) -> None:
    asked = {"outputs": 5, "epsilon": 1.0, "delta": 1e-9}
    honest = calibrate_discrete_gaussian(**asked), calibrate_discrete_laplace(**asked)
    worked_out = len(composed)
    forget_all()
    assert (calibrate_discrete_gaussian(**asked), calibrate_discrete_laplace(**asked)) == honest
    assert len(composed) == worked_out
    # A smaller variance and a larger epsilon would cost more than the budget.
    variance = question("variance", (), 5, Fraction(1), Fraction(1e-9), 1)
    rate = question("epsilon per output", (), 5, Fraction(1), Fraction(1e-9), 1)
    kept[variance] -= 1
    kept[rate] += 40
    forget_all()
    assert (calibrate_discrete_gaussian(**asked), calibrate_discrete_laplace(**asked)) == honest
