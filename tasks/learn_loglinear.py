"""Learn a log-linear network, graph and all, from small noisy tables of the parameters part."""

import json

from deniable.loglinear.graph import dependences
from deniable.loglinear.mechanism import learn_network
from schemas.accounts import accounts_of, parameters_cost
from schemas.recipes import loglinear_recipe
from schemas.references import Audience, Reference
from stores.charging import commit, opened_streams, reserve
from stores.drawing import weights_of
from stores.lineage import recorded_step
from stores.marginals import DescribedTable
from stores.measured import MEASURED, measured_of
from stores.model_record import record_model
from stores.ratio_pictures import draw_ratios
from stores.workspace import Workspace
from tasks.counting import SharedCounter
from tasks.learn_structure import keep_graph
from tasks.step import as_task


def learn_loglinear(workspace: Workspace, parameters: Reference) -> tuple[Reference, Reference, Reference]:
    """Carry out the learner's plan, and keep the network, what it was made of and which attributes it ties together.

    Args:
        workspace: the release.
        parameters: codes of the parameters part.

    Returns:
        The graph, `graph.json`, the model, `model.json`, and what was measured, `measured.json`; all public.

    Raises:
        ValueError: the release has another learner.
    """
    domain, recipe = workspace.spec.domain, loglinear_recipe(workspace.spec)
    if recipe is None:
        raise ValueError("a log-linear network is learnt by the learner of that kind")
    # What the other learners do in two steps is one here: it has the name of the one that is charged.
    with recorded_step(workspace, "learn_parameters", inputs=[parameters]) as step:
        plan, cost = recipe.calibrate(domain), parameters_cost(workspace.spec)
        step.parameters(learner="loglinear", noise=plan.noise, shares=plan.layout.shares, choices=plan.layout.choices)
        charge = reserve(
            workspace,
            cost,
            parameters,
            parameters={"learner": "loglinear", "noise": plan.noise, "amount": plan.amount},
        )
        counter = SharedCounter(workspace, parameters)
        open_stream = opened_streams(workspace, "learn_parameters", parameters.digest)
        net, learnt = learn_network(plan, counter, open_stream)
        step.spent(cost.guarantee, cost.events)
        step.figures({"tables": len(learnt.tables)}, Audience.PUBLIC)
        found = learnt.document(plan)
        step.document(found, MEASURED, Audience.PUBLIC)
        ties = dependences(net, learnt)
        graph = keep_graph(workspace, step, ties)
        shown = measured_of(found, DescribedTable.of(workspace.spec), weights_of(ties.document(domain)))
        if shown.ratios:
            step.plot(draw_ratios(shown.ratios), "measured.png", Audience.PUBLIC)
        with workspace.writing("model.json", Audience.PUBLIC) as path:
            path.write_text(json.dumps(net.document()))
        made = step.output(workspace.refer("model", "model.json", Audience.PUBLIC))
        with workspace.writing(MEASURED, Audience.PUBLIC) as path:
            path.write_text(json.dumps(found))
        measured = step.output(workspace.refer("measured", MEASURED, Audience.PUBLIC))
        commit(workspace, charge, made)
        record_model(step, made, accounts_of(workspace.spec).model)
        return graph, made, measured


learn_loglinear_task = as_task(learn_loglinear)
