"""Signs a provenance record as a statement about files, and reads signed ones back.

What a record says does not belong here (stores.record.provenance), nor whether a signature counts
(deniable.record.trust).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from pydantic import ValidationError

from deniable.foundation.errors import InvalidInput
from deniable.record.attestation import Envelope, Statement, statement
from schemas.provenance import Provenance, Signed, current_form
from stores.keys.signing_keys import SigningKey, signing_time

_TO_THE_MINUTE = len("2026-11-20T07:45")


@dataclass(frozen=True)
class SignedRecord:
    """A record as it was signed.

    Attributes:
        subjects: SHA-256 of each file that it is about, by name.
        record: what it says.
        payload: the statement of it, as it was signed.
        digest: SHA-256 of the record's own file.
    """

    subjects: Mapping[str, str]
    record: Provenance
    payload: bytes
    digest: str


def signed_now(key: SigningKey) -> Signed:
    """When a record is signed, in whole minutes, and by which key.

    It is as fine as the ledger says what happened when: how long the last steps took is a side channel. A key that was
    made within the minute signs at the first moment at which it may.
    """
    minute = f"{signing_time()[:_TO_THE_MINUTE]}:00Z"
    return Signed(time=max(minute, key.trusted.valid_from), keyid=key.keyid)


def signed_text(key: SigningKey, subjects: Mapping[str, str], record: Provenance) -> str:
    """Sign a record about files; the text is what its file is to hold."""
    return key.sign(statement(subjects, record.to_predicate())).to_text()


def read_signed(path: Path) -> SignedRecord:
    """Read a record, without asking whose signature it has.

    Raises:
        InvalidInput: there is none, or it is not of the form that records have.
    """
    return signed_content(read_record(path), str(path))


def read_record(path: Path) -> bytes:
    """What the file of a record holds.

    Raises:
        InvalidInput: there is none.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InvalidInput(f"the record must be in {path}, and there is none.") from None


def signed_content(content: bytes, place: str) -> SignedRecord:
    """Read a record out of what its file holds, without asking whose signature it has.

    Args:
        content: what the file holds.
        place: where it is, to be told.

    Raises:
        InvalidInput: it is not of the form that records have.
    """
    payload = Envelope.from_text(content).payload
    said = Statement.from_payload(payload)
    try:
        record = Provenance.model_validate(current_form(said.version, said.predicate))
    except ValidationError:
        raise InvalidInput(f"the record in {place} must be of the form of this version, got another.") from None
    return SignedRecord(subjects=said.subjects, record=record, payload=payload, digest=sha256(content).hexdigest())


def kept_or_signed(path: Path, key: SigningKey, subjects: Mapping[str, str], record: Provenance) -> str:
    """The text of a record: that of the one at a path, if the same key signed the same, else one that is signed now.

    When it is signed, and in which runs of Prefect's and MLflow's, makes no other record of it.
    """
    try:
        before = read_signed(path)
    except InvalidInput:
        return signed_text(key, subjects, record)
    then = before.record
    same = record.model_copy(update={"signed": then.signed, "runs": then.runs})
    if then.signed.keyid == key.keyid and statement(subjects, same.to_predicate()) == before.payload:
        return path.read_text(encoding="ascii")
    return signed_text(key, subjects, record)
