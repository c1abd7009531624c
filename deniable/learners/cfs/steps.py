"""The steps of this learner: noisy entropies and a graph from one part, noisy counts and probabilities from another.

No record is read for a graph that the spec states.
"""

from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from io import BytesIO
from typing import Any

from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import Parameter, StreamOpener
from deniable.foundation.tables import FamilyCounts, PairCounts
from deniable.learners.cfs.given_graph import graph_in_spec
from deniable.learners.cfs.noise_of_rows import caution_of_rows, most_rows, rows_of_graph
from deniable.learners.cfs.parameters import ParameterMechanism, ParameterRecipe, WithoutNoise
from deniable.learners.cfs.spec import Entry
from deniable.learners.cfs.structure import StructureMechanism, StructureRecipe
from deniable.mechanisms import GRAPH, MODEL, Counter, Made, PartDelta, PlannedStep, PublicPart
from deniable.models.graph import Graph
from deniable.roles import Role


def steps(entry: Entry, domain: Domain, delta_of: PartDelta) -> tuple[PlannedStep, ...]:
    """Plan the steps of a spec.

    Args:
        entry: the spec's entry.
        domain: the public domain.
        delta_of: see PartDelta.
    """
    parameters = entry.parameters
    if entry.noise == "none" or parameters is None:
        return _without_noise(entry, domain)
    tables = ParameterRecipe(
        epsilon=parameters.epsilon,
        delta=delta_of(parameters.delta),
        noise=entry.noise,
        prior=parameters.prior,
        estimate=parameters.estimate,
    )
    if entry.graph is not None:
        graph = graph_in_spec(domain, entry.graph.model_dump())
        caution = caution_of_rows(domain, rows_of_graph(domain, graph), tables.calibrate(domain).events, learnt=False)
        return _given_step(graph, domain), parameter_step(tables, domain, caution)
    structure = entry.structure
    if structure is None:
        raise InvalidInput("a learner of kind cfs must have the budget of its structure or a graph; state one of them.")
    learnt = StructureRecipe(
        epsilon=structure.epsilon,
        delta=delta_of(structure.delta),
        epsilon_rows=structure.epsilon_rows,
        max_cost=structure.max_cost,
        noise=entry.noise,
    )
    rows = most_rows(domain, structure.max_cost)
    caution = caution_of_rows(domain, rows, tables.calibrate(domain).events, learnt=True)
    return _structure_step(learnt, domain), parameter_step(tables, domain, caution)


def _without_noise(entry: Entry, domain: Domain) -> tuple[PlannedStep, ...]:
    """Plan the graph that the spec states, and exact counts of a public table, which cost nothing and hide nothing."""
    if entry.graph is None:
        raise InvalidInput("a learner of kind cfs without noise must have a graph in the spec; state a public one.")
    decides: dict[str, Parameter] = {"noise": entry.noise}
    counted = PlannedStep(
        name=Role.PARAMETERS,
        part=None,
        public=PublicPart(part="parameters"),
        parameters=decides,
        shown=decides,
        reads=("graph",),
        makes=(MODEL,),
        run=partial(_learn_parameters, WithoutNoise(), domain),
    )
    return _given_step(graph_in_spec(domain, entry.graph.model_dump()), domain), counted


def _given_step(graph: Graph, domain: Domain) -> PlannedStep:
    """Plan the graph that the spec states, for which no row is read."""
    document, file = graph.document(domain), BytesIO()
    GRAPH.write(document, file)
    edges = sum(len(parents) for parents in graph.parents)
    return PlannedStep(
        name=Role.STRUCTURE,
        part=None,
        shown={"graph": "in the spec", "graph_sha256": sha256(file.getvalue()).hexdigest(), "edges": edges},
        makes=(GRAPH,),
        run=partial(_state, document),
    )


def _state(document: Mapping[str, Any], _: Counter, __: Mapping[str, Any], ___: StreamOpener) -> Made:
    return Made(products={"graph": document})


def _structure_step(recipe: StructureRecipe, domain: Domain) -> PlannedStep:
    mechanism = recipe.calibrate(domain)
    return PlannedStep(
        name=Role.STRUCTURE,
        part="structure",
        events=mechanism.events,
        guarantee=mechanism.guarantee,
        parameters={"noise": recipe.noise, "max_cost": recipe.max_cost, "epsilon_rows": recipe.epsilon_rows},
        shown={
            "noise": recipe.noise,
            "max_cost": recipe.max_cost,
            "entropies": len(mechanism.entropies.queries),
        },
        makes=(GRAPH,),
        run=partial(_learn_structure, mechanism, domain),
    )


def _learn_structure(
    mechanism: StructureMechanism, domain: Domain, counter: Counter, _: Mapping[str, Any], open_stream: StreamOpener
) -> Made:
    graph = mechanism.run(counter.count(partial(PairCounts, domain), "structure"), open_stream)
    edges = sum(len(parents) for parents in graph.parents)
    return Made(products={"graph": graph.document(domain)}, figures={"edges": edges})


def parameter_step(recipe: ParameterRecipe, domain: Domain, caution: str = "") -> PlannedStep:
    """Plan noisy counts of each attribute by its parents in the graph.

    Args:
        recipe: the budget and the estimate.
        domain: the public domain.
        caution: see `PlannedStep`.
    """
    mechanism = recipe.calibrate(domain)
    decides = {"noise": recipe.noise, "prior": recipe.prior, "estimate": recipe.estimate}
    return PlannedStep(
        name=Role.PARAMETERS,
        part="parameters",
        events=mechanism.events,
        guarantee=mechanism.guarantee,
        parameters=decides,
        shown=decides,
        reads=("graph",),
        makes=(MODEL,),
        caution=caution,
        run=partial(_learn_parameters, mechanism, domain),
    )


def _learn_parameters(
    mechanism: ParameterMechanism | WithoutNoise,
    domain: Domain,
    counter: Counter,
    given: Mapping[str, Any],
    open_stream: StreamOpener,
) -> Made:
    graph = Graph.from_document(domain, given["graph"])
    counts = counter.count(partial(FamilyCounts, domain, graph.parents), "parameters")
    net = mechanism.run(counts, graph, open_stream)
    return Made(products={"model": net.document()}, figures={"cells": sum(table.size for table in net.weights)})
