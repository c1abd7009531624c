"""The status file of public releases: which of them still hold, which were superseded, and which were withdrawn.

A release's own record cannot say so, because it is signed when the release is published. The status file is signed by
the same key, is published beside the folders of the releases, and is replaced by a later one. It is true until a stated
day; after that, a later one is needed. Its entries follow from the ledger (stores.releases.status_file).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Literal, TypeAlias, get_args

from deniable.foundation.errors import InvalidInput
from deniable.foundation.strict_json import members
from deniable.ledger.entries import require_time
from deniable.record.attestation import STATUS, Envelope, Statement, is_digest, statement

STATUS_FILE = "status.dsse.json"
"""Name of the status file, in the folder of the folders of releases."""
InForce: TypeAlias = Literal["in force", "superseded", "withdrawn"]

_FORMAT = 1
_FIELDS = ("format", "ledger", "entries", "head", "fresh_until", "releases", "signed")
_DAY = len("2026-11-20")


@dataclass(frozen=True, kw_only=True)
class ReleaseStanding:
    """Whether a release still holds.

    Attributes:
        dataset: the dataset's name.
        release: the release's name.
        table: SHA-256 of its table, as the ledger states it.
        published: when it was published, in Coordinated Universal Time, in whole minutes.
        standing: whether it is in force.
        since: when that was decided; the time of publication if nothing was decided.
        reason: the reason, in the words of those who decided; empty if nothing was decided.
        successor: the release that replaces it; empty unless it was superseded.
        reviewed: when it was last reviewed and kept; empty if it never was.
    """

    dataset: str
    release: str
    table: str
    published: str
    standing: InForce
    since: str
    reason: str = ""
    successor: str = ""
    reviewed: str = ""

    @property
    def in_words(self) -> str:
        """The standing in a sentence without its end."""
        said = f": {self.reason}" if self.reason else ""
        if self.standing == "in force":
            return f"in force{f', last reviewed on {self.reviewed[:_DAY]}' if self.reviewed else ''}"
        by = f" by {self.successor}" if self.successor else ""
        return f"{self.standing} on {self.since[:_DAY]}{by}{said}"


@dataclass(frozen=True, kw_only=True)
class Status:
    """A status file.

    Attributes:
        ledger: name of the ledger from which it follows.
        entries: number of its entries.
        head: digest of the last of them.
        fresh_until: the last day on which the file should be relied on, such as 2026-12-31.
        releases: the public releases, in the order in which they were published.
        signed: time and key of the signature, in whole minutes.
    """

    ledger: str
    entries: int
    head: str
    fresh_until: str
    releases: tuple[ReleaseStanding, ...]
    signed: Mapping[str, str]

    def of(self, release: str) -> ReleaseStanding | None:
        """The standing of a release; None if the file does not list it."""
        return next((each for each in self.releases if each.release == release), None)

    def to_payload(self) -> bytes:
        """The statement that is signed; its subjects are the tables of the releases."""
        predicate = {
            "format": _FORMAT,
            "ledger": self.ledger,
            "entries": self.entries,
            "head": self.head,
            "fresh_until": self.fresh_until,
            "releases": [asdict(each) for each in self.releases],
            "signed": dict(self.signed),
        }
        return statement({each.release: each.table for each in self.releases}, predicate, version=STATUS)

    @classmethod
    def from_envelope(cls, envelope: Envelope) -> "Status":
        """Read a status file; its signature is not checked.

        Raises:
            InvalidInput: it is not a status file.
        """
        said = Statement.from_payload(envelope.payload)
        if said.version != STATUS:
            raise InvalidInput("a status file must state which releases hold, got the record of something else.")
        values = members(said.predicate, _FIELDS, "the status file")
        listed, signed = values["releases"], members(values["signed"], ("time", "keyid"), "the status file's signature")
        entries = values["entries"]
        if values["format"] != _FORMAT or not isinstance(listed, list) or not isinstance(entries, int):
            raise InvalidInput("a status file must have the form of this version, got another.")
        read = cls(
            ledger=_text(values["ledger"], "ledger"),
            entries=entries,
            head=_text(values["head"], "head"),
            fresh_until=_text(values["fresh_until"], "fresh_until"),
            releases=_releases(listed),
            signed={name: _text(value, name) for name, value in signed.items()},
        )
        if said.subjects != {each.release: each.table for each in read.releases}:
            raise InvalidInput("a status file must be about the tables of the releases that it lists, got others.")
        return read


def _releases(listed: Sequence[object]) -> tuple[ReleaseStanding, ...]:
    names = tuple(each.name for each in fields(ReleaseStanding))
    read = []
    for each in listed:
        values = {name: _text(value, name) for name, value in members(each, names, "a release's standing").items()}
        if values["standing"] not in get_args(InForce) or not is_digest(values["table"]):
            raise InvalidInput("a status file must list standings that it can have, got others.")
        for name in ("published", "since"):
            require_time(values[name])
        read.append(ReleaseStanding(**values))  # type: ignore[arg-type]
    if len({each.release for each in read}) != len(read):
        raise InvalidInput("a status file must list each release once, got one of them twice.")
    return tuple(read)


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{name} in a status file must be a text, got something else.")
    return value
