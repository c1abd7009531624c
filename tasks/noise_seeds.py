"""Count the prefixes that seeds have, once, and keep of the counts only what noise and a threshold leave."""

import json
from functools import partial

from deniable.errors import InvalidInput
from deniable.histogram_seeds import PrefixCounts
from schemas.accounts import known_cost, seeds_cost
from schemas.recipes import histogram_recipe
from schemas.references import Audience, Reference
from schemas.synthesis import HistogramSeeds
from stores.charging import commit, opened_streams, reserve
from stores.lineage import recorded_step
from stores.models import read_model
from stores.workspace import Workspace
from tasks.counting import counted
from tasks.step import as_task


def noise_seeds(workspace: Workspace, seeds: Reference, model: Reference) -> Reference:
    """Make the histogram that any number of records can be drawn from.

    Args:
        workspace: the release.
        seeds: codes of the records whose prefixes are counted.
        model: the model, whose order says which attributes a prefix has.

    Returns:
        The noisy histogram, `seeds.json`, public.

    Raises:
        InvalidInput: the release has another guarantee.
    """
    domain, synthesis, recipe = workspace.spec.domain, workspace.spec.synthesis, histogram_recipe(workspace.spec)
    if not isinstance(synthesis, HistogramSeeds) or recipe is None:
        msg = f"seeds are noised for the guarantee histogram_seeds, got {synthesis.guarantee}; name it in the spec."
        raise InvalidInput(msg)
    mechanism, cost = recipe.calibrate(), known_cost(seeds_cost(workspace.spec))
    with recorded_step(workspace, "noise_seeds", inputs=[seeds, model]) as step:
        step.parameters(omega=synthesis.omega, threshold=mechanism.threshold)
        charge = reserve(
            workspace,
            cost,
            seeds,
            model,
            parameters={"omega": synthesis.omega, "threshold": mechanism.threshold},
        )
        order = tuple(read_model(domain, model).order.tolist())
        empty = partial(PrefixCounts, domain, order, len(domain) - synthesis.omega)
        counts = counted(workspace, seeds, empty, "prefixes")
        open_stream = opened_streams(workspace, "noise_seeds", f"{seeds.digest} {model.digest}")
        histogram = mechanism.run(counts, open_stream)
        step.spent(cost.guarantee, cost.events)
        step.figures({"prefixes_kept": len(histogram.counts)}, Audience.PUBLIC)
        step.figures({"prefixes_counted": len(counts.counts)}, Audience.INTERNAL)
        with workspace.writing("seeds.json", Audience.PUBLIC) as path:
            path.write_text(json.dumps(histogram.document()))
        made = step.output(workspace.refer("noisy_seeds", "seeds.json", Audience.PUBLIC))
        commit(workspace, charge, made)
        return made


noise_seeds_task = as_task(noise_seeds)
