"""Rules in a table schema, from a codebook: which combinations of values may occur.

Each function states a rule; `schemas.table.table` takes them as `rules`. A rule must name the public document that
states it, and is never learnt from data. Values are given as one value, as several, or as a function that is true for
them, such as `lambda age: age < 16`. All records of a release satisfy all rules; rows of the source that violate one
are invalid. Rules are defined in `deniable.foundation.rules`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice, product
from typing import Any, TypeAlias

from deniable.foundation.domain import Value
from deniable.foundation.errors import InvalidInput
from deniable.foundation.rules import (
    MOST_COMBINATIONS,
    Condition,
    Derived,
    Impossible,
    Order,
    PublicTotal,
    Required,
    Rule,
    Skip,
)
from schemas.plain_text import fault_of_line

Values: TypeAlias = Value | Collection[Value] | Callable[[Any], bool]
Columns: TypeAlias = Mapping[str, tuple[Value, ...]]
"""The values of each column, in public order."""


class DescribedColumns(dict[str, tuple[Value, ...]]):
    """The values of each column, and the value that stands for a missing one.

    Attributes:
        missing: that value of each column that has one.
    """

    def __init__(self, values: Mapping[str, tuple[Value, ...]], missing: Mapping[str, Value]) -> None:
        super().__init__(values)
        self.missing = dict(missing)


Statement: TypeAlias = Callable[[Columns], Rule]
"""A rule as a schema states it; it becomes one when the columns are known."""
TotalStatement: TypeAlias = Callable[[Columns], PublicTotal]


def impossible(when: Mapping[str, Values], *, source: str) -> Statement:
    """State that a combination never occurs, such as a married child.

    Args:
        when: columns, each with its values.
        source: the public document that states it.
    """
    return lambda columns: Impossible(_source(source), _chosen(when, columns))


def required(when: Mapping[str, Values], then: Mapping[str, Values], *, source: str) -> Statement:
    """State which values must occur where others do.

    Args:
        when: columns, each with the values that are the condition.
        then: columns, each with the values of which one must occur.
        source: the public document that states it.
    """
    return lambda columns: Required(_source(source), _chosen(when, columns), _chosen(then, columns))


def skipped(columns: Mapping[str, Values], *, when: Mapping[str, Values] | None = None, source: str) -> Statement:
    """State a skip pattern: columns that are inapplicable exactly where a condition holds, or all or none of them are.

    Args:
        columns: columns, each with the values that mean inapplicable.
        when: columns, each with the values that are the condition; without it, the columns are inapplicable all
            together or not at all.
        source: the public document that states it.
    """
    return lambda known: Skip(_source(source), _chosen(columns, known), _chosen(when or {}, known))


def at_most(
    lesser: str, greater: str, *, strict: bool = False, unless: Mapping[str, Values] | None = None, source: str
) -> Statement:
    """State that one value never comes after another: a part and its total, or the start and the end of a stay.

    Both columns are numbers, dates by the same period, or ordered with the same values. Missing values are exempt.

    Args:
        lesser: the column of the smaller number, or of the earlier date.
        greater: the column of the greater number, or of the later date.
        strict: whether the two must differ.
        unless: further values of either column that are exempt, such as codes for inapplicable.
        source: the public document that states it.
    """

    def rule(columns: Columns) -> Rule:
        missing = columns.missing if isinstance(columns, DescribedColumns) else {}
        stated = dict(_chosen(unless or {}, columns))
        exempt = {
            name: tuple(dict.fromkeys((*stated.get(name, ()), *([missing[name]] if name in missing else []))))
            for name in dict.fromkeys((*stated, lesser, greater))
        }
        return Order(
            _source(source), lesser, greater, strict, tuple((name, own) for name, own in exempt.items() if own)
        )

    return rule


def dependency(coarse: str, of: str, values: Mapping[Any, Value] | Callable[[Any], Value], *, source: str) -> Statement:
    """State that one column follows from another, such as a county from its tracts.

    Args:
        coarse: the column that follows.
        of: the column that it follows from.
        values: the value of `coarse` for each value of `of`.
        source: the public document that states it.
    """
    found = values if callable(values) else values.get
    return derived(coarse, [of], found, source=source)


def derived(column: str, of: Sequence[str], value: Callable[..., Value | None], *, source: str) -> Statement:
    """State that a column is computed from others.

    It is computed from drawn records at the end, and no budget is spent on it. At most 262,144 combinations of values
    can determine it.

    Args:
        column: the column that is computed.
        of: the columns that it is computed from.
        value: its value, given one value of each. Combinations for which that is none of its values never occur.
        source: the public document that states it.
    """

    def rule(columns: Columns) -> Rule:
        known = {each: each for each in _values(column, columns)}
        combinations = product(*(_values(name, columns) for name in of))
        found = tuple(_known(known, value(*given)) for given in islice(combinations, MOST_COMBINATIONS + 1))
        return Derived(_source(source), column, tuple(of), found)

    return rule


def public_total(records: int, *, source: str) -> TotalStatement:
    """State the number of records of the whole table.

    Args:
        records: the number.
        source: the public document that states it.
    """
    return lambda _: PublicTotal(_source(source), None, (_count(records),))


def public_counts(column: str, counts: Mapping[Any, int], *, source: str) -> TotalStatement:
    """State how many records of the whole table have each value of a column.

    Args:
        column: the column.
        counts: the number for each of its values.
        source: the public document that states them.
    """

    def total(columns: Columns) -> PublicTotal:
        values = _values(column, columns)
        if set(counts) != set(values):
            raise InvalidInput(
                f"public counts must be given for each value of {column}, and for no other; correct them."
            )
        return PublicTotal(_source(source), column, tuple(_count(counts[value]) for value in values))

    return total


def _known(values: Mapping[Value, Value], value: Value | None) -> Value | None:
    return None if value is None else values.get(value)


def _source(source: object) -> str:
    if fault := fault_of_line(source):
        raise InvalidInput(f"the source of a rule {fault}.")
    return str(source)


def _count(count: object) -> int:
    if not isinstance(count, int) or isinstance(count, bool):
        raise InvalidInput(f"a public count must be an integer, got one of the type {type(count).__name__}.")
    return count


def _values(name: str, columns: Columns) -> tuple[Value, ...]:
    if name not in columns:
        raise InvalidInput(
            f"a rule must be about columns of the table, got {name}; the columns are {', '.join(columns)}."
        )
    return columns[name]


def _chosen(given: Mapping[str, Values], columns: Columns) -> Condition:
    """The given values of each column, in public order."""
    return tuple((name, _meant(values, _values(name, columns), name)) for name, values in given.items())


def _meant(meant: Values, values: tuple[Value, ...], name: str) -> tuple[Value, ...]:
    if callable(meant):
        return tuple(value for value in values if meant(value))
    listed = [meant] if isinstance(meant, str | int | float) else list(meant)
    unknown = [value for value in listed if value not in values]
    # A range may go beyond the values, but a value that is listed must be one of them.
    if unknown and not isinstance(meant, range):
        raise InvalidInput(
            f"a rule must have values of {name}, got {unknown[0]!r}, which it does not have; correct it."
        )
    return tuple(value for value in values if value in listed)
