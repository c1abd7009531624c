"""Refusals based on exact counts of real records: a file in the vault has the counts, and the message has none.

A message goes to Prefect, to MLflow and to logs. The file is for cleared staff, to whom the command line shows it.
"""

from collections.abc import Iterable
from pathlib import Path

from deniable.foundation.errors import Refused
from deniable.record.exact_stops import ExactStop, decided_exactly
from stores.own_files import NotOurFile, read_own_text
from stores.vault.disk import replace_whole
from stores.vault.private_files import make_private_folder
from stores.vault.workspace import Workspace


class RefusedByCounts(Refused):
    """A release was refused because of exact counts, which the message does not quote.

    Args:
        sentence: what must hold, what was found, without counts, and what to do; without a full stop.
        details: the file with the counts.
    """

    def __init__(self, sentence: str, details: Path) -> None:
        super().__init__(sentence, details)
        self.sentence, self.details = sentence, details

    def __str__(self) -> str:
        """Return the sentence, and where the counts are."""
        return f"{self.sentence}; the counts are in {self.details}, for cleared staff."

    def counts(self) -> str:
        """Return the counts, for cleared staff; empty if this user may not read them, or the file no longer exists."""
        try:
            return read_own_text(self.details)
        except (NotOurFile, OSError):
            return ""


def refused_by_counts(
    workspace: Workspace, step: str, stop: ExactStop, sentence: str, counts: Iterable[str]
) -> RefusedByCounts:
    """Write the counts to the vault, and return the refusal that names their file.

    Args:
        workspace: the release; its errors are kept even if it is discarded.
        step: the refusing step.
        stop: the decision that the counts make, of which every statement speaks.
        sentence: see RefusedByCounts.
        counts: the counts, one per line.
    """
    path = make_private_folder(workspace.vault / "errors") / f"{step}.txt"
    replace_whole(path, "".join(f"{line}\n" for line in counts))
    return decided_exactly(stop, RefusedByCounts(sentence, path))
