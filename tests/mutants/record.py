"""The page on the mutants: the faults tried, the test that found each, and the changes that no test can find."""

from collections.abc import Sequence

from tests.mutants.mutant import Equivalent, Mutant
from tests.mutants.running import Outcome

RECORD = "docs/research/mutants.md"

_TEXT = """\
# Mutants of the privacy core

Each row of the first table is a deliberate fault in the privacy core, or in the intervals that `infer` computes, and
the test that fails because of it. `make mutants` puts the {count} faults, one at a time, into a copy of the sources and
runs the test named, which must fail. The same tests must pass on the sources as they are. The command fails if a mutant
survives, and `make mutants RECORD=1` writes this page. Decision record 20
(`infra/decisions/0020-mutants-of-the-privacy-core.md`) gives the reasons.

Last run: {date}, commit {commit}; all {count} mutants were killed. Seconds are processor time without
loading the libraries. Tests are named by their path below `tests/`.

## Faults and the tests that find them

| file | fault | test that fails | seconds |
|---|---|---|---|
{rows}

## Changes that no test can find

These changes leave the law of every output and every charge as it is, or make a bound looser.

| file | change | why no test can fail |
|---|---|---|
{equivalent}
"""


def written(outcomes: Sequence[Outcome], equivalent: Sequence[Equivalent], date: str, commit: str) -> str:
    """Return the page as Markdown.

    Args:
        outcomes: the outcome of each mutant, all killed.
        equivalent: changes that no test can find.
        date: date of the run.
        commit: the tested commit.
    """
    rows = [f"{row(outcome.mutant)} | {outcome.seconds:.1f} |" for outcome in outcomes]
    others = [
        f"| `{each.file}` | `{_cell(each.before)}` becomes `{_cell(each.after)}` | {_cell(each.proof)} |"
        for each in equivalent
    ]
    return _TEXT.format(
        count=len(outcomes), date=date, commit=commit, rows="\n".join(rows), equivalent="\n".join(others)
    )


def with_section(text: str, heading: str, section: str) -> str:
    """Return the page with a section at its end, in place of the one with this heading if it has one.

    Args:
        text: the page.
        heading: the first line of the section.
        section: the section; empty, if the page is to end before it.
    """
    before = text.partition(f"\n{heading}\n")[0].rstrip("\n")
    return f"{before}\n\n{section}" if section else f"{before}\n"


def section_of(text: str, heading: str) -> str:
    """Return the section at the page's end with this heading; empty if there is none."""
    _, found, behind = text.partition(f"\n{heading}\n")
    return f"{heading}\n{behind}" if found else ""


def row(mutant: Mutant) -> str:
    """Return the row of a mutant, except the duration of its test."""
    return f"| `{mutant.file}` | {_cell(mutant.breaks)} | `{_cell(mutant.test)}`"


def _cell(text: str) -> str:
    """Return text that fits into a cell of a table."""
    return " ".join(text.replace("|", "\\|").split()).removeprefix("tests/")
