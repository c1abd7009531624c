"""Counts the rows of a part, here or on workers; counts and record are the same either way.

Workers write their counts to the vault, where they are added up in the order of the rows and then removed. The counts
have no noise yet: only the step that adds it receives them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
from prefect import unmapped

from deniable.foundation.errors import Refused
from deniable.foundation.tables import Counts, Tally
from schemas.references import Audience, Reference
from stores.tables.tables import read_codes, row_groups
from stores.vault.workspace import COUNTS_FILE, Workspace
from tasks.running.progress import advance
from tasks.running.step import as_task
from tasks.running.workers import workers

T = TypeVar("T", bound=Tally)

WORTH_SENDING = 1_000_000
"""The smallest number of rows in a share: counting fewer here is faster than sending them to a worker."""


@dataclass(frozen=True)
class PartCounter:
    """Counts the rows of a part for a mechanism; see `deniable.mechanisms.Counter`.

    Attributes:
        workspace: the release.
        part: codes of the part.
        step: the counting step, whose progress is reported; without a name, no progress is reported.
    """

    workspace: Workspace
    part: Reference
    step: str = ""

    def count(self, empty: Callable[[], T], name: str) -> T:
        """Count all rows, as `counted` does."""
        return counted(self.workspace, self.part, empty, name)

    def advance(self, amount: int) -> None:
        """Notify the watchers of the step.

        Raises:
            KeyboardInterrupt: the release was stopped; the step must end here.
        """
        if self.step:
            advance(self.step, amount)


def counted(workspace: Workspace, part: Reference, empty: Callable[[], T], name: str) -> T:
    """Count all rows of a part.

    Args:
        workspace: the release.
        part: codes of the part.
        empty: makes an empty tally; it is sent to the workers, and must contain only public information.
        name: name of what is counted, unique within the release.

    Returns:
        The tally of all rows.

    Raises:
        Refused: a worker's file is not the one that the worker reported.
    """
    shares = _shares(part)
    tally = empty()
    if len(shares) == 1:
        for codes in read_codes(part.path, workspace.spec.domain):
            tally.add(codes)
        return tally
    files = [COUNTS_FILE.format(f"{name}-{share.start:06d}") for share in shares]
    sent = count_task.map(unmapped(workspace), unmapped(part), unmapped(empty), shares, files)
    for made in sent.result():
        more = empty()
        more.restore(read_counts(workspace, made))
        tally.merge(more)
        made.path.unlink()
    return tally


def count(workspace: Workspace, part: Reference, empty: Callable[[], Tally], share: range, file_name: str) -> Reference:
    """Count some row groups of a part, and write the counts to the vault.

    Args:
        workspace: the release.
        part: codes of the part.
        empty: makes an empty tally.
        share: numbers of the row groups.
        file_name: the file for the counts.

    Returns:
        The counts, restricted.
    """
    tally = empty()
    for codes in read_codes(part.path, workspace.spec.domain, share):
        tally.add(codes)
    with workspace.writing(file_name, Audience.RESTRICTED) as path, path.open("wb") as file:
        np.savez(file, allow_pickle=False, **tally.arrays)
    return workspace.refer("counts", file_name, Audience.RESTRICTED)


count_task = as_task(count, kept=False)


def _shares(part: Reference) -> list[range]:
    """Divide the row groups of a part evenly among the workers; this process gets all if sending is not worthwhile."""
    there = workers()
    groups = row_groups(part.path)
    worth = groups if part.rows is None else part.rows // WORTH_SENDING
    shares = max(1, min(groups, worth, there.hands() if there is not None else 1))
    ends = [groups * share // shares for share in range(shares + 1)]
    return [range(start, end) for start, end in pairwise(ends)]


def read_counts(workspace: Workspace, made: Reference) -> dict[str, Counts]:
    """Read a worker's counts, and require that its file is the one that it reported.

    Args:
        workspace: the release.
        made: the file as the worker reported it.

    Returns:
        The arrays of its tally, by name.

    Raises:
        Refused: the file is another.
    """
    if not workspace.holds(made):
        raise Refused(
            "a worker's counts must be read as they were written, and are not: the state folder must be on a disk that "
            "all machines share; run the release again."
        )
    with np.load(made.path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}
