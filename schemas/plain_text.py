"""Rules for texts that users write and pages show: lines of bounded length, without invisible characters.

The required texts do not belong here.
"""

import re
import unicodedata
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field

LONGEST_LINE, LONGEST_PATH, LONGEST_NAME = 300, 4000, 100
LONGEST_PARAGRAPH = 10_000

# Control characters, halves of characters, and the ends of lines and paragraphs that are none in a file.
_UNSEEN = {"Cc", "Cs", "Zl", "Zp"}
# These reverse the direction of adjacent text.
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
_MARKUP = frozenset("<>[]`|\\")
# Also their full-width forms, which some programs treat alike.
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
_NUMBER = re.compile(r"[-+]?(\d+([.,]\d+)*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
_SHOWN = 60


def fault_of_line(text: object, *, most: int = LONGEST_LINE) -> str | None:
    """The fault of a text that must be one line, to follow its name; None if there is none.

    Args:
        text: the text.
        most: largest number of characters.
    """
    if not isinstance(text, str):
        return f"must be text, got {type(text).__name__}; put it in quotes"
    if len(text) > most:
        return f"must have at most {most:,} characters, got {len(text):,}; shorten it"
    if unseen := _unseen(text):
        return f"must be one line of visible text, got the character U+{ord(unseen):04X} in it; remove it"
    return None


def fault_of_paragraph(text: object) -> str | None:
    """The fault of a text that may have several lines; None if there is none."""
    if isinstance(text, str):
        return fault_of_line(re.sub(r"\s+", " ", text), most=LONGEST_PARAGRAPH)
    return fault_of_line(text)


def fault_of_name(text: object, *, most: int = LONGEST_LINE) -> str | None:
    """The fault of a column's name, in text and in pages; None if there is none."""
    fault = fault_of_line(text, most=most)
    if fault is not None or not isinstance(text, str):
        return fault
    if not text.strip():
        return "must have a visible character, got none; give it a name"
    if markup := next((character for character in text if character in _MARKUP), None):
        return f"must not contain {' '.join(sorted(_MARKUP))}, which pages read as markup, got {markup}; rename it"
    return fault_of_cell(text)


def fault_of_cell(text: object) -> str | None:
    """The fault of a text in a cell of a CSV file; None if there is none.

    A spreadsheet that opens the file treats a cell that begins with =, +, - or @ as a formula, and evaluates it. If it
    separates cells by semicolons, text after a semicolon is a cell too. A signed number is always a number, and a sign
    alone is not a formula.
    Source: OWASP, CSV Injection.
    """
    fault = fault_of_line(text)
    if fault is not None or not isinstance(text, str):
        return fault
    cells = [cell.strip() for cell in text.split(";")]
    if any(cell[1:] and cell.startswith(_FORMULA) and not _NUMBER.fullmatch(cell) for cell in cells):
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        return f"must not begin with = + - or @, which a spreadsheet reads as a formula, got {shown!r}; recode it"
    return None


def _unseen(text: str) -> str | None:
    """The first invisible character, if there is one."""
    return next((each for each in text if each in _TURNING or unicodedata.category(each) in _UNSEEN), None)


def _line(text: str) -> str:
    if fault := fault_of_line(text, most=LONGEST_PATH):
        raise ValueError(fault)
    return text


def _paragraph(text: str) -> str:
    if fault := fault_of_paragraph(text):
        raise ValueError(fault)
    return text


Line: TypeAlias = Annotated[str, Field(min_length=1, max_length=LONGEST_LINE), AfterValidator(_line)]
"""A title, a reason, the name of a person."""

Paragraph: TypeAlias = Annotated[str, Field(min_length=1), AfterValidator(_paragraph)]
"""A description, which may have several lines."""

PathText: TypeAlias = Annotated[str, Field(min_length=1, max_length=LONGEST_PATH), AfterValidator(_line)]
"""A place, such as a path or an address."""
