"""The requirements on this learner's steps and draws, derived from spec and domain."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Final

from deniable.foundation.checks import Check, found
from deniable.foundation.domain import Domain
from deniable.learners.origin_destination.plan import TOTALS_QUERY, draws_of, plan_of, urns_document
from deniable.privacy.loss import DiscreteLaplaceEvent, MechanismEvent
from deniable.privacy.neighbours import ORIGIN, RECORD, Relation
from deniable.privacy.planned import (
    Delta,
    Document,
    ExpectedStep,
    Planned,
    beyond_budget,
    faults_of_claim,
    nothing_wrong,
)
from deniable.privacy.step_costs import StepCost, read_probability
from deniable.roles import Role

_PUBLIC_TOTALS: Final = (
    "Numbers of workers that come from the confidential table. The number of workers of each destination was given as "
    "public and is published exactly (`urns.json`); the guarantee holds only if it was not counted in that table."
)


def relation(asked: Document) -> Relation:
    """An origin replaced, for `pdp`; for pure privacy a record added or removed, if public totals are indeed public."""
    if asked["privacy"] == "pdp":
        return ORIGIN
    return RECORD if asked["totals"] is None else replace(RECORD, conditions=(_PUBLIC_TOTALS,))


def expected_draws(spec: Document, domain: Domain) -> tuple[MechanismEvent, ...]:
    """The events of all draws; see `deniable.learners.registry.expected_draws`."""
    read = read_probability({name: Fraction(each) for name, each in spec["split"].items()}, {"parameters"})
    return plan_of(spec["learner"], domain, read).events


def planned_totals(spec: Document, _: Domain, __: StepCost, ___: Delta) -> Planned:
    """The numbers of workers of all destinations, with noise of a scale that follows from the budget."""
    epsilon = Fraction(spec["learner"]["totals_epsilon"])
    events = (DiscreteLaplaceEvent(query=TOTALS_QUERY, part="parameters", outputs=1, sensitivity=1, scale=1 / epsilon),)
    return Planned(events, nothing_wrong, lambda guarantee: faults_of_claim(guarantee, events, Fraction(0)))


def check_urns(record: Document, described: Document, document: Document) -> tuple[Check, ...]:
    """Check that the urns are those of the spec, with the prior weights that its budget requires."""
    name = "urns.json has the draws and prior weights that follow from the spec"
    return (Check(name, found(lambda: _faults(record, described, document))),)


def _faults(record: Document, described: Document, document: Document) -> Iterator[str]:
    spec, domain = record["spec"]["document"], Domain.from_document(described)
    plan = plan_of(spec["learner"], domain)
    workers = plan.totals
    if workers is None:
        workers = tuple(urn["workers"] for urn in document["urns"])
        if not all(type(number) is int for number in workers):
            yield "workers must be whole numbers"
            return
    if len(workers) != plan.destinations:
        yield f"there must be an urn for each of the {plan.destinations:,} destinations, got {len(workers):,}"
        return
    draws_of(plan, workers, spec["synthesis"]["records"])
    right = urns_document(spec["learner"], domain, plan, workers)
    yield from (
        f"{name} differs from what follows from the spec" for name in right if document.get(name) != right[name]
    )
    yield from (f"{name} is unknown" for name in document if name not in right)


def expected_steps(asked: Document) -> Mapping[str, ExpectedStep]:
    """The requirements on each step: totals that are not public are measured in a charged step."""
    if asked.get("totals") is not None:
        return {Role.STRUCTURE: ExpectedStep(part=None, makes={"urns": "urns.json"}, checks={"urns.json": check_urns})}
    return {
        Role.PARAMETERS: ExpectedStep(
            part="parameters",
            makes={"urns": "urns.json"},
            plan=planned_totals,
            checks={"urns.json": check_urns},
            beyond=lambda spec, step, read: beyond_budget(
                step, {"epsilon": spec["learner"]["totals_epsilon"], "delta": 0}, read
            ),
        )
    }
