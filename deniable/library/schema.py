"""The public description of a table, from a release's `schema.json` or from kinds of columns.

Nothing here may be learnt from the confidential table: a domain that depends on the data discloses it.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from deniable.folder_on_disk import open_regular
from deniable.foundation.domain import TRUTH_VALUES, Attribute, Bins, Domain, Kind, Value
from deniable.foundation.errors import InvalidInput
from deniable.foundation.strict_json import parsed
from deniable.record.schema_document import describe_domain

_LARGEST_FILE = 1 << 28


@dataclass(frozen=True)
class Nominal:
    """Names without an order.

    Attributes:
        values: every value that the column may have.
        missing: the word that stands for a missing value, which is then allowed; None if none may be missing.
    """

    values: Sequence[Value]
    missing: str | None = None


@dataclass(frozen=True)
class Ordered:
    """Names in a meaningful order.

    Attributes:
        values: every value that the column may have, from the lowest to the highest.
        missing: the word that stands for a missing value, which is then allowed; None if none may be missing.
    """

    values: Sequence[Value]
    missing: str | None = None


@dataclass(frozen=True)
class Numeric:
    """Numbers from a lowest to a highest.

    Attributes:
        low: the lowest number.
        high: the highest number.
        step: the distance between neighbouring numbers; a decimal fraction such as 0.5 is taken exactly.
        width: how many neighbouring numbers are counted together, in one bin; records have numbers from within bins.
    """

    low: float
    high: float
    step: float = 1
    width: int = 1


Column: TypeAlias = "Nominal | Ordered | Numeric | range | Sequence[Value]"
"""A kind of column; a range stands for numbers, and a list for names without an order."""


class Schema:
    """The columns of a table and their possible values, which are public.

    Args:
        columns: the kind of each column, by its name.
        target: a column that others are to predict; only stated.

    Raises:
        InvalidInput: a column cannot have these values.
    """

    def __init__(self, columns: Mapping[str, Column], *, target: str | None = None) -> None:
        if not isinstance(columns, Mapping):
            raise InvalidInput(
                f"a schema is made of a mapping from names to kinds of columns, and this is a "
                f"{type(columns).__name__}; read a file with deniable.Schema.read."
            )
        self._domain = Domain(tuple(_attribute(name, kind) for name, kind in columns.items()), target=target)
        self._domain.require_narrow("the library")
        self._described = describe_domain(self._domain, {}, {})

    @classmethod
    def read(cls, path: "str | os.PathLike[str]") -> "Schema":
        """Read a `schema.json`, as every release has one.

        Args:
            path: the file.

        Raises:
            InvalidInput: it cannot be read, or does not describe a table.
        """
        try:
            with open_regular(os.fspath(path)) as file:
                text = file.read(_LARGEST_FILE).decode()
        except (OSError, UnicodeDecodeError):
            raise InvalidInput(f"the schema must be a readable file of JSON, got {path}; name another.") from None
        return cls.from_document(parsed(text, os.fspath(path)))

    @classmethod
    def from_document(cls, document: Any) -> "Schema":
        """Take the contents of a `schema.json`.

        Args:
            document: the contents.

        Raises:
            InvalidInput: it does not describe a table.
        """
        try:
            domain = Domain.from_document(document)
        except InvalidInput:
            raise
        except (LookupError, TypeError, ValueError, AttributeError):
            raise InvalidInput(
                "a schema must have the form of a release's schema.json, and this has not; see the reference, or "
                "give kinds of columns to deniable.Schema."
            ) from None
        domain.require_narrow("the library")
        schema = cls.__new__(cls)
        schema._domain, schema._described = domain, document  # noqa: SLF001 - the class's own
        return schema

    @property
    def domain(self) -> Domain:
        """The attributes with their values in the order of their codes."""
        return self._domain

    @property
    def document(self) -> dict[str, Any]:
        """The contents of the schema's `schema.json`."""
        copy: dict[str, Any] = json.loads(json.dumps(self._described))
        return copy

    def __repr__(self) -> str:
        """The columns with the number of their values."""
        return f"Schema({', '.join(f'{each.name}: {each.cardinality}' for each in self._domain.attributes)})"


def _attribute(name: str, column: Column) -> Attribute:
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"a column must be named by a text, and one is named {name!r}; name it.")
    if isinstance(column, range):
        if len(column) == 0 or column.step < 1:
            raise InvalidInput(f"the range of column {name} must go up and not be empty, got {column}.")
        column = Numeric(column[0], column[-1], column.step)
    if isinstance(column, Numeric):
        return _numeric(name, column)
    if isinstance(column, Nominal | Ordered):
        kind: Kind = "ordered" if isinstance(column, Ordered) else "nominal"
        return _named(name, kind, column.values, column.missing)
    if isinstance(column, list | tuple):
        return _named(name, "nominal", column, None)
    raise InvalidInput(
        f"column {name} must be a list of values, a range of numbers, or one of deniable.Nominal, deniable.Ordered and "
        f"deniable.Numeric, and is a {type(column).__name__}."
    )


def _named(name: str, kind: Kind, values: Sequence[Value], missing: str | None) -> Attribute:
    if isinstance(values, str) or not all(isinstance(value, str | int | bool) for value in values):
        raise InvalidInput(f"the values of column {name} must be a list of names; list every one that it may have.")
    is_boolean = set(map(type, values)) == {bool}
    listed: tuple[Value, ...] = tuple(sorted(TRUTH_VALUES)) if is_boolean else tuple(values)
    if missing is not None:
        listed = (*listed, missing)
    return Attribute(
        name=name,
        values=listed,
        kind=kind,
        buckets=tuple(range(len(listed))),
        missing=missing,
        is_boolean=is_boolean,
    )


def _numeric(name: str, column: Numeric) -> Attribute:
    try:
        low, high, step = (Fraction(str(number)) for number in (column.low, column.high, column.step))
    except ValueError:
        raise InvalidInput(f"the ends and the step of column {name} must be numbers; correct them.") from None
    if step <= 0 or high < low or (high - low) % step != 0 or type(column.width) is not int or column.width < 1:
        raise InvalidInput(
            f"the numbers of column {name} must go from the lowest to the highest in whole steps, and a bin must have "
            f"at least one, got {column.low:g} to {column.high:g} by {column.step:g}, {column.width} in a bin."
        )
    count = int((high - low) / step) + 1
    is_whole = all(isinstance(number, int) for number in (column.low, column.high, column.step))
    written = int if is_whole else float
    first = range(0, count, column.width)
    values = tuple(written(low + step * place) for place in first)
    last = tuple(written(low + step * min(place + column.width - 1, count - 1)) for place in first)
    return Attribute(
        name=name,
        values=values,
        kind="numeric",
        buckets=tuple(range(len(values))),
        bins=None if column.width == 1 else Bins(last, written(step)),
    )
