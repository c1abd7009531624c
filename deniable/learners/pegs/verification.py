"""What the step and the draws of this learner must do, derived from spec and domain."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final

from deniable.foundation.checks import Check, found
from deniable.foundation.domain import Domain
from deniable.learners.pegs.plan import DrawsPlan, faults_of_urns, keys_in_spec, urns_document
from deniable.privacy.loss import MechanismEvent
from deniable.privacy.planned import Document, ExpectedStep

KEYS_FOLLOW: Final = "urns.json has the keys and seeds that follow from the spec"


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


def check_urns(record: Document, described: Document, document: Document) -> tuple[Check, ...]:
    """Whether the urns have the keys and seeds of the spec."""
    asked = record["spec"]["document"]["learner"]

    def faults() -> Iterator[str]:
        domain = Domain.from_document(described)
        keys = keys_in_spec(domain, asked["orders"], asked["key_cells"])
        more = {name: asked[name] for name in ("block", "draws_per_row")}
        yield from faults_of_urns(document, urns_document(domain, keys, asked["seed_weights"], **more))

    return (Check(KEYS_FOLLOW, found(faults)),)


EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {
    "learn_structure": ExpectedStep(part=None, makes={"urns": "urns.json"}, checks={"urns.json": check_urns}),
}
