"""Signs a provenance record as a statement about files, and reads signed records.

The content of a record does not belong here (stores.record.provenance), nor does trust in signatures
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
from schemas.regular_files import read_regular
from stores.keys.signing_keys import SigningKey, signing_time

_LARGEST = 1 << 28
_TO_THE_MINUTE = len("2026-11-20T07:45")


@dataclass(frozen=True)
class SignedRecord:
    """A signed record.

    Attributes:
        subjects: SHA-256 of each file that it describes, by name.
        record: its content.
        payload: the signed statement.
        digest: SHA-256 of the record's own file.
    """

    subjects: Mapping[str, str]
    record: Provenance
    payload: bytes
    digest: str


def signed_now(key: SigningKey) -> Signed:
    """Time and key of a signature made now, in whole minutes.

    The time has the same resolution as in the ledger, because the duration of the last steps is a side channel. A key
    that was created within the same minute signs at the first moment at which it is valid.
    """
    minute = f"{signing_time()[:_TO_THE_MINUTE]}:00Z"
    return Signed(time=max(minute, key.trusted.valid_from), keyid=key.keyid)


def signed_text(key: SigningKey, subjects: Mapping[str, str], record: Provenance) -> str:
    """Sign a record about files; the result is the content of its file."""
    return key.sign(statement(subjects, record.to_predicate())).to_text()


def read_signed(path: Path) -> SignedRecord:
    """Read a record without checking its signature.

    Raises:
        InvalidInput: there is none, or it does not have the form of records.
    """
    return signed_content(read_record(path), str(path))


def read_record(path: Path) -> bytes:
    """The content of a record's file.

    Raises:
        InvalidInput: there is no such file, or something else is in its place.
    """
    try:
        return read_regular(path, "the record", _LARGEST)
    except FileNotFoundError:
        raise InvalidInput(f"the record must be in {path}, and there is none; check the path.") from None


def signed_content(content: bytes, place: str) -> SignedRecord:
    """Read a record from the content of its file without checking its signature.

    Args:
        content: the content of the file.
        place: its location, for the message.

    Raises:
        InvalidInput: it does not have the form of records.
    """
    payload = Envelope.from_text(content).payload
    said = Statement.from_payload(payload)
    try:
        record = Provenance.model_validate(current_form(said.version, said.predicate))
    except ValidationError:
        raise InvalidInput(f"the record in {place} must be of the form of this version, got another.") from None
    return SignedRecord(subjects=said.subjects, record=record, payload=payload, digest=sha256(content).hexdigest())


def kept_or_signed(path: Path, key: SigningKey, subjects: Mapping[str, str], record: Provenance) -> str:
    """The text of a record: the existing one at a path, if the same key signed the same content, else a new one.

    The time of the signature and the runs in Prefect and MLflow do not count as different content.
    """
    try:
        before = read_signed(path)
    except InvalidInput:
        return signed_text(key, subjects, record)
    then = before.record
    same = record.model_copy(update={"signed": then.signed, "runs": then.runs})
    if then.signed.keyid == key.keyid and statement(subjects, same.to_predicate()) == before.payload:
        return read_record(path).decode("ascii")
    return signed_text(key, subjects, record)
