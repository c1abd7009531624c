"""Checkpoints of a ledger: its number of entries and the root of the tree over them, signed and cosigned by a witness.

A chain of digests shows that nothing inside a ledger was changed. It does not show that the end was cut off, nor that
all copies were put back to an earlier day. A witness elsewhere, who signs a checkpoint only if it continues the last
one that he signed, makes both visible to everyone who has two of his checkpoints.

Sources: C2SP signed-note, tlog-checkpoint, tlog-cosignature (cosignature/v1) and tlog-witness (body of add-checkpoint),
https://c2sp.org; Ed25519: RFC 8032. The leaves are the digests of entries, 32 bytes each.
"""

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from deniable.foundation.checks import Check
from deniable.foundation.errors import InvalidInput
from deniable.ledger.entries import Entry
from deniable.ledger.merkle import BYTES, consistency_proof, leaf, root_of

_SIGNED, _COSIGNED = 1, 4
_ID_BYTES, _TIME_BYTES, _SIGNATURE_BYTES = 4, 8, 64
_ORIGIN = "deniable/ledger/"
_MARK = "\u2014 "
_NAME = re.compile(r"[^\s+]{1,200}")
_SIZE = re.compile(r"0|[1-9][0-9]{0,14}")
_MOST_LINES = 100
_ORIGIN_DIGITS = 32


@dataclass(frozen=True)
class Signature:
    """A line under a note.

    Attributes:
        name: the name of the signer's key.
        data: the key's id and the signature, of a cosignature with its time between them.
    """

    name: str
    data: bytes

    @property
    def line(self) -> str:
        """The line, with its end."""
        return f"{_MARK}{self.name} {b64encode(self.data).decode()}\n"


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint, with the signatures under it.

    Attributes:
        origin: the log: which ledger it is of.
        size: number of entries.
        root: root of the tree over them.
        signatures: the signatures, none of which is verified yet.
    """

    origin: str
    size: int
    root: bytes
    signatures: tuple[Signature, ...] = ()

    @property
    def body(self) -> str:
        """What is signed."""
        return f"{self.origin}\n{self.size}\n{b64encode(self.root).decode()}\n"

    @property
    def text(self) -> str:
        """The signed note."""
        return self.body + "\n" + "".join(signature.line for signature in self.signatures)

    def signed(self, key: Ed25519PrivateKey) -> "Checkpoint":
        """The checkpoint with the signature of the log; the key has the log's name, as tlog-checkpoint advises."""
        data = _key_id(self.origin, _SIGNED, key.public_key()) + key.sign(self.body.encode())
        return self._with(Signature(self.origin, data))

    def cosigned(self, name: str, key: Ed25519PrivateKey, time: int) -> "Checkpoint":
        """The checkpoint with the signature of a witness.

        Args:
            name: the name of the witness's key.
            key: the key.
            time: the time, in seconds since 1970 in Coordinated Universal Time.
        """
        signature = key.sign(_cosigned_bytes(self.body, time))
        data = _key_id(name, _COSIGNED, key.public_key()) + time.to_bytes(_TIME_BYTES, "big") + signature
        return self._with(Signature(name, data))

    def is_signed_by(self, key: Ed25519PublicKey) -> bool:
        """Whether the log has signed it with a key."""
        return any(
            len(each.data) == _ID_BYTES + _SIGNATURE_BYTES
            and each.data[:_ID_BYTES] == _key_id(each.name, _SIGNED, key)
            and _verifies(key, each.data[_ID_BYTES:], self.body.encode())
            for each in self.signatures
        )

    def cosigned_at(self, key: Ed25519PublicKey) -> int | None:
        """When a witness has cosigned it with a key, in seconds since 1970; None if he has not."""
        for each in self.signatures:
            if len(each.data) == _ID_BYTES + _TIME_BYTES + _SIGNATURE_BYTES:
                time = int.from_bytes(each.data[_ID_BYTES : _ID_BYTES + _TIME_BYTES], "big")
                known = each.data[:_ID_BYTES] == _key_id(each.name, _COSIGNED, key)
                if known and _verifies(key, each.data[_ID_BYTES + _TIME_BYTES :], _cosigned_bytes(self.body, time)):
                    return time
        return None

    def fault_in(self, digests: Sequence[str]) -> str | None:
        """How a ledger contradicts the checkpoint, as the end of a sentence; None if it continues it.

        Args:
            digests: the digest of each of its entries, in order.
        """
        if digests and self.origin != origin_of(digests[0]):
            return f"is another ledger than {self.origin}"
        if len(digests) < self.size:
            return f"ends after {len(digests):,} entries, but had {self.size:,} when the checkpoint was made"
        if root_of(leaves_of(digests[: self.size])) != self.root:
            return f"has others in place of the first {self.size:,} entries that it had when the checkpoint was made"
        return None

    def _with(self, signature: Signature) -> "Checkpoint":
        return Checkpoint(self.origin, self.size, self.root, (*self.signatures, signature))


def origin_of(first: str) -> str:
    """The origin of a ledger's checkpoints: the beginning of the digest of its first entry, which no other ledger has.

    Args:
        first: this digest, in hexadecimal.
    """
    return _ORIGIN + first[:_ORIGIN_DIGITS]


def leaves_of(digests: Sequence[str]) -> list[bytes]:
    """The leaves of a ledger's tree.

    Args:
        digests: the digest of each entry, in hexadecimal.
    """
    return [leaf(bytes.fromhex(digest)) for digest in digests]


def checkpoint_of(digests: Sequence[str]) -> Checkpoint:
    """The checkpoint of a ledger, not signed.

    Args:
        digests: the digest of each entry, in order; at least one.
    """
    return Checkpoint(origin_of(digests[0]), len(digests), root_of(leaves_of(digests)))


def digests_in(records: Sequence[object]) -> list[str]:
    """The digests that entries state; nothing is assumed of them.

    Args:
        records: the entries as plain values, of which those up to the first that is none are read.
    """
    digests: list[str] = []
    for record in records:
        try:
            digests.append(Entry.from_record(record).digest)
        except InvalidInput:
            break
    return digests


def read_checkpoint(text: str) -> Checkpoint:
    """Read a signed note.

    Raises:
        InvalidInput: it is no checkpoint.
    """
    body, gap, signatures = text.partition("\n\n")
    lines = body.split("\n")
    if not gap or len(lines) != 3 or not _SIZE.fullmatch(lines[1]) or not signatures.endswith("\n"):
        raise _no_checkpoint()
    root = _decoded(lines[2])
    if len(root) != BYTES or not lines[0]:
        raise _no_checkpoint()
    found = Checkpoint(lines[0], int(lines[1]), root, tuple(map(_signature, signatures[:-1].split("\n")[:_MOST_LINES])))
    if found.text != text:
        raise _no_checkpoint()
    return found


def check_continued(
    name: str, content: bytes, records: Sequence[object], key: Ed25519PublicKey | None, day_of: Callable[[int], str]
) -> Check:
    """Check that a ledger continues a checkpoint that a witness has cosigned.

    Args:
        name: the file of the checkpoint, for messages.
        content: its content, of which nothing is assumed.
        records: the entries of the ledger as plain values, of which nothing is assumed either.
        key: the key of the witness; None if it is not known.
        day_of: the day of a time in seconds since 1970, in words.
    """

    def of(*faults: str, note: str = "") -> Check:
        return Check("the ledger continues the cosigned checkpoint", tuple(f"{name}: {each}" for each in faults), note)

    try:
        checkpoint = read_checkpoint(content.decode())
    except (InvalidInput, UnicodeDecodeError) as error:
        return of(str(error))
    time = None if key is None else checkpoint.cosigned_at(key)
    if key is not None and time is None:
        return of("it is not cosigned with the given key")
    if fault := checkpoint.fault_in(digests_in(records)):
        return of(f"the ledger {fault}")
    by_whom = "by whom was not checked: no key was given" if time is None else f"cosigned {day_of(time)}"
    return of(note=f"of {checkpoint.size:,} entries, {by_whom}")


@dataclass(frozen=True)
class WitnessRequest:
    """What a log gives to a witness.

    Attributes:
        before: number of entries of the last checkpoint that the witness has cosigned.
        proof: the proof that the log continues that.
        checkpoint: the new checkpoint, signed by the log.
    """

    before: int
    proof: tuple[bytes, ...]
    checkpoint: Checkpoint

    @property
    def text(self) -> str:
        """The body of a request to add a checkpoint."""
        lines = [f"old {self.before}", *(b64encode(each).decode() for each in self.proof), ""]
        return "\n".join(lines) + "\n" + self.checkpoint.text


def request_after(before: int, digests: Sequence[str], checkpoint: Checkpoint) -> WitnessRequest:
    """A request to a witness.

    Args:
        before: number of entries of the last checkpoint that the witness has cosigned; 0 if there is none.
        digests: the digest of each entry of the ledger, in order.
        checkpoint: the ledger's checkpoint, signed.
    """
    return WitnessRequest(before, tuple(consistency_proof(leaves_of(digests), before)), checkpoint)


def read_request(text: str) -> WitnessRequest:
    """Read a request to a witness.

    Raises:
        InvalidInput: it is none.
    """
    head, gap, rest = text.partition("\n\n")
    first, *proof = head.split("\n")
    word, _, before = first.partition(" ")
    if not gap or word != "old" or not _SIZE.fullmatch(before) or len(proof) > _MOST_LINES:
        raise InvalidInput(
            "a request to a witness must begin with `old` and a number of entries, got another text; give the file "
            "that `deniable budget checkpoint` wrote."
        )
    return WitnessRequest(int(before), tuple(map(_decoded, proof)), read_checkpoint(rest))


def verifier_key(name: str, key: Ed25519PublicKey) -> str:
    """The key of a witness, as text that others can keep: the form `vkey` of C2SP signed-note.

    Raises:
        InvalidInput: the name has blanks or a plus sign, or is too long.
    """
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"the name of a witness must have no blanks and no plus sign, got {name!r}; choose another.")
    encoded = bytes([_COSIGNED]) + key.public_bytes_raw()
    return f"{name}+{_key_id(name, _COSIGNED, key).hex()}+{b64encode(encoded).decode()}"


def read_verifier_key(text: str) -> Ed25519PublicKey:
    """The key in such a text.

    Raises:
        InvalidInput: it is no key of a witness.
    """
    name, _, rest = text.strip().partition("+")
    given, _, encoded = rest.partition("+")
    try:
        data = b64decode(encoded, validate=True)
        key = Ed25519PublicKey.from_public_bytes(data[1:])
    except (ValueError, binascii.Error):
        data, key = b"", None
    if key is None or data[0] != _COSIGNED or verifier_key(name, key) != text.strip() or not given:
        raise InvalidInput(
            "the key of a witness must be the line `name+id+key` that `deniable audit witness` printed, got another "
            "text."
        )
    return key


def _signature(line: str) -> Signature:
    name, _, data = line.removeprefix(_MARK).partition(" ")
    if not line.startswith(_MARK) or not _NAME.fullmatch(name):
        raise _no_checkpoint()
    return Signature(name, _decoded(data))


def _cosigned_bytes(body: str, time: int) -> bytes:
    return f"cosignature/v1\ntime {time}\n{body}".encode()


def _key_id(name: str, kind: int, key: Ed25519PublicKey) -> bytes:
    return sha256(name.encode() + b"\n" + bytes([kind]) + key.public_bytes_raw()).digest()[:_ID_BYTES]


def _verifies(key: Ed25519PublicKey, signature: bytes, data: bytes) -> bool:
    try:
        key.verify(signature, data)
    except InvalidSignature:
        return False
    return True


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise _no_checkpoint() from None


def _no_checkpoint() -> InvalidInput:
    return InvalidInput(
        "a checkpoint must be a signed note of an origin, a number of entries and a root, got another text; give the "
        "file that `deniable budget checkpoint` or a witness wrote."
    )
