"""The format of numbers and digests on pages.

The number of decimal places is determined in reports.figures.decimal_places.
"""

import re
from math import ceil, floor, isfinite, log10

from markupsafe import Markup

from deniable.privacy.loss import Guarantee
from deniable.privacy.rounding import digits_up
from reports.figures.decimal_places import digits_of

_SMALL = 0.001
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_SHORT_DIGEST = 12
_DIGEST = re.compile("[0-9a-f]{40,64}")


def count(number: float) -> str:
    """A count."""
    return f"{number:,.0f}"


def cost(value: float) -> str:
    """A privacy cost in four digits, never rounded down."""
    if not isfinite(value):
        return "∞"
    rounded = float(digits_up(float(value)))
    if rounded and rounded < _SMALL:
        mantissa, exponent = f"{rounded:e}".split("e")
        power = f"10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
        return power if float(mantissa) == 1 else f"{float(mantissa):g}·{power}"
    return f"{rounded:,.0f}" if rounded >= 1000 else f"{rounded:g}"


def guessed(guarantee: Guarantee) -> str:
    """The largest probability of a correct guess, in percent, never rounded down."""
    return f"{ceil(1000 * guarantee.guessing_bound) / 10:g}%"


def figure(value: float, is_count: bool = False) -> str:  # noqa: FBT001, FBT002 - a filter of templates
    """A figure of an evaluation: a share, a distance, or a number of records, of which 0 and 1 look like a share."""
    return count(value) if is_count or abs(value) > 1 else f"{value:.4f}"


def within(value: float, reach: float | None) -> str:
    """A figure to the precision that its sampling error supports, with half of its interval."""
    if not reach:
        return figure(value)
    places = digits_of(reach)
    return f"{value:.{places}f} ± {reach:.{places}f}"


def rounded(value: float, reach: float | None) -> str:
    """A figure to the precision that its sampling error supports."""
    return within(value, reach).partition(" ")[0]


def rounded_count(value: float, deviation: float) -> str:
    """A count to the precision that its noise allows."""
    unit = 10 ** max(0, floor(log10(deviation))) if deviation > 0 else 1
    return f"{round(value / unit) * unit:,.0f}"


def change(value: float, reach: float | None = None) -> str:
    """The change in a figure, with its sign, to the precision that its sampling error supports."""
    if value == 0:
        return "0"
    if reach:
        return f"{value:+.{digits_of(reach)}f}"
    return f"{value:+.4f}" if abs(value) <= 1 else f"{value:+,.4g}" if abs(value) < 10_000 else f"{value:+,.0f}"


def percent(value: float) -> str:
    """A share in percent, to two decimal places."""
    return f"{value:.2%}"


def share(value: float) -> str:
    """A share of records in percent, to one decimal place."""
    return "<0.1%" if 0 < value < 0.0005 else f"{value:.1%}"


def short_digest(digest: str) -> str:
    """The first digits of a digest, enough to recognize it."""
    return f"{digest[:_SHORT_DIGEST]}…"


def halves(digest: str) -> Markup:
    """A digest with a possible line break in the middle, and nowhere else."""
    middle = len(digest) // 2
    return Markup("{}<wbr>{}").format(digest[:middle], digest[middle:])


def deviation(records: float) -> str:
    """A standard deviation, in records."""
    return f"{records:,.0f}" if records >= 10 else f"{records:.2g}"


def with_digests(text: str) -> Markup:
    """A text in which digests are marked up as digests."""
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
