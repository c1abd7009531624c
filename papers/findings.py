"""What a figure, table, theorem or example of a paper becomes when it is run again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from matplotlib.figure import Figure

Verdict = Literal["reproduced", "close", "corrected", "contradicted", "demonstrated"]

MEANINGS: Final[dict[Verdict, str]] = {
    "reproduced": "our figures are the published ones, up to their stated error",
    "close": "our figures lead to the same conclusion, and differ by more than the stated error",
    "corrected": "a published number, unit or formula is wrong, and ours replaces it",
    "contradicted": "a published conclusion does not hold",
    "demonstrated": "the document prints no figure for it, and ours shows it",
}
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)


@dataclass(frozen=True)
class Table:
    """Figures, published and ours, as text.

    Attributes:
        heads: the column headings.
        rows: the cells of each row.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Picture:
    """A figure of the paper, drawn from our figures.

    Attributes:
        figure: the drawing.
        words: a description for readers who cannot see it.
    """

    figure: Figure
    words: str


@dataclass(frozen=True)
class Check:
    """An expectation; the command fails if it does not hold.

    Attributes:
        words: the expectation.
        holds: whether it holds.
    """

    words: str
    holds: bool


@dataclass(frozen=True)
class Part:
    """A figure, table, theorem or example, run again.

    Attributes:
        name: as in the document, such as `Table 1`.
        title: its subject.
        verdict: how our figures compare with the published ones.
        why: where they differ, and why.
        product: files of the project that implement it, by path from its root.
        checks: the expectations.
        table: the figures, published and ours.
        picture: the drawing, if there is one.
        measured: whether its figures are times, which differ from run to run.
    """

    name: str
    title: str
    verdict: Verdict
    why: str
    product: tuple[str, ...]
    checks: tuple[Check, ...]
    table: Table | None = None
    picture: Picture | None = None
    measured: bool = False

    @property
    def slug(self) -> str:
        """The name as part of a file's name."""
        return "-".join("".join(each if each.isalnum() else " " for each in self.name.casefold()).split())


@dataclass(frozen=True)
class Paper:
    """A document and its parts, in its order.

    Attributes:
        number: its number, such as `003`.
        title: author, year and subject.
        source: where it was published.
        lead: what was run, and on which data.
        parts: name and computation of each part.
        stand_in: says in words which data of this machine are made up because real ones are missing; nothing if none.
        minutes: the most that it may take on two cores.
    """

    number: str
    title: str
    source: str
    lead: str
    parts: Sequence[tuple[str, Callable[[], Part]]]
    stand_in: Callable[[], str] = str
    minutes: int = 10

    def in_time(self, seconds: float) -> Check:
        """The expectation that a run does not take too long.

        Args:
            seconds: its CPU time, of all cores.
        """
        most = 2 * 60 * self.minutes
        return Check(f"it takes at most {most} s of CPU time, so {self.minutes} min on two cores: {seconds:.0f} s",
                     seconds <= most)  # fmt: skip


def equal(words: str, ours: float, expected: float, within: float) -> Check:
    """The expectation that a number is another, within a bound on their difference."""
    return Check(f"{words}: {ours:.7g} is {expected:.7g} within {within:.2g}", abs(ours - expected) <= within)


def between(words: str, low: float, ours: float, high: float) -> Check:
    """The expectation that a number is in a range."""
    return Check(f"{words}: {ours:.5g} is from {low:.5g} to {high:.5g}", low <= ours <= high)
