"""The privacy ledger of all releases: spending on a dataset is charged before a draw and never exceeds its cap.

One database lock covers reading the amount spent, comparing it with the cap and appending the charge, so processes
cannot exceed a cap together, whatever their number. The time of an entry is that of the database's machine, but never
before the previous entry: setting the clock back does not reopen a period. A clock that is ahead opens the next period
early: until the calendar has caught up, everything is charged to that period. The lifetime cap does not depend on the
clock. Times are whole minutes: entries are published and must not reveal the duration of a draw from confidential data.

Sums of charges do not belong here (deniable.ledger.budget, deniable.ledger.state), nor does the database itself
(stores.ledger.database). Nothing restricted is ever written here: digests are keyed before they arrive.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TypeVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import Connection, insert

from deniable.foundation.errors import InvalidInput, Refused
from deniable.foundation.keys import fresh_salt
from deniable.ledger.budget import Balance, cost_of
from deniable.ledger.entries import (
    SIGNED,
    SIGNED_APPROVALS,
    Approver,
    Charge,
    Cost,
    Custodian,
    Entry,
    Fact,
    Opening,
    OtherVersion,
    Output,
    Policy,
    Publication,
    Recovery,
    Standing,
    StandingWord,
)
from deniable.ledger.signatures import sign
from deniable.ledger.state import Charged, LedgerBroken, LedgerState, account_name
from stores.keys.custodian_key import CustodianKey
from stores.ledger.database import (
    ENTRIES,
    LedgerDatabase,
    LedgerServerDown,
    LedgerUnavailable,
    LedgerUnreachable,
    entry_rows,
    written_time,
)
from stores.ledger.gate import Gate
from stores.servers.patience import note_answer, pauses
from stores.vault.scratch import is_scratch

T = TypeVar("T")

LEDGER_VARIABLE = "DENIABLE_LEDGER"

_WAITS_S = (0.5, 2.0)
"""Waiting times for a file locked by another process; servers get more time (stores.servers.patience)."""


class OtherOutput(Refused):
    """A repeated draw gave a different output."""


@dataclass(frozen=True, kw_only=True)
class Reserved:
    """A charge in the ledger, which permits its draw.

    Attributes:
        entry: the entry of the charge.
        charge: the charge as first made.
        fresh: whether it was made just now; otherwise it costs nothing again.
        output: digest of the output, if it was already drawn and stored.
    """

    entry: Entry
    charge: Charge
    fresh: bool
    output: str | None

    @property
    def identity(self) -> str:
        """Identity of the draw."""
        return self.charge.identity


@dataclass(frozen=True, kw_only=True)
class StandingsInLedger:
    """The public releases of a ledger, and what was decided about each.

    Attributes:
        ledger: the ledger's name.
        head: its last entry; None in an empty ledger.
        releases: for each release its entry of publication, that fact, and the decisions with their entries, in order.
    """

    ledger: str
    head: Entry | None
    releases: tuple[tuple[Entry, Publication, tuple[tuple[Entry, Standing], ...]], ...]


def ledger_place(state: Path) -> str | Path:
    """Location of the ledger: the URL or path in DENIABLE_LEDGER except in scratch, else a file in the state folder."""
    named = None if is_scratch(state) else os.environ.get(LEDGER_VARIABLE)
    return named or state / "ledger" / "ledger.db"


def kept_lines(place: str | Path) -> list[str]:
    """All stored entries of a ledger in order, one line each, in any state.

    Raises:
        LedgerUnavailable: the database cannot be reached, refuses access, or has a later version.
    """
    database = LedgerDatabase.at(place)
    _patiently(database.place, database.bring_up_to_date)
    return _patiently(database.place, lambda: kept_lines_of(database))


def kept_lines_of(database: LedgerDatabase) -> list[str]:
    """All stored entries in a database, one line each."""
    with database.reading() as connection:
        return entry_rows(connection, 0)


def write_lines(lines: Sequence[str], path: Path) -> None:
    """Write entries to a file for verification elsewhere, completely or not at all; an existing file is replaced.

    Raises:
        InvalidInput: the file cannot be written.
    """
    try:
        with NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.", encoding="utf-8", delete=False) as file:
            temporary = Path(file.name)
            try:
                file.writelines(f"{line}\n" for line in lines)
                file.flush()
                os.fsync(file.fileno())
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"the export must go to a file that can be written, got {path}: {error.strerror}; name another."
        ) from None


def _patiently(place: str, work: Callable[[], T]) -> T:
    """Repeat work while the database cannot be reached; this is safe, because a charge has an identity."""
    is_server = "://" in place
    for wait in pauses(place) if is_server else _WAITS_S:
        try:
            done = work()
        except LedgerUnreachable:
            time.sleep(wait)
        else:
            note_answer(place, answered=True)
            return done
    try:
        return work()
    except LedgerServerDown:
        note_answer(place, answered=False)
        raise


class Ledger:
    """An open ledger; threads may share it, and each process opens its own.

    Args:
        database: the database of its entries.
        clock: returns the time in the format of entries, for tests; by default, the database's machine does.
        gate: the gate of a state folder, which decides whether anything may be charged; None for a ledger without one.
        custodian: returns the custodian's key, given the public key that the ledger names, if any; None for a ledger
            without signatures.
    """

    def __init__(
        self,
        database: LedgerDatabase,
        clock: Callable[[], str] | None = None,
        gate: Gate | None = None,
        custodian: Callable[[str], CustodianKey] | None = None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._gate = gate
        self._custodian = custodian
        self._ahead: tuple[int, list[str]] = (0, [])
        self._books = LedgerState()
        self._confirmed: Entry | None = None
        self._turn = threading.RLock()

    @classmethod
    def open(
        cls,
        place: str | Path,
        clock: Callable[[], str] | None = None,
        gate: Gate | None = None,
        custodian: Callable[[str], CustodianKey] | None = None,
    ) -> "Ledger":
        """Open a ledger; it is created if it does not exist.

        Args:
            place: path of a SQLite file, or URL of a database.
            clock: returns the time, for tests.
            gate: the gate of a state folder.
            custodian: returns the custodian's key.

        Raises:
            InvalidInput: the place does not name a supported database.
            LedgerUnavailable: the database cannot be reached, refuses access, or has a later version.
            LedgerBroken: the ledger was altered, or lacks entries that the state folder's witnesses prove.
        """
        database = LedgerDatabase.at(place)
        _patiently(database.place, database.bring_up_to_date)
        ledger = cls(database, clock, gate, custodian)
        ledger._hear_witnesses()
        with ledger._reading() as (books, _):
            ledger._require_proven(books)
            empty = books.head is None
        if empty:
            public = "" if custodian is None else custodian("").public
            ledger._append(
                lambda books, _: (
                    None
                    if books.head is not None
                    # A ledger without a custodian has nobody who could admit an approver.
                    else Opening(ledger=database.name, custodian=public, approvals=SIGNED_APPROVALS if public else "")
                )
            )
        ledger._anchor_now()
        return ledger

    @property
    def place(self) -> str:
        """Location of the ledger, for messages."""
        return self._database.place

    def policy(self, dataset: str) -> Policy:
        """The policy in force for a dataset.

        Raises:
            NoPolicy: there is no policy.
        """
        with self._reading() as (books, _):
            return books.policy(dataset)

    def policies(self) -> dict[str, Policy]:
        """The policies in force, by dataset."""
        with self._reading() as (books, _):
            return dict(books.policies)

    def require_new_name(self, dataset: str) -> None:
        """Refuse the name of a new account that differs from another one's only in its writing.

        Raises:
            Refused: there is such an account.
        """
        for other in self.policies():
            if other != dataset and account_name(other) == account_name(dataset):
                raise Refused(
                    f"an account must be named as it was opened, got {dataset}, while the ledger has {other}; state "
                    f"`budget: {{dataset: {other}}}` in the spec."
                )

    def set_policy(self, policy: Policy, *, unless_set: bool = False) -> Policy:
        """Set the budget of a dataset from now on; earlier spending still counts.

        Args:
            policy: the policy.
            unless_set: keep an existing policy unchanged.

        Returns:
            The policy in force.
        """

        def changed(books: LedgerState, _: str) -> Policy | None:
            before = books.policies.get(policy.dataset)
            is_set = before is not None and (unless_set or replace(before, signature="") == policy)
            return None if is_set else policy

        self.require_new_name(policy.dataset)
        with self._turn:
            self.name_custodian()
            self._kept(self._append(changed))
        return self.policy(policy.dataset)

    def enter_signed(self, fact: Approver | Custodian, *, signer: Ed25519PrivateKey | None = None) -> Entry:
        """Enter a fact that concerns keys, signed.

        Args:
            fact: the fact; it is signed as it is entered.
            signer: the key that signs in place of the custodian's.

        Raises:
            LedgerReplaced: a witness proves something that the ledger lacks.
            LedgerBroken: the fact does not follow from what is entered; nothing was written.
            Refused: the custodian's key is missing.
        """

        def proven(books: LedgerState, _: str) -> Fact:
            self._require_proven(books)
            return fact

        with self._turn:
            self.name_custodian()
            self._hear_witnesses()
            entry = self._append(proven, signer)
            if entry is None:
                raise ValueError("such a fact is always entered")
            self._kept(entry)
            return entry

    def proven_books(self) -> LedgerState:
        """The state that follows from the ledger's entries now, which must not be changed.

        Raises:
            LedgerReplaced: a witness proves something that the ledger lacks.
        """
        with self._turn:
            self._hear_witnesses()
            with self._reading() as (books, _):
                self._require_proven(books)
                return books

    def reserve(self, charge: Charge) -> Reserved:
        """Charge a draw before it is made. The same draw is charged once, however often it is reserved.

        Raises:
            NoPolicy: the dataset has no budget.
            BudgetExceeded: a cap of the dataset would be exceeded; nothing was written.
            Refused: the draw was charged before with different properties.
            InvalidInput: its part is not consistent with the other parts of its split.
            LedgerUnavailable: the ledger cannot be written; trying again is safe.
        """

        def admitted(books: LedgerState, now: str) -> Charge | None:
            self._require_proven(books)
            if books.known(charge) is not None:
                return None
            self._require_witnessed(books, charge)
            books.require_room([charge], now)
            return charge

        with self._turn:
            self._hear_witnesses()
            entry = self._append(admitted)
            charged = self._books.charged(charge.identity)
            if self._gate is not None:
                self._gate.keep(charged.entry)
        return Reserved(entry=charged.entry, charge=charged.charge, fresh=entry is not None, output=charged.output)

    def check(self, *charges: Charge) -> None:
        """Refuse a plan that does not fit into the caps now; nothing is written, and nothing is reserved.

        Args:
            charges: the charges of a whole release to one dataset. Unknown digests may be any text, as long as digests
                that will be equal have the same text.

        Raises:
            NoPolicy: the dataset has no budget.
            BudgetExceeded: a cap of the dataset would be exceeded.
        """
        with self._turn:
            self._hear_witnesses()
            with self._reading() as (books, now):
                self._require_proven(books)
                self._require_witnessed(books)
                books.require_room(charges, now)

    def commit(self, identity: str, output: str) -> None:
        """Note that the output of a draw is stored.

        Args:
            identity: identity of the charge.
            output: keyed digest of the output.

        Raises:
            Refused: the draw was never charged.
            OtherOutput: it gave a different output before.
        """

        def stored(books: LedgerState, _: str) -> Output | None:
            charged = books.charged(identity)
            if charged.output not in (None, output):
                raise OtherOutput(
                    f"a draw must give the same output whenever it is repeated, got a different one than step "
                    f"{charged.charge.step} of release {charged.charge.release} gave; do not disclose it: together, "
                    "the two may reveal more than was charged."
                )
            return None if charged.output == output else Output(identity=identity, output=output)

        self._append(stored)

    def publish(self, dataset: str, release: str, output: str) -> None:
        """Note that a release is public.

        Args:
            dataset: the dataset's name.
            release: id of the release.
            output: digest of what was published.

        Raises:
            Refused: a different release with that id is public.
        """
        publication = Publication(dataset=dataset, release=release, output=output)

        def published(books: LedgerState, _: str) -> Publication | None:
            before = books.published.get(release)
            if before not in (None, publication):
                raise Refused(f"a release must be published once, got {release}, of which another is already public.")
            return publication if before is None else None

        self._append(published)

    def decide_standing(
        self, release: str, standing: StandingWord, *, by: str, reason: str, successor: str = ""
    ) -> Standing:
        """Note that a person decided whether a public release still holds.

        Args:
            release: id of the release.
            standing: the decision.
            by: the person.
            reason: the reason, in their words; public.
            successor: id of the release that replaces it, if it is superseded.

        Raises:
            Refused: no such release is public, or the decision does not follow from the one before.
        """
        made: list[Standing] = []

        def decided(books: LedgerState, _: str) -> Standing:
            public = books.published.get(release)
            if public is None:
                raise Refused(f"release {release} must be public to be {standing}, and the ledger knows of none.")
            said = Standing(
                dataset=public.dataset, release=release, standing=standing, by=by, reason=reason, successor=successor
            )
            if (fault := books.standings.fault_of(said)) is not None:
                raise Refused(f"{fault}.")
            made.append(said)
            return said

        self._append(decided)
        return made[-1]

    def standings(self) -> StandingsInLedger:
        """The public releases, and what was decided about each."""
        with self._reading() as (books, _):
            return StandingsInLedger(ledger=books.name, head=books.head, releases=books.standings.listed())

    def balances(self, dataset: str, at: datetime | None = None) -> tuple[Balance, ...]:
        """The caps of a dataset and the amounts spent: first the lifetime, then the period at a given time.

        Args:
            dataset: the dataset's name.
            at: a time in the period; by default, the time at which a charge would be entered now.

        Raises:
            NoPolicy: the dataset has no policy.
        """
        with self._reading() as (books, now):
            return books.balances(dataset, now if at is None else written_time(at))

    def spent(self, dataset: str, at: datetime | None = None) -> Cost:
        """The amount spent on a dataset over its lifetime, up to a given time; by default, until now."""
        with self._reading() as (books, now):
            until = now if at is None else written_time(at)
            charges = [charged.charge for charged in books.charges(dataset) if charged.entry.time <= until]
            return cost_of(charges, books.policy(dataset).seed_cost)

    def remaining(self, dataset: str, at: datetime | None = None) -> Cost:
        """The amount left for a dataset at a given time, by the tighter of its caps; by default, now."""
        left = [balance.left for balance in self.balances(dataset, at)]
        return Cost(epsilon=min(cost.epsilon for cost in left), delta=min(cost.delta for cost in left))

    def datasets(self) -> list[str]:
        """Names of the datasets that have a policy."""
        with self._reading() as (books, _):
            return sorted(books.policies)

    def charges(self, dataset: str | None = None) -> list[Charged]:
        """The charges to a dataset, or to all, in the order in which they were reserved."""
        with self._reading() as (books, _):
            return books.charges(dataset)

    def published(self) -> dict[str, Publication]:
        """The public releases, by id."""
        with self._reading() as (books, _):
            return dict(books.published)

    def recover(self, recovery: Recovery) -> Entry:
        """Note that a person recovered the ledger, although it lacked entries."""
        self.name_custodian()
        entry = self._append(lambda _books, _now: recovery)
        if entry is None:
            raise ValueError("a recovery is always entered")
        return entry

    def restore(self, charge: Charge) -> None:
        """Enter a charge that is proved to have been made, regardless of the caps."""
        self._append(lambda books, _: None if books.known(charge) is not None else charge)

    def recoveries(self) -> list[Entry]:
        """The entries of recoveries of the ledger after it had lacked entries."""
        with self._reading() as (books, _):
            return list(books.recoveries)

    def entries(self) -> list[Entry]:
        """All entries, in order."""
        with self._database.reading() as connection:
            return [_parsed(line) for line in entry_rows(connection, 0)]

    def export(self, path: Path) -> Entry:
        """Write all entries to a file, one per line; the digest of the returned last entry serves for later checks.

        Raises:
            InvalidInput: the file cannot be written.
        """
        entries = self.entries()
        write_lines([entry.to_line() for entry in entries], path)
        return entries[-1]

    @contextmanager
    def _reading(self) -> Iterator[tuple[LedgerState, str]]:
        """Yield the current books, locked against other threads, and the time that an entry would have."""
        with self._turn:
            yield self._books, _patiently(self.place, self._catch_up_now)

    def _catch_up_now(self) -> str:
        """Read the entries appended since; return the time that an entry would have."""
        with self._database.reading() as connection:
            self._catch_up(connection)
            return self._now(connection)

    def _kept(self, entry: Entry | None) -> None:
        """Keep a note of an entry beside the ledger."""
        if self._gate is not None and entry is not None:
            self._gate.keep(entry)

    def _append(
        self, decide: Callable[[LedgerState, str], Fact | None], signer: Ed25519PrivateKey | None = None
    ) -> Entry | None:
        """Append the fact decided from the latest books, while no other process appends; None if there is none."""
        with self._turn:
            entry = _patiently(self.place, lambda: self._append_once(decide, signer))
            # Before any draw, even for an existing entry: an old copy of the database could drop entries that are not
            # in the state folder's copy.
            self._anchor_now()
            return entry

    def _hear_witnesses(self) -> None:
        """Hear the state folder's witnesses before the database is read, or locked, for which others would wait."""
        if self._gate is not None:
            self._gate.hear()

    def _require_proven(self, books: LedgerState) -> None:
        """Refuse to go on if the ledger lacks anything that the state folder's witnesses prove."""
        if self._gate is not None:
            self._gate.require_proven(books, self.place)

    def _require_witnessed(self, books: LedgerState, begun: Charge | None = None) -> None:
        """Refuse to begin to charge a release if a witness has not seen the ledger for too long."""
        if self._gate is not None:
            self._gate.require_witnessed(books, begun)

    def name_custodian(self) -> None:
        """Enter the custodian's key in a ledger of an earlier version, which names none."""
        if self._custodian is None:
            return
        with self._reading() as (books, _):
            named = books.custodian
        if named:
            return
        key = self._custodian("")
        self._kept(
            self._append(lambda books, _: None if books.custodian else Custodian(public=key.public, owner=key.owner))
        )

    def _signed(self, fact: Fact, books: LedgerState, signer: Ed25519PrivateKey | None) -> Fact:
        """A fact as it is entered: with the custodian's signature, if only the custodian may enter it."""
        if self._custodian is None or not isinstance(fact, SIGNED) or books.head is None:
            return fact
        private = self._custodian(books.custodian).private if signer is None else signer
        return replace(fact, signature=sign(books.name, books.head.digest, fact, private))

    def _anchor_now(self) -> None:
        """Add all entries read so far to the state folder's copy."""
        first, lines = self._ahead
        anchor = None if self._gate is None else self._gate.anchor
        if anchor is not None and lines and not anchor.extend(first, lines):
            anchor.extend(0, kept_lines_of(self._database))
        self._ahead = (first + len(lines), [])

    def _append_once(
        self, decide: Callable[[LedgerState, str], Fact | None], signer: Ed25519PrivateKey | None
    ) -> Entry | None:
        entered = False
        try:
            with self._database.writing() as connection:
                self._catch_up(connection)
                now = self._now(connection)
                fact = decide(self._books, now)
                if fact is None:
                    return None
                entry = self._books.next_entry(self._signed(fact, self._books, signer), now, fresh_salt())
                # Before it is written: an entry that the books do not accept must never be in the ledger.
                entered = True
                self._books.enter(entry)
                connection.execute(
                    insert(ENTRIES).values(
                        number=entry.number, previous=entry.previous, digest=entry.digest, entry=entry.to_line()
                    )
                )
            entered = False
            self._confirmed = entry
            self._ahead[1].append(entry.to_line())
        finally:
            if entered:
                # Only the database shows whether it was written.
                self._books = LedgerState()
        return entry

    def _now(self, connection: Connection) -> str:
        """The time that an entry would have now, in whole minutes."""
        now = _minute(self._database.now(connection) if self._clock is None else self._clock())
        return now if self._books.head is None else max(now, self._books.head.time)

    def _catch_up(self, connection: Connection) -> None:
        """Read the entries appended since, after checking that the earlier entries still exist.

        A database that was restored from a copy, or replaced by an outdated one, may have lost entries.
        """
        known = 0 if self._books.head is None else self._books.head.number
        if self._gate is not None:
            self._gate.require_copy(lambda: entry_rows(connection, 0), self.place)
        lines = entry_rows(connection, known)
        seen = self._confirmed
        try:
            if seen is not None and lines[seen.number - known :][:1] != [seen.to_line()]:
                raise LedgerBroken(f"entry {seen.number}: it is not what it was, or is gone")  # noqa: TRY301
            fresh = lines if self._books.head is None else lines[1:]
            if self._books.head is None:
                self._ahead = (0, [])
            for line in fresh:
                self._books.enter(_parsed(line))
                self._ahead[1].append(line)
        except LedgerBroken as error:
            raise LedgerBroken(
                f"each entry of a ledger must follow from those before, got another at {self.place}: {error}; spend "
                "nothing more, leave the ledger unchanged, and compare it with its last export."
            ) from None
        self._confirmed = self._books.head


def _minute(time: str) -> str:
    """The time, rounded down to a whole minute."""
    return f"{time[: len('2026-11-20T07:45')]}:00.000000Z"


def _parsed(line: str) -> Entry:
    try:
        return Entry.from_record(json.loads(line))
    except OtherVersion as refusal:
        raise LedgerUnavailable(f"{refusal}") from None
    except ValueError:
        raise LedgerBroken("an entry that cannot be read") from None
