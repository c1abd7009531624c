"""Learn the conditional probability tables from noisy counts of the parameters part."""

import json
from functools import partial

from deniable.graph import Graph
from deniable.tables import FamilyCounts
from schemas.accounts import accounts_of, parameters_cost
from schemas.recipes import parameter_recipe
from schemas.references import Audience, Reference
from stores.charging import commit, opened_streams, reserve
from stores.lineage import recorded_step
from stores.model_record import record_model
from stores.workspace import Workspace
from tasks.counting import counted
from tasks.step import as_task


def learn_parameters(workspace: Workspace, parameters: Reference, graph: Reference) -> Reference:
    """Count each attribute by its parents, add noise, and turn the counts into probabilities in integers.

    Args:
        workspace: the release.
        parameters: codes of the parameters part.
        graph: the graph.

    Returns:
        The model, `model.json`, public.
    """
    domain = workspace.spec.domain
    recipe = parameter_recipe(workspace.spec)
    with recorded_step(workspace, "learn_parameters", inputs=[parameters, graph]) as step:
        mechanism, cost = recipe.calibrate(domain), parameters_cost(workspace.spec)
        step.parameters(noise=recipe.noise, prior=recipe.prior, estimate=recipe.estimate)
        charge = reserve(
            workspace,
            cost,
            parameters,
            graph,
            parameters={"noise": recipe.noise, "prior": recipe.prior, "estimate": recipe.estimate},
        )
        learnt = Graph.from_document(domain, json.loads(graph.path.read_text()))
        counts = counted(workspace, parameters, partial(FamilyCounts, domain, learnt.parents), "parameters")
        open_stream = opened_streams(workspace, "learn_parameters", f"{parameters.digest} {graph.digest}")
        net = mechanism.run(counts, learnt, open_stream)
        step.spent(cost.guarantee, cost.events)
        step.figures({"cells": sum(table.size for table in net.weights)}, Audience.PUBLIC)
        with workspace.writing("model.json", Audience.PUBLIC) as path:
            path.write_text(json.dumps(net.document()))
        made = step.output(workspace.refer("model", "model.json", Audience.PUBLIC))
        commit(workspace, charge, made)
        record_model(step, made, accounts_of(workspace.spec).model)
        return made


learn_parameters_task = as_task(learn_parameters)
