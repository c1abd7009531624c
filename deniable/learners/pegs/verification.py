"""What the step and the draws of this learner must do, derived from spec and domain."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from deniable.foundation.checks import Check, found
from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from deniable.learners.pegs.plan import DrawsPlan, key_of, public_orders
from deniable.privacy.loss import MechanismEvent
from deniable.privacy.planned import Document, ExpectedStep


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
    return (
        Check("urns.json has the keys that follow from the spec", found(lambda: _faults(record, described, document))),
    )


def _faults(record: Document, described: Document, document: Document) -> Iterator[str]:
    asked, domain = record["spec"]["document"]["learner"], Domain.from_document(described)
    try:
        orders = public_orders(domain, asked["orders"])
    except InvalidInput as error:
        yield str(error)
        return
    right: dict[str, Any] = {
        "format": "deniable/urns/1",
        "block": asked["block"],
        "draws_per_row": asked["draws_per_row"],
        "attributes": [
            {
                "name": name,
                "key": [domain.names[other] for other in key_of(domain, order, asked["key_cells"])],
                "seed_weights": list(asked["seed_weights"].get(name, ())),
            }
            for name, order in zip(domain.names, orders, strict=True)
        ],
    }
    yield from (
        f"{name} differs from what follows from the spec" for name in right if document.get(name) != right[name]
    )
    yield from (f"{name} is unknown" for name in document if name not in right)


EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {
    "learn_structure": ExpectedStep(part=None, makes={"urns": "urns.json"}, checks={"urns.json": check_urns}),
}
