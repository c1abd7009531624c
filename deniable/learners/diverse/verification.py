"""The requirements on this learner's step and draws, derived from spec and domain."""

from collections.abc import Iterator, Mapping
from typing import Final

from deniable.foundation.checks import Check, found
from deniable.foundation.domain import Domain
from deniable.learners.diverse.plan import EVENTS
from deniable.learners.pegs.plan import faults_of_urns, keys_in_spec, urns_document
from deniable.privacy.loss import MechanismEvent
from deniable.privacy.neighbours import NOTHING_HIDDEN, Relation
from deniable.privacy.planned import Document, ExpectedStep
from deniable.roles import Role

RELATION: Final[Relation] = NOTHING_HIDDEN
"""How random a draw is depends on the counts, so no neighbouring tables are hard to distinguish."""


def expected_draws(_: Document, __: Domain) -> tuple[MechanismEvent, ...]:
    """The events of all draws, which guarantee nothing; see `deniable.learners.registry.expected_draws`."""
    return EVENTS


def check_urns(record: Document, described: Document, document: Document) -> tuple[Check, ...]:
    """Check that the urns have the keys and seeds of the spec."""
    asked = record["spec"]["document"]["learner"]

    def faults() -> Iterator[str]:
        domain = Domain.from_document(described)
        keys = keys_in_spec(domain, asked["orders"], asked["key_cells"])
        yield from faults_of_urns(document, urns_document(domain, keys, asked["seed_weights"]))
        if asked["accept_no_differential_privacy"] is not True:
            yield "the spec does not accept that there is no differential privacy"

    return (Check("urns.json has the keys and seeds that follow from the spec", found(faults)),)


EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {
    Role.STRUCTURE: ExpectedStep(part=None, makes={"urns": "urns.json"}, checks={"urns.json": check_urns}),
}
