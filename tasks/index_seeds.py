"""Count the seeds' shared prefixes, once, for the exact privacy test."""

from functools import partial

from deniable.errors import InvalidInput
from deniable.plausible_seeds import SeedIndex, levels_of
from deniable.seed_prefixes import SeedTally
from schemas.accounts import known_cost, seeds_cost
from schemas.recipes import attempt
from schemas.references import Audience, Reference
from schemas.synthesis import PrivacyTestedSeeds
from stores.charging import reserve
from stores.lineage import recorded_step
from stores.models import read_model, write_index
from stores.workspace import Workspace
from tasks.counting import counted
from tasks.step import as_task


def index_seeds(workspace: Workspace, seeds: Reference, model: Reference) -> Reference:
    """Index the seeds in the model's order, and pay for the candidates that will be drawn from them.

    Args:
        workspace: the release.
        seeds: codes of the seeds part.
        model: the model.

    Returns:
        The index, restricted.

    Raises:
        InvalidInput: the release has another guarantee.
    """
    domain, synthesis = workspace.spec.domain, workspace.spec.synthesis
    if not isinstance(synthesis, PrivacyTestedSeeds):
        msg = f"seeds are indexed for the guarantee tested_seeds, got {synthesis.guarantee}; name it in the spec."
        raise InvalidInput(msg)
    with recorded_step(workspace, "index_seeds", inputs=[seeds, model]) as step:
        omega = dict(synthesis.omega)
        order = read_model(domain, model).order.tolist()
        empty = partial(SeedTally, order, levels_of(omega, len(order)))
        index = SeedIndex.of(counted(workspace, seeds, empty, "seeds").prefixes, omega)
        with workspace.writing("seed_index.npy", Audience.RESTRICTED) as path:
            write_index(path, index)
        index_file = step.output(workspace.refer("seed_index", "seed_index.npy", Audience.RESTRICTED))
        cost = known_cost(seeds_cost(workspace.spec))
        # For all candidates at once, before the first is drawn.
        charge = reserve(
            workspace,
            cost,
            seeds,
            model,
            parameters=attempt(synthesis).parameters(omega)
            | {"candidates": synthesis.candidates, "chunk_candidates": synthesis.chunk_candidates},
        )
        step.spent(cost.guarantee, cost.events)
        return index_file.model_copy(update={"charge": charge})


index_seeds_task = as_task(index_seeds)
