"""The requirements on this learner's step, derived from spec and domain."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from math import isclose
from typing import Any, Final

from deniable.foundation.checks import Check
from deniable.foundation.domain import Domain
from deniable.learners.mst.plan import Layout, MstPlan, MstRecipe, stated_plan
from deniable.learners.mst.published import faults_of_estimates, faults_of_noise, faults_of_tree
from deniable.measurements.checks import check_measurements
from deniable.measurements.document import FILE
from deniable.privacy.planned import (
    FINER,
    Delta,
    Document,
    ExpectedStep,
    Planned,
    beyond_budget,
    faults_of_claim,
    faults_of_use,
    tightest_cost,
)
from deniable.privacy.step_costs import StepCost
from deniable.roles import Role

_FOUR_DIGITS = 2e-3


def planned_tables(spec: Document, domain: Domain, layout: Layout, step: StepCost, delta_of: Delta) -> Planned:
    """Noisy tables of a layout, and the choices in it.

    Args:
        spec: the spec's document.
        domain: the public domain.
        layout: the layout of the measurements.
        step: the step as in the record.
        delta_of: converts the spec's delta to that of the step.
    """
    budget = spec["learner"]["parameters"]
    recipe = MstRecipe(Fraction(budget["epsilon"]), delta_of(Fraction(budget["delta"])))
    plan = stated_plan(recipe, domain, layout, step.events)

    def amounts() -> Iterator[str]:
        if not layout.counted:
            return
        yield from _disproportions(plan)
        finer = replace(
            plan,
            one_way_variance=plan.one_way_variance * FINER,
            table_variances=tuple(variance * FINER for variance in plan.table_variances),
        )
        yield from faults_of_use(recipe.epsilon, *(tightest_cost(each.events, recipe.delta) for each in (plan, finer)))

    return Planned(plan.events, amounts, lambda guarantee: faults_of_claim(guarantee, plan.events, recipe.delta))


def _disproportions(plan: MstPlan) -> Iterator[str]:
    """Faults where rho is not divided as planned between single attributes, choices and further tables."""
    layout, rho = plan.layout, plan.rho_of_ones
    if layout.choices and not isclose(plan.choice_epsilon, layout.choice_epsilon(rho), rel_tol=_FOUR_DIGITS):
        yield (
            f"a choice has epsilon {float(plan.choice_epsilon):g}, but with such noise it must be "
            f"{layout.choice_epsilon(rho):g}"
        )
    rights = layout.table_variances(rho)
    for variance, right in zip(plan.table_variances, rights, strict=True):
        if not isclose(variance, right, rel_tol=_FOUR_DIGITS):
            yield f"the variance of a table is {float(variance):g}, but in proportion it must be {right:g}"


def planned_parameters(spec: Document, domain: Domain, step: StepCost, delta_of: Delta) -> Planned:
    """Noisy counts of each attribute, choices, and noisy counts of the chosen pairs."""
    return planned_tables(spec, domain, Layout.of_tree(domain), step, delta_of)


def check_measured(
    record: Mapping[str, Any], described: Mapping[str, Any], document: Mapping[str, Any]
) -> tuple[Check, ...]:
    """Check the measurements; see `deniable.measurements.checks.check_measurements`."""
    return check_measurements(
        record,
        described,
        document,
        learner="mst",
        form=faults_of_tree,
        account=faults_of_noise,
        figures=faults_of_estimates,
    )


EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {
    Role.PARAMETERS: ExpectedStep(
        part="parameters",
        makes={"graph": "graph.json", "model": "model.json", "measured": FILE},
        plan=planned_parameters,
        beyond=lambda spec, step, read: beyond_budget(step, spec["learner"]["parameters"], read),
        checks={FILE: check_measured},
    )
}
