"""Kinds of columns: names, ordered names, numbers, dates, identifiers and free text.

Each function describes one column of a table; `schemas.table.table` combines them. The source's contents become values
of the column by public rules alone: rounding, clipping, groups of codes, periods of dates, a word for missing values.
No part of a description is ever learnt from data.
"""

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from math import isfinite, lcm
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandera.pandas import Check, Column

from deniable.foundation.domain import FALSE, MAX_CARDINALITY, TRUE, TRUTH_VALUES, Bins, Kind, Value
from deniable.foundation.errors import InvalidInput
from schemas.plain_text import fault_of_cell, fault_of_line
from schemas.written_forms import USUAL_TRUTHS, folded, plain_number, with_zeros

Groups: TypeAlias = Mapping[Any, Any] | Callable[[Any], Any]
"""The group of a code or of a value: a table, or a function."""
Becomes: TypeAlias = Callable[[pd.Series], pd.Series]
"""Turns the source's contents into values of a column, one by one; null stays null."""
Period: TypeAlias = Literal["day", "month", "quarter", "year"]

# Marks a value that is not a number in a numeric column: it is not null, and in no public range.
UNREADABLE = np.inf
# The same in a column of text: no value may contain a control character.
UNREADABLE_TEXT = "\0"

IDENTIFIER, FREE_TEXT = "identifier", "free text"

# Numbers are read as float64, which represents integers exactly up to here.
_LARGEST_NUMBER = 2**53
# The offset from UTC after a time, which follows a T or a blank.
_OFFSET = re.compile(r"^(\S+[T ]\d{2}\S*?)\s?(?:Z|[+-]\d{2}(?::?\d{2})?)$")
_MOST_DIGITS = 40
# How many units in the last place a number computed in 64 bits may be off, as by .1 + .2.
_COMPUTED_ULPS = 4
# The units in which programs count days, and their origins. Excel takes 1900 for a leap year.
_COUNTED: Mapping[str, tuple[Literal["D", "s"], str]] = {
    "excel days": ("D", "1899-12-30"),
    "epoch days": ("D", "1970-01-01"),
    "epoch seconds": ("s", "1970-01-01"),
    "stata days": ("D", "1960-01-01"),
    "sas days": ("D", "1960-01-01"),
}
_MOST_COUNTED = {"D": 10**5, "s": 10**10}
_PERIODS: tuple[Period, ...] = ("day", "month", "quarter", "year")
# Common numbers for missing values; the first that the column does not have is used.
_USUAL_MISSING = (-1, -9, -99, -999, -9_999, -99_999, -999_999, -9_999_999, -99_999_999, -999_999_999)


def nominal(
    values: Sequence[Value] | Mapping[Any, str] | None = None,
    *,
    by: Groups | None = None,
    other: Value | None = None,
    digits: int | None = None,
    any_case: bool = False,
    buckets: Iterable[Collection[Value]] | Groups = (),
    missing: Sequence[Value] = (),
    missing_as: Value | None = None,
    label: str = "",
) -> Column:
    """Describe a nominal column, whose values are names or codes.

    Args:
        values: the values in public order, or each value with its label. They may be left out if `by` is a table, and
            are then its groups.
        by: the value of each code of the source, such as the chapter of a diagnosis or the first digits of a ZIP code:
            a table, or a function of the code as text. A code without a value is invalid. See `schemas.hierarchies`.
        buckets: groups of values that form one bucket when the column is a parent; other values have their own. A table
            or a function that gives the group of each value is possible too.
        other: the value of codes that are not listed, or that `by` has no value for; it comes last if it is not among
            the values. By default such a code is invalid.
        digits: the length of codes that consist of digits, such as 5 for 00501. A number with fewer digits has lost its
            zeros, as in a spreadsheet, and they are restored: 501 and 501.0 become 00501.
        any_case: whether the source's codes may differ from the listed ones by case and blanks.
        missing: the source's codes for missing values.
        missing_as: the value of rows in which the column is missing, which are then kept; omitted by default.
        label: description of the column, for readers.

    Returns:
        The column; its check `isin` is the domain.

    Raises:
        InvalidInput: values have several types, or are unsuitable for files (NaN, text with control characters, text
            that spreadsheets read as a formula), or buckets overlap or contain other values.
    """
    return _named(
        "nominal",
        values,
        by=by,
        other=other,
        digits=digits,
        any_case=any_case,
        buckets=buckets,
        missing=missing,
        missing_as=missing_as,
        label=label,
    )


def boolean(
    labels: Mapping[str, str] | None = None,
    *,
    true: Sequence[Value] = (),
    false: Sequence[Value] = (),
    missing: Sequence[Value] = (),
    missing_as: str | None = None,
    label: str = "",
) -> Column:
    """Describe a column of truth values. The values are `false` and `true`, whichever way the source writes them.

    These are read, in any case of letters: true, t, yes, y, 1 and 1.0 as true; false, f, no, n, 0 and 0.0 as false. A
    released table has true and false as text, and truth values in Parquet; a missing value is an empty field, or null.

    Args:
        labels: the meaning of `false` and of `true`.
        true: further codes of the source for true, such as `ja` or 2.
        false: further codes of the source for false.
        missing: the source's codes for missing values.
        missing_as: the name of missing values on pages and in questions; their rows are then kept. By default they are
            left out.
        label: description of the column, for readers.

    Returns:
        The column; its check `isin` is the domain.

    Raises:
        InvalidInput: a code means two of true, false and missing, or there is a label of another value.
    """
    _require_text("the label of a column", label)
    explained: dict[Value, str] = dict(labels.items()) if labels else {}
    if not set(explained) <= set(TRUTH_VALUES):
        raise InvalidInput(f"the labels of a boolean column must be those of false and true, got others: {label}.")
    for text in explained.values():
        _require_text(f"the text that explains a value of the column {label!r}", text)
    own = {folded(code): value for value, codes in ((TRUE, true), (FALSE, false)) for code in codes}
    absent = {folded(code) for code in missing}
    if len(own) < len({*map(str, true)}) + len({*map(str, false)}) or absent & set(own):
        raise InvalidInput(f"a code of a boolean column must be true, false or missing, got one that is two: {label}.")
    known = {code: value for code, value in (USUAL_TRUTHS | own).items() if code not in absent}
    column = _column(
        "nominal",
        TRUTH_VALUES,
        checks=[Check.isin(list(TRUTH_VALUES))],
        keys=list(TRUTH_VALUES),
        missing=missing,
        label=label,
        labels=explained,
        becomes=_groups_become(lambda code: known.get(folded(code)), TRUTH_VALUES),
        is_boolean=True,
    )
    return column if missing_as is None else with_missing_as(column, missing_as)


def ordered(
    values: Sequence[Value] | Mapping[Any, str] | None = None,
    *,
    by: Groups | None = None,
    digits: int | None = None,
    any_case: bool = False,
    buckets: Iterable[Collection[Value]] | Groups = (),
    missing: Sequence[Value] = (),
    missing_as: Value | None = None,
    label: str = "",
) -> Column:
    """Describe an ordered column: names or codes from the lowest to the highest, such as grades of a school.

    Learners may merge neighbouring values when they are rare, and pages keep their order.

    Args:
        values: the values from the lowest to the highest; otherwise as in `nominal`.
        by: as in `nominal`.
        digits: as in `nominal`.
        any_case: as in `nominal`.
        buckets: as in `nominal`.
        missing: as in `nominal`.
        missing_as: as in `nominal`; it comes after all other values.
        label: as in `nominal`.

    Returns:
        The column; its check `isin` is the domain.

    Raises:
        InvalidInput: as in `nominal`.
    """
    return _named(
        "ordered",
        values,
        by=by,
        digits=digits,
        any_case=any_case,
        buckets=buckets,
        missing=missing,
        missing_as=missing_as,
        label=label,
    )


def numeric(
    low: float,
    high: float,
    *,
    step: float = 1,
    width: float | None = None,
    edges: Sequence[float] | None = None,
    round: bool | Literal["down", "up"] = False,  # noqa: A002 - what it is called everywhere
    clip: bool = False,
    also: Mapping[Any, str] | Sequence[float] = (),
    bins: float | Sequence[float] | None = None,
    written: str | None = None,
    missing: Sequence[Value] = (),
    missing_as: float | None = None,
    label: str = "",
) -> Column:
    """Describe a numeric column: low, low + step ... high. The values are integers if `low` and `step` are.

    A number is the number of the column that a program stores in its place: 9.6 with 32 bits, or with the last digit of
    64 bits that a computation leaves, is 9.6. Nothing else is rounded unless `round` says so.

    A column of more than 65,535 numbers needs public bins. It is learnt, drawn and evaluated by bin, and a published
    record has a number drawn uniformly from its bin.

    Args:
        low: the smallest value.
        high: the largest value.
        step: distance between neighbouring values; a decimal number is taken as written, so that .1 is a tenth.
        width: width of the buckets, the first from `low`; without it and `edges`, each value has its own bucket.
        edges: the values at which a new bucket starts, ascending; `low` need not be among them.
        round: whether a number between two values becomes the nearest one (the upper one of two that are equally near),
            or the next one `down` or `up`. By default it is invalid.
        clip: whether a number below `low` becomes `low`, and one above `high` becomes `high`. By default it is invalid.
        also: numbers that are not amounts, such as codes for inapplicable, possibly with labels. They are neither
            rounded nor clipped, and each has a bin and a bucket of its own.
        bins: width of the bins, the first from `low`, or the numbers at which a new bin starts, ascending; `low` need
            not be among them. Without bins each number is a value.
        written: an example of a number that the source writes with more than its digits, such as `$1,234.50`,
            `1.234,50 EUR` or `12%`. Its separators and signs are then read past; 12% is 12. A time of day, such as
            `14:30` or `2:30 PM`, becomes the minutes since midnight, 0 to 1440, as does 517 for 5:17 with `hhmm`.
        missing: the source's codes for missing values.
        missing_as: the number that a missing value becomes in the model; its row is then kept. By default it is left
            out. A released table has an empty field or null in its place, if no value of the column has that number.
        label: description of the column, for readers.

    Returns:
        The column; its check `in_range` is the domain.

    Raises:
        InvalidInput: the range or the bins are invalid, both a width and edges are given, or a number of `also` is an
            amount.
    """
    _require_text("the label of a column", label)
    if not max(abs(low), abs(high)) <= _LARGEST_NUMBER:
        raise InvalidInput(
            f"a numeric column must be within {-_LARGEST_NUMBER:,} to {_LARGEST_NUMBER:,}, where numbers are read "
            f"exactly, got a larger bound: {label}."
        )
    grid = _Grid.of(low, high, step)
    if width is not None and edges is not None:
        raise InvalidInput("a numeric column must have a width or edges of its buckets, got both; leave one out.")
    if width is not None and width <= 0:
        raise InvalidInput(f"the width of the buckets of a numeric column must be above 0, got {width}.")
    if round not in (False, True, "down", "up"):
        raise InvalidInput(f"a numeric column must round by True, 'down' or 'up', got {round!r}.")
    starts = _starts(grid, bins, label)
    values = [grid.number(start) for start in starts]
    keys: list[Any]
    if width is not None:
        keys = [(_exact(value) - grid.low) // _exact(width) for value in values]
    elif edges is not None:
        keys = np.searchsorted(edges, values, side="right").tolist()
    else:
        keys = list(values)
    special = _special(also, grid, label)
    inside = _or_among(lambda column: (column >= low) & (column <= high), special)
    in_range = Check(inside, name="in_range") if special else Check.in_range(low, high)
    whole_steps = Check(_or_among(grid.holds, special), name=f"steps_of_{step}")
    lasts = [grid.number(after - 1) for after in (*starts[1:], grid.count)]
    named = special | {value: f"to {last}" for value, last in zip(values, lasts, strict=True) if last != value}
    # Each value, the last number of its bin, and the key of its bucket, in the order of the numbers.
    of_amounts = zip(values, lasts, keys, strict=True)
    of_codes = ((code, code, ("also", code)) for code in special)
    everything: list[tuple[Any, Any, Any]] = sorted([*of_amounts, *of_codes], key=_number)
    column = _column(
        "numeric",
        [value for value, _, _ in everything],
        checks=[in_range, whole_steps],
        keys=[key for _, _, key in everything],
        missing=missing,
        label=label,
        step=step,
        labels=named,
        becomes=_numbers_become(
            grid,
            rounding=round,
            clip=clip,
            special=[float(code) for code in special],
            starts=None if bins is None else starts,
        )
        if round or clip or bins is not None or not grid.whole
        else None,
        plain_number=None if written is None else plain_number(written, label),
        bins=None if bins is None else Bins(tuple(last for _, last, _ in everything), grid.number_step),
    )
    return column if missing_as is None else with_missing_as(column, missing_as)


def dates(
    first: str,
    last: str,
    *,
    by: Period = "day",
    written: str | None = None,
    buckets: Period | None = None,
    missing: Sequence[Value] = (),
    missing_as: str | None = None,
    label: str = "",
) -> Column:
    """Describe a column of dates, of which the day, the month, the quarter or the year is released.

    The values are text: 2024-03-05, 2024-03, 2024-Q1 or 2024, in order. Of a time with an offset, such as
    2024-03-05T23:30-05:00, the day is the one that is written, where it was that day; it is not converted to UTC.

    Args:
        first: the first day, such as 2019-01-01.
        last: the last day; days before the first or after the last are invalid.
        by: what is released of a date.
        written: how the source writes a date, such as %d.%m.%Y (see `datetime.strptime`); by default as ISO 8601 does.
            Dates that are counted are written as `excel days`, `epoch days`, `epoch seconds`, `stata days`, `sas days`.
        buckets: the period that forms one bucket when the column is a parent; by default each value has its own.
        missing: the source's codes for missing values.
        missing_as: the value of rows in which the date is missing, which are then kept. By default they are left out.
        label: description of the column, for readers.

    Returns:
        The column.

    Raises:
        InvalidInput: the days are no dates, are in the wrong order, or span too many periods.
    """
    _require_text("the label of a column", label)
    for period in (by, buckets):
        if period is not None and period not in _PERIODS:
            raise InvalidInput(f"the period of a date must be one of {', '.join(_PERIODS)}, got {period!r}: {label}.")
    if buckets is not None and _PERIODS.index(buckets) < _PERIODS.index(by):
        raise InvalidInput(f"the buckets of a date must not be shorter than its {by}, got {buckets}: {label}.")
    start, end = _day(first, label), _day(last, label)
    if start > end:
        raise InvalidInput(f"the first day of a date must not be after the last, got {first} and {last}: {label}.")
    if (end - start).days >= 366 * MAX_CARDINALITY:
        raise InvalidInput(f"the days of a date must be nearer to each other, got {first} and {last}: {label}.")
    days = pd.date_range(start, end, freq="D").to_series()
    periods = periods_of(days, by)
    values = periods.drop_duplicates()
    if len(values) > MAX_CARDINALITY:
        raise InvalidInput(f"a date must have at most {MAX_CARDINALITY} values, got more; release its month: {label}.")
    keys = values if buckets is None else periods_of(days, buckets)[values.index]

    def become(column: pd.Series) -> pd.Series:
        codes, distinct = pd.factorize(column)
        days_of = times_of(distinct, written)
        inside = days_of.notna() & (days_of >= start) & (days_of < end + pd.Timedelta(days=1))
        texts = periods_of(days_of.where(inside, start), by).where(inside, UNREADABLE_TEXT)
        return pd.Series(_taken(texts.to_list(), codes), column.index)

    listed = values.to_list()
    column = _column(
        "ordered",
        listed,
        checks=[Check.isin(listed)],
        is_of_dates=True,
        keys=keys.to_list(),
        missing=missing,
        label=label,
        becomes=become,
    )
    return column if missing_as is None else with_missing_as(column, missing_as)


def identifier(*, missing: Sequence[Value] = (), label: str = "") -> Column:
    """Describe a column that names people or things, such as a patient's number. It is never released.

    It is read only if `table` names it as `person`.

    Args:
        missing: the source's codes for missing values.
        label: description of the column, for readers.

    Returns:
        The column, which is no attribute.
    """
    _require_text("the label of a column", label)
    return Column(
        nullable=True,
        title=label,
        metadata={"kind": IDENTIFIER, "type": str, "missing": tuple(missing), "labels": {}, "buckets": ()},
    )


def free_text(*, label: str = "") -> Column:
    """Describe a column of free text, such as a doctor's notes, which `table` refuses with advice.

    Args:
        label: description of the column, for readers.

    Returns:
        The column, which no table may have.
    """
    return Column(nullable=True, title=label, metadata={"kind": FREE_TEXT, "type": str, "missing": (), "labels": {}})


@dataclass(frozen=True)
class OpenColumn:
    """A column of the table that is not described, because no codebook states its values or its range.

    Attributes:
        kind: the unknown: `values`, or the `range` of numbers.
        missing: codes for missing values.
    """

    kind: Literal["values", "range"]
    missing: tuple[Value, ...] = ()


def open_values(*, missing: Sequence[Value] = ()) -> OpenColumn:
    """Declare a column of categories whose values are not yet known; `schema discover` proposes them.

    Args:
        missing: codes for missing values.
    """
    return OpenColumn("values", tuple(missing))


def open_range(*, missing: Sequence[Value] = ()) -> OpenColumn:
    """Declare a column of numbers whose range is not yet known; `schema discover` proposes it.

    Args:
        missing: codes for missing values.
    """
    return OpenColumn("range", tuple(missing))


def with_missing_as(column: Column, value: Value) -> Column:
    """The same column, in which a missing value is a value of its own.

    Args:
        column: a column of names, numbers or dates.
        value: the value of rows in which it is missing.

    Raises:
        InvalidInput: the value has another type than those of the column, is unsuitable for files, or the source
            writes it where a value is missing.
    """
    metadata: dict[str, Any] = column.metadata or {}
    values, wanted = tuple(metadata["values"]), metadata["type"]
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not wanted:
        kind = "text" if wanted is str else "a number, such as -1"
        raise InvalidInput(
            f"a missing value must become one of the type of the column's values, which is {kind}, got {value!r}: "
            f"{column.title}."
        )
    _require_value(value, column.title or "")
    if metadata["bins"] is not None and value not in values and _is_inside(value, values, metadata["bins"]):
        raise InvalidInput(f"a missing value must become a number outside the bins, got {value}: {column.title}.")
    if value in values:
        return _again(column, metadata | {"missing_as": value})
    bins: Bins | None = metadata["bins"]
    lasts = values if bins is None else bins.last
    everything = [*zip(values, lasts, metadata["buckets"], strict=True), (value, value, len(values))]
    if wanted is not str and metadata["kind"] == "numeric":
        everything.sort(key=_number)
    extended = metadata | {
        "values": tuple(each for each, _, _ in everything),
        "buckets": _numbered([bucket for _, _, bucket in everything]),
        "bins": None if bins is None else Bins(tuple(last for _, last, _ in everything), bins.step),
        "missing_as": value,
    }
    if metadata["kind"] == "numeric" or metadata["is_boolean"]:
        # Nobody averages it: tables have nothing in its place.
        extended["absent"] = value
    if wanted is not str:
        extended["labels"] = {**metadata["labels"], value: metadata["labels"].get(value, "missing")}
    return _again(column, extended, value)


def usual_missing(column: Column, word: str) -> Column:
    """The same column, in which a missing value is a value: the word, or a number that means the word.

    Args:
        column: a column of names, numbers or dates; one that already has a value for missing stays as it is.
        word: the word. A column of numbers gets the first of -1, -9, -99 ... that is none of its values, with the word
            as its label.
    """
    metadata: dict[str, Any] = column.metadata or {}
    if metadata.get("missing_as") is not None or metadata["kind"] == IDENTIFIER:
        return column
    if metadata["type"] is str:
        return with_missing_as(column, word)
    taken = set(metadata["values"])
    low = min(metadata["values"])
    numbers = [code for code in _USUAL_MISSING if code not in taken and (code < low or metadata["kind"] != "numeric")]
    if not numbers:
        raise InvalidInput(f"a missing value must become a number that the column does not have: {column.title}.")
    filled = with_missing_as(column, numbers[0])
    known: dict[str, Any] = filled.metadata or {}
    return _again(filled, known | {"labels": {**known["labels"], known["missing_as"]: word}})


def values_of(metadata: Mapping[str, Any]) -> tuple[Value, ...]:
    """The values of a column, in code order."""
    values: tuple[Value, ...] = metadata["values"]
    return values


def fault_of_column(metadata: Mapping[str, Any], read_as: type | None) -> str | None:
    """The fault of a column, to follow its name; None if none.

    Args:
        metadata: the column's.
        read_as: the type as which the source's column is read; None if the values are computed from other columns.
    """
    if metadata["kind"] == FREE_TEXT:
        return (
            "holds free text, which may say anything about a person, so no release can include it; leave it out, or "
            "state categories of it as a nominal column with `by`"
        )
    if metadata["kind"] == IDENTIFIER:
        return None
    if metadata["type"] is bool:
        return (
            "must not have True and False as values, which files write in several ways; describe it by boolean(), "
            "which reads all of them"
        )
    return None if read_as is None else _never_occurs(metadata, read_as)


def _never_occurs(metadata: Mapping[str, Any], read_as: type) -> str | None:
    """The fault of a column with a value that the source can never have; None if there is none."""
    own = [value for value in metadata["values"] if value != metadata["missing_as"]]
    if metadata["becomes"] is not None or not own:
        return None
    is_text = isinstance(own[0], str)
    codes = {str(code) for code in metadata["missing"]} if is_text else set(metadata["missing"])
    texts = [value for value in own if is_text]
    padded = [text for text in texts if text != text.strip()]
    if never := [value for value in own if value in codes]:
        return f"has the value {never[0]!r}, which can never occur, because it is also a code for missing; choose one"
    if padded:
        return (
            f"has the value {padded[0]!r}, which can never occur, because blanks around the source's codes are "
            f"removed; write {padded[0].strip()!r}"
        )
    if "" in texts:
        return "has an empty text as a value, which can never occur, because it is read as missing; use missing_as"
    if texts and read_as is not str:
        return (
            f"has the value {texts[0]!r}, which can never occur, because `reads` states that it is read as a number; "
            f"state str there"
        )
    return None


def _named(
    kind: Kind,
    values: Sequence[Value] | Mapping[Any, str] | None,
    *,
    by: Groups | None,
    other: Value | None = None,
    digits: int | None = None,
    any_case: bool = False,
    buckets: Iterable[Collection[Value]] | Groups,
    missing: Sequence[Value],
    missing_as: Value | None,
    label: str,
) -> Column:
    """Describe a column of names or codes."""
    if values is None:
        if not isinstance(by, Mapping):
            raise InvalidInput(f"the values of a column must be given, unless `by` is a table of them: {label}.")
        values = list(dict.fromkeys(by.values()))
    listed = tuple(values)
    if other is not None and other not in listed:
        listed = (*listed, other)
    _require_text("the label of a column", label)
    if len({type(value) for value in listed}) != 1:
        raise InvalidInput(f"the values of a column must be of one type, got {_types(listed)}: {label}.")
    for value in listed:
        _require_value(value, label)
    explained = dict(values) if isinstance(values, Mapping) else {}
    for text in explained.values():
        _require_text(f"the text that explains a value of the column {label!r}", text)
    if digits is not None and not (type(digits) is int and 1 <= digits <= _MOST_DIGITS):
        raise InvalidInput(f"codes must have 1 to {_MOST_DIGITS} digits, got {digits!r}: {label}.")
    if digits is not None and not isinstance(listed[0], str) and by is None:
        raise InvalidInput(f"codes whose zeros are restored must be text, such as '00501', got numbers: {label}.")
    own = by or (_themselves(listed) if other is not None or digits is not None or any_case else None)
    if any_case and own is not None:
        own = _in_any_case(own, label)
    column = _column(
        kind,
        listed,
        checks=[Check.isin(list(listed))],
        keys=_bucket_keys(listed, buckets, label),
        missing=missing,
        label=label,
        labels=explained,
        becomes=None if own is None else _groups_become(own, listed, other, digits),
    )
    return column if missing_as is None else with_missing_as(column, missing_as)


def _bucket_keys(listed: Sequence[Value], buckets: Iterable[Collection[Value]] | Groups, label: str) -> list[Hashable]:
    """A key for each value; values with equal keys share a bucket."""
    if callable(buckets) or isinstance(buckets, Mapping):
        found = buckets if callable(buckets) else buckets.get
        groups_of = [found(value) for value in listed]
        return [
            ("value", value) if key is None else ("group", key) for value, key in zip(listed, groups_of, strict=True)
        ]
    groups = [tuple(group) for group in buckets]
    grouped = [value for group in groups for value in group]
    if len(set(grouped)) != len(grouped) or not set(grouped) <= set(listed):
        raise InvalidInput(
            f"the buckets of a column must consist of its values, each in one bucket only, got others: {label}."
        )
    first_of_bucket = {value: group[0] for group in groups for value in group}
    return [first_of_bucket.get(value, value) for value in listed]


def _in_any_case(groups: Groups, label: str) -> Groups:
    """The same groups of codes, which may be written in any case and with other blanks."""
    if callable(groups):
        raise InvalidInput(f"codes in any case must be listed, or be the codes of a table in `by`: {label}.")
    plain = {" ".join(str(code).casefold().split()): value for code, value in groups.items()}
    if len(plain) != len(groups):
        raise InvalidInput(f"codes in any case must differ by more than case and blanks, and two do not: {label}.")
    return lambda code: plain.get(" ".join(str(code).casefold().split()))


def _themselves(values: Sequence[Value]) -> Groups:
    """The value of each code of a column whose codes are its values."""
    return {str(value): value for value in values}


def _groups_become(
    by: Groups, values: Sequence[Value], other: Value | None = None, digits: int | None = None
) -> Becomes:
    """Map the source's codes to values; a code without one becomes the other value, or unreadable."""
    find = by if callable(by) else {str(code): value for code, value in by.items()}.get
    known = set(values)
    is_text = isinstance(values[0], str)
    unreadable: Value = UNREADABLE_TEXT if is_text else UNREADABLE
    nothing = unreadable if other is None else other

    def become(column: pd.Series) -> pd.Series:
        codes, distinct = pd.factorize(column)
        found = [find(str(code) if digits is None else with_zeros(str(code), digits)) for code in distinct]
        listed = [value if value in known else nothing for value in found]
        if is_text:
            return pd.Series(_taken(listed, codes), column.index)
        return pd.Series(np.append(np.asarray(listed, np.float64), np.nan)[codes], column.index)

    return become


@dataclass(frozen=True)
class _Grid:
    """The numbers of a column: low, low + step ...

    Attributes:
        low: the first.
        step: the distance between them.
        count: their number.
        whole: whether they are integers; otherwise they are floats.
    """

    low: Fraction
    step: Fraction
    count: int
    whole: bool

    @classmethod
    def of(cls, low: float, high: float, step: float) -> "_Grid":
        """The numbers from low to high.

        Raises:
            InvalidInput: they do not go from low to high in whole steps.
        """
        first, last, unit = _exact(low), _exact(high), _exact(step)
        if not (last >= first and unit > 0 and (last - first) % unit == 0):
            raise InvalidInput(
                f"a numeric column must go from low to high in whole steps, got {low} to {high} in {step}."
            )
        return cls(first, unit, int((last - first) / unit) + 1, _is_whole(low) and _is_whole(step))

    @property
    def number_step(self) -> float:
        """The step, of the type of the numbers."""
        return int(self.step) if self.whole else float(self.step)

    def number(self, place: int) -> float:
        """A number of the grid: an integer, or the nearest float."""
        exact = self.low + self.step * place
        return int(exact) if self.whole else float(exact)

    def numbers(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Numbers of the grid, as floats: a quotient of integers below 2^53 is the nearest float."""
        scale = lcm(self.low.denominator, self.step.denominator)
        return np.asarray((places * int(self.step * scale) + int(self.low * scale)) / scale, np.float64)

    def nearest(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """Place of the nearest number of the grid; of two that are equally near, the upper one."""
        with np.errstate(invalid="ignore"):
            near = np.clip(np.nan_to_num((numbers - float(self.low)) / float(self.step)), 0, self.count - 1)
            lower = np.floor(near).astype(np.int64)
            upper = np.minimum(lower + 1, self.count - 1)
            is_lower = numbers - self.numbers(lower) < self.numbers(upper) - numbers
        return np.asarray(np.where(is_lower, lower, upper), np.int64)

    def as_meant(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """The number of the grid for each number that is one as programs store it; all others as they are.

        A program may have stored it in 32 bits, or computed it in 64, which leaves errors in the last digits.
        """
        if self.whole or not numbers.size:
            return numbers
        near = self.numbers(self.nearest(numbers))
        with np.errstate(over="ignore", invalid="ignore"):
            stored = near.astype(np.float32).astype(np.float64) == numbers
            computed = np.abs(numbers - near) <= _COMPUTED_ULPS * np.spacing(np.abs(near))
        return np.where(stored | computed, near, numbers)

    def reaches(self, numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether numbers are between the first and the last."""
        return np.asarray((numbers >= self.number(0)) & (numbers <= self.number(self.count - 1)), bool)

    def holds(self, column: pd.Series) -> pd.Series:
        """Whether numbers are on the grid; non-numbers, and numbers beyond it, are left to other checks."""
        numbers = column.to_numpy(np.float64, na_value=np.nan)
        if self.low.denominator == self.step.denominator == 1:
            with np.errstate(invalid="ignore"):
                on_grid = ~np.isfinite(numbers) | ((numbers - int(self.low)) % int(self.step) == 0)
        else:
            on_grid = ~self.reaches(numbers) | (self.numbers(self.nearest(numbers)) == numbers)
        return pd.Series(on_grid, column.index)


def _starts(grid: _Grid, bins: float | Sequence[float] | None, label: str) -> list[int]:
    """Place of the first number of each bin; of each number, if there are no bins."""
    if bins is None:
        if grid.count > MAX_CARDINALITY:
            raise InvalidInput(
                f"a numeric column must have at most {MAX_CARDINALITY} values, got more; use a larger step, or bins."
            )
        return list(range(grid.count))
    if isinstance(bins, int | float):
        width = _exact(bins) / grid.step
        if width < 1 or width.denominator != 1:
            raise InvalidInput(f"the width of bins must be a whole number of steps, got {bins}: {label}.")
        if grid.count / width > MAX_CARDINALITY:
            raise InvalidInput(f"a numeric column must have at most {MAX_CARDINALITY} bins, got more: {label}.")
        return list(range(0, grid.count, int(width)))
    places = [(_exact(start) - grid.low) / grid.step for start in bins]
    found = [int(place) for place in places]
    sound = all(place.denominator == 1 and 0 <= place < grid.count for place in places)
    if not sound or found != sorted(set(found)) or len(found) > MAX_CARDINALITY:
        raise InvalidInput(
            f"bins must start at numbers of the column, ascending, and be at most {MAX_CARDINALITY}: {label}."
        )
    return sorted({0, *found})


def _numbers_become(
    grid: _Grid,
    *,
    rounding: bool | Literal["down", "up"],
    clip: bool,
    special: Sequence[float],
    starts: Sequence[int] | None,
) -> Becomes:
    """Numbers are clipped, rounded, and replaced by the first of their bin; special ones and unreadable ones stay."""

    def become(column: pd.Series) -> pd.Series:
        numbers = column.to_numpy(np.float64, na_value=np.nan).copy()
        amounts = np.isfinite(numbers) & ~np.isin(numbers, np.asarray(special, np.float64))
        found = grid.as_meant(numbers[amounts])
        if clip:
            found = np.clip(found, grid.number(0), grid.number(grid.count - 1))
        if rounding:
            place = grid.nearest(found)
            if rounding is not True:
                nearest = grid.numbers(place)
                place = place - ((nearest > found) if rounding == "down" else 0)
                place = place + ((nearest < found) if rounding == "up" else 0)
            found = np.where(grid.reaches(found), grid.numbers(np.clip(place, 0, grid.count - 1)), found)
        if starts is not None:
            place = grid.nearest(found)
            first = np.asarray(starts, np.int64)
            own = first[np.searchsorted(first, place, side="right") - 1]
            found = np.where(grid.numbers(place) == found, grid.numbers(own), found)
        numbers[amounts] = found
        return pd.Series(numbers, column.index)

    return become


def _special(also: Mapping[Any, str] | Sequence[float], grid: _Grid, label: str) -> dict[Value, str]:
    """The numbers that are not amounts, of the type of the column's values, with their labels."""
    given = dict(also) if isinstance(also, Mapping) else dict.fromkeys(also, "")
    special: dict[Value, str] = {}
    low, high = grid.number(0), grid.number(grid.count - 1)
    for code, text in given.items():
        if isinstance(code, bool) or not isinstance(code, int | float) or not isfinite(code):
            raise InvalidInput(
                f"the special codes of a numeric column must be numbers, got {code!r}; state codes that are text as "
                f"missing: {label}."
            )
        _require_text(f"the text that explains a code of the column {label!r}", text)
        if abs(code) > _LARGEST_NUMBER:
            raise InvalidInput(
                f"a special code of a numeric column must be within {-_LARGEST_NUMBER:,} to {_LARGEST_NUMBER:,}, where "
                f"numbers are read exactly, got a larger one; state it as missing: {label}."
            )
        if grid.whole and not _is_whole(code):
            raise InvalidInput(f"the special codes of a column of integers must be integers, got {code}: {label}.")
        if low <= code <= high:
            raise InvalidInput(
                f"a special code of a numeric column must be outside {low} to {high}, got {code}: {label}."
            )
        special[code if grid.whole else float(code)] = text
    return special


def _column(
    kind: Kind,
    values: Sequence[Value],
    *,
    checks: Sequence[Check],
    keys: Sequence[Hashable],
    missing: Sequence[Value],
    label: str,
    step: float = 1,
    labels: Mapping[Value, str] | None = None,
    becomes: Becomes | None = None,
    bins: Bins | None = None,
    is_boolean: bool = False,
    is_of_dates: bool = False,
    plain_number: Callable[[str], str] | None = None,
) -> Column:
    """Make a column; values with equal keys share a bucket, and buckets are numbered in order of appearance."""
    value_type = type(values[0])
    readable = [] if value_type is str else [Check(np.isfinite, name="number")]
    return Column(
        checks=[*readable, *checks],
        nullable=True,
        title=label,
        metadata={
            "kind": kind,
            "type": value_type,
            "values": tuple(values),
            "buckets": _numbered(keys),
            "missing": tuple(missing),
            "missing_as": None,
            "absent": None,
            "is_boolean": is_boolean,
            "is_of_dates": is_of_dates,
            "plain_number": plain_number,
            "step": step,
            "labels": {value: text for value, text in (labels or {}).items() if text},
            # Groups of codes and dates are made of text.
            "reads": str if becomes is not None and kind != "numeric" else value_type,
            "becomes": becomes,
            "by_code": becomes is not None and kind != "numeric",
            "bins": bins,
        },
    )


def _again(column: Column, metadata: dict[str, Any], also: Value | None = None) -> Column:
    """The same column with other metadata, whose checks accept one value more if one is given."""
    checks = list(column.checks)
    if also is not None:
        checks = [
            Check.isin([*check.statistics["allowed_values"], also])
            if check.name == "isin"
            else check
            if check.name == "number"
            else Check(_or_among(_test_of(check), (also,)), name=check.name)
            for check in checks
        ]
    return Column(checks=checks, nullable=True, title=column.title, metadata=metadata)


def _test_of(check: Check) -> Callable[[pd.Series], pd.Series]:
    """What a check of a range or a grid tests of a whole column."""
    statistics = check.statistics or {}
    if "min_value" in statistics:
        return lambda column: (column >= statistics["min_value"]) & (column <= statistics["max_value"])
    test: Callable[[pd.Series], pd.Series] = check._check_fn  # noqa: SLF001 - our own function, which it wraps
    return test


def _or_among(test: Callable[[pd.Series], pd.Series], codes: Iterable[Value]) -> Callable[[pd.Series], pd.Series]:
    """The same test, which given values always pass."""
    passing = list(codes)
    return lambda column: test(column) | column.isin(passing)


def _exact(number: float) -> Fraction:
    """A number as written: .1 is a tenth."""
    return Fraction(str(number))


def _is_whole(number: object) -> bool:
    return isinstance(number, int | np.integer) and not isinstance(number, bool)


def _is_inside(value: Any, values: Sequence[Any], bins: Bins) -> bool:
    """Whether a number lies in a bin."""
    return any(first <= value <= last for first, last in zip(values, bins.last, strict=True))


def _number(row: tuple[Any, ...]) -> float:
    return float(row[0])


def _numbered(keys: Sequence[Hashable]) -> tuple[int, ...]:
    """Numbers of keys, in order of appearance."""
    number: dict[Hashable, int] = {}
    return tuple(number.setdefault(key, len(number)) for key in keys)


def _taken(texts: Sequence[Any], codes: NDArray[np.int64]) -> Any:
    """Texts by their number; null for -1."""
    return pd.array(list(texts), dtype="str").take(codes, allow_fill=True)


def _day(text: object, label: str) -> pd.Timestamp:
    """A day that a schema states."""
    try:
        day = pd.Timestamp(text) if isinstance(text, str) else None
    except ValueError:
        day = None
    if day is None or pd.isna(day) or day.tz is not None or day != day.normalize():
        raise InvalidInput(f"the first and last day of a date must be days such as 2019-01-31, got {text!r}: {label}.")
    return day


def times_of(texts: Iterable[Any], written: str | None) -> pd.Series:
    """Dates and times as written, without offsets from UTC; null for anything else."""
    if written is not None and written in _COUNTED:
        unit, origin = _COUNTED[written]
        counts = pd.to_numeric(pd.Series(list(texts), dtype=object), errors="coerce")
        sane = counts.where(counts.abs() <= _MOST_COUNTED[unit])
        return pd.to_datetime(sane, unit=unit, origin=origin, errors="coerce")
    if written is not None and "%z" in written:
        return pd.Series([_local_time(text, written) for text in texts], dtype="datetime64[us]")
    plain = [_OFFSET.sub(r"\1", str(text)) for text in texts]
    read = pd.to_datetime(pd.Series(plain, dtype=object), format=written or "ISO8601", errors="coerce", utc=True)
    return read.dt.tz_localize(None)


def _local_time(text: object, written: str) -> datetime | None:
    """The local time that a text states; None if it states none."""
    try:
        return datetime.strptime(str(text), written).replace(tzinfo=None)  # noqa: DTZ007 - the offset is left out
    except ValueError:
        return None


def periods_of(days: pd.Series, by: Period) -> pd.Series:
    """The day, month, quarter or year of dates, as text."""
    if by == "quarter":
        return days.dt.strftime("%Y-Q") + days.dt.quarter.astype(str)
    return days.dt.strftime({"day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}[by])


def _require_text(what: str, text: object) -> None:
    """Refuse a text that pages cannot show."""
    if fault := fault_of_line(text):
        raise InvalidInput(f"{what} {fault}.")


def _require_value(value: object, label: str) -> None:
    """Refuse a value that cannot be read exactly, or would be misread by a spreadsheet."""
    if isinstance(value, str):
        fault = fault_of_cell(value)
    elif not isinstance(value, int | float):
        fault = f"must be text or numbers, got {type(value).__name__}; write it as one of them"
    else:
        exact = -_LARGEST_NUMBER <= value <= _LARGEST_NUMBER
        fault = None if exact else f"must be numbers of at most {_LARGEST_NUMBER:,}, got another; write it as text"
    if fault is not None:
        raise InvalidInput(f"the values of a column {fault}: {label}.")


def _types(values: Iterable[Value]) -> str:
    """Names of the types of some values."""
    return " and ".join(sorted({type(value).__name__ for value in values})) or "no value"
