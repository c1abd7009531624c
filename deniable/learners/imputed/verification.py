"""The requirements on this learner's step and draws, derived from spec and domain."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final

from deniable.foundation.checks import Check, found
from deniable.foundation.domain import Domain
from deniable.learners.imputed.plan import imputation_plan
from deniable.learners.pegs.plan import faults_of_urns, others_in_order, urns_document
from deniable.privacy.loss import MechanismEvent
from deniable.privacy.planned import Document, ExpectedStep
from deniable.roles import Role


def expected_draws(spec: Document, domain: Domain) -> tuple[MechanismEvent, ...]:
    """The events of all draws; see `deniable.learners.registry.expected_draws`."""
    return imputation_plan(domain, spec["synthesis"]["records"], Fraction(spec["learner"]["epsilon"])).events


def check_urns(record: Document, described: Document, document: Document) -> tuple[Check, ...]:
    """Check that the seeds are those of the spec."""

    def faults() -> Iterator[str]:
        domain = Domain.from_document(described)
        seeds = record["spec"]["document"]["learner"]["seed_weights"]
        yield from faults_of_urns(document, urns_document(domain, others_in_order(domain), seeds))

    return (Check("urns.json has the keys and seeds that follow from the spec", found(faults)),)


EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {
    Role.STRUCTURE: ExpectedStep(part=None, makes={"urns": "urns.json"}, checks={"urns.json": check_urns}),
}
