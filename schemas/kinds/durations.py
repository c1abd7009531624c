"""Columns of durations, such as hours worked, which a source writes as hours and minutes."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from pandera.pandas import Column

from deniable.foundation.domain import Value
from deniable.foundation.errors import InvalidInput
from schemas.kinds.description import column_of, described
from schemas.kinds.missing import with_missing_as
from schemas.kinds.numbers import numeric

_MINUTES = 60
_FORMS = tuple(
    re.compile(form, re.ASCII | re.IGNORECASE)
    for form in (
        r"(?P<hours>\d+):(?P<minutes>[0-5]\d)(?::(?P<seconds>[0-5]\d))?",
        r"(?:(?P<hours>\d+)\s*h(?:ours?|rs?)?\.?)?\s*(?:(?P<minutes>\d+)\s*m(?:in(?:ute)?s?)?\.?)?",
        r"PT(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+)S)?",
    )
)


def duration(
    shortest: str,
    longest: str,
    *,
    step: int = 1,
    width: int | None = None,
    round: bool | Literal["down", "up"] = False,  # noqa: A002 - as of numeric
    clip: bool = False,
    bins: int | Sequence[int] | None = None,
    missing: Sequence[Value] = (),
    missing_as: int | None = None,
    label: str = "",
) -> Column:
    """Describe a column of durations. They are released as minutes, which every program can add up.

    These are read: `8:30` and `27:05`, also with seconds; `8 h 30 min`, `8h30m`, `45 min`; `PT8H30M` (ISO 8601). A
    plain number is minutes. A duration is no time of day, for which there is `numeric` with `written="14:30"`.

    Args:
        shortest: the shortest duration, in any of these forms.
        longest: the longest; what is shorter or longer is invalid.
        step: minutes between neighbouring values.
        width: width of the buckets in minutes, the first from `shortest`.
        round: as in `numeric`; without it, 8:07 is invalid in steps of 15 minutes.
        clip: as in `numeric`.
        bins: as in `numeric`, in minutes.
        missing: the source's codes for missing values.
        missing_as: the number that a missing duration becomes in the model, below `shortest` or above `longest`.
        label: description of the column, for readers.

    Returns:
        The column; it is of numbers.

    Raises:
        InvalidInput: a bound is no duration of whole minutes, or as in `numeric`.
    """
    low, high = (_bound(text, label) for text in (shortest, longest))
    column = numeric(low, high, step=step, width=width, round=round, clip=clip, bins=bins, missing=missing, label=label)
    column = column_of(replace(described(column), plain_number=in_minutes))
    return column if missing_as is None else with_missing_as(column, missing_as)


def in_minutes(text: str) -> str:
    """The minutes of a duration, as a plain number; any other text as it is."""
    plain = text.strip()
    found = next((found for form in _FORMS if (found := form.fullmatch(plain))), None)
    parts: dict[str, str] = (
        {} if found is None else {unit: amount for unit, amount in found.groupdict().items() if amount}
    )
    if not parts:
        return text
    minutes, seconds = divmod(int(parts.get("seconds", 0)), _MINUTES)
    minutes += _MINUTES * int(parts.get("hours", 0)) + int(parts.get("minutes", 0))
    return str(minutes + seconds / _MINUTES) if seconds else str(minutes)


def _bound(text: object, label: str) -> int:
    """The minutes of a bound that a schema states."""
    minutes = in_minutes(text) if isinstance(text, str) else ""
    if minutes == text or not minutes.isdecimal():
        raise InvalidInput(
            f"the shortest and the longest of a duration must be whole minutes such as '8:30' or '45 min', got "
            f"{text!r}: {label}."
        )
    return int(minutes)
