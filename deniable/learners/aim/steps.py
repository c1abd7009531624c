"""The step of this learner: a graphical model from noisy tables chosen one by one."""

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from itertools import groupby
from math import inf, prod
from typing import Any

import numpy as np

from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import Parameter, StreamOpener
from deniable.learners.aim.candidates import countable
from deniable.learners.aim.dependences import dependences
from deniable.learners.aim.engine import Engine, OwnEngine, Work
from deniable.learners.aim.measured import PURPOSE
from deniable.learners.aim.plan import RoundsPlan
from deniable.learners.aim.queries import PrivateQueries
from deniable.learners.aim.rounds import Learnt, learn
from deniable.learners.aim.spec import Entry
from deniable.learners.aim.workload import Workload
from deniable.learners.loglinear.estimation.counting import Partition, SmallTables
from deniable.measurements.document import Choice, Measurements, Universe
from deniable.measurements.noisy_tables import MeasuredTable, NoiseLaw, Release
from deniable.mechanisms import GRAPH, MEASURED, MODEL, Counter, Made, PartDelta, PlannedStep
from deniable.models.graphical.fitting import ImpossibleCells
from deniable.models.graphical.junction_tree_net import JunctionTreeNet
from deniable.roles import Role

MOST_CELLS = 10**8
"""Largest total number of cells of all candidates' counts: 800 megabytes."""
PROGRESS = 100
"""Progress is reported in hundredths of rho."""
_DECIMALS = 3

_MOST_IMPOSSIBLE = 1 << 22
"""Cells of the largest pair whose structural zeros are fitted; records satisfy all rules in any case."""


def steps(entry: Entry, domain: Domain, delta_of: PartDelta) -> tuple[PlannedStep, ...]:
    """Plan the step of a spec; see `deniable.learners.registry.steps_of`.

    Raises:
        InvalidInput: the budget does not suffice, the candidates' counts would not fit in memory, or the engine is not
            installed.
    """
    asked = entry.workload if isinstance(entry.workload, str) else [each.model_dump() for each in entry.workload]
    budget = entry.parameters
    plan = RoundsPlan.of(domain, Workload.of(domain, asked), budget.epsilon, delta_of(budget.delta))
    _require_memory(plan, entry.max_model)
    if entry.engine == "mbi":
        from deniable.learners.aim.mbi_engine import require_mbi  # noqa: PLC0415 - an optional library

        require_mbi()
    decides: dict[str, Parameter] = {
        "learner": entry.kind,
        "rho": plan.rho,
        "tables": [[domain.names[i] for i in own] for own in plan.workload.tables],
        "weights": list(plan.workload.weights),
        "max_model": entry.max_model,
        "engine": entry.engine,
        "max_seconds": entry.max_seconds or 0,
    }
    step = PlannedStep(
        # Other learners have two steps; the single step here has the name of the one with a cost.
        name=Role.PARAMETERS,
        part="parameters",
        events=plan.events,
        guarantee=plan.guarantee,
        parameters=decides,
        shown={
            "learner": entry.kind,
            "engine": entry.engine,
            "max_model": float(entry.max_model),
            "rho": float(plan.rho),
            "candidates": len(plan.workload.candidates),
        },
        makes=(GRAPH, MODEL, MEASURED),
        work=PROGRESS,
        run=partial(_learn, plan, entry),
    )
    return (step,)


def _require_memory(plan: RoundsPlan, max_model: Fraction) -> None:
    sizes = plan.domain.cardinalities
    cells = sum(prod(sizes[i] for i in own) for own in countable(plan, max_model))
    if cells > MOST_CELLS:
        raise InvalidInput(
            f"the tables of the workload and their parts must have at most {MOST_CELLS:,} cells together, got "
            f"{cells:,}; list fewer tables, or lower max_model."
        )


def _learn(plan: RoundsPlan, entry: Entry, counter: Counter, _: Mapping[str, Any], open_stream: StreamOpener) -> Made:
    wanted = countable(plan, entry.max_model)
    empty = partial(SmallTables, Partition.finest(plan.domain), wanted)
    counts = dict(zip(wanted, counter.count(empty, "candidates").tables, strict=True)) if wanted else {}
    queries = PrivateQueries(plan, open_stream)
    reported = 0

    def tell(share: Fraction) -> None:
        nonlocal reported
        done = int(PROGRESS * share)
        counter.advance(done - reported)
        reported = done

    learnt = learn(
        plan,
        entry.max_model,
        counts,
        queries,
        _engine(entry, plan.domain),
        lambda: tell(queries.spent / plan.rho),
    )
    tell(Fraction(1))
    net = JunctionTreeNet.of(plan.domain, learnt.model)
    products = {
        "graph": dependences(net).document(plan.domain),
        "model": net.document(),
        "measured": measurements(plan, learnt, net).document(),
    }
    figures = {
        "rounds": learnt.rounds,
        "rho_unspent": float(plan.rho - learnt.spent),
        "cells": learnt.model.tree.cells,
        "stopped_early": learnt.stopped,
    }
    return Made(products=products, figures=figures)


def _engine(entry: Entry, domain: Domain) -> Engine:
    work = Work(inf if entry.max_seconds is None else float(entry.max_seconds))
    if entry.engine == "own":
        return OwnEngine(domain.cardinalities, work, _impossible(domain))
    from deniable.learners.aim.mbi_engine import MbiEngine  # noqa: PLC0415 - an optional library

    return MbiEngine(domain.cardinalities, work)


def measurements(plan: RoundsPlan, learnt: Learnt, net: JunctionTreeNet) -> Measurements:
    """The document of everything released, with the model's counts."""
    by_table = groupby(sorted(learnt.released, key=lambda own: (own.attributes, own.turn)), lambda own: own.attributes)
    tables = []
    for attributes, those in by_table:
        released = list(those)
        tables.append(
            MeasuredTable(
                attributes=attributes,
                releases=tuple(Release(own.sums, NoiseLaw("gaussian", own.variance), own.turn) for own in released),
                by_values=attributes,
                reason=released[0].reason,
                denoised=np.maximum(np.round(learnt.model.marginal(attributes), _DECIMALS), 0.0),
            )
        )
    tables.sort(key=lambda table: table.releases[0].turn)
    of_tables = sum((table.cost for table in tables), Fraction(0)) / 2
    return Measurements(
        domain=plan.domain,
        learner="aim",
        universe=Universe("parameters"),
        buckets=tuple(np.arange(size) for size in plan.domain.cardinalities),
        tables=tuple(tables),
        choices=tuple(Choice(own.turn, PURPOSE, own.candidates, own.place, own.attributes) for own in learnt.choices),
        records=float(learnt.model.total),
        order=tuple(net.order.tolist()),
        figures={
            "rounds": float(learnt.rounds),
            "rho_of_tables": float(of_tables),
            "rho_unspent": float(plan.rho - learnt.spent),
        },
    )


def _impossible(domain: Domain) -> tuple[ImpossibleCells, ...]:
    """The combinations of two attributes that the rules of the domain forbid."""
    sizes = domain.cardinalities
    pairs = (pair for pair in domain.restricted_pairs if sizes[pair[0]] * sizes[pair[1]] <= _MOST_IMPOSSIBLE)
    cells = {pair: domain.zeros(pair) for pair in pairs}
    return tuple(ImpossibleCells(pair, own) for pair, own in cells.items() if own is not None)
