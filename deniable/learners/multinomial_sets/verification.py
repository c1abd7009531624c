"""The requirements on this learner's step and draws, derived from spec and domain."""

from collections.abc import Iterator, Mapping
from typing import Final

from deniable.foundation.checks import Check, found
from deniable.foundation.domain import Domain
from deniable.learners.multinomial_sets.plan import plan_of, urns_document
from deniable.privacy.loss import MechanismEvent
from deniable.privacy.planned import Document, ExpectedStep
from deniable.roles import Role


def expected_draws(spec: Document, domain: Domain) -> tuple[MechanismEvent, ...]:
    """The events of all draws; see `deniable.learners.registry.expected_draws`."""
    return plan_of(spec["learner"], domain, spec["synthesis"]["records"]).events


def check_urns(record: Document, _: Document, document: Document) -> tuple[Check, ...]:
    """Check that the urns are those of the spec."""
    return (Check("urns.json has the sets that follow from the spec", found(lambda: _faults(record, document))),)


def _faults(record: Document, document: Document) -> Iterator[str]:
    right = urns_document(record["spec"]["document"]["learner"])
    yield from (
        f"{name} differs from what follows from the spec"
        for name in right
        if name not in document or document[name] != right[name] or type(document[name]) is not type(right[name])
    )
    yield from (f"{name} is unknown" for name in document if name not in right)


EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {
    Role.STRUCTURE: ExpectedStep(part=None, makes={"urns": "urns.json"}, checks={"urns.json": check_urns}),
}
