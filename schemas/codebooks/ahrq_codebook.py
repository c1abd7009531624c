"""Codebooks in the form of the Agency for Healthcare Research and Quality (MEPS), as text or as a saved page.

A variable begins with a line of its name, description, format, type and positions, or with `Variable Name:`; a line
for each value or range follows, with two counts, which are not read.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser

from schemas.codebooks.codebook import Codebook, Entry, Place, Variable, one_line
from schemas.codebooks.value_lists import leading

_BEGINS = re.compile(r"^\s*([A-Za-z]\w*)\s+(\S.*?)\s+\$?\d+(?:\.\d+)?\s+(NUM|CHAR)\s+(\d+)\s+(\d+)\s*$")
_NAMED = re.compile(r"^[\s|]*Variable Name:?[\s|]*([A-Za-z]\w*)[\s|]*$", re.IGNORECASE)
_STATED = re.compile(r"^[\s|]*(Description|Format|Type|Start|End):?[\s|]+(.*?)[\s|]*$", re.IGNORECASE)
_COUNTED = re.compile(r"^[\s|]*(.*?\S)(?:\s{2,}|\s*\|\s*)[\d,]+(?:(?:\s{2,}|\s*\|\s*|\s+)[\d,.]+)?[\s|]*$")
_BLANKS, _BARS = re.compile(r"\s\s+|\t"), re.compile(r"[ |]*\|[ |]*")
_LONGEST_LINE = 10_000
_CELLS = {"td", "th"}
_ROWS = {"tr", "br", "p", "div", "table"}


def is_ahrq(text: str) -> bool:
    """Whether a text begins a variable in this form."""
    return any(_BEGINS.match(line) or _NAMED.match(line) for line in map(_plain, text.splitlines()))


def read_ahrq(text: str) -> Codebook:
    """Read a codebook in this form.

    Args:
        text: its text.
    """
    codebook = Codebook()
    current: Variable | None = None
    entries: list[Entry] = []
    begun = 0
    for number_of, line in enumerate(map(_plain, text.splitlines()), 1):
        begins, named = _BEGINS.match(line), _NAMED.match(line)
        if begins or named:
            if current is not None:
                codebook.add(_finished(current, entries), f"line {begun}")
            begun = number_of
            current, entries = _begun(begins, named), []
        elif current is None:
            continue
        elif stated := _STATED.match(line):
            current = _with_statement(current, stated[1].lower(), stated[2])
        elif (counted := _COUNTED.match(line)) is not None:
            value = one_line(counted[1])
            if value.upper() not in {"TOTAL", "VALUE"} and any(each.isalnum() for each in value):
                entries.append(leading(value))
    if current is not None:
        codebook.add(_finished(current, entries), f"line {begun}")
    return codebook


def text_of_page(page: str) -> str:
    """The text of a saved page: a line for each row, with bars between cells."""
    reader = _Page()
    reader.feed(page)
    reader.close()
    return "".join(reader.parts)


class _Page(HTMLParser):
    """Extracts the text of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._skipped = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a cell or a row."""
        del attrs
        if tag in {"script", "style"}:
            self._skipped += 1
        elif tag in _CELLS:
            self.parts.append(" | ")
        elif tag in _ROWS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        """End a row, or a part that is not text."""
        if tag in {"script", "style"}:
            self._skipped -= 1
        elif tag == "tr":
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        """Add text, on one line."""
        if not self._skipped:
            self.parts.append(re.sub(r"\s+", " ", data))


def _begun(begins: re.Match[str] | None, named: re.Match[str] | None) -> Variable:
    """The variable that a line begins."""
    if begins is not None:
        place = Place(int(begins[4]), int(begins[5]) - int(begins[4]) + 1)
        return Variable(name=begins[1], label=one_line(begins[2]), place=place)
    return Variable(name=named[1] if named is not None else "")


def _with_statement(variable: Variable, what: str, stated: str) -> Variable:
    """A variable with what a line states about it."""
    if what == "description":
        return replace(variable, label=one_line(stated))
    if what in {"start", "end"} and stated.isdecimal():
        position = int(stated)
        start = position if what == "start" or variable.place is None else variable.place.start
        return replace(variable, place=Place(start, max(1, position - start + 1)))
    return variable


def _plain(line: str) -> str:
    """A line without bars at its ends, with single bars and at most two consecutive blanks.

    The time of the expressions below is then linear in the line's length, even for a long row of blanks.
    """
    blanks = _BLANKS.sub("  ", line[:_LONGEST_LINE])
    return _BARS.sub(" | ", blanks).strip(" |")


def _finished(variable: Variable, entries: Sequence[Entry]) -> Variable:
    """A variable with its values; none if it only has a word such as `VALID ID`."""
    # `VALID ID`, `TEXT`: a word for any value.
    return replace(variable, entries=tuple(entry for entry in entries if _is_numeric(entry)))


def _is_numeric(entry: Entry) -> bool:
    return entry.high is not None or re.fullmatch(r"-?\d+(\.\d+)?", entry.value) is not None
