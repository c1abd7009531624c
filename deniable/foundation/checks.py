"""What verification finds: one line a check, with the first of what is wrong. What is checked does not belong here."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from deniable.foundation.errors import DeniableError

_LONGEST_LINE = 2000


def printable(text: str, most: int = _LONGEST_LINE) -> str:
    """A text that may have been made to mislead whoever reads it on a screen, without what cannot be seen or ended."""
    shown = text if len(text) <= most else f"{text[:most]}..."
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in shown)


@dataclass(frozen=True)
class Check:
    """One thing that was checked.

    Attributes:
        name: what must hold.
        faults: what was found that is wrong, each naming the entry, file, step or figure; empty where it holds.
        note: what else there is to say.
        made: whether it could be made with what was given; the note says what it would take.
    """

    name: str
    faults: tuple[str, ...] = ()
    note: str = ""
    made: bool = True

    @property
    def holds(self) -> bool:
        """Whether nothing was found that is wrong."""
        return not self.faults

    @property
    def line(self) -> str:
        """The check in one line, with the first of what is wrong; what is checked may have been made to mislead."""
        if self.holds:
            note = f" ({self.note})" if self.note else ""
            return printable(f"{'ok    ' if self.made else '--    '}  {self.name}{note}")
        more = f" (and {len(self.faults) - 1} more)" if len(self.faults) > 1 else ""
        return f"FAILED  {self.name}: {printable(self.faults[0])}{more}"


def found(faults: Callable[[], Iterable[str]]) -> tuple[str, ...]:
    """What is found wrong with values that anyone may have made up; what cannot be worked out at all is wrong too."""
    listed: list[str] = []
    try:
        listed.extend(faults())
    except DeniableError as error:
        listed.append(str(error))
    except KeyError as error:
        listed.append(f"it cannot be worked out without {error.args[0]}")
    # Numbers that are none, texts where lists must be.
    except (ArithmeticError, AttributeError, IndexError, RecursionError, TypeError, ValueError) as error:
        listed.append(f"it cannot be worked out ({type(error).__name__})")
    return tuple(listed)
