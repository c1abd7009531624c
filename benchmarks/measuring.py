"""Measures the seconds of one core, prints results as a table, and puts figures into a page."""

import time
from collections.abc import Callable
from dataclasses import dataclass

REPEATS = 5
_END = "<!-- figures: end -->"


@dataclass(frozen=True)
class Result:
    """One line of the table.

    Attributes:
        what: what was measured.
        measured: the figure with its unit.
        goal: the goal for the figure.
    """

    what: str
    measured: str
    goal: str = ""


def in_page(text: str, command: str, figures: str) -> str:
    """A page with figures between the two lines that mark their place.

    Args:
        text: the page.
        command: the make target that writes the figures; the first line names it.
        figures: what to put there.

    Raises:
        ValueError: the page has no place for them.
    """
    begin = f"<!-- figures: begin; written by make {command} -->"
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(_END)
    if not rest or not after:
        raise ValueError(f"the page must have the lines {begin} and {_END}.")
    return f"{before}{begin}\n\n{figures}\n\n{_END}{after}"


def core_seconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Least CPU time of this thread over several runs, after a warm-up run that compiles; in seconds."""
    work()
    return min(_once(work) for _ in range(repeats))


def _once(work: Callable[[], object]) -> float:
    start = time.thread_time()
    work()
    return time.thread_time() - start


def table(results: list[Result]) -> str:
    """The results as a Markdown table."""
    rows = [("what", "measured", "goal"), ("---", "---", "---")]
    rows += [(result.what, result.measured, result.goal) for result in results]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
