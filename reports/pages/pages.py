"""The parts that all pages of a release share: templates and privacy costs.

The content of each page belongs to the module of that page.
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
from deniable.record.statement import not_covered
from deniable.samplers.registry import words_of
from reports.figures import numbers
from reports.figures.numbers import cost
from reports.plots.ratio_pictures import pair_svg
from reports.plots.theme import page_svg
from schemas.provenance import Spent
from schemas.spec.accounts import Accounts
from schemas.spec.release_spec import ReleaseSpec
from stores.statement.statement import proof_in_words
from stores.statement.words import words_of_mechanisms

_LARGEST_EXPONENT = 700


@dataclass(frozen=True)
class Card:
    """One key figure at the top of a page.

    Attributes:
        title: its subject.
        value: the figure.
        note: a figure to compare it with, or what it covers.
        tone: `bad` for a warning.
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
        covers: what the guarantee covers.
        guarantee: the guarantee.
        sums: whether the line is a total of the lines above it.
    """

    title: str
    covers: str
    guarantee: Guarantee
    sums: bool = False

    @property
    def bar(self) -> float:
        """Length of the bar in percent; a vacuous guarantee fills the bar."""
        return 100 * min(self.guarantee.epsilon / VACUOUS_EPSILON, 1)


def render_page(template: str, values: Mapping[str, Any]) -> str:
    """Make a page.

    Args:
        template: name of its template.
        values: the values that the template shows.

    Returns:
        HTML that loads nothing from outside itself.
    """
    return (
        _templates()
        .get_template(template)
        .render(
            values,
            vacuous_epsilon=VACUOUS_EPSILON,
            not_covered=not_covered(values["accounts"].relation) if "accounts" in values else (),
            sampled=sampled(values["accounts"]) if "accounts" in values else None,
        )
    )


@cache
def _templates() -> Environment:
    """The templates of all pages; each is compiled once."""
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
    """A picture as part of the page, with a description of what it shows."""
    # This program drew it and escaped every text in it, so it can be included in the page unchanged.
    return Markup(page_svg(drawn, title=words))  # noqa: S704


def cost_lines(spec: ReleaseSpec, accounts: Accounts) -> list[CostLine]:
    """The cost of each step, and the totals."""
    lines = [
        ("Structure", "which attributes depend on which", accounts.structure, False),
        ("Parameters", "the probabilities", accounts.parameters, False),
        ("Model", "structure and parameters together", accounts.model_stated, True),
        ("One attempt", "the record that one attempt may produce", accounts.record, False),
        ("Candidates", f"all {spec.synthesis.attempts:,} that were tested", accounts.candidates, False),
        ("Draws", "all draws from exact figures, which are not released", accounts.charged_draws, False),
        ("Histogram", "all prefixes, however many records are drawn", accounts.histogram, False),
        ("Attempts", "all attempts of the seeds, released or not", accounts.attempts, False),
        ("Total", "the whole release", accounts.total, True),
    ]
    return [CostLine(title, covers, spent, sums) for title, covers, spent, sums in lines if spent]


@dataclass(frozen=True)
class Sampled:
    """How secret sampling of the records that are read lowers epsilon.

    Attributes:
        read: epsilon for a record that is read.
        probability: probability with which a record is read.
        whole: epsilon for all records of the table.
    """

    read: float
    probability: float
    whole: float


def sampled(accounts: Accounts) -> Sampled | None:
    """How the split lowers the model's epsilon, if the model is learnt from one part with a sample of the records.

    By `composition.joint_split`, the whole epsilon is ln(1 + p (e^epsilon - 1)). The epsilon spent on the part is
    derived from this, because steps that read the same records may be composed more tightly than by adding up.
    """
    parts = {(step.part, step.probability) for step in accounts.steps if step.step.startswith("learn_")}
    if accounts.from_counts or len(parts) != 1:
        return None
    [(_, probability)] = parts
    whole = accounts.model.epsilon
    if not 0 < probability < 1 or not 0 < whole < _LARGEST_EXPONENT:
        return None
    return Sampled(log1p(expm1(whole) / float(probability)), float(probability), whole)


def cost_cards(spec: ReleaseSpec, accounts: Accounts) -> list[Card]:
    """The guarantees, as key figures at the top of a page."""
    promised = words_of(accounts.kind).plausible_seeds(spec.synthesis.model_dump(mode="json", fallback=str))
    cards = [] if promised is None else [Card("Plausible seeds", *promised)]
    if accounts.record:
        cards.append(_cost_card("One attempt", accounts.record, "the record that it may produce, given the model"))
    if accounts.histogram:
        cards.append(_cost_card("The histogram", accounts.histogram, "that prefixes are drawn from"))
    if accounts.attempts:
        cards.append(_cost_card("All attempts", accounts.attempts, "of the seeds, released or not"))
    if accounts.from_counts and accounts.drawn[0].events and accounts.draws:
        event = accounts.drawn[0].events[0]
        one = Guarantee(float(event.epsilon or 0), float(event.delta), "basic")
        if event.outputs > 1:
            cards.append(_cost_card("One draw", one, f"of {event.outputs:,}, all charged"))
    if accounts.model_stated is not None:
        cards.append(_cost_card("The model", accounts.model_stated, "and everything computed from it alone"))
    if accounts.total:
        cards.append(_cost_card("The whole release", accounts.total, "everything together"))
    else:
        cards.append(Card("The whole release", "no DP", accounts.why_none, "bad"))
    return cards


def _cost_card(title: str, guarantee: Guarantee, covers: str) -> Card:
    note = f"δ = {cost(guarantee.delta)}; {covers}"
    if guarantee.is_vacuous:
        return Card(title, f"ε = {cost(guarantee.epsilon)}", f"vacuous; {note}", "bad")
    return Card(title, f"ε = {cost(guarantee.epsilon)}", note)


def is_vacuous(spent: Spent) -> bool:
    """Whether a guarantee stated in a record is so weak that it must be called vacuous."""
    epsilon = inf if spent.epsilon is None else spent.epsilon
    return Guarantee(epsilon, spent.delta, spent.accountant).is_vacuous
