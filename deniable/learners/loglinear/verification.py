"""The requirements on this learner's step, derived from spec and domain."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import isclose
from typing import Final

from deniable.foundation.domain import Domain
from deniable.learners.loglinear.plan import Layout, LoglinearPlan, LoglinearRecipe, Noise, pairs_of
from deniable.learners.loglinear.published_measurements import check_measured
from deniable.measurements.document import FILE
from deniable.privacy.loss import ExponentialEvent, MechanismEvent
from deniable.privacy.planned import (
    FINER,
    Delta,
    Document,
    ExpectedStep,
    Planned,
    beyond_budget,
    faults_of_claim,
    faults_of_use,
    stated_amount,
    tightest_cost,
)
from deniable.privacy.step_costs import StepCost
from deniable.roles import Role

_FOUR_DIGITS = 2e-3


def planned_parameters(spec: Document, domain: Domain, step: StepCost, delta_of: Delta) -> Planned:
    """Noisy tables, and the choices between them; releases of earlier versions are compared with their layouts."""
    learner = spec["learner"]
    epsilon, delta = Fraction(learner["parameters"]["epsilon"]), delta_of(Fraction(learner["parameters"]["delta"]))
    together = tuple(tuple(each) for each in learner.get("counted_together") or ())
    recipe = LoglinearRecipe(epsilon, delta, learner["noise"], together)
    declared = pairs_of(together, domain)
    layouts = [each.with_declared(declared) for each in _layouts(domain, recipe.noise_for(Layout.of(domain)))]
    plans = [_with_stated_noise(recipe, domain, layout, step) for layout in layouts]
    plan = next((each for each in plans if _read_as(each.events, step) == step.events), plans[0])
    layout = plan.layout

    def amounts() -> Iterator[str]:
        if plan.noise == "gaussian":
            right = layout.choice_epsilon(layout.rho_of(float(plan.amount)))
            if layout.choices and not isclose(plan.choice_epsilon, right, rel_tol=_FOUR_DIGITS):
                yield f"a choice has epsilon {float(plan.choice_epsilon):g}, but with such noise it must be {right:g}"
            finer = replace(plan, amount=plan.amount * FINER)
            yield from faults_of_use(
                recipe.epsilon, *(tightest_cost(each.events, recipe.delta) for each in (plan, finer))
            )

    return Planned(plan.events, amounts, lambda guarantee: faults_of_claim(guarantee, plan.events, recipe.delta))


def _layouts(domain: Domain, noise: Noise) -> tuple[Layout, ...]:
    """The layout of each version whose releases can be verified, the current one first."""
    return Layout.of(domain, noise), Layout.of_version_7(domain), Layout.of_version_2(domain)


def _with_stated_noise(recipe: LoglinearRecipe, domain: Domain, layout: Layout, step: StepCost) -> LoglinearPlan:
    """The plan for a layout; Gaussian noise, which an accountant scaled, is taken from the step."""
    plan = recipe.with_laplace(domain, layout)
    if recipe.noise_for(layout) == "laplace":
        return plan
    choices = [event.epsilon_per_choice for event in step.events if isinstance(event, ExponentialEvent)]
    amount = stated_amount(step.events, "gaussian") * (layout.value_shares[0] if layout.ones_at_once else 1)
    return LoglinearPlan(recipe, domain, layout, "gaussian", amount, choices[0] if choices else Fraction(1))


def _read_as(events: Sequence[MechanismEvent], step: StepCost) -> tuple[MechanismEvent, ...]:
    """Planned events for the part of the rows that a step reads."""
    return tuple(replace(event, part=step.part, sampling_rate=step.probability) for event in events)


EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {
    Role.PARAMETERS: ExpectedStep(
        part="parameters",
        makes={"graph": "graph.json", "model": "model.json", "measured": FILE},
        plan=planned_parameters,
        beyond=lambda spec, step, read: beyond_budget(step, spec["learner"]["parameters"], read),
        checks={FILE: check_measured},
    )
}
