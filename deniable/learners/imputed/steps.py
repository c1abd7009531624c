"""The step of this learner: it states the seeds, and reads no record."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from deniable.foundation.domain import Domain
from deniable.foundation.keys import Parameter, StreamOpener
from deniable.learners.imputed.spec import Entry
from deniable.learners.pegs.plan import others_in_order, urns_document
from deniable.mechanisms import URNS, Counter, Made, PartDelta, PlannedStep
from deniable.roles import Role


def steps(entry: Entry, domain: Domain, _: PartDelta) -> tuple[PlannedStep, ...]:
    """Plan the steps of a spec; see `deniable.learners.registry.steps_of`."""
    decides: dict[str, Parameter] = {"learner": entry.kind}
    listed = PlannedStep(
        name=Role.STRUCTURE,
        part=None,
        parameters=decides,
        shown=decides,
        makes=(URNS,),
        run=partial(_list, entry, domain),
    )
    return (listed,)


def _list(entry: Entry, domain: Domain, _: Counter, __: Mapping[str, Any], ___: StreamOpener) -> Made:
    return Made(products={"urns": urns_document(domain, others_in_order(domain), entry.seed_weights)})
