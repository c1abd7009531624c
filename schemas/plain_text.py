"""What text may be that people write and pages show: lines of bounded length, without what only programs see.

Where which text is asked for does not belong here.
"""

import re
import unicodedata
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field

LONGEST_LINE, LONGEST_PATH, LONGEST_NAME = 300, 4000, 100
LONGEST_PARAGRAPH = 10_000

# Control characters, halves of characters, and the ends of lines and paragraphs that are none in a file.
_UNSEEN = {"Cc", "Cs", "Zl", "Zp"}
# These turn the order of what stands beside them around.
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
_MARKUP = frozenset("<>[]`|\\")
# Also the wide forms of these, which some programs take for them.
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
_NUMBER = re.compile(r"[-+]?(\d+([.,]\d+)*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
_SHOWN = 60


def fault_of_line(text: object, *, most: int = LONGEST_LINE) -> str | None:
    """What is wrong with a text that must be one line, to be read after its name; None if nothing is.

    Args:
        text: the text.
        most: characters that it may have.
    """
    if not isinstance(text, str):
        return f"must be text, got {type(text).__name__}; put it in quotes"
    if len(text) > most:
        return f"must have at most {most:,} characters, got {len(text):,}; shorten it"
    if unseen := _unseen(text):
        return f"must be one line of visible text, got the character U+{ord(unseen):04X} in it; take it out"
    return None


def fault_of_paragraph(text: object) -> str | None:
    """What is wrong with a text that may have several lines; None if nothing is."""
    if isinstance(text, str):
        return fault_of_line(re.sub(r"\s+", " ", text), most=LONGEST_PARAGRAPH)
    return fault_of_line(text)


def fault_of_name(text: object, *, most: int = LONGEST_LINE) -> str | None:
    """What is wrong with a name that stands at the head of a column, in text and in pages; None if nothing is."""
    fault = fault_of_line(text, most=most)
    if fault is not None or not isinstance(text, str):
        return fault
    if not text.strip():
        return "must have a character that is seen, got none; give it a name"
    if markup := next((character for character in text if character in _MARKUP), None):
        return f"must be without {' '.join(sorted(_MARKUP))}, which pages read as markup, got {markup} in it; rename it"
    return fault_of_cell(text)


def fault_of_cell(text: object) -> str | None:
    """What is wrong with a text that stands in a cell of a CSV file; None if nothing is.

    A spreadsheet that opens the file takes a cell that begins with =, +, - or @ for a formula, and carries it out.
    Where a semicolon parts cells there, what stands behind one is a cell too. A number with its sign is a number
    everywhere, and a sign alone is nothing to carry out.
    Source: OWASP, CSV Injection.
    """
    fault = fault_of_line(text)
    if fault is not None or not isinstance(text, str):
        return fault
    cells = [cell.strip() for cell in text.split(";")]
    if any(cell[1:] and cell.startswith(_FORMULA) and not _NUMBER.fullmatch(cell) for cell in cells):
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        return f"must not begin with = + - or @, which a spreadsheet takes for a formula, got {shown!r}; recode it"
    return None


def _unseen(text: str) -> str | None:
    """The first character that is not seen, if there is one."""
    return next((each for each in text if each in _TURNING or unicodedata.category(each) in _UNSEEN), None)


def _line(text: str) -> str:
    if fault := fault_of_line(text, most=LONGEST_PATH):
        raise ValueError(fault)
    return text


Line: TypeAlias = Annotated[str, Field(min_length=1, max_length=LONGEST_LINE), AfterValidator(_line)]
"""A title, a reason, the name of a person."""

PathText: TypeAlias = Annotated[str, Field(min_length=1, max_length=LONGEST_PATH), AfterValidator(_line)]
"""Where something lies."""
