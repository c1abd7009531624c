"""Count the seeds' shared prefixes, once, for the exact privacy test."""

import numpy as np

from deniable.domain import Codes, Domain
from deniable.errors import InvalidInput
from deniable.plausible_seeds import SeedIndex
from schemas.accounts import known_cost, seeds_cost
from schemas.recipes import attempt
from schemas.references import Audience, Reference
from schemas.synthesis import PrivacyTestedSeeds
from stores.charging import reserve
from stores.lineage import recorded_step
from stores.models import read_model, write_index
from stores.tables import read_codes, rows_in
from stores.workspace import Workspace
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
        index = SeedIndex.build(_in_order(domain, seeds, model), dict(synthesis.omega))
        with workspace.writing("seed_index.npz", Audience.RESTRICTED) as path:
            write_index(path, index)
        index_file = step.output(workspace.refer("seed_index", "seed_index.npz", Audience.RESTRICTED))
        cost = known_cost(seeds_cost(workspace.spec))
        # For all candidates at once, before the first is drawn.
        charge = reserve(
            workspace,
            cost,
            seeds,
            model,
            parameters=attempt(synthesis).parameters(dict(synthesis.omega))
            | {"candidates": synthesis.candidates, "chunk_candidates": synthesis.chunk_candidates},
        )
        step.spent(cost.guarantee, cost.events)
        return index_file.model_copy(update={"charge": charge})


def _in_order(domain: Domain, seeds: Reference, model: Reference) -> Codes:
    """The seeds with their attributes in the model's order, which are in memory once."""
    network = read_model(domain, model)
    codes, filled = np.empty((rows_in(seeds.path), len(domain)), np.uint16), 0
    for chunk in read_codes(seeds.path, domain):
        codes[filled : filled + len(chunk)] = network.in_order(chunk)
        filled += len(chunk)
    return codes


index_seeds_task = as_task(index_seeds)
