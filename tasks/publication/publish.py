"""Publish the release: collect everything public, check it, and move it into place by one rename."""

import json
import shutil
from collections.abc import Mapping, Sequence
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

from prefect import runtime
from pydantic import BaseModel

from deniable.foundation.domain import Domain
from deniable.foundation.errors import Refused
from deniable.inference.interval_table import published_estimates
from deniable.measurements.certificate import FILE as CERTIFICATE
from deniable.measurements.document import FILE as MEASURED
from deniable.measurements.document import Measurements
from deniable.privacy.loss import Guarantee
from deniable.record.schema_document import describe_domain
from deniable.samplers.within_bins import WithinBins
from reports.figures.certificate import read_certificate
from reports.pages.explorer import EXPLORER, write_explorer
from reports.pages.public_page import write_public_page
from schemas.provenance import RECORD, Provenance, Step
from schemas.references import Audience, Reference
from schemas.spec.accounts import Accounts, SpentSoFar
from schemas.spec.publication import ENTRIES, stated
from stores.keys.signed_record import kept_or_signed, signed_now
from stores.keys.signing_keys import SigningKey, signing_key
from stores.keys.trust_file import trusted_keys
from stores.ledger.charging import spent_so_far
from stores.own_files import read_own
from stores.publication.data_package import DATA_PACKAGE, data_package
from stores.publication.release_folder import (
    CSV,
    PARQUET,
    SCHEMA,
    check_files,
    check_tables,
    publish_folder,
    write_document,
    write_table,
)
from stores.record.folder_verification import PUBLISHED, require_verified, verified_release
from stores.record.provenance import public_record, with_publication
from stores.statement.statement import TEMPLATES, statement, statement_in_words
from stores.tables.tables import read_codes
from stores.tracking.step_run import StepRecord, recorded_step
from stores.vault.actors import people_of
from stores.vault.private_files import PRIVATE_FOLDER
from stores.vault.scratch import state_of
from stores.vault.step_log import note_step, seeded_records
from stores.vault.workspace import Workspace, file_digest
from tasks.running.step import as_task

PRIVACY = "PRIVACY.md"
_NOTE = "published.json"
_NOTHING = Guarantee(0.0, 0.0, "basic")


class Note(BaseModel):
    """The vault's note of the published folder.

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
    """Publish the records, the model, the schema and the statement of privacy, all or nothing.

    Args:
        workspace: the release.
        codes: codes of the synthetic records, internal until this moment.
        learnt: the public products of learning: the graph, the model, and any noisy seeds.
        accounts: what accounting found.

    Returns:
        The published table.

    Raises:
        Refused: something is not public, the folder fails its checks, its record does not verify, or the name is taken.
    """
    spec, domain = workspace.spec, workspace.spec.domain
    for item in learnt:
        if item.audience is not Audience.PUBLIC:
            raise Refused(f"published files must be public, got {item.name}, which is {item.audience.value}.")
    if codes.audience is Audience.RESTRICTED:
        raise Refused(
            f"released records must have passed the privacy test, got {codes.name}, which is still restricted."
        )

    if (published := _published_before(workspace)) is not None:
        return published
    with recorded_step(workspace, "publish", inputs=[codes, *learnt]) as step:
        key = signing_key(workspace.state)
        signed = signed_now(key)
        shutil.rmtree(workspace.staging, ignore_errors=True)
        folder = workspace.staging / "release"
        folder.mkdir(mode=PRIVATE_FOLDER, parents=True)
        within = WithinBins(domain, workspace.key(), codes.digest)
        records = write_table(folder, domain, read_codes(codes.path, domain), within)
        so_far = spent_so_far(workspace)
        approved = people_of(workspace).approval is not None
        documents = write_documents(
            workspace, folder, learnt, accounts, so_far=so_far, approved=approved, records=records, day=signed.day
        )
        check_files(folder, [PARQUET, CSV, *documents])
        for name in documents:
            step.artifact(folder / name, Audience.PUBLIC)
        step.spent(_NOTHING)
        step.figures({"records": records}, Audience.PUBLIC)
        staged = step.output(workspace.describe("synthetic", folder / PARQUET, Audience.PUBLIC, records))
        reference = staged.model_copy(update={"path": workspace.release_folder / PARQUET})
        record = public_record(workspace, accounts, _so_far(step), records=records, signed=signed)
        step.artifact(write_public_page(folder, record=record, spec=spec, accounts=accounts), Audience.PUBLIC)
        _write_record(workspace, folder, key, with_publication(record, _so_far(step)))
        report = verified_release(
            folder,
            trusted_keys(workspace.state),
            known=PUBLISHED,
            # Those beside which the folder will be; in a scratch folder of a replay there are none.
            releases=state_of(workspace.state) / "releases",
        )
        if not report.holds:
            # For a wrong table this gives more details; otherwise only verification reads the table. What has been
            # recorded by then # belongs to a failed run, and to a record that stays in the vault.
            check_tables(folder, domain, records)
        require_verified(report)
        step.artifact(folder / RECORD, Audience.PUBLIC)
        # If this process ends right after the rename, these notes show the next run what was done, and by whom.
        note_step(workspace, _so_far(step))
        note = Note(table=reference, files=_digests(folder))
        with workspace.writing(_NOTE, Audience.RESTRICTED) as path:
            path.write_text(note.model_dump_json())
        # The last action of publication: a failure before it leaves nothing published.
        publish_folder(folder, workspace.release_folder)
    shutil.rmtree(workspace.staging, ignore_errors=True)
    return reference


def write_documents(
    workspace: Workspace,
    folder: Path,
    learnt: Sequence[Reference],
    accounts: Accounts,
    *,
    so_far: SpentSoFar | None,
    approved: bool,
    records: int,
    day: str,
) -> tuple[str, ...]:
    """Write all public files other than the records and the provenance record.

    Args:
        workspace: the release.
        folder: the folder for the files, which holds the records.
        learnt: the public products of learning.
        accounts: what accounting found.
        so_far: the total cost of all releases of the dataset.
        approved: whether a person approved the release.
        records: number of records.
        day: day of publication.

    Returns:
        Names of the files.
    """
    spec, domain = workspace.spec, workspace.spec.domain
    for item in learnt:
        shutil.copyfile(item.path, folder / item.path.name)
    estimates = write_estimates(folder, domain, spec.split.probabilities)
    write_document(folder / SCHEMA, describe_domain(domain, spec.titles, spec.labels))
    write_document(folder / "privacy.json", statement(workspace.release_id, spec, accounts, so_far, approved=approved))
    in_words = statement_in_words(workspace.release_id, spec, accounts, so_far, approved=approved)
    (folder / PRIVACY).write_text(in_words, encoding="utf-8")
    readme = TEMPLATES.get_template("README.md.jinja").render(
        title=spec.title,
        about=[(ENTRIES[name], text) for name, text in stated(spec.publication)],
        release=workspace.release_id,
        records=f"{records:,}",
        seeded=seeded_records(workspace),
        filled=records - (seeded_records(workspace) or 0),
        attributes=domain.names,
        rules=len(domain.rules),
        person=accounts.person,
        relation=accounts.relation,
        bounded=accounts.total is not None,
        binned=[attribute.name for attribute in domain.attributes if attribute.bins is not None],
        structure=accounts.structure,
        kind=accounts.kind,
        tested=accounts.tested,
        from_counts=accounts.from_counts,
        learner=spec.learner.kind,
        estimates=estimates,
        certificate=read_certificate(folder / CERTIFICATE, domain),
        synthesis=spec.synthesis,
        version=version("deniable"),
    )
    (folder / "README.md").write_text(readme, encoding="utf-8")
    write_explorer(folder, release_id=workspace.release_id, spec=spec, records=records)
    described = data_package(
        folder,
        release_id=workspace.release_id,
        day=day,
        spec=spec,
        is_private=workspace.plan.accounts.total is not None,
    )
    write_document(folder / DATA_PACKAGE, described)
    others = (*(item.path.name for item in learnt), *estimates)
    return ("README.md", PRIVACY, "privacy.json", SCHEMA, DATA_PACKAGE, EXPLORER, *others)


def write_estimates(folder: Path, domain: Domain, split: Mapping[str, Fraction]) -> tuple[str, ...]:
    """Write the estimates that follow from the noisy tables, if the learner publishes the tables.

    Args:
        folder: the folder with the products of learning.
        domain: the public domain.
        split: the probability of each part of the rows.

    Returns:
        Names of the files.
    """
    if not (folder / MEASURED).exists():
        return ()
    measured = Measurements.from_document(domain.modelled, json.loads((folder / MEASURED).read_text(encoding="utf-8")))
    texts = published_estimates(measured, split)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return tuple(texts)


def _kept_record(workspace: Workspace) -> Path:
    """Return the path of the signed record of a release that is not published yet, for a run that resumes it."""
    return workspace.folder(Audience.PUBLIC) / RECORD


def _write_record(workspace: Workspace, folder: Path, key: SigningKey, record: Provenance) -> None:
    """Write the signed record into the staged release, and keep it."""
    text = kept_or_signed(_kept_record(workspace), key, _digests(folder), record)
    with workspace.writing(RECORD, Audience.PUBLIC) as path:
        path.write_text(text, encoding="ascii")
    shutil.copyfile(_kept_record(workspace), folder / RECORD)


def _so_far(step: StepRecord) -> Step:
    """Return the record of the publication step so far."""
    return step.draft.finished("publish", None, mlflow_run=step.run_id, task_run=runtime.task_run.id)


def _digests(folder: Path) -> dict[str, str]:
    return {path.name: file_digest(path) for path in folder.iterdir()}


def _published_before(workspace: Workspace) -> Reference | None:
    """Return the published table if an earlier run of this release published it."""
    try:
        note = Note.model_validate_json(read_own(workspace.vault / _NOTE))
    except FileNotFoundError:
        return None
    folder = workspace.release_folder
    if not folder.exists():
        return None
    if _digests(folder) != note.files:
        raise Refused(f"{folder} must be as it was published, and is not; find out who changed it.")
    return note.table


publish_task = as_task(publish, kept=False)
