"""Columns of names or codes: nominal ones, and ordered ones from the lowest to the highest."""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from pandera.pandas import Column

from deniable.foundation.domain import Kind, Value
from deniable.foundation.errors import InvalidInput
from schemas.kinds.description import Becomes, Description, column_of, numbered
from schemas.kinds.missing import with_missing_as
from schemas.kinds.values import UNREADABLE, UNREADABLE_TEXT, require_text, require_value, taken
from schemas.written_forms import with_zeros

Groups: TypeAlias = Mapping[Any, Any] | Callable[[Any], Any]
"""The group of a code or of a value: a table, or a function."""

_MOST_DIGITS = 40


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
    require_text("the label of a column", label)
    if len({type(value) for value in listed}) != 1:
        raise InvalidInput(f"the values of a column must be of one type, got {_types(listed)}: {label}.")
    for value in listed:
        require_value(value, label)
    explained = dict(values) if isinstance(values, Mapping) else {}
    for text in explained.values():
        require_text(f"the text that explains a value of the column {label!r}", text)
    if digits is not None and not (type(digits) is int and 1 <= digits <= _MOST_DIGITS):
        raise InvalidInput(f"codes must have 1 to {_MOST_DIGITS} digits, got {digits!r}: {label}.")
    if digits is not None and not isinstance(listed[0], str) and by is None:
        raise InvalidInput(f"codes whose zeros are restored must be text, such as '00501', got numbers: {label}.")
    own = by or (_themselves(listed) if other is not None or digits is not None or any_case else None)
    if any_case and own is not None:
        own = _in_any_case(own, label)
    column = column_of(
        Description(
            kind=kind,
            label=label,
            values=listed,
            buckets=numbered(_bucket_keys(listed, buckets, label)),
            labels={value: text for value, text in explained.items() if text},
            missing=tuple(missing),
            becomes=None if own is None else groups_become(own, listed, other, digits),
        )
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


def groups_become(
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
            return pd.Series(taken(listed, codes), column.index)
        return pd.Series(np.append(np.asarray(listed, np.float64), np.nan)[codes], column.index)

    return become


def _types(values: Iterable[Value]) -> str:
    """Names of the types of some values."""
    return " and ".join(sorted({type(value).__name__ for value in values})) or "no value"
