"""Values, ranges and labels as codebooks write them in a cell or on a line: `1=male | 2=female`, `0 to 120 by 5`."""

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

from schemas.codebooks.codebook import Entry

_NUMBER = r"[-\u2212]?\$?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?"
_RANGE = re.compile(
    rf"^({_NUMBER})\s*(?:to|thru|through|\.\.\.?|<?\s*[-\u2013\u2014]\s*<?)\s*({_NUMBER})"
    rf"(?:\s+(?:by|step)\s+(\d+(?:\.\d+)?|\.\d+))?(?:\s*=\s*(.*)|\s+(\D.*))?$",
    re.IGNORECASE,
)
_LABELLED = re.compile(r"^(.*?[^<>!=\s])\s*=\s*(.*)$", re.DOTALL)
_CHOICE = re.compile(r"^([-\w.]+),\s*(.+)$", re.DOTALL)
_LEADING = re.compile(r"^([-\u2212]?\d+(?:\.\d+)?)(?:\s+(.*))?$", re.DOTALL)
_SEPARATORS = ("|", ";", "\n", ",")
_MOST_DIGITS = 30


def number(text: str) -> Decimal | None:
    """The number that a text states; None if it is not one.

    Currency signs and thousands separators are ignored.
    """
    plain = text.strip().replace("\u2212", "-").replace("$", "")
    if re.fullmatch(r"-?\d{1,3}(,\d{3})+(\.\d+)?", plain):
        plain = plain.replace(",", "")
    if not re.fullmatch(r"[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d{1,2})?", plain, re.IGNORECASE) or len(plain) > _MOST_DIGITS:
        return None
    try:
        return Decimal(plain)
    except InvalidOperation:
        return None


def separated(cell: str, *, commas: bool = True) -> list[str]:
    """The parts of a cell, separated by bars, semicolons, line breaks or commas, whichever of these occurs first.

    Args:
        cell: the cell.
        commas: whether commas may separate.
    """
    for separator in _SEPARATORS if commas else _SEPARATORS[:-1]:
        if separator in cell:
            return [part for each in cell.split(separator) if (part := each.strip())]
    return [cell.strip()] if cell.strip() else []


def entries_of(cell: str, *, ranges: bool) -> tuple[tuple[Entry, ...], Decimal | None]:
    """The values and ranges in a cell, with labels after `=`.

    Args:
        cell: the cell.
        ranges: whether `0-10` is a range of numbers; otherwise it is a value.

    Returns:
        The entries, and the step if one is stated (`by 5`).
    """
    # A label may contain commas, but not in a list separated by commas.
    parts = separated(cell, commas="=" not in cell)
    if len(parts) > 1 and all(_CHOICE.match(part) for part in parts) and "=" not in cell:
        return tuple(_choice(part) for part in parts), None
    step: Decimal | None = None
    entries = []
    for part in parts:
        if ranges and (found := range_of(part)) is not None:
            entry, by = found
            step = by or step
        else:
            entry = _single(part)
        entries.append(entry)
    return tuple(entries), step


def range_of(text: str) -> tuple[Entry, Decimal | None] | None:
    """A range of numbers, and its step if one is stated; None if the text is not one.

    A label may follow: after `=`, or after a blank if it does not begin with a digit.
    """
    found = _RANGE.match(text.strip())
    if found is None:
        return None
    low, high = number(found[1]), number(found[2])
    if low is None or high is None:
        return None
    label = (found[4] or found[5] or "").strip()
    return Entry(value=str(low), high=str(high), label=label), number(found[3]) if found[3] else None


def leading(text: str) -> Entry:
    """A value that begins a line, with its label: `-1 INAPPLICABLE`; a range: `0 - 4 AGE`; or a text."""
    text = text.strip()
    if (found := range_of(text)) is not None:
        return found[0]
    if (labelled := _LEADING.match(text)) is not None:
        return Entry(value=labelled[1].replace("\u2212", "-"), label=(labelled[2] or "").strip())
    return Entry(value=text)


def with_labels(entries: Sequence[Entry], labels: Sequence[str]) -> tuple[Entry, ...] | None:
    """Entries with labels from a separate list; None if their numbers differ."""
    if len(entries) != len(labels):
        return None
    return tuple(
        Entry(value=entry.value, high=entry.high, label=label) for entry, label in zip(entries, labels, strict=True)
    )


def _single(part: str) -> Entry:
    found = _LABELLED.match(part)
    return Entry(value=part) if found is None else Entry(value=found[1].strip(), label=found[2].strip())


def _choice(part: str) -> Entry:
    value, _, label = part.partition(",")
    return Entry(value=value.strip(), label=label.strip())
