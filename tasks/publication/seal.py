"""Seal the release: sign the internal record for cleared staff, including the state of MLflow's runs."""

from deniable.mechanisms import MODEL
from schemas.provenance import RECORD
from schemas.references import Audience, Reference
from stores.keys.signed_record import read_signed, signed_now, signed_text
from stores.keys.signing_keys import signing_key
from stores.record.provenance import internal_record
from stores.tracking.registry import make_current, register_model
from stores.tracking.release_page import complete_page
from stores.tracking.release_run import tag_release
from stores.tracking.run_tree import RECORD_DIGEST, RECORD_PUBLIC_DIGEST, snapshot
from stores.tracking.step_run import recorded_step
from stores.vault.kept_files import shelf_digests
from stores.vault.workspace import Workspace, file_digest
from tasks.running.step import as_task


def seal(workspace: Workspace) -> Reference:
    """Sign the internal record of a published release that has its report, even if it was signed before.

    The record's list of MLflow's runs omits what this step itself writes to MLflow: its own run, the file of the
    record, and the record's two tags.

    Args:
        workspace: the release.

    Returns:
        The signed record, internal.

    Raises:
        InvalidInput: the published folder has no record, or the signing key cannot be read.
        Refused: the signing key may not sign.
    """
    with recorded_step(workspace, "seal") as step:
        key = signing_key(workspace.state)
        public = read_signed(workspace.release_folder / RECORD)
        # A release with records drawn from exact counts has no model.
        has_model = MODEL.name in workspace.plan.products
        version = register_model(workspace, public.record, public.digest) if has_model else None
        complete_page(workspace, public.record, version, sealing=step.run_id)
        record = internal_record(
            workspace,
            public.record,
            public_digest=public.digest,
            run_tree=snapshot(workspace.state, workspace.mlflow_run_id),
            signed=signed_now(key),
            shelf=shelf_digests(workspace.shelf),
        )
        subjects = {**public.subjects, RECORD: public.digest}
        with workspace.writing(RECORD, Audience.INTERNAL) as path:
            path.write_text(signed_text(key, subjects, record), encoding="ascii")
        sealed = workspace.refer("record", RECORD, Audience.INTERNAL)
        step.artifact(sealed.path, Audience.INTERNAL)
        tag_release(workspace, {RECORD_DIGEST: file_digest(sealed.path), RECORD_PUBLIC_DIGEST: public.digest})
        if version is not None:
            make_current(workspace, version)
        return step.output(sealed)


seal_task = as_task(seal, kept=False)
