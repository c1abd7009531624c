"""Compare the records of a release with each other, with their copies, and with the files that they name."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from deniable.foundation.checks import Check
from deniable.foundation.errors import DeniableError
from schemas.provenance import RECORD, LedgerSegment, Provenance, Step
from schemas.references import Audience
from stores.keys.signed_record import SignedRecord
from stores.record.audit_target import NO_MLFLOW, NO_SHELF, AuditTarget, internal_part
from stores.record.record_reader import trusted_record
from stores.tracking.run_tree import RECORD_DIGEST, RECORD_PUBLIC_DIGEST, record_in_mlflow
from stores.vault.kept_files import changeable_by_others, shelf_digests
from stores.vault.workspace import file_digest
from tasks.running.check import Checks, as_check, differences, not_compared, out_of_reach

_SHELVED = "the internal record on the shelf is signed by a trusted key"
_COPIES = "MLflow's copy of the internal record is identical, and its tags name both records"
_SUBJECTS = "the internal record is about the public one and its files"
_SAME = "the two records agree in what they share"
_SHELF = "the internal files that the record names are as they were"
_OWNER = "only its owner may change what is kept of the release"

# Steps whose files in MLflow are the files on the shelf.
_FROM_THE_SHELF = ("publish", "report")
# Fields that only one of the two records has, or in which they differ.
_APART = {"rendering", "steps", "ledger", "signed", "internal"}


def compare_records(sealed: AuditTarget) -> Checks:
    """Check that the two records agree, and that nothing they describe was changed.

    Args:
        sealed: the release.

    Returns:
        The checks.

    Raises:
        DeniableError: there is no internal record with a trusted signature.
    """
    on_shelf = tuple(out_of_reach(name, NO_SHELF) for name in (_SHELVED, _SHELF, _OWNER)) if sealed.elsewhere else ()
    if sealed.mlflow_is_out_of_reach:
        return (*(out_of_reach(name, NO_MLFLOW) for name in (_COPIES, _SUBJECTS, _SAME)), *on_shelf)
    internal = sealed.internal()
    in_mlflow = (
        _held(_COPIES, _copies(sealed, internal)),
        _held(_SUBJECTS, _subjects(sealed, internal)),
        _held(_SAME, _contradictions(sealed, internal.record)),
    )
    if sealed.elsewhere:
        return (*in_mlflow, *on_shelf)
    return (_shelved(sealed), *in_mlflow, _held(_SHELF, _shelf(sealed, internal)), _held(_OWNER, _exposed(sealed)))


def _held(name: str, faults: Iterator[str]) -> Check:
    """Return the check; if it cannot be made, the reason is its fault."""
    try:
        return Check(name, tuple(faults))
    except DeniableError as error:
        return not_compared(name, error)


def _shelved(sealed: AuditTarget) -> Check:
    """Return the faults of the internal record on the shelf, compared with what was signed."""
    trusted = sealed.trusted()
    try:
        said = trusted_record(sealed.shelf / RECORD, trusted).record.signed
    except DeniableError as error:
        return Check(_SHELVED, (str(error),))
    return Check(
        _SHELVED, note=f"{trusted.note(said.keyid, said.time)}, on {said.time}; trusted keys {sealed.trusted_where}"
    )


def _copies(sealed: AuditTarget, internal: SignedRecord) -> Iterator[str]:
    kept = record_in_mlflow(sealed.state, internal.record.runs.mlflow_run)
    if kept.content is None:
        yield f"the artifact internal/{RECORD} of the release was deleted"
    elif sha256(kept.content).hexdigest() != internal.digest:
        yield f"the artifact internal/{RECORD} of the release was changed"
    digests = {RECORD_DIGEST: internal.digest, RECORD_PUBLIC_DIGEST: internal_part(internal).public_record}
    for tag, digest in digests.items():
        if tag not in kept.tags:
            yield f"the tag {tag} of the release was deleted"
        elif kept.tags[tag] != digest:
            yield f"the tag {tag} of the release was changed"


def _subjects(sealed: AuditTarget, internal: SignedRecord) -> Iterator[str]:
    """Yield the files in the folder that differ from those in the internal record."""
    folder = sealed.folder
    if not folder.is_dir():
        yield f"the folder {folder} was deleted"
        return
    found = {path.name: file_digest(path) if path.is_file() else "" for path in folder.iterdir()}
    for name in sorted({*found, *internal.subjects}):
        if name not in found:
            yield f"{name} was deleted from the folder"
        elif name not in internal.subjects:
            yield f"{name} was added to the folder"
        elif found[name] != internal.subjects[name]:
            yield f"{name} was changed in the folder"
    if internal.subjects.get(RECORD) != internal_part(internal).public_record:
        yield "the internal record names two public ones"


def _contradictions(sealed: AuditTarget, internal: Provenance) -> Iterator[str]:
    """Yield the contradictions between the two records."""
    public = sealed.public().record
    if public.rendering != "public":
        yield "the record in the folder is not the public one"
    for name in sorted(type(public).model_fields.keys() - _APART):
        if getattr(public, name) != getattr(internal, name):
            yield f"they differ in {name}"
    told = {(step.step, step.part): step for step in internal.steps}
    for step in public.steps:
        if not _is_part_of(step, told.get((step.step, step.part))):
            yield f"they differ in step {' '.join(filter(None, (step.step, step.part)))}"
    if not _begins(public.ledger, internal.ledger):
        yield "they differ in the entries of the ledger"


def _is_part_of(public: Step, internal: Step | None) -> bool:
    """Whether a step is the same in both records; the public record was signed before the publication was complete."""
    if internal is None:
        return False
    whole = internal.public()
    return (
        (public.inputs, public.cost, public.events) == (whole.inputs, whole.cost, whole.events)
        and set(public.outputs) <= set(whole.outputs)
        and set(public.artifacts) <= set(whole.artifacts)
    )


def _begins(public: LedgerSegment, internal: LedgerSegment) -> bool:
    """Whether the entries of one segment are the first entries of another."""
    return (public.before, public.entries) == (internal.before, internal.entries[: len(public.entries)])


def _shelf(sealed: AuditTarget, internal: SignedRecord) -> Iterator[str]:
    """Yield changes to the shelf; if the record does not list it, only those to the report and the published files."""
    signed = internal_part(internal).shelf
    if signed is None:
        yield from _named_on_shelf(sealed, internal.record)
        return
    where = {"deleted": "from", "added": "to", "changed": "on"}
    for place, what in differences(signed, shelf_digests(sealed.shelf)):
        yield f"{place} was {what} {where[what]} the shelf"


def _exposed(sealed: AuditTarget) -> Iterator[str]:
    """Yield the release's files in the state folder that others may change, or that are reached through links."""
    state = sealed.state.resolve()
    found: dict[Path, str] = {}
    for folder in (state / kind / sealed.release_id for kind in ("releases", "shelf")):
        if folder.is_dir():
            found |= dict(changeable_by_others(state, folder.parent, folder))
    yield from (f"{path.relative_to(state.parent)} {why}" for path, why in found.items())


def _named_on_shelf(sealed: AuditTarget, record: Provenance) -> Iterator[str]:
    """Yield changes to the report, and to what was published from the shelf."""
    for step in record.steps:
        for artifact in step.artifacts if step.step in _FROM_THE_SHELF else ():
            place = Path(artifact.name if artifact.audience is Audience.INTERNAL else f"public/{artifact.name}")
            path = sealed.shelf / place
            if path.is_file() and file_digest(path) != artifact.sha256:
                yield f"{place} was changed on the shelf"
            elif artifact.audience is Audience.INTERNAL and not path.is_file():
                yield f"{place} was deleted from the shelf"


compare_records_task = as_check(compare_records, "the records of the release")
