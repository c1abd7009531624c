"""The step of this learner: graph and model from noisy counts of attributes and pairs in one part."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from deniable.foundation.domain import Domain
from deniable.foundation.keys import StreamOpener
from deniable.learners.loglinear.steps import InRounds
from deniable.learners.mst.learning import Learnt, learn
from deniable.learners.mst.measuring import Queries
from deniable.learners.mst.network import network_of
from deniable.learners.mst.plan import PART, Layout, MstPlan, MstRecipe
from deniable.learners.mst.pooling import Within
from deniable.learners.mst.spec import Entry
from deniable.measurements.document import Measurements, Universe
from deniable.mechanisms import GRAPH, MEASURED, MODEL, Counter, Made, PartDelta, PlannedStep
from deniable.roles import Role


def steps(entry: Entry, domain: Domain, delta_of: PartDelta) -> tuple[PlannedStep, ...]:
    """Plan the steps of a spec; see `deniable.learners.registry.steps_of`."""
    budget = entry.parameters
    recipe = MstRecipe(budget.epsilon, delta_of(budget.delta))
    plan = recipe.calibrate(domain, Layout.of_tree(domain))
    learnt = PlannedStep(
        name=Role.PARAMETERS,
        part=PART,
        events=plan.events,
        guarantee=plan.guarantee,
        pair_noise=plan.pair_noise,
        parameters={
            "learner": entry.kind,
            "variances": [plan.one_way_variance, *plan.table_variances],
            "choice": plan.choice_epsilon,
            "pooled": entry.pooled,
        },
        shown={"learner": entry.kind, "choices": plan.layout.choices},
        makes=(GRAPH, MODEL, MEASURED),
        run=partial(_learn, plan, entry.pooled),
    )
    return (learnt,)


def _learn(plan: MstPlan, within: Within, counter: Counter, _: Mapping[str, Any], open_stream: StreamOpener) -> Made:
    queries = Queries(plan, open_stream)
    return made_of("mst", queries, learn(queries, InRounds(counter), within))


def made_of(learner: str, queries: Queries, learnt: Learnt) -> Made:
    """Graph, model and measurements.

    Args:
        learner: name of the learner.
        queries: the releases.
        learnt: the result learnt from them.
    """
    domain = queries.plan.domain
    net = network_of(domain, learnt.pools, learnt.fitted.model)
    measured = Measurements(
        domain=domain,
        learner=learner,
        universe=Universe(PART),
        buckets=tuple(own.bucket_of for own in learnt.pools),
        tables=tuple(queries.tables),
        choices=tuple(queries.choices),
        records=learnt.fitted.model.total,
        order=net.graph.order,
    )
    return Made(
        products={"graph": net.graph.document(domain), "model": net.document(), "measured": measured.document()},
        figures={"tables": len(queries.tables), "iterations": learnt.fitted.iterations},
    )
