"""The steps of this learner: a graph without edges, and equal probabilities, which both follow from the domain."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from deniable.foundation.domain import Domain
from deniable.foundation.keys import StreamOpener
from deniable.learners.cfs.parameters import integer_weights
from deniable.learners.marginals.steps import without_edges
from deniable.learners.uniform.spec import Entry
from deniable.mechanisms import MODEL, Counter, Made, PartDelta, PlannedStep
from deniable.models.bayes_net import BayesNet
from deniable.models.graph import Graph
from deniable.roles import Role


def steps(_: Entry, domain: Domain, __: PartDelta) -> tuple[PlannedStep, ...]:
    """Plan the steps of a spec; see `deniable.learners.registry.steps_of`."""
    model = PlannedStep(
        name=Role.PARAMETERS, part=None, reads=("graph",), makes=(MODEL,), run=partial(_uniform, domain)
    )
    return without_edges(domain), model


def _uniform(domain: Domain, _: Counter, given: Mapping[str, Any], __: StreamOpener) -> Made:
    rows = (np.full((1, size), 1 / size) for size in domain.cardinalities)
    net = BayesNet(domain, Graph.from_document(domain, given["graph"]), tuple(integer_weights(row) for row in rows))
    return Made(products={"model": net.document()})
