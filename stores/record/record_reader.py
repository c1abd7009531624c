"""Finds the record of a published release, checks its signature, and extracts spec and schema from it.

deniable.verification.release checks whether the statements of a record hold.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deniable.foundation.errors import InvalidInput, Refused
from deniable.learners.registry import LEARNERS, entry_of
from deniable.record.attestation import Envelope, verify
from deniable.record.trust import TrustedKeys
from schemas.provenance import RECORD, Provenance
from schemas.spec.release_spec import ReleaseSpec, load_spec, whole_place
from stores.keys.signed_record import SignedRecord, read_record, signed_content
from stores.keys.trust_file import TRUSTED_KEYS_VARIABLE, named_place, read_trusted_keys, trusted_keys_place


def find_release_folder(release: str | Path, state: Path) -> Path:
    """Find the folder of a published release.

    Args:
        release: the release's name in the state folder, or the path of its folder anywhere.
        state: the state folder.

    Raises:
        InvalidInput: there is no such release.
    """
    for folder in (state / "releases" / release, Path(release)):
        if (folder / RECORD).is_file():
            return folder.resolve()
    raise InvalidInput(
        f"the release must be published in {state}, or be the path of a release's folder, got {release}, where there "
        f"is no {RECORD}; check its name, or give its state folder with --state."
    )


def keys_to_trust(state: Path, keys: Path | None = None) -> TrustedKeys:
    """The trusted keys; keys that came with a release are never trusted.

    Args:
        state: the state folder.
        keys: the trust file; by default the one named by DENIABLE_TRUSTED_KEYS, or else that of the state folder.

    Raises:
        InvalidInput: there is no trust file, or the file is not one.
    """
    place = keys or trusted_keys_place(state)
    trusted = read_trusted_keys(place)
    if trusted is None:
        raise InvalidInput(
            f"the keys that are trusted must be given, and there are none at {place}; name the agency's trust file "
            f"with --keys or in {TRUSTED_KEYS_VARIABLE}."
        )
    return trusted


def trusted_where(state: Path, keys: Path | None = None) -> str:
    """The trust file that `keys_to_trust` uses, as a continuation of `trusted keys`."""
    if keys is not None:
        return f"as given, {keys}"
    place = trusted_keys_place(state)
    if named_place(TRUSTED_KEYS_VARIABLE) is not None:
        return f"named by {TRUSTED_KEYS_VARIABLE}, {place}"
    return f"of this state folder, {place}: anyone who may write there may have made them"


def trusted_record(place: Path, trusted: TrustedKeys, where: str = "") -> SignedRecord:
    """Read a record with a trusted signature.

    Args:
        place: the record's file.
        trusted: the trusted keys.
        where: the trust file, for the message, if it is to be named.

    Raises:
        InvalidInput: there is no record, or it does not have the form of records.
        SignatureBroken: it is not what a known key signed.
        Refused: the key that signed it is not trusted.
    """
    return trusted_content(read_record(place), str(place), trusted, where)


def trusted_content(content: bytes, place: str, trusted: TrustedKeys, where: str = "") -> SignedRecord:
    """Read a record with a trusted signature from the content of its file.

    Args:
        content: the content of the file.
        place: its location, for the message.
        trusted: the trusted keys.
        where: the trust file, for the message, if it is to be named.

    Raises:
        InvalidInput: it does not have the form of records.
        SignatureBroken: it is not what a known key signed.
        Refused: the key that signed it is not trusted.
    """
    signed = signed_content(content, place)
    envelope = Envelope.from_text(content)
    verify(envelope, trusted.public_keys())
    said = signed.record.signed
    fault = trusted.judge(envelope.keyid, said.time)
    if said.keyid != envelope.keyid:
        fault = "it states that another key signed it"
    if fault is not None:
        told = f"; trusted keys {where}" if where else ""
        raise Refused(f"the record must be signed by a key that is trusted, got {place}: {fault}{told}.")
    return signed


def internal_record_of(public: SignedRecord, state: Path, trusted: TrustedKeys) -> SignedRecord | None:
    """The internal record of a release, if the state folder has it.

    Raises:
        Refused: it belongs to another release, or is not trusted.
        SignatureBroken: it is not what a known key signed.
    """
    place = state / "shelf" / public.record.release.id / RECORD
    if not place.is_file():
        return None
    internal = trusted_record(place, trusted)
    if internal.record.internal is None or internal.record.internal.public_record != public.digest:
        raise Refused(f"the internal record must belong to the release, got {place}, which belongs to another.")
    return internal


def recorded_spec(record: Provenance, folder: Path, source: Path | str | None = None) -> ReleaseSpec:
    """Write spec and schema of a record into a folder, and load them from there.

    A schema that is part of the package is taken from the checkout, whatever the record contains. The code of any other
    schema is run; it is part of what was signed.

    Args:
        record: the record, whose signature is trusted.
        folder: an empty folder that no other account may enter.
        source: the source of the records; not needed for a release whose snapshot is available.

    Raises:
        InvalidInput: this version does not know the form of the spec, or the schema is not valid.
    """
    document = record.spec.document
    schema = record.table_schema
    if schema.dataset.endswith(".py"):
        if Path(schema.dataset).name != schema.dataset or document.get("dataset") != schema.dataset:
            raise InvalidInput("the schema in a record must be a file next to the spec, got one elsewhere.")
        (folder / schema.dataset).write_bytes(schema.source.encode())
    taken = {"kind": "file", "path": whole_place(source) if source else "snapshot.parquet"}
    path = folder / "spec.yaml"
    written = {**document, **_with_what_it_implied(document), "source": taken}
    path.write_text(json.dumps(written, indent=1), encoding="utf-8")
    return load_spec(path)


def _with_what_it_implied(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The learner's entry in a recorded spec, with what the version that wrote it implied."""
    learner = document.get("learner")
    if not isinstance(learner, Mapping) or learner.get("kind") not in LEARNERS:
        return {}
    return {"learner": entry_of(learner["kind"]).recorded(learner)}
