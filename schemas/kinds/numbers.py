"""Columns of numbers from a lowest to a highest, possibly in bins, with codes that are no amounts."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Literal

import numpy as np
import pandas as pd
from pandera.pandas import Column

from deniable.foundation.domain import MAX_CARDINALITY, Bins, Value
from deniable.foundation.errors import InvalidInput
from schemas.kinds.description import Becomes, Description, column_of, numbered
from schemas.kinds.grid import Grid, as_written, is_whole
from schemas.kinds.missing import with_missing_as
from schemas.kinds.values import LARGEST_NUMBER, require_text
from schemas.written_forms import plain_number


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
    require_text("the label of a column", label)
    if not max(abs(low), abs(high)) <= LARGEST_NUMBER:
        raise InvalidInput(
            f"a numeric column must be within {-LARGEST_NUMBER:,} to {LARGEST_NUMBER:,}, where numbers are read "
            f"exactly, got a larger bound: {label}."
        )
    grid = Grid.of(low, high, step)
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
        keys = [(as_written(value) - grid.low) // as_written(width) for value in values]
    elif edges is not None:
        keys = np.searchsorted(edges, values, side="right").tolist()
    else:
        keys = list(values)
    special = _special(also, grid, label)
    lasts = [grid.number(after - 1) for after in (*starts[1:], grid.count)]
    named = special | {value: f"to {last}" for value, last in zip(values, lasts, strict=True) if last != value}
    # Each value, the last number of its bin, and the key of its bucket, in the order of the numbers.
    of_amounts = zip(values, lasts, keys, strict=True)
    of_codes = ((code, code, ("also", code)) for code in special)
    everything: list[tuple[Any, Any, Any]] = sorted([*of_amounts, *of_codes], key=_number)
    column = column_of(
        Description(
            kind="numeric",
            label=label,
            values=tuple(value for value, _, _ in everything),
            buckets=numbered([key for _, _, key in everything]),
            tests={"in_range": lambda column: (column >= low) & (column <= high), f"steps_of_{step}": grid.holds},
            passing=tuple(special),
            missing=tuple(missing),
            step=step,
            labels={value: text for value, text in named.items() if text},
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
    )
    return column if missing_as is None else with_missing_as(column, missing_as)


def _starts(grid: Grid, bins: float | Sequence[float] | None, label: str) -> list[int]:
    """Place of the first number of each bin; of each number, if there are no bins."""
    if bins is None:
        if grid.count > MAX_CARDINALITY:
            raise InvalidInput(
                f"a numeric column must have at most {MAX_CARDINALITY} values, got more; use a larger step, or bins."
            )
        return list(range(grid.count))
    if isinstance(bins, int | float):
        width = as_written(bins) / grid.step
        if width < 1 or width.denominator != 1:
            raise InvalidInput(f"the width of bins must be a whole number of steps, got {bins}: {label}.")
        if grid.count / width > MAX_CARDINALITY:
            raise InvalidInput(f"a numeric column must have at most {MAX_CARDINALITY} bins, got more: {label}.")
        return list(range(0, grid.count, int(width)))
    places = [(as_written(start) - grid.low) / grid.step for start in bins]
    found = [int(place) for place in places]
    sound = all(place.denominator == 1 and 0 <= place < grid.count for place in places)
    if not sound or found != sorted(set(found)) or len(found) > MAX_CARDINALITY:
        raise InvalidInput(
            f"bins must start at numbers of the column, ascending, and be at most {MAX_CARDINALITY}: {label}."
        )
    return sorted({0, *found})


def _numbers_become(
    grid: Grid,
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


def _special(also: Mapping[Any, str] | Sequence[float], grid: Grid, label: str) -> dict[Value, str]:
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
        require_text(f"the text that explains a code of the column {label!r}", text)
        if abs(code) > LARGEST_NUMBER:
            raise InvalidInput(
                f"a special code of a numeric column must be within {-LARGEST_NUMBER:,} to {LARGEST_NUMBER:,}, where "
                f"numbers are read exactly, got a larger one; state it as missing: {label}."
            )
        if grid.whole and not is_whole(code):
            raise InvalidInput(f"the special codes of a column of integers must be integers, got {code}: {label}.")
        if low <= code <= high:
            raise InvalidInput(
                f"a special code of a numeric column must be outside {low} to {high}, got {code}: {label}."
            )
        special[code if grid.whole else float(code)] = text
    return special


def _number(row: tuple[Any, ...]) -> float:
    return float(row[0])
