"""The results of verification: one line per check, with its first fault. The checks themselves do not belong here."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from deniable.foundation.errors import DeniableError

_LONGEST_LINE = 2000


def printable(text: str, most: int = _LONGEST_LINE) -> str:
    """Make an untrusted text safe to display: bound its length and escape invisible characters."""
    shown = text if len(text) <= most else f"{text[:most]}..."
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in shown)


@dataclass(frozen=True)
class Check:
    """The result of a check.

    Attributes:
        name: what must hold.
        faults: the faults found, each naming the entry, file, step or figure; empty if the check holds.
        note: a remark.
        made: whether the check could be made with the given input; otherwise the note states what is needed.
    """

    name: str
    faults: tuple[str, ...] = ()
    note: str = ""
    made: bool = True

    @property
    def holds(self) -> bool:
        """Whether no fault was found."""
        return not self.faults

    @property
    def line(self) -> str:
        """The check and its first fault in one line, safe to display."""
        if self.holds:
            note = f" ({self.note})" if self.note else ""
            return printable(f"{'ok    ' if self.made else '--    '}  {self.name}{note}")
        more = f" (and {len(self.faults) - 1} more)" if len(self.faults) > 1 else ""
        return f"FAILED  {self.name}: {printable(self.faults[0])}{more}"


def found(faults: Callable[[], Iterable[str]]) -> tuple[str, ...]:
    """The faults of untrusted values; values that cannot be evaluated are faulty too."""
    listed: list[str] = []
    try:
        listed.extend(faults())
    except DeniableError as error:
        listed.append(str(error))
    except KeyError as error:
        listed.append(f"it cannot be evaluated without {error.args[0]}")
    # Invalid numbers, texts instead of lists.
    except (ArithmeticError, AttributeError, IndexError, RecursionError, TypeError, ValueError) as error:
        listed.append(f"it cannot be evaluated ({type(error).__name__})")
    return tuple(listed)
