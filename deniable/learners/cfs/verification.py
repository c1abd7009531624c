"""The requirements on this learner's steps, derived from spec and domain."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Final

from deniable.foundation.domain import Domain
from deniable.learners.cfs.entropies import BETA_SHARE, EntropyMechanism, EntropyRecipe, entropy_queries
from deniable.learners.cfs.given_graph import FILE, check_graph
from deniable.privacy.common_events import count_events, noised_tables
from deniable.privacy.loss import WITHOUT_NOISE, Guarantee
from deniable.privacy.neighbours import PUBLIC_RECORDS, RECORD, Relation
from deniable.privacy.planned import (
    Delta,
    Document,
    ExpectedStep,
    Planned,
    beyond_budget,
    faults_of_amount,
    faults_of_claim,
    stated_amount,
)
from deniable.privacy.step_costs import StepCost
from deniable.roles import Role


def planned_structure(spec: Document, domain: Domain, step: StepCost, delta_of: Delta) -> Planned:
    """Noisy entropies."""
    asked, noise = spec["learner"]["structure"], spec["learner"]["noise"]
    recipe = EntropyRecipe(
        Fraction(asked["epsilon"]), delta_of(Fraction(asked["delta"])), Fraction(asked["epsilon_rows"]), noise
    )
    # The number of rows is the first event, and also has Laplace noise.
    ratio = stated_amount(step.events[1:], noise)
    mechanism = EntropyMechanism(recipe, domain, entropy_queries(domain), ratio)
    epsilon, delta = recipe.epsilon - recipe.epsilon_rows, recipe.delta * (1 - BETA_SHARE)

    def claim(guarantee: Guarantee | None) -> Iterator[str]:
        # Gaussian noise is scaled to a sensitivity that becomes known later: the budget is claimed, not the cost on the
        # finest grid.
        whole = recipe.epsilon if noise == "gaussian" else None
        return faults_of_claim(guarantee, mechanism.events, recipe.delta, whole)

    return Planned(mechanism.events, lambda: faults_of_amount(mechanism.events[2:], epsilon, delta), claim)


def planned_parameters(spec: Document, domain: Domain, step: StepCost, delta_of: Delta) -> Planned:
    """Noisy counts of every attribute given its parents; the events do not depend on the parents."""
    learner = spec["learner"]
    epsilon, delta = Fraction(learner["parameters"]["epsilon"]), delta_of(Fraction(learner["parameters"]["delta"]))
    events = count_events(noised_tables(domain), learner["noise"], stated_amount(step.events, learner["noise"]))
    return Planned(
        events,
        lambda: faults_of_amount(events, epsilon, delta),
        lambda guarantee: faults_of_claim(guarantee, events, delta),
    )


_MODEL = "model.json"
_PUBLIC_GRAPH = (
    "A graph that is not public. The spec states which attributes depend on which (`graph.json`), and the producers "
    "vouch that this is public; the guarantee holds only if nothing in it comes from the confidential table."
)


def relation(asked: Document) -> Relation:
    """One record added or removed, on condition that a graph in the spec is public; nothing without noise."""
    if asked.get("noise") == WITHOUT_NOISE:
        return PUBLIC_RECORDS
    return RECORD if asked.get("graph") is None else replace(RECORD, conditions=(_PUBLIC_GRAPH,))


def expected_steps(asked: Document) -> Mapping[str, ExpectedStep]:
    """The requirements on each step; a graph that the spec states is not learnt."""
    if asked.get("graph") is None:
        return EXPECTED_STEPS
    stated = ExpectedStep(part=None, makes={"graph": FILE}, checks={FILE: check_graph})
    if asked.get("noise") == WITHOUT_NOISE:
        return {Role.STRUCTURE: stated, Role.PARAMETERS: ExpectedStep(part=None, makes={"model": _MODEL})}
    return {**EXPECTED_STEPS, Role.STRUCTURE: stated}


EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {
    Role.STRUCTURE: ExpectedStep(
        part="structure",
        makes={"graph": FILE},
        plan=planned_structure,
        beyond=lambda spec, step, read: beyond_budget(step, spec["learner"]["structure"], read),
    ),
    Role.PARAMETERS: ExpectedStep(
        part="parameters",
        makes={"model": _MODEL},
        plan=planned_parameters,
        beyond=lambda spec, step, read: beyond_budget(step, spec["learner"]["parameters"], read),
    ),
}
