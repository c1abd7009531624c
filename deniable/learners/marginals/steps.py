"""The steps of this learner: a graph without edges, and a model from noisy one-way counts."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from deniable.foundation.domain import Domain
from deniable.foundation.keys import StreamOpener
from deniable.learners.cfs.parameters import ParameterRecipe
from deniable.learners.cfs.steps import parameter_step
from deniable.learners.marginals.spec import Entry
from deniable.mechanisms import GRAPH, Counter, Made, PartDelta, PlannedStep
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
    recipe = ParameterRecipe(
        epsilon=parameters.epsilon,
        delta=delta_of(parameters.delta),
        noise=entry.noise,
        prior=parameters.prior,
        estimate=parameters.estimate,
    )
    return without_edges(domain), parameter_step(recipe, domain)


def without_edges(domain: Domain) -> PlannedStep:
    """Plan the graph without edges, for which no row is read."""
    return PlannedStep(name=Role.STRUCTURE, part=None, makes=(GRAPH,), run=partial(_without_edges, domain))


def _without_edges(domain: Domain, _: Counter, __: Mapping[str, Any], ___: StreamOpener) -> Made:
    return Made(products={"graph": Graph.without_edges(domain).document(domain)})
