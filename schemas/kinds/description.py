"""The description of a column: what it reads, which values it has, in which order, and what is tested.

Each kind of column makes a `Description`; pandera's column holds it, and its checks follow from it. How to add a kind:
docs/developer/adding-a-kind-of-column.md.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd
from pandera.pandas import Check, Column

from deniable.foundation.domain import Bins, Kind, Value
from deniable.foundation.errors import InvalidInput

Becomes: TypeAlias = Callable[[pd.Series], pd.Series]
"""Turns the source's contents into values of a column, one by one; null stays null."""
Test: TypeAlias = Callable[[pd.Series], pd.Series]
"""Whether each entry of a column passes; null is not tested."""

IDENTIFIER: Literal["identifier"] = "identifier"
FREE_TEXT: Literal["free text"] = "free text"

RELEASED: Mapping[str, Kind] = {"nominal": "nominal", "ordered": "ordered", "numeric": "numeric"}
"""The kinds of attributes of a release."""

_HELD = "description"


@dataclass(frozen=True, kw_only=True)
class Description:
    """All that a schema states about a column, whichever kind it is of.

    Attributes:
        kind: how learners and pages treat its values; an identifier and free text are never released.
        label: its description, for readers.
        values: its values in public order, all of one type; none for a column that is never released.
        buckets: number of the bucket of each value when the column is a parent.
        bins: the bins of numbers, if there are any; `values` are then the first of each.
        labels: the meaning of values, for readers.
        missing: the source's codes for missing values.
        missing_as: the value of rows in which it is missing; None if these rows are left out.
        absent: this value, if released tables have nothing in its place.
        plain_number: turns a text of the source into a plain number, before it is read; None if it is one.
        becomes: turns what was read into values; None if that is a value already, or no value.
        tests: what every entry must pass afterwards, by the name of the misfit; None if it must be one of the values.
        passing: values that pass these tests all the same.
        step: distance between neighbouring numbers.
        is_boolean: whether its values are false and true.
        is_of_dates: whether its values are periods of dates.
    """

    kind: Kind | Literal["identifier", "free text"]
    label: str = ""
    values: tuple[Value, ...] = ()
    buckets: tuple[int, ...] = ()
    bins: Bins | None = None
    labels: Mapping[Value, str] = field(default_factory=dict)
    missing: tuple[Value, ...] = ()
    missing_as: Value | None = None
    absent: Value | None = None
    plain_number: Callable[[str], str] | None = None
    becomes: Becomes | None = None
    tests: Mapping[str, Test] | None = None
    passing: tuple[Value, ...] = ()
    step: float = 1
    is_boolean: bool = False
    is_of_dates: bool = False

    @property
    def is_released(self) -> bool:
        """Whether it may be an attribute of a release."""
        return self.kind in RELEASED

    @property
    def released_kind(self) -> Kind:
        """The kind of an attribute.

        Raises:
            ValueError: it is never released.
        """
        if self.kind in RELEASED:
            return RELEASED[self.kind]
        raise ValueError(f"a column of the kind {self.kind} is no attribute")

    @property
    def value_type(self) -> type:
        """The type of its values; text if it has none."""
        return type(self.values[0]) if self.values else str

    @property
    def by_code(self) -> bool:
        """Whether its values are made of the texts of codes or dates."""
        return self.becomes is not None and self.kind != "numeric"

    @property
    def read_as(self) -> type:
        """The type as which the source's column is read."""
        return str if self.by_code else self.value_type

    def checks(self) -> list[Check]:
        """Its checks, in the order in which misfits are counted."""
        if not self.is_released:
            return []
        numbers = [] if self.value_type is str else [Check(np.isfinite, name="number")]
        if self.tests is None:
            return [*numbers, Check.isin(list(self.values))]
        return [*numbers, *(Check(_or_among(test, self.passing), name=name) for name, test in self.tests.items())]


def column_of(description: Description) -> Column:
    """The column of a schema that holds a description."""
    return Column(checks=description.checks(), nullable=True, title=description.label, metadata={_HELD: description})


def described(column: Column, name: str = "") -> Description:
    """The description that a column holds.

    Args:
        column: the column.
        name: its name, for the message.

    Raises:
        InvalidInput: no function of `schemas.table` has made it.
    """
    description = (column.metadata or {}).get(_HELD)
    if not isinstance(description, Description):
        raise InvalidInput(f"column {name} must be described by schemas.table.nominal or numeric, or as another kind.")
    return description


def numbered(keys: Sequence[Hashable]) -> tuple[int, ...]:
    """Numbers of keys, in order of appearance: values with equal keys share a bucket."""
    number: dict[Hashable, int] = {}
    return tuple(number.setdefault(key, len(number)) for key in keys)


def _or_among(test: Test, passing: Sequence[Value]) -> Test:
    """The same test, which given values always pass."""
    return (lambda column: test(column) | column.isin(list(passing))) if passing else test
