"""Draw the marginal baseline of the papers: each attribute independently from its own noisy counts."""

from functools import partial

from deniable.foundation.tables import FamilyCounts
from deniable.models.graph import Graph
from schemas.references import Audience, Reference
from stores.tables.tables import read_codes, write_codes
from stores.tracking.step_run import recorded_step
from stores.vault.workspace import Workspace
from tasks.running.step import as_task

MAX_RECORDS = 200_000
"""More would not make the comparison more precise."""


def draw_baseline(workspace: Workspace, parameters: Reference) -> Reference | None:
    """Learn the marginals with the noise of the parameters, and draw records from their product.

    The baseline serves only for comparison and is never published, so it is not part of the release's cost.

    Args:
        workspace: the release.
        parameters: codes of the parameters part.

    Returns:
        Codes of the baseline's records, internal; None if the learner has no counts whose noise the baseline could
        share.
    """
    domain = workspace.spec.domain
    with recorded_step(workspace, "draw_baseline", inputs=[parameters]) as step:
        mechanism = workspace.plan.baseline
        if mechanism is None:
            return None
        graph = Graph.without_edges(domain)
        counts = FamilyCounts(domain, graph.parents)
        for codes in read_codes(parameters.path, domain):
            counts.add(codes)
        open_stream = partial(workspace.key().stream, step="draw_baseline", inputs=parameters.digest)
        net = mechanism.run(counts, graph, open_stream)
        records = min(workspace.spec.synthesis.records, MAX_RECORDS)
        words = open_stream(mechanism="sample", parameters={"records": records}).take(records * len(domain))
        with workspace.writing("baseline.parquet", Audience.INTERNAL) as path:
            rows = write_codes(path, domain, [net.sample(words)])
        return step.output(workspace.refer("baseline", "baseline.parquet", Audience.INTERNAL, rows))


draw_baseline_task = as_task(draw_baseline)
