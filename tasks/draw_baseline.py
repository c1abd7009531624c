"""Draw the marginal baseline that the papers compare with: each attribute by itself, from noisy counts of its own."""

from functools import partial

from deniable.graph import Graph
from deniable.tables import FamilyCounts
from schemas.recipes import parameter_recipe
from schemas.references import Audience, Reference
from stores.lineage import recorded_step
from stores.tables import read_codes, write_codes
from stores.workspace import Workspace
from tasks.step import as_task

MAX_RECORDS = 200_000
"""More would not make the comparison sharper."""


def draw_baseline(workspace: Workspace, parameters: Reference) -> Reference:
    """Learn the marginals at the parameters' noise and draw records from their product.

    The baseline is for comparison only: it never leaves the internal audience, so it is no part of the release's cost.

    Args:
        workspace: the release.
        parameters: codes of the parameters part.

    Returns:
        Codes of the baseline's records, internal.
    """
    domain = workspace.spec.domain
    with recorded_step(workspace, "draw_baseline", inputs=[parameters]) as step:
        graph = Graph.without_edges(domain)
        counts = FamilyCounts(domain, graph.parents)
        for codes in read_codes(parameters.path, domain):
            counts.add(codes)
        open_stream = partial(workspace.key().stream, step="draw_baseline", inputs=parameters.digest)
        net = parameter_recipe(workspace.spec).calibrate(domain).run(counts, graph, open_stream)
        records = min(workspace.spec.synthesis.records, MAX_RECORDS)
        words = open_stream(mechanism="sample", parameters={"records": records}).take(records * len(domain))
        with workspace.writing("baseline.parquet", Audience.INTERNAL) as path:
            rows = write_codes(path, domain, [net.sample(words)])
        return step.output(workspace.refer("baseline", "baseline.parquet", Audience.INTERNAL, rows))


draw_baseline_task = as_task(draw_baseline)
