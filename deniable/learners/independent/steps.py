"""The steps of this learner: a graph without edges, and a model from noisy histograms."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from deniable.foundation.domain import Domain
from deniable.foundation.keys import Parameter, StreamOpener
from deniable.foundation.tables import FamilyCounts
from deniable.learners.independent.histograms import Histograms
from deniable.learners.independent.spec import Entry
from deniable.learners.marginals.steps import without_edges
from deniable.mechanisms import MODEL, Counter, Made, PartDelta, PlannedStep
from deniable.models.graph import Graph
from deniable.privacy.accounting import best
from deniable.privacy.loss import NOTHING
from deniable.roles import Role


def steps(entry: Entry, domain: Domain, _: PartDelta) -> tuple[PlannedStep, ...]:
    """Plan the steps of a spec; see `deniable.learners.registry.steps_of`."""
    histograms = Histograms(domain, entry.parameters.epsilon, entry.bins)
    decides: dict[str, Parameter] = {"learner": entry.kind, "noise": entry.noise, "bins": entry.bins}
    learnt = PlannedStep(
        name=Role.PARAMETERS,
        part="parameters",
        events=histograms.events,
        guarantee=best(histograms.events, 0) if histograms.events else NOTHING,
        parameters=decides,
        shown=decides,
        reads=("graph",),
        makes=(MODEL,),
        run=partial(_learn, histograms),
    )
    return without_edges(domain), learnt


def _learn(histograms: Histograms, counter: Counter, given: Mapping[str, Any], open_stream: StreamOpener) -> Made:
    graph = Graph.from_document(histograms.domain, given["graph"])
    counts = counter.count(partial(FamilyCounts, histograms.domain, graph.parents), "parameters")
    net = histograms.run(counts, graph, open_stream)
    return Made(products={"model": net.document()}, figures={"cells": sum(table.size for table in net.weights)})
