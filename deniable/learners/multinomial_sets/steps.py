"""The step of this learner: it lists the urns, and reads no record."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from deniable.foundation.domain import Domain
from deniable.foundation.keys import Parameter, StreamOpener
from deniable.learners.multinomial_sets.plan import urns_document
from deniable.learners.multinomial_sets.spec import Entry
from deniable.mechanisms import URNS, Counter, Made, PartDelta, PlannedStep
from deniable.roles import Role


def steps(entry: Entry, _: Domain, __: PartDelta) -> tuple[PlannedStep, ...]:
    """Plan the steps of a spec; see `deniable.learners.registry.steps_of`."""
    decides: dict[str, Parameter] = {"learner": entry.kind, "sets": entry.sets, "shared": entry.shared}
    listed = PlannedStep(
        name=Role.STRUCTURE,
        part=None,
        parameters=decides,
        shown=decides,
        makes=(URNS,),
        run=partial(_list, entry),
    )
    return (listed,)


def _list(entry: Entry, _: Counter, __: Mapping[str, Any], ___: StreamOpener) -> Made:
    return Made(products={URNS.name: urns_document(dict(entry))})
