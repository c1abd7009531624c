"""What the step of this learner must do, derived from spec and domain."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from math import isclose
from typing import Final

from deniable.foundation.domain import Domain
from deniable.learners.loglinear.plan import LoglinearPlan, LoglinearRecipe
from deniable.learners.loglinear.published_measurements import check_measured
from deniable.measurements.document import FILE
from deniable.privacy.loss import ExponentialEvent
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

_FOUR_DIGITS = 2e-3


def planned_parameters(spec: Document, domain: Domain, step: StepCost, delta_of: Delta) -> Planned:
    """Noisy tables, and the choices between them."""
    learner = spec["learner"]
    epsilon, delta = Fraction(learner["parameters"]["epsilon"]), delta_of(Fraction(learner["parameters"]["delta"]))
    recipe = LoglinearRecipe(epsilon, delta, learner["noise"])
    plan = recipe.with_laplace(domain)
    layout = plan.layout
    noise = recipe.noise_for(layout)
    if noise == "gaussian":
        choices = [event.epsilon_per_choice for event in step.events if isinstance(event, ExponentialEvent)]
        choice = choices[0] if choices else Fraction(1)
        plan = LoglinearPlan(recipe, domain, layout, "gaussian", stated_amount(step.events, noise), choice)

    def amounts() -> Iterator[str]:
        if noise == "gaussian":
            right = layout.choice_epsilon(layout.rho_of(float(plan.amount)))
            if layout.choices and not isclose(plan.choice_epsilon, right, rel_tol=_FOUR_DIGITS):
                yield f"a choice has epsilon {float(plan.choice_epsilon):g}, but with such noise it must be {right:g}"
            finer = replace(plan, amount=plan.amount * FINER)
            yield from faults_of_use(
                recipe.epsilon, *(tightest_cost(each.events, recipe.delta) for each in (plan, finer))
            )

    return Planned(plan.events, amounts, lambda guarantee: faults_of_claim(guarantee, plan.events, recipe.delta))


EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {
    "learn_parameters": ExpectedStep(
        part="parameters",
        makes={"graph": "graph.json", "model": "model.json", "measured": FILE},
        plan=planned_parameters,
        beyond=lambda spec, step, read: beyond_budget(step, spec["learner"]["parameters"], read),
        checks={FILE: check_measured},
    )
}
