"""The content of a report on an evaluated release of made-up people."""

from fractions import Fraction
from typing import Any

from deniable.privacy.loss import Guarantee
from reports.figures.spending import Spending, SpentAt, SpentOfCap
from reports.pages.report import ReportContent
from reports.plots.record_flow_diagram import RecordFlow, Stage
from tasks.evaluation.evaluate_risk import evaluate_risk
from tasks.evaluation.evaluate_utility import evaluate_utility
from tests.evaluated_release import EvaluatedRelease, independent, population
from tests.stated_accounts import stated_accounts

CHANGES: dict[str, Any] = {
    "thresholds": {"tvd_2way_max": 0.5, "distinguished_max": 0.1},
    "title": "Made-up <people>",
}
COSTS: dict[str, Any] = {
    "structure": Guarantee(0.51, 1e-9, "basic"),
    "parameters": Guarantee(0.5, 1e-9, "basic"),
    "model": Guarantee(1.01, 2e-9, "basic"),
    "record": Guarantee(1.1861, 9.3e-10, "theorem 1"),
    "candidates": Guarantee(31_234.5, 1e-6, "theorem A"),
    "total": Guarantee(31_235.5, 1.1e-6, "basic"),
}
ACCOUNTS = stated_accounts(**COSTS)


def content_of(release: EvaluatedRelease) -> ReportContent:
    """Evaluate a release, and return the content of its report."""
    released = release.released(population(2500, "best"))
    baseline = release.table("baseline", independent(2000, "baseline"))
    return ReportContent(
        release_id="made-up-20260101T000000Z",
        spec=release.workspace.spec,
        accounts=ACCOUNTS,
        flow=RecordFlow(
            stages=(Stage("in the source", 6000), Stage("valid", 5900, "invalid")),
            parts={name: part.rows or 0 for name, part in release.parts.items()},
            candidates=4321,
            passed=3100,
            released=2500,
        ),
        weights={("age", "income"): 0.2, ("income", "sex"): 0.1},
        utility=evaluate_utility(release.workspace, released, release.parts, baseline),
        risk=evaluate_risk(release.workspace, released, release.parts),
        spending=Spending(
            "people",
            (
                SpentOfCap("lifetime", "ε", Fraction(10), Fraction(5, 2), Fraction(15, 4)),
                SpentOfCap("lifetime", "δ", Fraction(1, 1000), Fraction(0), Fraction(1, 3000)),
                SpentOfCap("2026", "ε", Fraction(2), None, Fraction(3)),
            ),
            "",
            history=(
                SpentAt("2026-01-01", Fraction(5, 2), own=False),
                SpentAt("2026-02-01", Fraction(15, 4), own=True),
            ),
            planned=(Fraction(5), Fraction(25, 4)),
            room=5,
        ),
        verification=(
            "ok      the signature is of a key that is trusted (until 2027)",
            "FAILED  every file has the digest that the record states: <PRIVACY.md>",
            "--      the ledger is the one that it was taken from (give it by --ledger)",
            "THE RELEASE DOES NOT HOLD",
        ),
    )
