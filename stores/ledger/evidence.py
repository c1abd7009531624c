"""Witnesses of what a ledger was charged, in a state folder besides its copy: signed records, notes and the vault.

Every file is a witness of its own: the records of releases on the shelf and in public, the records of discoveries, the
note of each charge and of each signed entry (`ledger-notes/`), and the vaults of releases that have drawn, be they
unfinished, held or finished. Surveys charge nothing. A file is read once: what it proves is remembered, also by later
processes, under its size, its time and its number on the disk. Signatures of records are not checked here: a forged
record can only block, never permit. The decision on what the witnesses say belongs to `stores.ledger.gate`.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

from deniable.foundation.errors import DeniableError
from deniable.ledger.entries import Approver, Charge, Custodian, Entry, Policy, entry_of
from deniable.ledger.state import LedgerState
from deniable.record.attestation import Envelope, Statement
from deniable.roles import Role
from schemas.provenance import RECORD
from stores.keys.signed_record import read_signed
from stores.own_files import own_descriptor, read_own, read_own_text
from stores.vault.disk import flush_to_disk, replace_whole
from stores.vault.private_files import make_private_folder

NOTES = "ledger-notes"
"""Folder of the notes: a file for each release, with the entries of its charges, and one for all signed entries."""

_POLICIES = "policies"
_LEARN = Role.PARAMETERS
_CHARGED = f"steps/{_LEARN}-*.json"
"""Files that are in the vault once a release was charged: every release is charged before it learns parameters.

Only one whose learner reads no record is not; the vault then has a note that this step has spent nothing.
"""
_INDEX = "cache/evidence.json"
_FORMAT = 1

Stamp: TypeAlias = tuple[int, int, int]
"""Size, time of change in nanoseconds and number on the disk: a file with the same three is not read again."""


@dataclass(frozen=True, kw_only=True)
class Proof:
    """What one file proves about the ledger.

    Attributes:
        witness: the file, relative to the state folder.
        release: the release that it is about.
        number: number of the last entry that it names; None if it names none.
        digest: digest of that entry, and so of all before it.
        charges: identities of the charges that it shows.
        commitment: commitment to the key under which it was charged, if no more is known; else empty.
        readable: whether it could be read. A published folder proves that there was a release even if it could not.
    """

    witness: str
    release: str
    number: int | None = None
    digest: str = ""
    charges: tuple[str, ...] = ()
    commitment: str = ""
    readable: bool = True

    def missing_in(self, books: LedgerState) -> str | None:
        """What of this a ledger lacks, in words; None if nothing.

        A ledger that a person has recovered is another chain, in which the charges must be, whatever their numbers.
        """
        if self.number is not None:
            if books.digest_at(self.number) == self.digest:
                return None
            if books.recoveries and all(books.is_charged(identity) for identity in self.charges):
                return None
            return f"entry {self.number}"
        if self.commitment:
            known = self.commitment in books.commitments or self.commitment in books.given_up
            return None if known else "the charges"
        known = self.readable or self.release in books.releases or self.release in books.given_up
        return None if known else "the charges"

    @property
    def lost_as(self) -> str:
        """What stands for its charges in a ledger if they are given up: the commitment, or the release; else empty."""
        return self.commitment or ("" if self.readable else self.release)


@dataclass(frozen=True)
class Shown:
    """What the witnesses show of charges and policies, for a recovery.

    Attributes:
        charges: the charges, each once.
        policies: the latest shown policy of each dataset.
        approvers: each entry that admits or revokes an approver's key, the earliest first.
    """

    charges: Sequence[Charge] = ()
    policies: Mapping[str, Policy] = field(default_factory=dict)
    approvers: Sequence[Approver] = ()


class Witnesses:
    """The witnesses in a state folder; threads must take turns.

    Args:
        state: the state folder.

    Attributes:
        files_read: number of files that were read so far.
    """

    def __init__(self, state: Path) -> None:
        self.state = state
        self.files_read = 0
        self._known: dict[str, tuple[Stamp, tuple[Proof, ...]]] | None = None

    def proofs(self) -> list[Proof]:
        """What all witnesses prove now; only files that are new or were changed are read."""
        if self._known is None:
            self._known = self._remembered()
        known = self._known
        found: dict[str, tuple[Stamp, tuple[Proof, ...]]] = {}
        for place, read in self._files():
            name = place.relative_to(self.state).as_posix()
            stamp = _stamp(place)
            before = known.get(name)
            if before is None or stamp is None or before[0] != stamp:
                self.files_read += 1
                found[name] = (stamp or (0, 0, 0), tuple(read(place)))
            else:
                found[name] = before
        if found != known:
            self._remember(found)
        self._known = found
        return [proof for _, proofs in found.values() for proof in proofs]

    def shown(self) -> Shown:
        """Read what the witnesses show of charges, policies and approvers, in full."""
        approvers: dict[int, Approver] = {}
        policies: dict[str, tuple[int, Policy]] = {}
        charges: dict[str, Charge] = {}
        for place, _ in self._files():
            for entry in _entries(place):
                with suppress(DeniableError):
                    shown = entry_of(entry)
                    fact = shown.fact() if isinstance(shown, Entry) else None
                    if isinstance(fact, Charge):
                        charges.setdefault(fact.identity, fact)
                    elif isinstance(fact, Policy) and shown.number >= policies.get(fact.dataset, (0, fact))[0]:
                        policies[fact.dataset] = (shown.number, fact)
                    elif isinstance(fact, Approver):
                        approvers[shown.number] = fact
        return Shown(
            list(charges.values()),
            {dataset: policy for dataset, (_, policy) in policies.items()},
            [approver for _, approver in sorted(approvers.items(), key=lambda kept: kept[0])],
        )

    def note(self, entry: Entry) -> None:
        """Keep a note of an entry, on disk; one that is there already is left as it is.

        Raises:
            OSError: it cannot be written.
        """
        release = entry.content.get("release")
        place = self.state / NOTES / f"{quote(release, safe='') if release else f'@{_POLICIES}'}.jsonl"
        line = f"{entry.to_line()}\n".encode()
        fresh = not place.exists()
        if not fresh and line in read_own(place):
            return
        if fresh:
            make_private_folder(place.parent)
        descriptor = own_descriptor(place, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        with os.fdopen(descriptor, "r+b") as file:
            held = file.read()
            # A process may have been killed within a line, which then stays a line of its own.
            file.write(line if held.endswith(b"\n") or not held else b"\n" + line)
            file.flush()
            os.fsync(file.fileno())
        if fresh:
            flush_to_disk(place.parent)

    def _files(self) -> Iterator[tuple[Path, Any]]:
        """All witnesses, and the function that reads each."""
        for folder in ("releases", "discoveries"):
            for place in _folders(self.state / folder):
                yield place / RECORD, self._of_record
        for place in _folders(self.state / "shelf"):
            if (place / RECORD).exists():
                yield place / RECORD, self._of_record
        for place in sorted((self.state / NOTES).glob("[!.]*.jsonl")):
            yield place, self._of_note
        for place in _folders(self.state / "vault"):
            # What was charged once stays charged.
            known = self._known or {}
            if f"vault/{place.name}/release.json" in known or any(place.glob(_CHARGED)):
                yield place / "release.json", self._of_vault

    def _of_record(self, place: Path) -> Iterator[Proof]:
        witness, release = place.relative_to(self.state).as_posix(), place.parent.name
        entries = _entries(place)
        if not entries:
            yield Proof(witness=witness, release=release, readable=False)
            return
        last = max(entries, key=_number)
        yield Proof(
            witness=witness,
            release=release,
            number=last["number"],
            digest=last["digest"],
            charges=tuple(_identities(entries)),
        )

    def _of_note(self, place: Path) -> Iterator[Proof]:
        for entry in _entries(place):
            yield Proof(
                witness=place.relative_to(self.state).as_posix(),
                release=_about(entry["kind"], entry["content"]),
                number=entry["number"],
                digest=entry["digest"],
                charges=tuple(_identities([entry])),
            )

    def _of_vault(self, place: Path) -> Iterator[Proof]:
        from stores.vault.step_log import spent_nothing  # noqa: PLC0415 - imports the specs

        if spent_nothing(place.parent, _LEARN):
            return
        with suppress(DeniableError, OSError, ValueError, KeyError, TypeError):
            commitment = json.loads(read_own(place))["commitment"]
            yield Proof(
                witness=place.relative_to(self.state).as_posix(), release=place.parent.name, commitment=commitment
            )

    def _remembered(self) -> dict[str, tuple[Stamp, tuple[Proof, ...]]]:
        """What an earlier process read; empty if that is lost, unreadable or of another version."""
        with suppress(DeniableError, OSError, ValueError, KeyError, TypeError, AttributeError):
            said = json.loads(read_own(self.state / _INDEX))
            if said["format"] == _FORMAT:
                return {name: (_stamp_of(kept), _proofs_of(kept)) for name, kept in said["files"].items()}
        return {}

    def _remember(self, found: Mapping[str, tuple[Stamp, tuple[Proof, ...]]]) -> None:
        files = {
            name: {"stamp": stamp, "proofs": [asdict(proof) for proof in proofs]}
            for name, (stamp, proofs) in found.items()
        }
        with suppress(OSError):
            place = self.state / _INDEX
            place.parent.mkdir(parents=True, exist_ok=True)
            replace_whole(place, json.dumps({"format": _FORMAT, "files": files}))


def _stamp_of(kept: Mapping[str, Any]) -> Stamp:
    size, time, number = kept["stamp"]
    return size, time, number


def _proofs_of(kept: Mapping[str, Any]) -> tuple[Proof, ...]:
    return tuple(Proof(**{**proof, "charges": tuple(proof["charges"])}) for proof in kept["proofs"])


def _stamp(place: Path) -> Stamp | None:
    """The stamp of a file; None if there is none."""
    try:
        found = place.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino


def _folders(place: Path) -> list[Path]:
    """The folders in a folder, the oldest release of a spec first."""
    return sorted(folder for folder in place.glob("*/") if not folder.name.startswith("."))


def _entries(place: Path) -> list[Mapping[str, Any]]:
    """The entries that a witness contains or names; none if it cannot be read."""
    with suppress(DeniableError, OSError, KeyError, TypeError, ValueError):
        if place.suffix == ".jsonl":
            return _entries_of_note(place)
        if place.parent.parent.name == "discoveries":
            said = Statement.from_payload(Envelope.from_text(read_own(place)).payload)
            entry: Any = said.predicate["entry"]
            entry_of(entry)  # the file has the form of a record, or is refused
            return [entry]
        if place.name == RECORD:
            segment = read_signed(place).record.ledger
            return [*([] if segment.before is None else [segment.before.model_dump()]), *segment.entries]
    return []


def _entries_of_note(place: Path) -> list[Mapping[str, Any]]:
    """The entries in a note, except a line within which a process was killed."""
    found: list[Mapping[str, Any]] = []
    for line in read_own_text(place).split("\n"):
        with suppress(DeniableError, ValueError):
            record = json.loads(line)
            Entry.from_record(record)
            found.append(record)
    return found


def _about(kind: str, content: Mapping[str, Any]) -> str:
    """The release that an entry is about, or the dataset, or the person whose key it names."""
    if kind in (Approver.kind, Custodian.kind):
        return f"the {kind} {content.get('owner')}"
    return str(content.get("release") or f"the dataset {content.get('dataset', 'of a recovery')}")


def _number(entry: Mapping[str, Any]) -> int:
    """The number of an entry; a record whose entries have none is not one of this program."""
    number = entry["number"]
    return number if isinstance(number, int) else -1


def _identities(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The identities of the charges that entries show."""
    for entry in entries:
        content = entry.get("content")
        if entry.get("kind") == Charge.kind and isinstance(content, Mapping) and "identity" in content:
            yield content["identity"]
