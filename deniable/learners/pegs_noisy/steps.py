"""The step of this learner: a Bayesian network from noisy tables of keys."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from deniable.foundation.domain import Domain
from deniable.foundation.keys import Parameter, StreamOpener
from deniable.foundation.noise import DiscreteLaplace
from deniable.foundation.tables import Counts
from deniable.learners.pegs.plan import require_memory
from deniable.learners.pegs_noisy.plan import REASON, keys_before, scale_of, table_events
from deniable.learners.pegs_noisy.spec import Entry
from deniable.learners.privbayes.conditionals import NoisyTable, network_of
from deniable.learners.privbayes.counting import Family, FamilyTables
from deniable.learners.privbayes.plan import NetworkPlan
from deniable.learners.privbayes.published import made_of
from deniable.measurements.noisy_tables import MeasuredTable, NoiseLaw, Release
from deniable.mechanisms import GRAPH, MEASURED, MODEL, Counter, Made, PartDelta, PlannedStep
from deniable.privacy.accounting import best
from deniable.privacy.loss import NOTHING
from deniable.roles import Role


def steps(entry: Entry, domain: Domain, _: PartDelta) -> tuple[PlannedStep, ...]:
    """Plan the step of a spec; see `deniable.learners.registry.steps_of`.

    Raises:
        InvalidInput: the tables may be too large.
    """
    require_memory(domain, entry.key_cells)
    keys = keys_before(domain, entry.orders, entry.key_cells)
    events = table_events(domain, entry.parameters.epsilon)
    decides: dict[str, Parameter] = {
        "learner": entry.kind,
        "keys": [[domain.names[other] for other in key] for key in keys],
    }
    learnt = PlannedStep(
        name=Role.PARAMETERS,
        part="parameters",
        events=events,
        guarantee=best(events, 0) if events else NOTHING,
        parameters=decides,
        shown={"key_cells": entry.key_cells, "noise": entry.noise},
        makes=(GRAPH, MODEL, MEASURED),
        run=partial(_learn, domain, keys, entry.parameters.epsilon),
    )
    return (learnt,)


def noisy_counts(
    domain: Domain,
    families: Sequence[Family],
    epsilon: Fraction,
    tables: Sequence[Counts],
    open_stream: StreamOpener,
) -> tuple[NoisyTable, ...]:
    """Noisy counts of each family.

    Args:
        domain: the public domain.
        families: attributes with their keys.
        epsilon: total budget of all tables.
        tables: their counts, shape (combinations, values).
        open_stream: opens the streams of this step.
    """
    law, found = DiscreteLaplace(scale_of(domain, epsilon)), []
    for family, table in zip(families, tables, strict=True):
        parameters: dict[str, Parameter] = {
            "scale": law.scale,
            "attribute": domain.names[family.child],
            "key": [domain.names[other] for other in family.parents],
            "domain": domain.digest,
        }
        noise = law.sample(open_stream(mechanism="key_counts", parameters=parameters), table.size)
        found.append(NoisyTable(family, table + noise.reshape(table.shape)))
    return tuple(found)


def _learn(
    domain: Domain,
    keys: Sequence[tuple[int, ...]],
    epsilon: Fraction,
    counter: Counter,
    _: Mapping[str, Any],
    open_stream: StreamOpener,
) -> Made:
    families = [Family(key, i) for i, key in enumerate(keys) if domain.cardinalities[i] > 1]
    counted = counter.count(partial(FamilyTables, domain, families), "keys").tables
    tables = noisy_counts(domain, families, epsilon, counted, open_stream)
    released = tuple(_released(domain, epsilon, table, turn) for turn, table in enumerate(tables, 1))
    return made_of("pegs_noisy", network_of(NetworkPlan(domain, 0, epsilon, epsilon, 1), tables), released)


def _released(domain: Domain, epsilon: Fraction, table: NoisyTable, turn: int) -> MeasuredTable:
    """A released table; the attribute comes after those of its key."""
    key, child = table.family
    shape = [*(domain.bucket_counts[other] for other in key), domain.cardinalities[child]]
    return MeasuredTable(
        attributes=(*key, child),
        releases=(
            Release(
                sums=np.ascontiguousarray(table.counts.reshape(shape)),
                noise=NoiseLaw("laplace", scale_of(domain, epsilon)),
                turn=turn,
            ),
        ),
        by_values=(child,),
        reason=REASON,
    )
