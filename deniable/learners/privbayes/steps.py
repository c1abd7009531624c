"""The steps of this learner: choices from one part, noisy tables of the chosen families from another."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from deniable.foundation.domain import Domain
from deniable.foundation.keys import Parameter, StreamOpener
from deniable.learners.privbayes.conditionals import learn_tables, network_of
from deniable.learners.privbayes.counting import Family
from deniable.learners.privbayes.plan import NetworkPlan, network_plan
from deniable.learners.privbayes.published import made_of
from deniable.learners.privbayes.spec import Entry
from deniable.learners.privbayes.structure import NetworkSearch
from deniable.mechanisms import GRAPH, MEASURED, MODEL, Counter, Made, PartDelta, PlannedStep, Product
from deniable.privacy.accounting import best
from deniable.privacy.loss import NOTHING, Guarantee, MechanismEvent
from deniable.roles import Role

NETWORK = Product(name="network", file="network.json", is_shown=True)
"""The attributes in the order of their choice, each with its parents."""


def steps(entry: Entry, domain: Domain, _: PartDelta) -> tuple[PlannedStep, ...]:
    """Plan the steps of a spec; see `deniable.learners.registry.steps_of`."""
    asked = entry.structure
    plan = network_plan(
        domain,
        structure_epsilon=asked.epsilon,
        parameter_epsilon=entry.parameters.epsilon,
        degree=asked.degree,
        rows=asked.rows,
        least=asked.usefulness,
        max_cells=asked.max_cells,
    )
    decides: dict[str, Parameter] = {"learner": entry.kind, "degree": plan.degree, "max_cells": plan.max_cells}
    return (
        PlannedStep(
            name=Role.STRUCTURE,
            part="structure",
            events=plan.structure_events,
            guarantee=_cost(plan.structure_events),
            parameters=decides,
            shown={**decides, "choices": plan.choices},
            makes=(NETWORK,),
            run=partial(_choose, plan),
        ),
        PlannedStep(
            name=Role.PARAMETERS,
            part="parameters",
            events=plan.parameter_events,
            guarantee=_cost(plan.parameter_events),
            pair_noise=plan.pair_noise,
            parameters={"learner": entry.kind, "noise": entry.noise, "degree": plan.degree},
            shown={"noise": entry.noise, "tables": plan.tables},
            reads=("network",),
            makes=(GRAPH, MODEL, MEASURED),
            run=partial(_learn, plan),
        ),
    )


def _cost(events: tuple[MechanismEvent, ...]) -> Guarantee:
    return best(events, 0) if events else NOTHING


def _choose(plan: NetworkPlan, counter: Counter, _: Mapping[str, Any], open_stream: StreamOpener) -> Made:
    names = plan.domain.names
    network = NetworkSearch(plan, counter, open_stream).run()
    document = [
        {"attribute": names[child], "parents": [names[parent] for parent in parents]} for parents, child in network
    ]
    return Made(products={"network": document}, figures={"edges": sum(len(family.parents) for family in network)})


def _learn(plan: NetworkPlan, counter: Counter, given: Mapping[str, Any], open_stream: StreamOpener) -> Made:
    domain = plan.domain
    families = ((each["parents"], each["attribute"]) for each in given["network"])
    network = tuple(Family(domain.subset(parents), domain.index(child)) for parents, child in families)
    tables, released = learn_tables(plan, network, counter, open_stream)
    return made_of("privbayes", network_of(plan, tables), released)
