"""Write the internal report: one page with the input, the output, the cost, the utility and the risk."""

import json
from collections.abc import Mapping, Sequence

from reports.figures.certificate import read_certificate
from reports.figures.marginals import DescribedTable
from reports.figures.spending import spending
from reports.pages.report import ReportContent, write_report
from reports.pages.report_links import links_of
from reports.plots.budget_line import BUDGET_IN_WORDS, draw_budget_line
from reports.plots.graph_plot import weights_of
from reports.plots.measured import read_measured
from reports.plots.record_flow_diagram import RecordFlow, Stage
from reports.plots.theme import drawn_once, svg_file
from schemas.references import Audience, Reference
from schemas.spec.accounts import Accounts
from schemas.spec.decision import Outcome
from schemas.spec.evaluation import EvaluationFigures
from stores.own_files import read_own
from stores.tracking.step_run import recorded_step
from stores.vault.actors import people_of
from stores.vault.workspace import Workspace
from tasks.publication.inferred import inferred_analyses
from tasks.running.step import as_task

FOR_DECISION = "to decide upon"
"""Name of the part that writes the report before the decision."""


def report(
    workspace: Workspace,
    *,
    tables: Mapping[str, Reference],
    graph: Reference | None,
    measured: Reference | None = None,
    certificate: Reference | None = None,
    accounts: Accounts,
    passed: int,
    utility: EvaluationFigures,
    risk: EvaluationFigures,
    verification: Sequence[str] = (),
    outcome: Outcome | None = None,
) -> Reference:
    """Write the report.

    Args:
        workspace: the release.
        tables: the `snapshot`, the `codes` of the valid rows, each part, and the `released` records.
        graph: the dependency graph; None if the learner makes none.
        measured: the data from which the model was made, if its learner provides them.
        certificate: the bound on the model's error, if the spec requests one.
        accounts: what the release costs.
        passed: number of candidates that may be released, whether or not they are.
        utility: the figures of utility.
        risk: the figures of risk.
        verification: the lines of the verification of the published record, one for each check.
        outcome: why the release is not published automatically, for the page on which the decision is based.

    Returns:
        The page, internal.
    """
    spec = workspace.spec
    part = None if outcome is None else FOR_DECISION
    learnt = [item for item in (graph, measured, certificate) if item is not None]
    with recorded_step(workspace, "report", inputs=[*tables.values(), *learnt], part=part) as step:
        people = {name: table.rows or 0 for name, table in tables.items()}
        flow = RecordFlow(
            stages=(
                Stage("in the source", people["snapshot"]),
                Stage("valid", people["codes"], "out of scope, incomplete or invalid"),
            ),
            parts={name: people[name] for name in spec.split.probabilities},
            candidates=spec.synthesis.attempts,
            passed=passed,
            released=people["released"],
            from_seeds=accounts.tested,
        )
        weights = weights_of(json.loads(read_own(graph.path))) if graph is not None else {}
        spent = spending(workspace)
        if spent is not None and spent.history:
            budget = svg_file(drawn_once(draw_budget_line, spent), title=BUDGET_IN_WORDS)
            step.drawing(budget, "budget.svg", Audience.INTERNAL)
        content = ReportContent(
            release_id=workspace.release_id,
            spec=spec,
            accounts=accounts,
            flow=flow,
            weights=weights,
            measured=read_measured(measured.path, DescribedTable.of(spec), weights) if measured else None,
            certificate=None if certificate is None else read_certificate(certificate.path, spec.domain),
            utility=utility,
            risk=risk,
            spending=spent,
            inferred=inferred_analyses(spec, measured) if measured and utility.figures else (),
            verification=tuple(verification),
            approval=people_of(workspace).approval,
            outcome=outcome,
            links=links_of(workspace),
        )
        page = write_report(workspace, content)
        step.artifact(page.path, Audience.INTERNAL)
        return step.output(page)


report_task = as_task(report)
