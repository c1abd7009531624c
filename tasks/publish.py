"""Publish the release: put everything public together, check it, and give it its place in one rename."""

import shutil
from collections.abc import Sequence
from importlib.metadata import version

from pydantic import BaseModel

from deniable.errors import Refused
from schemas.accounts import Accounts
from schemas.references import Audience, Reference
from stores.charging import spent_so_far
from stores.lineage import describe_release, recorded_step
from stores.release_folder import (
    CSV,
    PARQUET,
    SCHEMA,
    check_folder,
    describe_domain,
    publish_folder,
    write_document,
    write_table,
)
from stores.statement import TEMPLATES, statement, statement_in_short, statement_in_words
from stores.tables import read_codes
from stores.workspace import PRIVATE_FOLDER, Workspace, file_digest
from tasks.step import as_task

_NOTE = "published.json"


class Note(BaseModel):
    """What the vault knows of the published folder.

    Attributes:
        table: the published table.
        files: SHA-256 of each file, by its name.
    """

    table: Reference
    files: dict[str, str]


def publish(
    workspace: Workspace,
    codes: Reference,
    learnt: Sequence[Reference],
    accounts: Accounts,
) -> Reference:
    """Publish the release: the records, the model, the schema and the statement of privacy; whole, or not at all.

    Args:
        workspace: the release.
        codes: codes of the synthetic records, internal until this moment.
        learnt: what was learnt and is public: the graph, the model, and the noisy seeds where there are some.
        accounts: what accounting found.

    Returns:
        The published table.

    Raises:
        Refused: something is not public, the folder is not what it must be, or the name is taken.
    """
    spec, domain = workspace.spec, workspace.spec.domain
    for item in learnt:
        if item.audience is not Audience.PUBLIC:
            raise Refused(f"what is published must be public, got {item.name}, which is {item.audience.value}.")
    if codes.audience is Audience.RESTRICTED:
        raise Refused(
            f"released records must have been let go by the privacy test, got {codes.name}, still restricted."
        )

    if (published := _published_before(workspace)) is not None:
        return published
    with recorded_step(workspace, "publish", inputs=[codes, *learnt]) as step:
        so_far = spent_so_far(workspace)
        shutil.rmtree(workspace.staging, ignore_errors=True)
        folder = workspace.staging / "release"
        folder.mkdir(mode=PRIVATE_FOLDER, parents=True)
        records = write_table(folder, domain, read_codes(codes.path, domain))
        for item in learnt:
            shutil.copyfile(item.path, folder / item.path.name)
        write_document(folder / SCHEMA, describe_domain(domain, spec.titles, spec.labels))
        write_document(folder / "privacy.json", statement(workspace.release_id, spec, accounts, so_far))
        in_words = statement_in_words(workspace.release_id, spec, accounts, so_far)
        (folder / "PRIVACY.md").write_text(in_words, encoding="utf-8")
        readme = TEMPLATES.get_template("README.md.jinja").render(
            title=spec.title,
            release=workspace.release_id,
            records=f"{records:,}",
            attributes=domain.names,
            structure=accounts.structure,
            kind=accounts.kind,
            synthesis=spec.synthesis,
            version=version("deniable"),
        )
        (folder / "README.md").write_text(readme, encoding="utf-8")

        documents = ("README.md", "PRIVACY.md", "privacy.json", SCHEMA, *(item.path.name for item in learnt))
        check_folder(folder, domain, records, [PARQUET, CSV, *documents])
        for name in documents:
            step.artifact(folder / name, Audience.PUBLIC)
        step.figure("records", records, Audience.PUBLIC)
        describe_release(
            workspace,
            f"{records:,} records in `releases/{workspace.release_id}`. {statement_in_short(accounts)}\n{in_words}",
            _totals(accounts),
        )
        staged = step.output(workspace.describe("synthetic", folder / PARQUET, Audience.PUBLIC, records))
        reference = staged.model_copy(update={"path": workspace.release_folder / PARQUET})
        # If this process ends right after the rename, the next one knows by this note that the release is its own.
        note = Note(table=reference, files={path.name: file_digest(path) for path in folder.iterdir()})
        with workspace.writing(_NOTE, Audience.RESTRICTED) as path:
            path.write_text(note.model_dump_json())
        # The last deed of the release: whatever fails before it leaves nothing published.
        publish_folder(folder, workspace.release_folder)
    shutil.rmtree(workspace.staging, ignore_errors=True)
    return reference


def _published_before(workspace: Workspace) -> Reference | None:
    """The published table, if an earlier run of this release got as far as that."""
    try:
        note = Note.model_validate_json((workspace.vault / _NOTE).read_bytes())
    except FileNotFoundError:
        return None
    folder = workspace.release_folder
    if not folder.exists():
        return None
    if {path.name: file_digest(path) for path in folder.iterdir()} != note.files:
        raise Refused(f"{folder} must be as it was published, and is not; find out who changed it.")
    return note.table


def _totals(accounts: Accounts) -> dict[str, float]:
    """The figures that releases are compared by."""
    guarantees = {"model": accounts.model, "record": accounts.record, "total": accounts.total}
    return {
        f"{figure}.{name}": getattr(guarantee, figure)
        for name, guarantee in guarantees.items()
        if guarantee is not None
        for figure in ("epsilon", "delta")
    }


publish_task = as_task(publish, kept=False)
