"""A codebook in one form, whatever format it was written in: its variables, with values as text.

How a schema describes a variable does not belong here (schemas.codebooks.settling).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "nominal", "ordered", "numeric", "boolean", "date", "identifier", "person", "text", "icd9", "icd10"
]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One value of a variable, or one range of numbers.

    Attributes:
        value: the value as it is written; of a range, its lower end.
        high: the upper end of a range; None if the entry is one value.
        label: what it means; empty if the codebook does not say.
    """

    value: str
    high: str | None = None
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class Variable:
    """A variable as a codebook describes it.

    Attributes:
        name: its name.
        kind: what it holds; None if the codebook does not say.
        label: what it is.
        entries: its values and ranges, in the codebook's order.
        missing: codes for missing values.
        also: values beside a range of numbers that are not amounts, such as `-1` for inapplicable.
        step: the distance of neighbouring numbers; None if the codebook does not say.
        whole: whether numbers are whole; None if the codebook does not say.
        pattern: the form of a date, in the notation of `strptime`; None if the codebook does not say.
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

    def completed_by(self, other: "Variable") -> "Variable":
        """This variable with what another codebook says about it; where both say something, the other counts.

        A range completes labels of single values, such as those of special codes.
        """
        stated = {
            name: value
            for name in ("kind", "label", "entries", "missing", "also", "step", "whole", "pattern")
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
        faults: what is wrong with it, a sentence each.
    """

    variables: dict[str, Variable] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def add(self, variable: Variable, where: str) -> None:
        """Add a variable; one that is there already is a fault."""
        if not variable.name:
            self.faults.append(f"{where}: a variable must have a name, got none; add it, or remove the line.")
        elif variable.name in self.variables:
            self.faults.append(f"{where}: {variable.name} must be described once, and is described again; remove one.")
        else:
            self.variables[variable.name] = variable

    def complete(self, variables: Iterable[Variable]) -> None:
        """Add what another codebook says."""
        for variable in variables:
            known = self.variables.get(variable.name)
            self.variables[variable.name] = variable if known is None else known.completed_by(variable)


def one_line(text: object) -> str:
    """A text without line breaks, repeated blanks and invisible characters."""
    words = " ".join(str(text).split())
    return "".join(_visible(words))


def _visible(text: str) -> Iterator[str]:
    return (each for each in text if each.isprintable())
