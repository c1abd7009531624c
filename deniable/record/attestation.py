"""Signs statements about files and verifies the signatures: in-toto Statement v1 in a DSSE envelope.

Every byte of an envelope matters: a text that differs from the output of `Envelope.to_text` is refused, so that nothing
outside the signature can be changed. The validity of keys (trust), the content of statements (schemas.provenance) and
the storage of keys (stores.keys.signing_keys) do not belong here.

Sources: DSSE v1.0.2, https://github.com/secure-systems-lab/dsse, protocol.md and envelope.md; in-toto attestation
framework, https://github.com/in-toto/attestation, spec/v1/statement.md; Ed25519: RFC 8032.
"""

import binascii
import hashlib
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from deniable.foundation.errors import DeniableError, InvalidInput
from deniable.foundation.strict_json import members, parsed
from deniable.ledger.entries import canonical

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
SURVEY = -1
"""The version of the record of a survey (deniable.local), which has its own form."""
DISCOVERY = -2
"""The version of the record of a discovery (deniable.discovery), likewise."""
STATUS = -3
"""The version of a statement on which public releases still hold (deniable.record.standing), likewise."""
PREDICATE_TYPES = {
    1: "urn:deniable:provenance:v1",
    2: "urn:deniable:provenance:v2",
    SURVEY: "urn:deniable:survey:v1",
    DISCOVERY: "urn:deniable:discovery:v1",
    STATUS: "urn:deniable:status:v1",
}
"""The type of a predicate, by version; version 1 states the costs of some steps twice, under fixed names."""
VERSION = 2
"""The version of new statements."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_SIGNATURE_BYTES = 64


class SignatureBroken(DeniableError):
    """An envelope was not signed by one of the given keys."""


def keyid_of(public_key: Ed25519PublicKey) -> str:
    """The id of a key: SHA-256 of its 32 raw bytes, in hexadecimal."""
    return hashlib.sha256(public_key.public_bytes_raw()).hexdigest()


def is_digest(value: object) -> bool:
    """Whether a value is a SHA-256 in lower-case hexadecimal."""
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def encoding_to_sign(payload: bytes, payload_type: str = PAYLOAD_TYPE) -> bytes:
    """Encode payload and type unambiguously: DSSE's pre-authentication encoding, PAE."""
    kind = payload_type.encode()
    return b" ".join([b"DSSEv1", b"%d" % len(kind), kind, b"%d" % len(payload), payload])


@dataclass(frozen=True, kw_only=True)
class Envelope:
    """A payload and its single signature. Its repr does not show the payload, which may be internal.

    Attributes:
        payload: the signed bytes.
        keyid: the key stated to have signed it.
        signature: Ed25519 signature of the payload's pre-authentication encoding, 64 bytes.
    """

    payload: bytes = field(repr=False)
    keyid: str
    signature: bytes = field(repr=False)

    def __post_init__(self) -> None:
        """Refuse an invalid envelope."""
        if not isinstance(self.payload, bytes):
            raise InvalidInput(f"the payload must be bytes, got {type(self.payload).__name__}; encode it.")
        if not is_digest(self.keyid):
            raise InvalidInput("the keyid must be 64 lower-case hexadecimal digits, got something else.")
        if not isinstance(self.signature, bytes) or len(self.signature) != _SIGNATURE_BYTES:
            raise InvalidInput(f"the signature must be {_SIGNATURE_BYTES} bytes, got something else.")

    def to_text(self) -> str:
        """The envelope as written to a file: canonical JSON and a line end, all ASCII."""
        signature = {"keyid": self.keyid, "sig": b64encode(self.signature).decode()}
        envelope = {
            "payload": b64encode(self.payload).decode(),
            "payloadType": PAYLOAD_TYPE,
            "signatures": [signature],
        }
        return canonical(envelope) + "\n"

    @classmethod
    def from_text(cls, text: str | bytes) -> "Envelope":
        """Read an envelope, preferably from a file's bytes: reading a file as text may change its line ends.

        Raises:
            InvalidInput: it is not, byte for byte, an envelope in canonical form.
        """
        if isinstance(text, bytes):
            try:
                text = text.decode("ascii")
            except UnicodeDecodeError:
                raise InvalidInput("the envelope must be ASCII, got other bytes; it was altered.") from None
        names = ("payload", "payloadType", "signatures")
        outer = members(parsed(text, "the envelope"), names, "the envelope")
        if outer["payloadType"] != PAYLOAD_TYPE:
            raise InvalidInput(f"the envelope's payloadType must be {PAYLOAD_TYPE}, got another.")
        signatures = outer["signatures"]
        if not isinstance(signatures, list) or len(signatures) != 1:
            got = len(signatures) if isinstance(signatures, list) else "no list"
            raise InvalidInput(f"the envelope must have one signature, got {got}.")
        signature = members(signatures[0], ("keyid", "sig"), "the envelope's signature")
        keyid = signature["keyid"]
        if not isinstance(keyid, str):
            raise InvalidInput("the keyid must be a text, got something else.")
        envelope = cls(
            payload=_bytes_of(outer["payload"], "the payload"),
            keyid=keyid,
            signature=_bytes_of(signature["sig"], "the signature"),
        )
        if envelope.to_text() != text:
            raise InvalidInput(
                "the envelope must be written canonically, got the same content in other bytes; it was altered."
            )
        return envelope


def sign(payload: bytes, private_key: Ed25519PrivateKey) -> Envelope:
    """Sign a payload, normally that of a statement."""
    return Envelope(
        payload=payload,
        keyid=keyid_of(private_key.public_key()),
        signature=private_key.sign(encoding_to_sign(payload)),
    )


def verify(envelope: Envelope, public_keys: Iterable[Ed25519PublicKey]) -> None:
    """Verify that an envelope was signed by the key that it names. Whether that key may sign is decided by `trust`.

    Args:
        envelope: the envelope.
        public_keys: the known keys.

    Raises:
        SignatureBroken: the envelope names none of the keys, or the named key did not sign it.
    """
    named = next((key for key in public_keys if keyid_of(key) == envelope.keyid), None)
    if named is None:
        raise SignatureBroken(f"the envelope must be signed by a known key, got one by the key {envelope.keyid}.")
    try:
        named.verify(envelope.signature, encoding_to_sign(envelope.payload))
    except InvalidSignature:
        raise SignatureBroken(
            f"the envelope must match the signature of the key {envelope.keyid}: payload or signature was altered."
        ) from None


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A statement about files. Its repr does not show the predicate, which may be internal.

    Attributes:
        subjects: SHA-256 of each file, by its name.
        predicate: what is stated about them, as plain values.
        version: version of the predicate's form.
    """

    subjects: Mapping[str, str]
    predicate: Mapping[str, object] = field(repr=False)
    version: int = VERSION

    def __post_init__(self) -> None:
        """Refuse a statement without subjects, or with subjects that cannot be identified."""
        if not self.subjects:
            raise InvalidInput("a statement must have a subject, got none; name the files it is about.")
        for name, digest in self.subjects.items():
            if not isinstance(name, str) or not name or not is_digest(digest):
                raise InvalidInput("a subject must have a name and a SHA-256 in lower-case hexadecimal.")
        if not isinstance(self.predicate, Mapping):
            raise InvalidInput(f"a predicate must be named values, got {type(self.predicate).__name__}.")

    def to_payload(self) -> bytes:
        """The statement in the form that is signed: canonical JSON, subjects in the order of their names.

        Raises:
            InvalidInput: the predicate does not consist of plain values.
        """
        subjects = [{"name": name, "digest": {"sha256": self.subjects[name]}} for name in sorted(self.subjects)]
        content = {
            "_type": STATEMENT_TYPE,
            "subject": subjects,
            "predicateType": PREDICATE_TYPES[self.version],
            "predicate": self.predicate,
        }
        return canonical(content).encode()

    @classmethod
    def from_payload(cls, payload: bytes) -> "Statement":
        """Read a statement.

        Raises:
            InvalidInput: it is not, byte for byte, a statement in canonical form.
        """
        try:
            text = payload.decode()
        except UnicodeDecodeError:
            raise InvalidInput("the statement must be UTF-8, got other bytes.") from None
        names = ("_type", "subject", "predicateType", "predicate")
        content = members(parsed(text, "the statement"), names, "the statement")
        if content["_type"] != STATEMENT_TYPE:
            raise InvalidInput(f"the statement's _type must be {STATEMENT_TYPE}, got another.")
        versions = {name: version for version, name in PREDICATE_TYPES.items()}
        if not isinstance(content["predicateType"], str) or content["predicateType"] not in versions:
            known = " or ".join(versions)
            raise InvalidInput(f"the statement's predicateType must be {known}, got another.")
        predicate = content["predicate"]
        if not isinstance(predicate, dict):
            raise InvalidInput("the statement's predicate must be named values, got something else.")
        version = versions[content["predicateType"]]
        read = cls(subjects=_subjects(content["subject"]), predicate=predicate, version=version)
        if read.to_payload() != payload:
            raise InvalidInput("the statement must be written canonically, got the same content in other bytes.")
        return read


def statement(subjects: Mapping[str, str], predicate: Mapping[str, object], version: int = VERSION) -> bytes:
    """Write the payload of a statement.

    Args:
        subjects: SHA-256 of each file, in hexadecimal, by its name.
        predicate: what is stated about them, as plain values.
        version: version of the predicate's form.

    Raises:
        InvalidInput: there are no subjects, a digest is invalid, or the predicate does not consist of plain values.
    """
    return Statement(subjects=subjects, predicate=predicate, version=version).to_payload()


def _subjects(listed: object) -> dict[str, str]:
    """Digests by name; a repeated name is refused."""
    if not isinstance(listed, list):
        raise InvalidInput("the statement's subject must be a list, got something else.")
    subjects: dict[str, str] = {}
    for subject in listed:
        item = members(subject, ("name", "digest"), "a subject")
        digest = members(item["digest"], ("sha256",), "a subject's digest")["sha256"]
        name = item["name"]
        if not isinstance(name, str) or not isinstance(digest, str):
            raise InvalidInput("a subject must have a name and a SHA-256 in lower-case hexadecimal.")
        if name in subjects:
            raise InvalidInput(f"a subject must be named once, got {name} twice.")
        subjects[name] = digest
    return subjects


def _bytes_of(text: object, what: str) -> bytes:
    """Bytes from standard base64 in canonical form."""
    if isinstance(text, str):
        try:
            decoded = b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            pass
        else:
            if b64encode(decoded).decode() == text:
                return decoded
    raise InvalidInput(f"{what} must be canonical base64, got something else.")
