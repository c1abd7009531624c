"""The internal report of a release: one page that is looked at rather than read, and that needs nothing but itself.

It shows what was measured on real records and is for cleared staff. Nothing is computed here that a figure depends on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context
from math import isfinite
from pathlib import Path
from typing import Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from deniable.loss import VACUOUS_EPSILON, Guarantee
from schemas.accounts import Accounts
from schemas.evaluation import EvaluationFigures
from schemas.references import Audience, Reference
from schemas.release_spec import ReleaseSpec
from schemas.synthesis import HistogramSeeds, PrivacyTestedSeeds
from stores.evaluation import risk_pictures, utility_pictures
from stores.people_flow import PeopleFlow, draw_people_flow
from stores.statement import NEIGHBOURING_RELATION, NOT_COVERED, PRIVACY_UNIT
from stores.theme import page_svg
from stores.workspace import Workspace

_COST_DIGITS = Context(prec=3, rounding=ROUND_CEILING)
_SMALL = 0.001
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_CLASSIFIERS = {"tree": "decision tree", "forest": "random forest", "adaboost": "AdaBoost"}


@dataclass(frozen=True, kw_only=True)
class ReportContent:
    """All that the report shows.

    Attributes:
        release_id: the release's name.
        spec: what was to be released.
        accounts: what it cost.
        flow: how many people and records went where.
        graph: picture of what depends on what; None where the attributes are independent.
        utility: what the evaluation of utility found.
        risk: what the evaluation of risk found.
        labels: what an attribute is, in words, by its name.
    """

    release_id: str
    spec: ReleaseSpec
    accounts: Accounts
    flow: PeopleFlow
    graph: Figure | None
    utility: EvaluationFigures
    risk: EvaluationFigures
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Card:
    """One figure that is seen first.

    Attributes:
        title: what it is about.
        value: the figure.
        note: what to compare it with, or what it covers.
        tone: `bad` where it is a warning.
    """

    title: str
    value: str
    note: str
    tone: Literal["plain", "bad"] = "plain"


@dataclass(frozen=True)
class Cost:
    """One line of the table of costs.

    Attributes:
        title: what is paid for.
        covers: what the guarantee holds for.
        guarantee: the guarantee.
    """

    title: str
    covers: str
    guarantee: Guarantee

    @property
    def bar(self) -> float:
        """Length of the bar in percent; a vacuous guarantee fills it."""
        return 100 * min(self.guarantee.epsilon / VACUOUS_EPSILON, 1)


def write_report(workspace: Workspace, content: ReportContent) -> Reference:
    """Write `report.html` for the internal audience.

    Args:
        workspace: the release.
        content: what to show.

    Returns:
        A reference to the page.
    """
    with workspace.writing("report.html", Audience.INTERNAL) as path:
        path.write_text(render_report(content), encoding="utf-8")
    return workspace.refer("report", "report.html", Audience.INTERNAL)


def render_report(content: ReportContent) -> str:
    """Make the page.

    Args:
        content: what to show.

    Returns:
        HTML that refers to nothing outside itself.
    """
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"count": _count, "cost": _cost, "figure": _figure, "percent": _percent}
    verdicts = (*content.utility.verdicts, *content.risk.verdicts)
    return environment.get_template("report.html.jinja").render(
        vars(content),
        cards=_cards(content),
        costs=_costs(content),
        figures={**content.utility.figures, **content.risk.figures},
        verdicts=verdicts,
        missed=[verdict for verdict in verdicts if not verdict.met],
        pictures=_pictures(content),
        classifiers=_CLASSIFIERS,
        vacuous_epsilon=VACUOUS_EPSILON,
        privacy_unit=PRIVACY_UNIT,
        neighbouring_relation=NEIGHBOURING_RELATION,
        not_covered=NOT_COVERED,
    )


def _pictures(content: ReportContent) -> dict[str, Markup]:
    """All pictures as parts of the page, each with what it shows in words."""
    utility, risk = content.utility.figures, content.risk.figures
    domain = content.spec.domain
    words = {
        "flow": f"From {content.flow.stages[0].people:,} people in the source to {content.flow.released:,} records.",
        "graph": f"Which of {len(domain)} attributes depend on which; the target is {domain.target}.",
        "distances": "Box plots of distances to the holdout; "
        f"the mean over pairs of attributes is {utility['tvd_2way']:.3f} for the release "
        f"and {utility['tvd_2way_training']:.3f} for real training records.",
        "learning": "Accuracy and agreement of classifiers, and the distinguishing game; "
        f"released records are told from real ones with accuracy {utility['distinguished']:.3f}.",
        "marginals": f"The distributions of {len(domain)} attributes, real and released.",
        "attacks": f"Copies: {risk['exact_match_training']:.2%} of the release equal a training record, "
        f"{risk['exact_match_holdout']:.2%} a holdout record.",
        "inference": "How often an intruder guesses a sensitive attribute of people who were used and who were not.",
    }
    drawn = {
        "flow": draw_people_flow(content.flow),
        **({"graph": content.graph} if content.graph else {}),
        **utility_pictures(content.utility, domain),
        **risk_pictures(content.risk, content.spec.evaluation),
    }
    # Drawn here, and every text in it is escaped: it may stand in the page as it is.
    return {name: Markup(page_svg(figure, title=words[name])) for name, figure in drawn.items()}  # noqa: S704


def _cards(content: ReportContent) -> list[Card]:
    """What is seen first."""
    synthesis, accounts = content.spec.synthesis, content.accounts
    utility, risk = content.utility.figures, content.risk.figures
    classifier = "forest" if "forest" in content.spec.evaluation.classifiers else content.spec.evaluation.classifiers[0]
    cards = [Card("Records released", _count(content.flow.released), f"of {_count(synthesis.records)} wanted")]
    if isinstance(synthesis, PrivacyTestedSeeds):
        note = f"of each record, alike within a factor {float(synthesis.gamma):g}"
        cards.append(Card("Plausible seeds", f"k = {synthesis.k}", note))
    if isinstance(synthesis, HistogramSeeds) and synthesis.k is not None:
        cards.append(Card("Plausible seeds", f"k = {synthesis.k}", "of each record, all equally probable"))
    if accounts.record:
        cards.append(_cost_card("One record", accounts.record, "each by itself, by Theorem 1"))
    if accounts.histogram:
        cards.append(_cost_card("The histogram", accounts.histogram, "that prefixes are drawn from"))
    cards.append(_cost_card("The model", accounts.model, "and all that follows from it alone"))
    if accounts.total:
        cards.append(_cost_card("The whole release", accounts.total, "everything together"))
    else:
        cards.append(Card("The whole release", "no DP", "privacy test 1 gives none", "bad"))
    independent = f", independent {utility['tvd_2way_baseline']:.3f}" if "tvd_2way_baseline" in utility else ""
    return [
        *cards,
        Card(
            "Distance in pairs",
            f"{utility['tvd_2way']:.3f}",
            f"real records {utility['tvd_2way_training']:.3f}{independent}",
        ),
        Card(
            f"Accuracy, {_CLASSIFIERS[classifier]}",
            f"{utility[f'accuracy_{classifier}']:.1%}",
            f"{utility[f'accuracy_{classifier}_training']:.1%} from real records",
        ),
        Card(
            "Copies of people used",
            f"{risk['exact_match_training']:.2%}",
            f"{risk['exact_match_holdout']:.2%} of people not used",
        ),
    ]


def _cost_card(title: str, guarantee: Guarantee, covers: str) -> Card:
    note = f"δ = {_cost(guarantee.delta)}; {covers}"
    if guarantee.is_vacuous:
        return Card(title, f"ε = {_cost(guarantee.epsilon)}", f"vacuous; {note}", "bad")
    return Card(title, f"ε = {_cost(guarantee.epsilon)}", note)


def _costs(content: ReportContent) -> list[Cost]:
    """What each step cost, and what that comes to."""
    accounts = content.accounts
    lines = [
        ("Structure", "which attributes depend on which", accounts.structure),
        ("Parameters", "the probabilities", accounts.parameters),
        ("Model", "structure and parameters together", accounts.model),
        ("One record", "a released record, looked at alone", accounts.record),
        ("Candidates", f"all {content.flow.candidates:,} that were tested", accounts.candidates),
        ("Histogram", "all prefixes, however many records are drawn", accounts.histogram),
        ("Total", "the whole release", accounts.total),
    ]
    return [Cost(title, covers, guarantee) for title, covers, guarantee in lines if guarantee]


def _count(number: float) -> str:
    """A number of things."""
    return f"{number:,.0f}"


def _cost(value: float) -> str:
    """A cost in three digits, never less than it is."""
    if not isfinite(value):
        return "∞"
    rounded = float(_COST_DIGITS.create_decimal(repr(float(value))))
    if rounded and rounded < _SMALL:
        mantissa, exponent = f"{rounded:e}".split("e")
        return f"{float(mantissa):g}·10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
    return f"{rounded:,.0f}" if rounded >= 100 else f"{rounded:g}"


def _figure(value: float) -> str:
    """A figure of an evaluation: a share, a distance, or a number of records."""
    return f"{value:.4f}" if abs(value) <= 1 else f"{value:,.0f}"


def _percent(value: float) -> str:
    return f"{value:.2%}"
