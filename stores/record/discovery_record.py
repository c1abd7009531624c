"""Reads the record of a discovery, with or without a check of its signature.

deniable.verification.discovery checks whether its statements hold.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from deniable.foundation.errors import DeniableError, InvalidInput, Refused
from deniable.record.attestation import DISCOVERY, Envelope, Statement, verify
from deniable.record.trust import TrustedKeys
from deniable.verification.discovery import faults_of_form
from schemas.provenance import RECORD
from stores.keys.signed_record import read_record
from stores.own_files import read_own

DISCOVERY_NOTE = "discovery.json"
"""The note of a discovery in its vault, which is like that of a release (stores.releases.discoveries)."""

_FOLDER = "discoveries"


def discovery_place(state: Path, discovery: str) -> Path:
    """The public folder of a discovery."""
    return state / _FOLDER / discovery


def read_discovery(folder: Path) -> Mapping[str, Any]:
    """Return the content of the record in a discovery's folder; its signature is not checked.

    Raises:
        InvalidInput: there is no record, or it is not that of a discovery.
    """
    return _stated(read_record(folder / RECORD), str(folder / RECORD))


def has_discovery(folder: Path) -> bool:
    """Whether a folder contains the record of a discovery, whatever its content."""
    with suppress(DeniableError, OSError):
        envelope = Envelope.from_text(read_own(folder / RECORD))
        return Statement.from_payload(envelope.payload).version == DISCOVERY
    return False


def trusted_discovery(content: bytes, place: str, trusted: TrustedKeys) -> Mapping[str, Any]:
    """Return the content of a record that a trusted key has signed.

    Args:
        content: the content of its file.
        place: the location of the file, for the message.
        trusted: the trusted keys.

    Raises:
        InvalidInput: it is not the record of a discovery.
        SignatureBroken: it is not what a known key signed.
        Refused: the key that signed it is not trusted.
    """
    stated, envelope = _stated(content, place), Envelope.from_text(content)
    verify(envelope, trusted.public_keys())
    fault = trusted.judge(envelope.keyid, stated["signed"]["time"])
    if stated["signed"]["keyid"] != envelope.keyid:
        fault = "it states that another key signed it"
    if fault is not None:
        raise Refused(f"the record must be signed by a key that is trusted, got {place}: {fault}.")
    return stated


def _stated(content: bytes, place: str) -> Mapping[str, Any]:
    statement = Statement.from_payload(Envelope.from_text(content).payload)
    record = statement.predicate
    fault = "of something else" if statement.version != DISCOVERY else next(faults_of_form(record), None)
    if fault is not None:
        raise InvalidInput(f"the record of a discovery must have the form of one, got {place}: {fault}.")
    return record
