"""Write the public files of a release again, to compare them with the published ones."""

from collections.abc import Sequence

from deniable.samplers.within_bins import WithinBins
from schemas.references import Reference
from schemas.spec.accounts import Accounts, SpentSoFar
from stores.publication.release_folder import write_table
from stores.tables.tables import read_codes
from stores.vault.private_files import PRIVATE_FOLDER
from stores.vault.workspace import Workspace, file_digest
from tasks.publication.publish import write_documents
from tasks.running.step import as_task


def restage(
    workspace: Workspace,
    codes: Reference,
    learnt: Sequence[Reference],
    accounts: Accounts,
    *,
    so_far: SpentSoFar | None,
    approved: bool = False,
    day: str,
) -> dict[str, str]:
    """Write all files of a release that follow from its draws; nothing is published.

    Args:
        workspace: the replayed release.
        codes: codes of the synthetic records.
        learnt: the public products of learning.
        accounts: what accounting found.
        so_far: the total cost of all releases of the dataset at the time of publication.
        approved: whether a person approved it.
        day: day of publication.

    Returns:
        SHA-256 of each file, by its name.
    """
    folder = workspace.staging / "release"
    folder.mkdir(mode=PRIVATE_FOLDER, parents=True)
    domain = workspace.spec.domain
    within = WithinBins(domain, workspace.key(), codes.digest)
    records = write_table(folder, domain, read_codes(codes.path, domain), within)
    write_documents(workspace, folder, learnt, accounts, so_far=so_far, approved=approved, records=records, day=day)
    return {path.name: file_digest(path) for path in folder.iterdir()}


restage_task = as_task(restage, kept=False)
