"""The joint cost of steps follows from their separate costs, in the statement and in its verification alike."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from deniable.foundation.domain import Attribute, Domain
from deniable.learners.loglinear.plan import LoglinearRecipe
from deniable.plausible_deniability.pass_law import PassLaw
from deniable.privacy.accounting import best, best_again
from deniable.privacy.composition import joint_split
from deniable.privacy.loss import ConcentratedEvent, DiscreteLaplaceEvent, Guarantee, PrivacyTestEvent
from deniable.privacy.step_costs import StepCost, _is_noise, added_up, combine, joint_cost, part_delta
from deniable.samplers.histogram_seeds.noisy_histogram import HistogramRecipe
from deniable.verification.cost import _tolerance

COUNTS = DiscreteLaplaceEvent(query="q", part="shared", outputs=11, sensitivity=1, scale=Fraction(20))
TESTED = PrivacyTestEvent(
    query="q",
    part="shared",
    outputs=10,
    k=50,
    gamma=Fraction(4),
    eps0=Fraction(1),
    public_rows=1000,
    drop_probability=Fraction(1, 100),
)


def step(**changes: Any) -> StepCost:
    facts: dict[str, Any] = {
        "step": "a",
        "part": "shared",
        "probability": Fraction(4, 5),
        "events": (COUNTS,),
        "guarantee": best([COUNTS], 1e-6),
    }
    return StepCost(**{**facts, **changes})


def test_steps_that_read_parts_of_their_own_are_combined_by_the_split() -> None:
    first, second = (
        step(part="structure", probability=Fraction(1, 5)),
        step(part="parameters", probability=Fraction(1, 4)),
    )
    assert first.guarantee is not None
    together = combine([first, second])
    expected = joint_split([(0.25, first.guarantee), (0.2, first.guarantee)])
    assert (together.epsilon, together.delta) == (expected.epsilon, expected.delta)
    assert together.accountant == "joint_split + pld"
    assert combine([second, first]) == together, "whatever their order"


def test_noise_on_the_same_records_is_composed_as_one_whoever_composes_it() -> None:
    steps = [step(), step(step="b")]
    together = combine(steps)
    summed = added_up(steps)
    assert together.epsilon < summed.epsilon
    assert together.delta == pytest.approx(summed.delta)
    again = combine(steps, best_again)
    assert again.epsilon == pytest.approx(together.epsilon, rel=1e-6)
    assert again.accountant == together.accountant


def test_candidates_are_added_to_noise_on_the_same_records() -> None:
    tested = step(step="c", events=(TESTED,), guarantee=Guarantee(2.0, 1e-6, "theorem_a"))
    together = combine([step(), step(step="b"), tested])
    noisy = combine([replace(each, probability=Fraction(1)) for each in (step(), step(step="b"))])
    assert combine([replace(each, probability=Fraction(1)) for each in (step(), step(step="b"), tested)]).epsilon == (
        pytest.approx(noisy.epsilon + 2.0)
    )
    assert together.epsilon < noisy.epsilon + 2.0


def test_a_step_is_charged_together_with_earlier_noise_on_the_same_records() -> None:
    earlier = [step(), step(step="elsewhere", part="structure"), step(step="b")]
    last = step(step="c")
    joint = joint_cost(last, earlier)
    assert joint is not None
    assert joint.steps == ("a", "b")
    together = [replace(each, probability=Fraction(1)) for each in (earlier[0], earlier[2], last)]
    assert joint.guarantee.epsilon == pytest.approx(combine(together).epsilon, rel=1e-12)
    assert joint.guarantee.epsilon < 3 * last.charged.epsilon
    again = joint_cost(last, earlier, best_again)
    assert again is not None
    assert again.guarantee.epsilon == pytest.approx(joint.guarantee.epsilon, rel=1e-6)


def test_a_step_is_charged_alone_where_nothing_is_gained() -> None:
    tested = step(step="t", events=(TESTED,), guarantee=Guarantee(2.0, 1e-6, "theorem_a"))
    assert joint_cost(step(), []) is None
    assert joint_cost(step(), [step(part="structure"), tested]) is None
    assert joint_cost(tested, [step()]) is None


def test_noise_without_a_known_loss_is_added_to_what_only_has_a_known_loss() -> None:
    """As the rounds of AIM, of which rho alone is known, and attempts of seeds, which have no rho."""
    rounds = ConcentratedEvent(query="q", part="shared", outputs=1, rho_per_output=Fraction(1, 100))
    concentrated = step(events=(rounds,), guarantee=best([rounds], 1e-6))
    attempts = PassLaw(3, ()).event(Fraction(1, 10), "shared")
    seeds = step(step="b", events=(attempts,), guarantee=best([attempts], 0.5))
    assert joint_cost(seeds, [concentrated]) is None
    steps = [concentrated, seeds]
    assert combine(steps).epsilon == added_up(steps).epsilon


@pytest.mark.parametrize("whole", ["1e-6", "1e-9", "1e-10", "3.3e-7", "0.5", "7e-300"])
@pytest.mark.parametrize("read", ["1", "0.8", "0.7", "0.45", "1/3"])
def test_the_delta_of_a_part_makes_that_of_the_whole_and_never_more(whole: str, read: str) -> None:
    delta = part_delta(Fraction(whole), Fraction(read))
    assert 0 < delta < 1
    made = joint_split([(Fraction(read), Guarantee(1.0, float(delta), "pld"))])
    assert made.delta <= float(Fraction(whole))
    # Where a part alone would have all of probability 1 to give, it is given no more than the whole.
    assert made.delta > float(Fraction(whole)) * (1 - 1e-8) or delta == Fraction(whole)
    assert delta * Fraction(read) <= Fraction(whole)


def test_no_delta_stays_none() -> None:
    assert part_delta(Fraction(0), Fraction(4, 5)) == 0


def test_what_has_no_guarantee_is_charged_as_what_holds_of_anything() -> None:
    assert step(guarantee=None).charged == Guarantee(0.0, 1.0, "trivial")
    assert added_up([step(guarantee=None), step(part="other", probability=Fraction(1, 5))]).delta == 1


@pytest.mark.parametrize("delta", [Fraction(1, 10**9), Fraction(1, 10**10)])
def test_the_two_derivations_agree_as_closely_as_verification_asks_at_a_very_small_delta_too(delta: Fraction) -> None:
    """Many tables and a histogram, of one part: the first derivation sets some of delta aside for its rounding."""
    domain = Domain(tuple(Attribute(f"a{i}", (0, 1, 2), "nominal", (0, 0, 0)) for i in range(17)), target="a0")
    plan = LoglinearRecipe(Fraction(4, 5), delta).calibrate(domain)
    histogram = HistogramRecipe(epsilon=Fraction(1, 3), delta=delta, epsilon_rows=Fraction(1, 100)).calibrate()
    steps = [
        step(step="learn_parameters", events=plan.events, guarantee=plan.guarantee),
        step(step="noise_seeds", events=histogram.events, guarantee=histogram.guarantee),
    ]
    claimed, found = combine(steps), combine(steps, best_again)
    above, below = _tolerance("total", steps)
    assert found.epsilon * (1 - below) <= claimed.epsilon <= found.epsilon * (1 + above)
    assert claimed.epsilon < added_up(steps).epsilon


def test_only_steps_with_a_guarantee_by_noise_alone_are_noise() -> None:
    assert _is_noise(step())
    assert not _is_noise(step(guarantee=None))
    assert not _is_noise(step(events=(TESTED,)))
    assert not _is_noise(step(events=(COUNTS, TESTED), guarantee=None))
