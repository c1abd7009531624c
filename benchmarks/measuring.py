"""Measures the seconds of one core, and prints results as a table."""

import time
from collections.abc import Callable
from dataclasses import dataclass

REPEATS = 5


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
