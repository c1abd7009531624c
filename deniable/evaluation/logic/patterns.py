"""A pattern that all real records of a table satisfy, in words and as the line of a schema that would state it.

Patterns are those that schemas can state as rules: impossible combinations, orders, skip patterns, dependencies and
sums (`schemas.rules`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Attribute, Domain

Kind: TypeAlias = Literal["impossible", "order", "dependency", "skip", "sum"]

_SHOWN: Final = 6
_SOURCE: Final = 'source="..."'
_FEW: Final = 3


@dataclass(frozen=True, eq=False)
class Pattern:
    """A pattern of two attributes, or the sum of two numbers.

    Attributes:
        kind: what it is.
        columns: its attributes: those of an impossible combination; the lesser and the greater number; the attribute
            that follows and the one that it follows from; the one that is skipped and the one that decides; two terms
            and their sum.
        allowed: for a table of two attributes, which combinations satisfy it, shape (values, values); None for a sum.
        values: of an impossible combination or a skip pattern, the codes of either attribute's values.
        expected: the number of real records that would break it if the attributes were independent.
    """

    kind: Kind
    columns: tuple[int, ...]
    allowed: NDArray[np.bool_] | None
    expected: float
    values: tuple[tuple[int, ...], ...] = ()

    def words(self, domain: Domain) -> str:
        """The pattern as a sentence without a full stop."""
        names = [domain.names[column] for column in self.columns]
        if self.kind == "order":
            return f"{names[0]} is at most {names[1]}"
        if self.kind == "dependency":
            return f"{names[0]} follows from {names[1]}"
        if self.kind == "sum":
            return f"{names[2]} is the sum of {names[0]} and {names[1]}"
        one, other = (
            f"{name} is {_in_words(domain.attributes[column], codes)}"
            for name, column, codes in zip(names, self.columns, self.values, strict=True)
        )
        return f"{one} if and only if {other}" if self.kind == "skip" else f"it never occurs that {one} and {other}"

    def line(self, domain: Domain) -> str:
        """The line of a schema that states it; the source is left to the public document that does."""
        names = [domain.names[column] for column in self.columns]
        if self.kind == "order":
            return f'at_most("{names[0]}", "{names[1]}", {_SOURCE})'
        if self.kind == "sum":
            return f'derived("{names[2]}", ["{names[0]}", "{names[1]}"], lambda a, b: a + b, {_SOURCE})'
        if self.kind == "dependency":
            return f'dependency("{names[0]}", "{names[1]}", {self._mapping(domain)}, {_SOURCE})'
        chosen = [
            f'"{name}": {_chosen(domain.attributes[column], codes)}'
            for name, column, codes in zip(names, self.columns, self.values, strict=True)
        ]
        if self.kind == "skip":
            return f"skipped({{{chosen[0]}}}, when={{{chosen[1]}}}, {_SOURCE})"
        return f"impossible({{{', '.join(chosen)}}}, {_SOURCE})"

    def _mapping(self, domain: Domain) -> str:
        """The beginning of the values of an attribute by those from which they follow."""
        assert self.allowed is not None  # noqa: S101 - a dependency is of two attributes
        coarse, fine = (domain.attributes[column] for column in self.columns)
        known = np.flatnonzero(self.allowed.sum(axis=0) == 1)
        pairs = [
            f"{_plain(fine.values[code])!r}: {_plain(coarse.values[int(np.argmax(self.allowed[:, code]))])!r}"
            for code in known[:_SHOWN].tolist()
        ]
        return "{" + ", ".join([*pairs, *(["..."] if len(known) > _SHOWN else [])]) + "}"


def _plain(value: object) -> object:
    """A value; a whole number without decimals."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _ends(attribute: Attribute, codes: Sequence[int]) -> tuple[str, object] | None:
    """The comparison that gives all values up to one, or from one on, if it does; None otherwise."""
    last = attribute.cardinality - 1
    values = attribute.values
    is_plain = attribute.kind == "numeric" and attribute.missing is None and len(codes) > 1
    if not is_plain or list(codes) != list(range(codes[0], codes[-1] + 1)):
        return None
    if codes[0] == 0:
        return "<=", values[codes[-1]]
    return (">=", values[codes[0]]) if codes[-1] == last else None


def _in_words(attribute: Attribute, codes: Sequence[int]) -> str:
    ends = _ends(attribute, codes)
    if ends is not None:
        return f"{'at most' if ends[0] == '<=' else 'at least'} {_plain(ends[1])}"
    values = [str(_plain(attribute.values[code])) for code in codes]
    if len(values) <= _FEW:
        return " or ".join(values)
    return f"one of {len(values)} values such as {values[0]}"


def _chosen(attribute: Attribute, codes: Sequence[int]) -> str:
    """Values of an attribute, as a schema chooses them."""
    ends = _ends(attribute, codes)
    if ends is not None:
        return f"lambda value: value {ends[0]} {_plain(ends[1])!r}"
    values = [repr(_plain(attribute.values[code])) for code in codes]
    if len(values) == 1:
        return values[0]
    return "[" + ", ".join([*values[: 2 * _SHOWN], *(["..."] if len(values) > 2 * _SHOWN else [])]) + "]"
