"""The step of this learner: keys of the urns are listed, by public orders or by measured ones."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from deniable.foundation.domain import Domain
from deniable.foundation.keys import Parameter, StreamOpener
from deniable.learners.pegs.orders import noisy_pairs, orders_by_information, pair_tables
from deniable.learners.pegs.plan import key_of, keys_in_spec, order_events, urns_document
from deniable.learners.pegs.spec import Entry, OrderBudget
from deniable.mechanisms import URNS, Counter, Made, PartDelta, PlannedStep
from deniable.privacy.accounting import best
from deniable.privacy.loss import NOTHING


def steps(entry: Entry, domain: Domain, _: PartDelta) -> tuple[PlannedStep, ...]:
    """Plan the steps of a spec; see `deniable.learners.registry.steps_of`."""
    budget = entry.structure
    decides: dict[str, Parameter] = {"learner": entry.kind, "key_cells": entry.key_cells}
    events = () if budget is None else order_events(domain, budget.epsilon)
    listed = PlannedStep(
        name="learn_structure",
        part=None if budget is None else "structure",
        events=events,
        guarantee=best(events, 0) if events else NOTHING,
        parameters=decides,
        shown=decides,
        makes=(URNS,),
        run=partial(_list, entry, domain) if budget is None else partial(_measure, entry, domain, budget),
    )
    return (listed,)


def _list(entry: Entry, domain: Domain, _: Counter, __: Mapping[str, Any], ___: StreamOpener) -> Made:
    return _made(entry, domain, keys_in_spec(domain, entry.orders, entry.key_cells))


def _measure(
    entry: Entry,
    domain: Domain,
    budget: OrderBudget,
    counter: Counter,
    _: Mapping[str, Any],
    open_stream: StreamOpener,
) -> Made:
    tables = counter.count(partial(pair_tables, domain), "pairs").tables
    orders = orders_by_information(domain, noisy_pairs(domain, budget.epsilon, tables, open_stream))
    return _made(entry, domain, [key_of(domain, order, entry.key_cells) for order in orders])


def _made(entry: Entry, domain: Domain, keys: Sequence[Sequence[int]]) -> Made:
    document = urns_document(domain, keys, entry.seed_weights, block=entry.block, draws_per_row=entry.draws_per_row)
    return Made(products={"urns": document}, figures={"key_attributes": sum(map(len, keys))})
