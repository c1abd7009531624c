"""What the pages of a release have in common: their templates, and the costs on them.

What a page shows is for the module of that page.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import expm1, inf, log1p
from pathlib import Path
from typing import Any, Literal

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from deniable.privacy.loss import VACUOUS_EPSILON, Guarantee
from deniable.record.statement import NEIGHBOURING_RELATION, PRIVACY_UNIT
from deniable.samplers.registry import words_of
from reports.figures import numbers
from reports.figures.numbers import cost
from reports.plots.ratio_pictures import pair_svg
from reports.plots.theme import page_svg
from schemas.provenance import Spent
from schemas.spec.accounts import Accounts
from schemas.spec.release_spec import ReleaseSpec
from stores.statement.statement import NOT_COVERED, proof_in_words
from stores.statement.words import words_of_mechanisms

_LARGEST_EXPONENT = 700


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
class CostLine:
    """One line of the table of costs.

    Attributes:
        title: what is paid for.
        covers: what the guarantee holds for.
        guarantee: the guarantee.
        sums: whether it sums up the lines above it.
    """

    title: str
    covers: str
    guarantee: Guarantee
    sums: bool = False

    @property
    def bar(self) -> float:
        """Length of the bar in percent; a vacuous guarantee fills it."""
        return 100 * min(self.guarantee.epsilon / VACUOUS_EPSILON, 1)


def render_page(template: str, values: Mapping[str, Any]) -> str:
    """Make a page.

    Args:
        template: name of its template.
        values: what the template shows.

    Returns:
        HTML that loads nothing from outside itself.
    """
    return (
        _templates()
        .get_template(template)
        .render(
            values,
            vacuous_epsilon=VACUOUS_EPSILON,
            privacy_unit=PRIVACY_UNIT,
            neighbouring_relation=NEIGHBOURING_RELATION,
            not_covered=NOT_COVERED,
            sampled=sampled(values["accounts"]) if "accounts" in values else None,
        )
    )


@cache
def _templates() -> Environment:
    """The templates of all pages, each compiled once."""
    environment = Environment(
        loader=ChoiceLoader([FileSystemLoader(Path(__file__).parents[1] / "templates"), words_of_mechanisms()]),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "change": numbers.change,
        "cost": numbers.cost,
        "count": numbers.count,
        "deviation": numbers.deviation,
        "figure": numbers.figure,
        "guessed": numbers.guessed,
        "halves": numbers.halves,
        "named_figure": numbers.named_figure,
        "percent": numbers.percent,
        "proof": proof_in_words,
        "pair_of_tables": pair_svg,
        "rounded": numbers.rounded,
        "rounded_count": numbers.rounded_count,
        "share": numbers.share,
        "short": numbers.short_digest,
        "size": numbers.size,
        "with_digests": numbers.with_digests,
        "within": numbers.within,
    }
    environment.tests["vacuous"] = is_vacuous
    return environment


def picture(drawn: Figure, words: str) -> Markup:
    """A picture as a part of the page, with what it shows in words."""
    # Drawn by this program, and every text in it is escaped: it may stand in the page as it is.
    return Markup(page_svg(drawn, title=words))  # noqa: S704


def cost_lines(spec: ReleaseSpec, accounts: Accounts) -> list[CostLine]:
    """What each step cost, and what that comes to."""
    lines = [
        ("Structure", "which attributes depend on which", accounts.structure, False),
        ("Parameters", "the probabilities", accounts.parameters, False),
        ("Model", "structure and parameters together", accounts.model, True),
        ("One attempt", "the record that one attempt may end with", accounts.record, False),
        ("Candidates", f"all {spec.synthesis.attempts:,} that were tested", accounts.candidates, False),
        ("Histogram", "all prefixes, however many records are drawn", accounts.histogram, False),
        ("Total", "the whole release", accounts.total, True),
    ]
    return [CostLine(title, covers, spent, sums) for title, covers, spent, sums in lines if spent]


@dataclass(frozen=True)
class Sampled:
    """How a secret draw of the records that are read lowers epsilon.

    Attributes:
        read: epsilon for a record that is read.
        probability: probability with which a record is read.
        whole: epsilon for all records of the table.
    """

    read: float
    probability: float
    whole: float


def sampled(accounts: Accounts) -> Sampled | None:
    """How the split lowers the model's epsilon, where the model is learnt from one part that not all records go to.

    By `composition.joint_split` the whole epsilon is ln(1 + p (e^epsilon - 1)); what is spent on the part is worked out
    of that, for steps that read the same records may be composed tighter than by adding up.
    """
    parts = {(step.part, step.probability) for step in accounts.steps if step.step.startswith("learn_")}
    if len(parts) != 1:
        return None
    [(_, probability)] = parts
    whole = accounts.model.epsilon
    if not 0 < probability < 1 or not 0 < whole < _LARGEST_EXPONENT:
        return None
    return Sampled(log1p(expm1(whole) / float(probability)), float(probability), whole)


def cost_cards(spec: ReleaseSpec, accounts: Accounts) -> list[Card]:
    """What is guaranteed, in figures that are seen first."""
    promised = words_of(accounts.kind).plausible_seeds(spec.synthesis.model_dump(mode="json", fallback=str))
    cards = [] if promised is None else [Card("Plausible seeds", *promised)]
    if accounts.record:
        cards.append(_cost_card("One attempt", accounts.record, "the record that it may end with, given the model"))
    if accounts.histogram:
        cards.append(_cost_card("The histogram", accounts.histogram, "that prefixes are drawn from"))
    cards.append(_cost_card("The model", accounts.model, "and all that follows from it alone"))
    if accounts.total:
        cards.append(_cost_card("The whole release", accounts.total, "everything together"))
    else:
        cards.append(Card("The whole release", "no DP", "privacy test 1 gives none", "bad"))
    return cards


def _cost_card(title: str, guarantee: Guarantee, covers: str) -> Card:
    note = f"δ = {cost(guarantee.delta)}; {covers}"
    if guarantee.is_vacuous:
        return Card(title, f"ε = {cost(guarantee.epsilon)}", f"vacuous; {note}", "bad")
    return Card(title, f"ε = {cost(guarantee.epsilon)}", note)


def is_vacuous(spent: Spent) -> bool:
    """Whether a guarantee, as a record states it, is so weak that it must be called vacuous."""
    epsilon = inf if spent.epsilon is None else spent.epsilon
    return Guarantee(epsilon, spent.delta, spent.accountant).is_vacuous
