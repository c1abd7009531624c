"""What the pages of a release have in common: their templates, and how numbers are written on them.

What a page shows is for the module of that page.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context
from math import ceil, expm1, floor, inf, isfinite, log1p, log10
from pathlib import Path
from typing import Any, Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from deniable.loss import VACUOUS_EPSILON, Guarantee
from deniable.statement_figures import NEIGHBOURING_RELATION, PRIVACY_UNIT
from schemas.accounts import Accounts
from schemas.provenance import Spent
from schemas.release_spec import ReleaseSpec
from schemas.synthesis import HistogramSeeds, PrivacyTestedSeeds
from stores.places import digits_of
from stores.ratio_pictures import pair_svg
from stores.statement import NOT_COVERED, proof_in_words
from stores.theme import page_svg

_COST_DIGITS = Context(prec=4, rounding=ROUND_CEILING)
_FLOAT_DIGITS = Context(prec=12, rounding=ROUND_HALF_EVEN)
_SMALL = 0.001
_LARGEST_EXPONENT = 700
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_SHORT_DIGEST = 12
_DIGEST = re.compile("[0-9a-f]{40,64}")
_COUNTS = ("rows_", "candidates_", "compared_", "thresholds_", "seeds_", "prefixes_")


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
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "change": change,
        "cost": cost,
        "count": count,
        "deviation": deviation,
        "figure": figure,
        "guessed": guessed,
        "halves": halves,
        "named_figure": named_figure,
        "percent": percent,
        "proof": proof_in_words,
        "pair_of_tables": pair_svg,
        "rounded": rounded,
        "rounded_count": rounded_count,
        "share": share,
        "short": short_digest,
        "size": size,
        "with_digests": with_digests,
        "within": within,
    }
    environment.tests["vacuous"] = is_vacuous
    return environment.get_template(template).render(
        values,
        vacuous_epsilon=VACUOUS_EPSILON,
        privacy_unit=PRIVACY_UNIT,
        neighbouring_relation=NEIGHBOURING_RELATION,
        not_covered=NOT_COVERED,
        sampled=sampled(values["accounts"]) if "accounts" in values else None,
    )


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
    synthesis, cards = spec.synthesis, []
    if isinstance(synthesis, PrivacyTestedSeeds):
        noisy = ", by a noisy test" if synthesis.test == 2 else ""
        note = f"asked of each record{noisy}, alike within a factor {float(synthesis.gamma):g}"
        cards.append(Card("Plausible seeds", f"k = {synthesis.k}", note))
    if isinstance(synthesis, HistogramSeeds) and synthesis.k is not None:
        which = " that begins with a prefix of the histogram" if synthesis.epsilon_rows else ""
        note = f"of each record{which}, but with probability {float(synthesis.beta or 0):g}"
        cards.append(Card("Plausible seeds", f"k = {synthesis.k}", note))
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


def count(number: float) -> str:
    """A number of things."""
    return f"{number:,.0f}"


def cost(value: float) -> str:
    """A cost in four digits, never less than it is."""
    if not isfinite(value):
        return "∞"
    # What has four digits anyway must not be taken for a little more by a float's last bit.
    rounded = float(_COST_DIGITS.create_decimal(_FLOAT_DIGITS.create_decimal(repr(float(value)))))
    if rounded and rounded < _SMALL:
        mantissa, exponent = f"{rounded:e}".split("e")
        power = f"10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
        return power if float(mantissa) == 1 else f"{float(mantissa):g}·{power}"
    return f"{rounded:,.0f}" if rounded >= 1000 else f"{rounded:g}"


def guessed(guarantee: Guarantee) -> str:
    """How often a guess is right at most, in percent, never less than it is."""
    return f"{ceil(1000 * guarantee.guessing_bound) / 10:g}%"


def figure(value: float) -> str:
    """A figure of an evaluation: a share, a distance, or a number of records."""
    return f"{value:.4f}" if abs(value) <= 1 else f"{value:,.0f}"


def within(value: float, reach: float | None) -> str:
    """A figure in as many places as chance leaves, and half of its interval."""
    if not reach:
        return figure(value)
    places = digits_of(reach)
    return f"{value:.{places}f} ± {reach:.{places}f}"


def rounded(value: float, reach: float | None) -> str:
    """A figure in as many places as chance leaves."""
    return within(value, reach).partition(" ")[0]


def rounded_count(value: float, deviation: float) -> str:
    """A number of things in as many digits as its noise leaves."""
    unit = 10 ** max(0, floor(log10(deviation))) if deviation > 0 else 1
    return f"{round(value / unit) * unit:,.0f}"


def change(value: float) -> str:
    """How much a figure changed, with its sign."""
    if value == 0:
        return "0"
    return f"{value:+.4f}" if abs(value) <= 1 else f"{value:+,.4g}" if abs(value) < 10_000 else f"{value:+,.0f}"


def named_figure(name: str, value: float) -> str:
    """A figure by its name: those of some kinds are numbers of rows or of other things."""
    return count(value) if name.startswith(_COUNTS) else figure(value)


def percent(value: float) -> str:
    """A share in hundredths of a percent."""
    return f"{value:.2%}"


def share(value: float) -> str:
    """A share of records, in tenths of a percent."""
    return "<0.1%" if 0 < value < 0.0005 else f"{value:.1%}"


def short_digest(digest: str) -> str:
    """The beginning of a digest, to be recognized by."""
    return f"{digest[:_SHORT_DIGEST]}…"


def halves(digest: str) -> Markup:
    """A digest that may be broken in the middle, and nowhere else."""
    middle = len(digest) // 2
    return Markup("{}<wbr>{}").format(digest[:middle], digest[middle:])


def deviation(records: float) -> str:
    """A standard deviation, in records."""
    return f"{records:,.0f}" if records >= 10 else f"{records:.2g}"


def is_vacuous(spent: Spent) -> bool:
    """Whether a guarantee, as a record states it, is so weak that it must be called vacuous."""
    epsilon = inf if spent.epsilon is None else spent.epsilon
    return Guarantee(epsilon, spent.delta, spent.accountant).is_vacuous


def with_digests(text: str) -> Markup:
    """A text in which digests are set as such."""
    words = [
        Markup('<code class="digest">{}</code>').format(halves(word)) if _DIGEST.fullmatch(word) else word
        for word in text.split(" ")
    ]
    return Markup(" ").join(words)


def size(number: int) -> str:
    """A number of bytes."""
    return (
        f"{number:,} B"
        if number < 10_000
        else f"{number / 1000:,.0f} kB"
        if number < 10**7
        else f"{number / 10**6:,.0f} MB"
    )
