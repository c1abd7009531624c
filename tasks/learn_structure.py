"""Learn the dependency graph from noisy entropies of the structure part."""

import json
from functools import partial

from deniable.graph import Graph
from deniable.tables import PairCounts
from schemas.accounts import known_cost, structure_cost
from schemas.recipes import structure_recipe
from schemas.references import Audience, Reference
from stores.charging import commit, opened_streams, reserve
from stores.drawing import draw_graph, parents_of, weights_of
from stores.lineage import StepRecord, recorded_step
from stores.workspace import Workspace
from tasks.counting import counted
from tasks.step import as_task


def learn_structure(workspace: Workspace, structure: Reference | None) -> Reference:
    """Learn the graph under differential privacy, or take the one without edges where the learner has none.

    Args:
        workspace: the release.
        structure: codes of the structure part; none where the learner has no structure.

    Returns:
        The graph, `graph.json`, public.
    """
    domain = workspace.spec.domain
    recipe = structure_recipe(workspace.spec)
    with recorded_step(workspace, "learn_structure", inputs=[] if structure is None else [structure]) as step:
        if recipe is None or structure is None:
            return keep_graph(workspace, step, Graph.without_edges(domain))
        mechanism, cost = recipe.calibrate(domain), known_cost(structure_cost(workspace.spec))
        step.parameters(noise=recipe.noise, max_cost=recipe.max_cost, entropies=len(mechanism.entropies.queries))
        charge = reserve(
            workspace,
            cost,
            structure,
            parameters={"noise": recipe.noise, "max_cost": recipe.max_cost, "epsilon_rows": recipe.epsilon_rows},
        )
        counts = counted(workspace, structure, partial(PairCounts, domain), "structure")
        open_stream = opened_streams(workspace, "learn_structure", structure.digest)
        graph = mechanism.run(counts, open_stream)
        step.spent(cost.guarantee, cost.events)
        step.figures({"edges": sum(len(parents) for parents in graph.parents)}, Audience.PUBLIC)
        kept = keep_graph(workspace, step, graph)
        commit(workspace, charge, kept)
        return kept


def keep_graph(workspace: Workspace, step: StepRecord, graph: Graph) -> Reference:
    """Write the graph, draw it, and record both."""
    domain = workspace.spec.domain
    document = graph.document(domain)
    with workspace.writing("graph.json", Audience.PUBLIC) as path:
        path.write_text(json.dumps(document, indent=1))
    weights = weights_of(document)
    step.plot(draw_graph(domain.names, parents_of(weights), domain.target, weights), "graph.png", Audience.PUBLIC)
    step.document(document, "graph.json", Audience.PUBLIC)
    return step.output(workspace.refer("graph", "graph.json", Audience.PUBLIC))


learn_structure_task = as_task(learn_structure)
