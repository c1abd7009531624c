"""The counts and the draws of this learner; see `deniable.mechanisms.ChargedDraws`."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes, Domain, Parents
from deniable.foundation.errors import InvalidInput
from deniable.foundation.spec_values import MOST_RECORDS
from deniable.foundation.tables import Counts, FamilyCounts, configuration_count, configuration_strides
from deniable.learners.pegs.plan import FORMAT, DrawsPlan, require_memory
from deniable.learners.pegs.spec import Entry
from deniable.mechanisms import ChargedDraws, ChunkStreams, Counter, Draw
from deniable.models.sequential_model import require_format, starts
from deniable.models.urns import Integers, Urns, draw_blocks
from deniable.privacy.urn_costs import LARGEST_MASS, UNIT

if TYPE_CHECKING:
    from deniable.foundation.keys import Parameter


def draws(entry: Entry, domain: Domain, *, records: int, chunk: int) -> ChargedDraws:
    """Plan the draws; see `deniable.learners.registry.draws_of`.

    Raises:
        InvalidInput: the budget is too small, the tables may be too large, or blocks do not fit into chunks.
    """
    plan = plan_of(entry, domain, records)
    require_memory(domain, entry.key_cells)
    shape = [sum(entry.alpha_shape.get(name, ())) for name in domain.names]
    require_mass(domain, plan.priors, entry.draws_per_row + max(shape, default=0))
    if chunk % entry.block and chunk < records:
        raise InvalidInput(
            f"chunk_candidates must be a multiple of the {entry.block} records of a block, got {chunk}; round it."
        )
    parameters: dict[str, Parameter] = {
        "learner": entry.kind,
        "priors": list(plan.priors),
        "block": entry.block,
        "draws_per_row": entry.draws_per_row,
        "records": records,
        "chunk_candidates": chunk,
        **_decided(entry),
    }
    return ChargedDraws(
        events=plan.events,
        parameters=parameters,
        count=partial(count_by_keys, domain),
        open=partial(_open, domain, plan, entry),
    )


def _decided(entry: Entry) -> "dict[str, Parameter]":
    """Parameters of draws that are omitted at their original default."""
    found: dict[str, Parameter] = {}
    if entry.sweeps > 1:
        found["sweeps"] = entry.sweeps
    if entry.alpha_shape:
        found["alpha_shape"] = [[name, list(weights)] for name, weights in sorted(entry.alpha_shape.items())]
    if entry.seed_file is not None:
        found["seed_file"] = str(entry.seed_file.sha256)
    return found


def plan_of(entry: Entry, domain: Domain, records: int) -> DrawsPlan:
    """The draws of a spec."""
    return DrawsPlan(
        domain=domain,
        records=records,
        epsilon=entry.epsilon,
        block=entry.block,
        draws_per_row=entry.draws_per_row,
        by_values=entry.division == "values",
    )


def require_mass(domain: Domain, priors: Sequence[int], draws_per_row: int) -> None:
    """Refuse weights whose sum might overflow 64 bits for some readable number of records.

    Raises:
        InvalidInput: it might overflow.
    """
    prior = max(prior * size for prior, size in zip(priors, domain.cardinalities, strict=True))
    if prior + UNIT * (MOST_RECORDS + draws_per_row) > LARGEST_MASS:
        raise InvalidInput(
            "the weights of an urn must fit into 64 bits, and may exceed them; raise epsilon, or lower draws_per_row."
        )


def keys_of(domain: Domain, document: Mapping[str, Any]) -> Parents:
    """The keys that the urns' document lists, by column number.

    Raises:
        InvalidInput: it has another format.
    """
    require_format(document, FORMAT)
    by_name = {each["name"]: each["key"] for each in document["attributes"]}
    return tuple(domain.subset(by_name[name]) for name in domain.names)


def count_by_keys(domain: Domain, counter: Counter, document: Mapping[str, Any]) -> Sequence[NDArray[Any]]:
    """The counts of each attribute given its key, shape (rows, values)."""
    return counter.count(partial(FamilyCounts, domain, keys_of(domain, document)), "urns").tables


def urns_of(domain: Domain, document: Mapping[str, Any], tables: Sequence[Counts], priors: Sequence[Integers]) -> Urns:
    """Urns for compiled code.

    Args:
        domain: the public domain.
        document: the urns' document.
        tables: the counts of each attribute, shape (rows, values).
        priors: the prior weight of each row of each attribute, shape (rows,).
    """
    keys = keys_of(domain, document)
    attributes = domain.attributes
    seeds = [each["seed_weights"] or [1] * attribute.cardinality for each, attribute in _paired(domain, document)]
    return Urns(
        cardinality=np.asarray(domain.cardinalities, np.int64),
        key_start=starts([len(key) for key in keys], closed=True),
        key=np.asarray([*chain(*keys)], np.int64),
        stride=np.asarray([*chain(*(configuration_strides(domain, key) for key in keys))], np.int64),
        bucket_start=starts(domain.cardinalities),
        bucket=np.concatenate([attribute.bucket_of for attribute in attributes]).astype(np.int64),
        row_start=starts([configuration_count(domain, key) for key in keys]),
        prior=np.concatenate(priors),
        table_start=starts([table.size for table in tables]),
        cumulative=np.concatenate([np.cumsum(table, axis=1, dtype=np.int64).ravel() for table in tables]),
        seed_start=starts([len(weights) for weights in seeds], closed=True),
        seed=np.concatenate([np.cumsum(weights, dtype=np.int64) for weights in seeds]),
        pool=np.asarray(document.get("seeds", ()), np.uint16).reshape(-1, len(domain)),
    )


def _paired(domain: Domain, document: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], Any]]:
    by_name = {each["name"]: each for each in document["attributes"]}
    return [(by_name[attribute.name], attribute) for attribute in domain.attributes]


def _open(
    domain: Domain,
    plan: DrawsPlan,
    entry: Entry,
    document: Mapping[str, Any],
    tables: Sequence[Counts],
    open_stream: ChunkStreams,
) -> Draw:
    priors = [np.full(len(table), prior, np.int64) for table, prior in zip(tables, plan.priors, strict=True)]
    urns = urns_of(domain, document, with_public_records(domain, entry, tables), priors)
    parameters: dict[str, Parameter] = {
        "priors": list(plan.priors),
        "block": plan.block,
        "draws_per_row": plan.draws_per_row,
        **_decided(entry),
    }
    sweeps = entry.sweeps

    def draw(chunk: int, candidates: int) -> Codes:
        stream = open_stream(mechanism="urns", parameters=parameters, chunk=chunk)
        passes = draw_blocks(stream, urns, candidates * sweeps, block=plan.block * sweeps, most=plan.draws_per_row)
        return passes if sweeps == 1 else passes[sweeps - 1 :: sweeps].copy()

    return draw


def with_public_records(domain: Domain, entry: Entry, tables: Sequence[Counts]) -> Sequence[Counts]:
    """The counts, with the public records of `alpha_shape` added to every row.

    Weights b n_j + a become b (n_j + s_j) + a: prior weights of a / b + s_j, the smallest of which determines the cost
    and is at least a / b.
    """
    shape = [entry.alpha_shape.get(name) for name in domain.names]
    return [
        table if each is None else table + np.asarray(each, np.int64) for table, each in zip(tables, shape, strict=True)
    ]
