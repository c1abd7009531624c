"""The internal report of a release: one self-contained page that is mostly visual.

It shows figures measured on real records and is for cleared staff. No figure is computed here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from markupsafe import Markup

from deniable.evaluation.attacks import contrasts, exact_matches, nearest_records, unique_people
from deniable.evaluation.contract import BESIDE, CLASSIFIERS, name_for
from deniable.evaluation.metrics import accuracy, compared_records, distinguishing_game, marginal_distances
from deniable.evaluation.metrics.analyses import OVERLAP
from deniable.evaluation.registry import figures_of
from reports.figures.analyses import ComparedAnalysis, Inferred, compared_analyses
from reports.figures.decimal_places import digits_of
from reports.figures.marginals import DescribedTable, Panel
from reports.figures.numbers import count, rounded
from reports.figures.spending import Spending
from reports.figures.undeclared_logic import undeclared_logic
from reports.pages.attack_rows import attack_rows
from reports.pages.evaluation import IN_WORDS, comparison_pictures, marginals_of, risk_pictures
from reports.pages.fitness import equivalent_card, fitness_of, overall_of
from reports.pages.headline_figures import COMPARED, headline_figures, reach_of
from reports.pages.pages import Card, cost_cards, cost_lines, picture, render_page
from reports.pages.report_links import Link
from reports.pages.signing import to_sign
from reports.plots.budget_line import BUDGET_IN_WORDS, draw_budget_line
from reports.plots.commutes import draw_commutes
from reports.plots.graph_plot import Edge, draw_graph, parents_of, strongest
from reports.plots.measured import Measured
from reports.plots.pairs import (
    Dependence,
    ShownPair,
    attributes_of_a_square,
    changed_most,
    dependences,
    heatmap_svg,
    information_svgs,
    largest,
    pair_errors,
    shown_pairs,
    squares_of,
)
from reports.plots.record_flow_diagram import RecordFlow, draw_record_flow
from reports.plots.theme import drawn_once
from schemas.provenance import Approval
from schemas.references import Audience, Reference
from schemas.spec.accounts import Accounts
from schemas.spec.decision import Outcome
from schemas.spec.evaluation import EvaluationFigures
from schemas.spec.release_spec import ReleaseSpec
from stores.statement.readers import readers
from stores.vault.workspace import Workspace

_REPORT, _TO_DECIDE_UPON = "report.html", "report_to_decide_upon.html"

Finding: TypeAlias = Literal["holds", "fails", "not made"]

_NAMED: Final = {
    "compared": compared_records.NAME,
    "unique": unique_people.RELEASED,
    "unique_matches": unique_people.MATCHING,
    "nearer": nearest_records.NAME,
}
"""Figures that the page names in its sentences."""

_OUTCOMES: Final[dict[str, Finding]] = {"ok": "holds", "FAILED": "fails", "--": "not made"}
"""The outcomes of verification, by the first word of a line."""


@dataclass(frozen=True, kw_only=True)
class ReportContent:
    """Everything that the report shows.

    Attributes:
        release_id: the release's name.
        spec: the specification of the release.
        accounts: its privacy costs.
        flow: the numbers of people and records at each stage.
        weights: strength of each dependency, by (parent, child); empty if the attributes are independent.
        measured: the measurements behind the model, if its learner publishes them.
        certificate: the statement of its certificate, if there is one.
        utility: results of the utility evaluation.
        risk: results of the risk evaluation.
        spending: spending of the dataset's budget; None if the dataset is not in a ledger.
        verification: results of verifying the published record, one line per check; empty if it was not verified.
        approval: who approved the release; None if no person did.
        inferred: what noisy counts say about each analysis of the spec; empty if nothing was measured.
        outcome: why the release is not published automatically, on the page for the decision; None on the final page.
        links: links to other places that show the release.
    """

    release_id: str
    spec: ReleaseSpec
    accounts: Accounts
    flow: RecordFlow
    weights: Mapping[Edge, float]
    utility: EvaluationFigures
    risk: EvaluationFigures
    measured: Measured | None = None
    certificate: str | None = None
    spending: Spending | None = None
    inferred: tuple[Inferred, ...] = ()
    verification: tuple[str, ...] = ()
    approval: Approval | None = None
    outcome: Outcome | None = None
    links: tuple[Link, ...] = ()


@dataclass(frozen=True)
class VerifiedLine:
    """One line of the verification results.

    Attributes:
        text: the check and its result.
        outcome: whether it holds, fails or was not made; None for a line that is not a check.
    """

    text: str
    outcome: Finding | None


def write_report(workspace: Workspace, content: ReportContent) -> Reference:
    """Write `report.html` for the internal audience, or the page for the decision next to it.

    Args:
        workspace: the release.
        content: the content.

    Returns:
        A reference to the page.
    """
    name = _REPORT if content.outcome is None else _TO_DECIDE_UPON
    with workspace.writing(name, Audience.INTERNAL) as path:
        path.write_text(render_report(content), encoding="utf-8")
    return workspace.refer("report", name, Audience.INTERNAL)


def render_report(content: ReportContent) -> str:
    """Make the page.

    Args:
        content: the content.

    Returns:
        HTML that refers to nothing outside itself.
    """
    attacks = attack_rows(content.risk, content.spec.evaluation.scope)
    fitness = fitness_of(content.utility, content.spec)
    verdicts = (*content.utility.verdicts, *content.risk.verdicts)
    verified = _verified(content.verification)
    declared = figures_of(content.spec.evaluation.scope)
    return render_page(
        "report.html.jinja",
        {
            **vars(content),
            "cards": _cards(content),
            "drawn_edges": len(strongest(content.weights, len(content.spec.domain))),
            "costs": cost_lines(content.spec, content.accounts),
            "figures": {**content.utility.figures, **content.risk.figures},
            "declared": declared,
            "named": _NAMED,
            "attacks": attacks,
            "fitness": fitness,
            "overall": overall_of(fitness, attacks, content.accounts),
            "to_sign": to_sign(content.spec, content.accounts, attacks, fitness, undeclared_logic(content.utility)),
            "analyses": _analyses(content),
            "logic": undeclared_logic(content.utility),
            "analysis_overlap_by_chance": content.utility.figures.get(name_for("training", OVERLAP)),
            "glances": {
                "utility": headline_figures(content.utility, "utility", declared, content.spec.domain.names),
                "risk": headline_figures(content.risk, "risk", declared, content.spec.domain.names),
            },
            "compared": COMPARED,
            "verdicts": verdicts,
            "missed": [verdict for verdict in verdicts if not verdict.met],
            "panels": _panels(content),
            "pairs": _pairs(content),
            "information": _information(content),
            "readers": readers(content.spec.key.custodian, content.spec.key.variable),
            "pictures": _pictures(content),
            "verified": verified,
            "broken": [line for line in verified if line.outcome == "fails"],
        },
    )


def _verified(lines: Iterable[str]) -> list[VerifiedLine]:
    """The lines of the verification results, each with its outcome."""
    said = []
    for line in lines:
        word, _, rest = line.partition(" ")
        outcome = _OUTCOMES.get(word)
        said.append(VerifiedLine((rest if outcome else line).strip(), outcome))
    return said


@dataclass(frozen=True)
class Pairs:
    """The errors of all pairs of attributes.

    Attributes:
        heatmap: the picture.
        most: the error shown in full colour.
        run: how many neighbouring attributes share a row or a column of it.
        shown: the worst pairs, side by side.
    """

    heatmap: Markup
    most: float
    run: int
    shown: list[ShownPair]


def _analyses(content: ReportContent) -> list[ComparedAnalysis]:
    """The analyses on real and on released records."""
    return compared_analyses(content.utility, content.spec.analyses, DescribedTable.of(content.spec), content.inferred)


def _pairs(content: ReportContent) -> Pairs | None:
    """The errors of all pairs; None if there is no pair."""
    table, series = DescribedTable.of(content.spec), content.utility.series
    errors = pair_errors(table.domain, series)
    if not errors:
        return None
    shown = shown_pairs(table, series)
    linked = {pair.error.names: pair.anchor for pair in shown}
    squares = squares_of(table.domain, errors)
    heatmap = heatmap_svg(table.domain, errors, squares, linked)
    return Pairs(heatmap, largest(squares), attributes_of_a_square(table.domain), shown)


@dataclass(frozen=True)
class Information:
    """Mutual information of all pairs of attributes.

    Attributes:
        matrices: that of the holdout, that of the release, and the difference.
        most: the value shown in full colour.
        run: how many neighbouring attributes share a row or a column.
        changed: the pairs that differ most.
    """

    matrices: list[Markup]
    most: float
    run: int
    changed: list[Dependence]


def _information(content: ReportContent) -> Information | None:
    """Mutual information of all pairs of attributes; None if it was not measured or there is no pair."""
    domain = content.spec.domain
    found = dependences(domain, content.utility.series)
    if not found:
        return None
    real = "public" if content.spec.evaluation.public else "real"
    return Information(*information_svgs(domain, found, real), attributes_of_a_square(domain), changed_most(found))


def _panels(content: ReportContent) -> list[Panel]:
    """The distribution of every attribute, in the holdout and in the release; none if none was measured."""
    return marginals_of(content.utility, content.spec) if content.utility.series else []


def _pictures(content: ReportContent) -> dict[str, Markup]:
    """All pictures as parts of the page, each with a description of what it shows."""
    utility, risk = content.utility.figures, content.risk.figures
    domain, weights = content.spec.domain, content.weights
    words = {
        "budget": BUDGET_IN_WORDS,
        "flow": f"From {content.flow.stages[0].people:,} people in the source to {content.flow.released:,} records.",
        "graph": f"The dependences between {len(domain)} attributes; the target is {domain.target}.",
        "distances": IN_WORDS["distances"]
        + _if_measured(
            utility,
            "; the mean over pairs of attributes is {:.3f} for the release and {:.3f} for real training records",
            marginal_distances.name_of(2),
            marginal_distances.name_of(2, "training"),
        ),
        "learning": IN_WORDS["learning"]
        + _if_measured(
            utility,
            "; released records are distinguished from real ones with accuracy {:.3f}",
            distinguishing_game.name_of(),
        ),
        "commutes": "The largest flows from home to work, released and real, and the mean commute of each destination.",
        "attacks": IN_WORDS["attacks"]
        + _if_measured(
            risk,
            ": {:.2%} of the released records equal a training record, {:.2%} a holdout record",
            contrasts.used(exact_matches.NAME),
            contrasts.not_used(exact_matches.NAME),
        ),
        "inference": f"{IN_WORDS['inference']}.",
    }
    spent = content.spending
    commutes = draw_commutes(content.utility.series)
    drawn = {
        **({"budget": drawn_once(draw_budget_line, spent)} if spent is not None and spent.history else {}),
        "flow": draw_record_flow(content.flow),
        **(
            {"graph": drawn_once(draw_graph, domain.names, parents_of(weights), domain.target, weights)}
            if weights
            else {}
        ),
        **(comparison_pictures(content.utility, domain, content.spec.evaluation.classifiers) if utility else {}),
        **({"commutes": commutes} if commutes is not None else {}),
        **(risk_pictures(content.risk, content.spec.evaluation) if risk else {}),
    }
    return {name: picture(figure, words[name]) for name, figure in drawn.items()}


def _if_measured(figures: Mapping[str, float], said: str, *names: str) -> str:
    """A sentence's end with figures in it; only a full stop if one of them was not measured."""
    if not figures.keys() >= set(names):
        return "."
    return f"{said.format(*(figures[name] for name in names))}."


def _cards(content: ReportContent) -> list[Card]:
    """The key figures at the top of the page."""
    released = Card(
        "Records released", count(content.flow.released), f"of {count(content.spec.synthesis.records)} requested"
    )
    equivalent = equivalent_card(content.utility)
    first = [released] if equivalent is None else [released, equivalent]
    return [*first, *cost_cards(content.spec, content.accounts), *_measured_cards(content)]


def _measured_cards(content: ReportContent) -> list[Card]:
    """The key figures that were measured on held-out records."""
    utility, risk = content.utility.figures, content.risk.figures
    if not utility:
        return [Card("Utility", "not measured", "no record was held out")]
    classifiers = content.spec.evaluation.classifiers
    classifier = "forest" if "forest" in classifiers else classifiers[0]
    # A table of one attribute has no pairs.
    order, of = (2, "pairs") if marginal_distances.name_of(2) in utility else (1, "single attributes")
    name, real, baseline = (marginal_distances.name_of(order, table) for table in ("released", *BESIDE))
    independent = f", independent {utility[baseline]:.3f}" if baseline in utility else ""
    return [
        Card(
            f"Distance, {of}",
            rounded(utility[name], reach_of(content.utility, name)),
            f"real records {rounded(utility[real], reach_of(content.utility, real))}{independent}",
        ),
        Card(
            f"Accuracy, {CLASSIFIERS[classifier]}",
            f"{utility[accuracy.name_of(classifier)]:.1%}",
            f"{utility[accuracy.name_of(classifier, 'training')]:.1%} from real records",
        ),
        *([_copies(content.risk)] if risk else []),
    ]


def _points(share: float, reach: float | None) -> str:
    """A difference of shares in percentage points, to the precision that sampling error supports."""
    places = digits_of(100 * reach) if reach else 2
    return f"{100 * share:+.{places}f} points"


def _copies(risk: EvaluationFigures) -> Card:
    """The excess of copies, and the two shares whose difference it is, with its sampling uncertainty."""
    name, figures = contrasts.excess(exact_matches.NAME), risk.figures
    used, not_used = (figures[side(exact_matches.NAME)] for side in (contrasts.used, contrasts.not_used))
    reach = reach_of(risk, name)
    chance = f", ± {100 * reach:.{digits_of(100 * reach)}f} by chance" if reach else ""
    return Card(
        "Copies beyond chance",
        _points(figures[name], reach),
        f"of the records: {used:.1%} equal a person used, {not_used:.1%} one not used{chance}",
    )
