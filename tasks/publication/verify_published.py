"""Verify the release just published, as anyone can, and against the whole ledger, as its custodian can."""

from stores.keys.trust_file import trusted_keys
from stores.ledger.ledger import kept_lines, ledger_place
from stores.record.folder_verification import PUBLISHED, verified_release
from stores.vault.workspace import Workspace
from tasks.running.step import as_task


def verify_published(workspace: Workspace) -> tuple[str, ...]:
    """Verify the published folder. Contents that publication has checked are compared by their digests.

    Args:
        workspace: the release.

    Returns:
        A line for each check, and the verdict.
    """
    ledger = kept_lines(ledger_place(workspace.state))
    folder, keys = workspace.release_folder, trusted_keys(workspace.state)
    return verified_release(folder, keys, ledger=ledger, known=PUBLISHED).lines


verify_published_task = as_task(verify_published, kept=False)
