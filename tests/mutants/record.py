"""The decision record of the mutants: what was tried, what found it, and what nothing can find."""

from collections.abc import Sequence

from tests.mutants.mutant import Equivalent, Mutant
from tests.mutants.running import Outcome

RECORD = "infra/decisions/0020-mutants-of-the-privacy-core.md"

_TEXT = """\
# 20. Mutants of the privacy core

A test that passes shows little unless it fails when the code is wrong. `make mutants` puts {count} deliberate faults,
one at a time, into a copy of the sources and runs one named test, which must fail; the same tests must pass on the
sources as they are. A fault is one exact replacement (`tests/mutants/`), and a test of the ordinary suite checks that
each still fits the source. The command fails if a mutant survives. Whoever changes the privacy core adds the mutants
of the change.

Statistical tests draw from fixed keys: on given code they always pass or always fail. The false-alarm rate that each
states bounds the probability that correct code would have failed it under another key.

Before, these survived: noise of the log-linear learner's tables shrunk to 1 % or halved in variance, all choices from
one stream, one split stream for all chunks or for other records of the same number, an entropy or beta that nobody is
charged for, delta * eta^2 in the joint split, Gaussian noise charged for the sensitivity instead of its square, and
bounds of Theorem A that leave a term out. That they could was a gap in the tests; each has one now.

Last run: {date}, commit {commit}; all {count} killed. Seconds are
of processor time, without loading the libraries.

| file | fault | test that fails | seconds |
|---|---|---|---|
{rows}

Changes that no test can find, because the law of every output and every charge stays what it is:

| file | change | why nothing changes |
|---|---|---|
{equivalent}
"""


def written(outcomes: Sequence[Outcome], equivalent: Sequence[Equivalent], date: str, commit: str) -> str:
    """The record as Markdown.

    Args:
        outcomes: what became of each mutant, all killed.
        equivalent: changes that no test can find.
        date: of the run.
        commit: that was tried.
    """
    rows = [f"{row(outcome.mutant)} | {outcome.seconds:.1f} |" for outcome in outcomes]
    others = [
        f"| `{each.file}` | `{_cell(each.before)}` becomes `{_cell(each.after)}` | {_cell(each.proof)} |"
        for each in equivalent
    ]
    return _TEXT.format(
        count=len(outcomes), date=date, commit=commit, rows="\n".join(rows), equivalent="\n".join(others)
    )


def row(mutant: Mutant) -> str:
    """The row of a mutant, but for how long its test took."""
    return f"| `{mutant.file}` | {_cell(mutant.breaks)} | `{_cell(mutant.test)}`"


def _cell(text: str) -> str:
    """Text that fits into a cell of a table."""
    return " ".join(text.replace("|", "\\|").split()).removeprefix("tests/")
