"""The common form of codebooks of all formats: variables, with values as text.

The description of a variable in a schema does not belong here (schemas.codebooks.settling).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "nominal", "ordered", "numeric", "boolean", "date", "time", "identifier", "person", "text", "icd9", "icd10"
]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One value of a variable, or one range of numbers.

    Attributes:
        value: the value as written; for a range, its lower end.
        high: the upper end of a range; None if the entry is one value.
        label: its meaning; empty if not stated.
    """

    value: str
    high: str | None = None
    label: str = ""


@dataclass(frozen=True)
class Place:
    """Where a variable is in a line of text without separators.

    Attributes:
        start: the position of its first character, from 1.
        width: the number of its characters.
        decimals: how many of its last digits are decimals, if no decimal point is written.
    """

    start: int
    width: int
    decimals: int = 0


@dataclass(frozen=True, kw_only=True)
class Variable:
    """A variable as a codebook describes it.

    Attributes:
        name: its name.
        kind: the kind of its values; None if not stated.
        label: its description.
        entries: its values and ranges, in the codebook's order.
        missing: codes for missing values.
        also: values besides a range of numbers that are not amounts, such as `-1` for inapplicable.
        step: the distance between neighbouring numbers; None if not stated.
        whole: whether numbers are integers; None if not stated.
        pattern: the form of a date, in the notation of `strptime`; None if not stated.
        place: where it is in a line of text without separators; None if not stated.
    """

    name: str
    kind: Kind | None = None
    label: str = ""
    entries: tuple[Entry, ...] = ()
    missing: tuple[str, ...] = ()
    also: tuple[Entry, ...] = ()
    step: Decimal | None = None
    whole: bool | None = None
    pattern: str | None = None
    place: Place | None = None

    def completed_by(self, other: "Variable") -> "Variable":
        """Merge the description from another codebook, which takes precedence.

        A range completes labels of single values, such as those of special codes.
        """
        stated = {
            name: value
            for name in ("kind", "label", "entries", "missing", "also", "step", "whole", "pattern", "place")
            if (value := getattr(other, name)) not in (None, "", ())
        }
        if other.entries and all(entry.high is not None for entry in other.entries):
            stated["entries"] = (*other.entries, *(entry for entry in self.entries if entry.high is None))
        return replace(self, **stated)


@dataclass
class Codebook:
    """A codebook.

    Attributes:
        variables: its variables by name, in its order.
        faults: its faults, a sentence each.
    """

    variables: dict[str, Variable] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def add(self, variable: Variable, where: str) -> None:
        """Add a variable; a repeated variable is a fault."""
        if not variable.name:
            self.faults.append(f"{where}: a variable must have a name, got none; add it, or remove the line.")
        elif variable.name in self.variables:
            self.faults.append(f"{where}: {variable.name} must be described once, and is described again; remove one.")
        else:
            self.variables[variable.name] = variable

    def complete(self, variables: Iterable[Variable]) -> None:
        """Merge another codebook."""
        for variable in variables:
            known = self.variables.get(variable.name)
            self.variables[variable.name] = variable if known is None else known.completed_by(variable)


def one_line(text: object) -> str:
    """A text without line breaks, repeated blanks and invisible characters."""
    words = " ".join(str(text).split())
    return "".join(_visible(words))


def _visible(text: str) -> Iterator[str]:
    return (each for each in text if each.isprintable())
