"""Missing values that are values of their own."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pandera.pandas import Column

from deniable.foundation.domain import Bins, Value
from deniable.foundation.errors import InvalidInput
from schemas.kinds.description import column_of, described, numbered
from schemas.kinds.values import require_value

# Common numbers for missing values; the first that the column does not have is used.
_USUAL_MISSING = (-1, -9, -99, -999, -9_999, -99_999, -999_999, -9_999_999, -99_999_999, -999_999_999)


def with_missing_as(column: Column, value: Value) -> Column:
    """The same column, in which a missing value is a value of its own.

    Args:
        column: a column of names, numbers or dates.
        value: the value of rows in which it is missing.

    Raises:
        InvalidInput: the value has another type than those of the column, is unsuitable for files, or the source
            writes it where a value is missing.
    """
    known = described(column)
    values, wanted = known.values, known.value_type
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not wanted:
        kind = "text" if wanted is str else "a number, such as -1"
        raise InvalidInput(
            f"a missing value must become one of the type of the column's values, which is {kind}, got {value!r}: "
            f"{column.title}."
        )
    require_value(value, column.title or "")
    if known.bins is not None and value not in values and _is_inside(value, values, known.bins):
        raise InvalidInput(f"a missing value must become a number outside the bins, got {value}: {column.title}.")
    if value in values:
        return column_of(replace(known, missing_as=value))
    bins = known.bins
    lasts: Sequence[Any] = values if bins is None else bins.last
    everything: list[tuple[Any, Any, int]] = [
        *zip(values, lasts, known.buckets, strict=True),
        (value, value, len(values)),
    ]
    if known.kind == "numeric":
        everything.sort(key=_number)
    meaning = {} if wanted is str else {value: known.labels.get(value, "missing")}
    extended = replace(
        known,
        values=tuple(each for each, _, _ in everything),
        buckets=numbered([bucket for _, _, bucket in everything]),
        bins=None if bins is None else Bins(tuple(last for _, last, _ in everything), bins.step),
        missing_as=value,
        # Nobody averages it: tables have nothing in its place.
        absent=value if known.kind == "numeric" or known.is_boolean else known.absent,
        labels={**known.labels, **meaning},
        passing=(*known.passing, value),
    )
    return column_of(extended)


def usual_missing(column: Column, word: str) -> Column:
    """The same column, in which a missing value is a value: the word, or a number that means the word.

    Args:
        column: a column of names, numbers or dates; one that already has a value for missing stays as it is.
        word: the word. A column of numbers gets the first of -1, -9, -99 ... that is none of its values, with the word
            as its label.
    """
    own = described(column)
    if own.missing_as is not None or not own.is_released:
        return column
    if own.value_type is str:
        return with_missing_as(column, word)
    numeric = [value for value in own.values if not isinstance(value, str)]
    low = min(numeric)
    numbers = [code for code in _USUAL_MISSING if code not in numeric and (code < low or own.kind != "numeric")]
    if not numbers:
        raise InvalidInput(f"a missing value must become a number that the column does not have: {column.title}.")
    filled = with_missing_as(column, numbers[0])
    known = described(filled)
    meaning = {} if known.missing_as is None else {known.missing_as: word}
    return column_of(replace(known, labels={**known.labels, **meaning}))


def _is_inside(value: Any, values: Sequence[Any], bins: Bins) -> bool:
    """Whether a number lies in a bin."""
    return any(first <= value <= last for first, last in zip(values, bins.last, strict=True))


def _number(row: tuple[Any, ...]) -> float:
    return float(row[0])
