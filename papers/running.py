"""Runs the parts of a paper one after the other, and reports progress."""

from collections.abc import Callable
from contextvars import ContextVar
from time import monotonic

from papers.findings import Paper, Part

_shown: ContextVar[Callable[[str], None]] = ContextVar("shown", default=lambda _: None)
"""Shows a line of progress of the paper that runs."""


def note(words: str) -> None:
    """Show how far a part is, if a paper runs."""
    _shown.get()(f"        {words}")


def run(paper: Paper, say: Callable[[str], None]) -> list[Part]:
    """Run a paper's parts.

    Args:
        paper: the paper.
        say: shows a line of progress.
    """
    say(f"{paper.number}: {paper.title}")
    _shown.set(say)
    found, began = [], monotonic()
    for number, (name, compute) in enumerate(paper.parts, start=1):
        say(f"  [{number}/{len(paper.parts)}] {name} ...")
        start = monotonic()
        part = compute()
        say(f"        {part.verdict}, {len(part.checks)} expectations, {monotonic() - start:.1f} s")
        for check in part.checks:
            if not check.holds:
                say(f"        NOT AS EXPECTED: {check.words}")
        found.append(part)
    say(f"  {monotonic() - began:.0f} s")
    return found
