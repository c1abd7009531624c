"""Columns of dates, of which a period is released."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias

import pandas as pd
from pandera.pandas import Column

from deniable.foundation.domain import MAX_CARDINALITY, Value
from deniable.foundation.errors import InvalidInput
from schemas.kinds.description import Description, column_of, numbered
from schemas.kinds.missing import with_missing_as
from schemas.kinds.values import UNREADABLE_TEXT, require_text, taken

Period: TypeAlias = Literal["day", "month", "quarter", "year"]

# The offset from UTC after a time, which follows a T or a blank.
_OFFSET = re.compile(r"^(\S+[T ]\d{2}\S*?)\s?(?:Z|[+-]\d{2}(?::?\d{2})?)$")
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
    require_text("the label of a column", label)
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
        return pd.Series(taken(texts.to_list(), codes), column.index)

    listed = values.to_list()
    column = column_of(
        Description(
            kind="ordered",
            label=label,
            values=tuple(listed),
            buckets=numbered(keys.to_list()),
            missing=tuple(missing),
            becomes=become,
            is_of_dates=True,
        )
    )
    return column if missing_as is None else with_missing_as(column, missing_as)


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
