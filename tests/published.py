"""A published release in memory, to be altered, signed again and verified; none of it is trusted."""

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from deniable.ledger.verification import records_of
from deniable.record.attestation import Envelope, Statement, sign
from deniable.record.trust import TrustedKeys
from deniable.verification.release import RECORD, CheckedContents, ReleaseReport, Trust, verify_release
from stores.keys.signing_keys import signing_key
from stores.keys.trust_file import trusted_keys
from stores.ledger.charging import open_ledger
from tests.charging import redigested
from tests.whole_release import Drawn

Place = tuple[str | int, ...]


@dataclass(frozen=True)
class InMemory:
    """A folder of files in memory.

    Attributes:
        files: what each file holds, by name.
        others: its other contents by name, such as `link`.
    """

    files: Mapping[str, bytes]
    others: Mapping[str, str] = field(default_factory=dict)

    def members(self) -> dict[str, str]:
        return {**dict.fromkeys(self.files, "file"), **self.others}

    def open(self, name: str) -> BinaryIO:
        return io.BytesIO(self.files[name])


@dataclass(frozen=True)
class Published:
    """A release folder with everything needed to forge another one as well as its makers could.

    Attributes:
        files: what each file holds, by name.
        keys: the trusted keys.
        private: the key that signed it.
        ledger: lines of the whole ledger.
    """

    files: Mapping[str, bytes]
    keys: TrustedKeys
    private: Ed25519PrivateKey
    ledger: tuple[str, ...]

    @classmethod
    def of(cls, drawn: Drawn) -> "Published":
        """Read a published release."""
        state, folder = drawn.workspace.state, drawn.workspace.release_folder
        return cls(
            files={path.name: path.read_bytes() for path in folder.iterdir()},
            keys=trusted_keys(state),
            private=signing_key(state).private,
            ledger=tuple(entry.to_line() for entry in open_ledger(drawn.workspace).entries()),
        )

    @property
    def statement(self) -> Statement:
        return _statement_in(self.files[RECORD])

    @property
    def record(self) -> dict[str, Any]:
        """A copy of the record's content."""
        said: dict[str, Any] = deepcopy(dict(self.statement.predicate))
        return said

    def document(self, name: str) -> dict[str, Any]:
        """Return a copy of the content of a JSON file in the folder."""
        said: dict[str, Any] = json.loads(self.files[name])
        return said

    def verify(
        self, *, with_ledger: bool = False, trusted: TrustedKeys | None = None, known: CheckedContents | None = None
    ) -> ReleaseReport:
        ledger = records_of(self.ledger) if with_ledger else None
        return verify_release(InMemory(self.files), Trust(trusted or self.keys, "of the tests"), ledger, known)

    def with_files(self, changed: Mapping[str, bytes | None]) -> "Published":
        """Replace the contents of some files, None to remove one; the record is unchanged."""
        files = {**self.files, **changed}
        return replace(self, files={name: content for name, content in files.items() if content is not None})

    def signed_again(self, record: Mapping[str, Any], version: int | None = None) -> "Published":
        """Replace the record, about the present files, signed by the trusted key and by default in the same version."""
        subjects = {name: sha256(content).hexdigest() for name, content in self.files.items() if name != RECORD}
        form = self.statement.version if version is None else version
        payload = Statement(subjects=subjects, predicate=record, version=form).to_payload()
        return self.with_files({RECORD: sign(payload, self.private).to_text().encode("ascii")})

    def with_document(self, name: str, value: Any) -> "Published":
        """Replace a JSON document, update its digest wherever it occurs, and sign the record again."""
        changed = self.with_files({name: (json.dumps(value, indent=2) + "\n").encode()})
        before, after = (sha256(each.files[name]).hexdigest() for each in (self, changed))
        record = json.loads(json.dumps(self.record).replace(before, after))
        return changed.signed_again(record)


@lru_cache
def _statement_in(content: bytes) -> Statement:
    return Statement.from_payload(Envelope.from_text(content).payload)


def as_version_1(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record in version 1, which repeated costs of some steps under fixed names."""
    older = deepcopy(dict(record))
    cost, steps = older["cost"], older["cost"]["steps"]
    for step in steps:
        step["record_t"] = None
    spent = {step["step"]: step["guarantee"] for step in steps}
    names = {
        "structure": "learn_structure",
        "parameters": "learn_parameters",
        "candidates": "synthesize",
        "histogram": "noise_seeds",
    }
    cost |= {name: spent.get(step) for name, step in names.items()}
    cost |= {"record": next((step["record"] for step in steps if step["record"]), None), "record_t": None}
    return older


def faults(report: ReleaseReport) -> str:
    """Return all faults found, one line each."""
    return "\n".join(fault for check in report.checks for fault in check.faults)


def leaves(value: Any, place: Place = ()) -> Iterator[Place]:
    """Yield the places of all leaves in nested plain values."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from leaves(inner, (*place, key))
    if not isinstance(value, dict | list) or not value:
        yield place


def at(value: Any, place: Place) -> Any:
    """Return the value at a place."""
    for key in place:
        value = value[key]
    return value


def with_change(value: Any, place: Place, change: Callable[[Any], Any]) -> Any:
    """Return a copy with another value at a place; it shares everything else with the original."""
    if not place:
        return change(deepcopy(value))
    copied = value.copy()
    copied[place[0]] = with_change(value[place[0]], place[1:], change)
    return copied


def another(value: Any) -> Any:
    """Return another value, of the same type if possible."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        exact = value.replace("/", "").isdigit()
        return f"{value}1" if exact else f"{value[:-1]}{'0' if value[-1:] != '0' else '1'}"
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 1.001 or 1e-9
    return "something" if value is None else ["something"]


def chained(record: dict[str, Any], entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a record with other entries, each chained to the previous one, and with the resulting head."""
    before, linked = record["ledger"]["before"], []
    for entry in entries:
        number, previous = (before["number"] + 1, before["digest"])
        linked.append(redigested({**entry, "number": number, "previous": previous}))
        before = linked[-1]
    head = {"number": before["number"], "digest": before["digest"]}
    return {**record, "ledger": {**record["ledger"], "entries": linked, "head": head}}


def shuffles(length: int) -> Iterator[tuple[str, Callable[[Sequence[Any]], list[Any]]]]:
    """Yield lists in which members are removed, repeated and reordered."""
    for number in range(length):
        yield f"{number} removed", lambda those, n=number: [*those[:n], *those[n + 1 :]]
        yield f"{number} repeated", lambda those, n=number: [*those[: n + 1], *those[n:]]
        if number:
            yield f"{number} moved", lambda those, n=number: [*those[: n - 1], those[n], those[n - 1], *those[n + 1 :]]


def folder_in(path: Path, published: Published) -> Path:
    """Write a release to a folder."""
    path.mkdir(parents=True)
    for name, content in published.files.items():
        (path / name).write_bytes(content)
    return path
