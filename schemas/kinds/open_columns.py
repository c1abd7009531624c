"""Columns that a schema names and does not describe yet, because no codebook states their values or their range."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from deniable.foundation.domain import Value


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
