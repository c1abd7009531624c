"""The steps of this learner: noisy entropies and a graph from one part, noisy counts and probabilities from another."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from deniable.foundation.domain import Domain
from deniable.foundation.keys import StreamOpener
from deniable.foundation.tables import FamilyCounts, PairCounts
from deniable.learners.cfs.parameters import ParameterMechanism, ParameterRecipe
from deniable.learners.cfs.spec import Entry
from deniable.learners.cfs.structure import StructureMechanism, StructureRecipe
from deniable.mechanisms import GRAPH, MODEL, Counter, Made, PartDelta, PlannedStep
from deniable.models.graph import Graph


def steps(entry: Entry, domain: Domain, delta_of: PartDelta) -> tuple[PlannedStep, ...]:
    """Plan the steps of a spec.

    Args:
        entry: the spec's entry.
        domain: the public domain.
        delta_of: see PartDelta.
    """
    structure, parameters = entry.structure, entry.parameters
    graph = StructureRecipe(
        epsilon=structure.epsilon,
        delta=delta_of(structure.delta),
        epsilon_rows=structure.epsilon_rows,
        max_cost=structure.max_cost,
        noise=entry.noise,
    )
    tables = ParameterRecipe(
        epsilon=parameters.epsilon,
        delta=delta_of(parameters.delta),
        noise=entry.noise,
        prior=parameters.prior,
        estimate=parameters.estimate,
    )
    return _structure_step(graph, domain), parameter_step(tables, domain)


def _structure_step(recipe: StructureRecipe, domain: Domain) -> PlannedStep:
    mechanism = recipe.calibrate(domain)
    return PlannedStep(
        name="learn_structure",
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


def parameter_step(recipe: ParameterRecipe, domain: Domain) -> PlannedStep:
    """Plan noisy counts of each attribute by its parents in the learnt graph."""
    mechanism = recipe.calibrate(domain)
    decides = {"noise": recipe.noise, "prior": recipe.prior, "estimate": recipe.estimate}
    return PlannedStep(
        name="learn_parameters",
        part="parameters",
        events=mechanism.events,
        guarantee=mechanism.guarantee,
        parameters=decides,
        shown=decides,
        reads=("graph",),
        makes=(MODEL,),
        run=partial(_learn_parameters, mechanism, domain),
    )


def _learn_parameters(
    mechanism: ParameterMechanism, domain: Domain, counter: Counter, given: Mapping[str, Any], open_stream: StreamOpener
) -> Made:
    graph = Graph.from_document(domain, given["graph"])
    counts = counter.count(partial(FamilyCounts, domain, graph.parents), "parameters")
    net = mechanism.run(counts, graph, open_stream)
    return Made(products={"model": net.document()}, figures={"cells": sum(table.size for table in net.weights)})
