"""The step of this learner: it lists the urns' keys, by public or measured orders."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from deniable.command_names import command_line
from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import Parameter, StreamOpener
from deniable.foundation.tables import FirstRows
from deniable.learners.pegs.orders import noisy_pairs, orders_by_information, pair_tables
from deniable.learners.pegs.plan import MOST_SEEDS, key_of, keys_in_spec, more_of_urns, order_events, urns_document
from deniable.learners.pegs.spec import Entry, OrderBudget, SeedFile
from deniable.mechanisms import URNS, Counter, Made, PartDelta, PlannedStep, PublicTable
from deniable.privacy.accounting import best
from deniable.privacy.loss import NOTHING
from deniable.roles import Role


def steps(entry: Entry, domain: Domain, _: PartDelta) -> tuple[PlannedStep, ...]:
    """Plan the steps of a spec; see `deniable.learners.registry.steps_of`."""
    budget = entry.structure
    decides: dict[str, Parameter] = {"learner": entry.kind, "key_cells": entry.key_cells}
    events = () if budget is None else order_events(domain, budget.epsilon)
    public = None if entry.seed_file is None else _public(entry.seed_file)
    if public is not None:
        decides |= {"seed_file_sha256": public.sha256}
    listed = PlannedStep(
        name=Role.STRUCTURE,
        part=None if budget is None else "structure",
        public=public,
        events=events,
        guarantee=best(events, 0) if events else NOTHING,
        parameters=decides,
        shown=decides,
        makes=(URNS,),
        run=partial(_list, entry, domain) if budget is None else partial(_measure, entry, domain, budget),
    )
    return (listed,)


def derived_from_public(entry: Entry, _: Domain, __: Counter, sha256: str) -> Mapping[str, Any]:
    """The digest of the file of seeds; see `deniable.learners.registry.derived_from_public`."""
    return {"seed_file": {"path": str(entry.public_file), "sha256": sha256}}


def _public(file: SeedFile) -> PublicTable:
    if file.sha256 is None:
        raise InvalidInput(
            "learner.seed_file must state the digest of the public file, and has none; add the lines that "
            f"`{command_line('mechanisms select')} SPEC` prints."
        )
    return PublicTable(path=file.path, sha256=file.sha256)


def _list(entry: Entry, domain: Domain, counter: Counter, __: Mapping[str, Any], ___: StreamOpener) -> Made:
    keys = keys_in_spec(domain, entry.orders, entry.key_cells)
    if entry.seed_file is None:
        return _made(entry, domain, keys)
    seeds = counter.count(partial(FirstRows, len(domain), MOST_SEEDS), "seeds").codes
    return _made(entry, domain, keys, seeds=seeds.tolist())


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


def _made(entry: Entry, domain: Domain, keys: Sequence[Sequence[int]], **seeds: Any) -> Made:
    document = urns_document(domain, keys, entry.seed_weights, **more_of_urns(dict(entry)), **seeds)
    return Made(products={"urns": document}, figures={"key_attributes": sum(map(len, keys))})
