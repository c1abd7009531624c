"""The steps of this learner: keys and priors of the urns are listed, and no record is read."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from deniable.foundation.domain import Domain
from deniable.foundation.keys import Parameter, StreamOpener
from deniable.learners.pegs.plan import key_of, public_orders
from deniable.learners.pegs.spec import Entry
from deniable.mechanisms import URNS, Counter, Made, PartDelta, PlannedStep

FORMAT = "deniable/urns/1"


def steps(entry: Entry, domain: Domain, _: PartDelta) -> tuple[PlannedStep, ...]:
    """Plan the steps of a spec; see `deniable.learners.registry.steps_of`."""
    decides: dict[str, Parameter] = {"learner": entry.kind, "key_cells": entry.key_cells}
    listed = PlannedStep(
        name="learn_structure",
        part=None,
        parameters=decides,
        shown=decides,
        makes=(URNS,),
        run=partial(_list, entry, domain),
    )
    return (listed,)


def _list(entry: Entry, domain: Domain, _: Counter, __: Mapping[str, Any], ___: StreamOpener) -> Made:
    keys = [key_of(domain, order, entry.key_cells) for order in public_orders(domain, entry.orders)]
    return Made(products={"urns": urns_document(entry, domain, keys)}, figures={"key_attributes": sum(map(len, keys))})


def urns_document(entry: Entry, domain: Domain, keys: Sequence[Sequence[int]]) -> dict[str, Any]:
    """What is public of the urns: everything except their counts and priors, which follow from the spec."""
    names = domain.names
    return {
        "format": FORMAT,
        "block": entry.block,
        "draws_per_row": entry.draws_per_row,
        "attributes": [
            {
                "name": name,
                "key": [names[other] for other in key],
                "seed_weights": list(entry.seed_weights.get(name, ())),
            }
            for name, key in zip(names, keys, strict=True)
        ],
    }
