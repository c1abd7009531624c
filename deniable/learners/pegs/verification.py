"""The requirements on this learner's step and draws, derived from spec and domain."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from deniable.foundation.checks import Check, found
from deniable.foundation.domain import Domain
from deniable.learners.pegs.plan import (
    DrawsPlan,
    faults_of_seeds,
    faults_of_urns,
    key_of,
    keys_in_spec,
    more_of_urns,
    order_events,
    urns_document,
)
from deniable.privacy.loss import MechanismEvent
from deniable.privacy.neighbours import RECORD, Relation
from deniable.privacy.planned import (
    Delta,
    Document,
    ExpectedStep,
    Planned,
    beyond_budget,
    faults_of_claim,
    nothing_wrong,
)
from deniable.privacy.step_costs import StepCost
from deniable.roles import Role

_PUBLIC_SEEDS: Final = (
    "Seeds that are not public. Records begin at records of a file that the producers vouch is public (`urns.json`); "
    "the guarantee holds only if none of them comes from the confidential table."
)


def relation(asked: Document) -> Relation:
    """One record added or removed; if a file has the seeds, on the condition that it is public."""
    return RECORD if asked.get("seed_file") is None else replace(RECORD, conditions=(_PUBLIC_SEEDS,))


def expected_draws(spec: Document, domain: Domain) -> tuple[MechanismEvent, ...]:
    """The events of all draws; see `deniable.learners.registry.expected_draws`."""
    asked = spec["learner"]
    return DrawsPlan(
        domain=domain,
        records=spec["synthesis"]["records"],
        epsilon=Fraction(asked["epsilon"]),
        block=asked["block"],
        draws_per_row=asked["draws_per_row"],
        by_values=asked["division"] == "values",
    ).events


def planned_orders(spec: Document, domain: Domain, _: StepCost, __: Delta) -> Planned:
    """Noisy tables of pairs, whose scale follows from the budget."""
    events = order_events(domain, Fraction(spec["learner"]["structure"]["epsilon"]))
    return Planned(events, nothing_wrong, lambda guarantee: faults_of_claim(guarantee, events, Fraction(0)))


def check_urns(record: Document, described: Document, document: Document) -> tuple[Check, ...]:
    """Check that the urns have the keys and seeds of the spec; measured keys must follow from some order."""
    asked = record["spec"]["document"]["learner"]

    def faults() -> Iterator[str]:
        domain = Domain.from_document(described)
        if asked["structure"] is None:
            keys = keys_in_spec(domain, asked["orders"], asked["key_cells"])
        else:
            stated = [domain.subset(each["key"]) for each in document["attributes"]]
            keys = tuple(key_of(domain, key, asked["key_cells"]) for key in stated)
            if any(attribute in key or len(set(key)) < len(key) for attribute, key in enumerate(keys)):
                yield "a key names its own attribute, or another twice"
        more = more_of_urns(asked)
        if asked.get("seed_file") is not None:
            yield from faults_of_seeds(domain, document.get("seeds"))
            more["seeds"] = document.get("seeds")
        yield from faults_of_urns(document, urns_document(domain, keys, asked["seed_weights"], **more))

    return (Check("urns.json has the keys and seeds that follow from the spec", found(faults)),)


def expected_steps(asked: Document) -> Mapping[str, ExpectedStep]:
    """The step that lists keys; it reads the part `structure` if orders are measured."""
    made: dict[str, Any] = {"makes": {"urns": "urns.json"}, "checks": {"urns.json": check_urns}}
    if asked.get("structure") is None:
        return {Role.STRUCTURE: ExpectedStep(part=None, **made)}
    measured = ExpectedStep(
        part="structure",
        plan=planned_orders,
        beyond=lambda spec, step, read: beyond_budget(step, {**spec["learner"]["structure"], "delta": 0}, read),
        **made,
    )
    return {Role.STRUCTURE: measured}
