"""Independent verification of a ledger: from its entries alone, without trusting its keepers.

The chain and the sums are recomputed, caps are compared entry by entry, and the events of each charge are composed
again. Reading files does not belong here.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

from deniable.foundation.checks import Check
from deniable.foundation.errors import DeniableError, InvalidInput
from deniable.ledger.budget import NOTHING
from deniable.ledger.entries import Charge, Cost, Entry
from deniable.ledger.state import LedgerState
from deniable.plausible_deniability.privacy_tests import best_t, theorem_1
from deniable.plausible_deniability.seed_accounting import best_for_candidates, record_guarantee
from deniable.privacy.accounting import best_again
from deniable.privacy.group_privacy import delta_of_record
from deniable.privacy.loss import MechanismEvent, PrivacyTestEvent
from deniable.privacy.rounding import rounded, rounded_down, rounded_up

Events: TypeAlias = tuple[MechanismEvent, ...]

# Floating-point sums on two machines may differ by this share; only claims are compared with such sums, never caps.
_FLOATING = Fraction(1, 10**6)
# The delta for one record is that of a person divided by a sum of exponentials, up to this share.
_LAST_DIGITS = Fraction(1, 10**12)
# Releases of one spec have the same events.
_REMEMBERED = 1024


@dataclass(frozen=True)
class Report:
    """The result of verification.

    Attributes:
        checks: the checks.
        sums: the amount spent on each dataset, one line per cap.
        entries: number of entries.
        head: digest of the last entry.
    """

    checks: tuple[Check, ...]
    sums: tuple[str, ...]
    entries: int
    head: str

    @property
    def holds(self) -> bool:
        """Whether all checks passed."""
        return all(check.holds for check in self.checks)

    @property
    def verdict(self) -> str:
        """The outcome in one sentence."""
        if self.holds:
            return f"The ledger holds: {self.entries} entries, head {self.head}."
        failed = sum(not check.holds for check in self.checks)
        return f"THE LEDGER DOES NOT HOLD: {failed} of {len(self.checks)} checks failed; do not rely on its sums."

    @property
    def lines(self) -> tuple[str, ...]:
        """The report: one line per check, one per sum, and the verdict."""
        return (*(check.line for check in self.checks), *self.sums, self.verdict)


def records_of(lines: Iterable[str]) -> list[object]:
    """Read lines of JSON as entries; a line that is not JSON, or is ambiguous, is returned as text."""
    return [_record(line) for line in lines]


def verify(records: Sequence[object], *, head: str | None = None, count: int | None = None) -> Report:
    """Check the entries of a ledger against each other and against what they claim.

    Args:
        records: the entries as plain values, in order (`Entry.to_record`). Nothing is assumed of them.
        head: digest of the last entry as recorded elsewhere. Without it, a truncated end cannot be detected.
        count: number of entries as recorded elsewhere.

    Returns:
        The report. No error is raised.
    """
    chain: list[str] = []
    contents: list[str] = []
    claims: list[str] = []
    caps: list[str] = []
    books = LedgerState()
    predecessor: Entry | None = None
    for position, record in enumerate(records):
        try:
            entry = Entry.from_record(record)
        except InvalidInput as error:
            chain.append(f"entry {position}: {error}")
            continue
        if fault := entry.fault_after(predecessor):
            chain.append(f"entry {position}: {fault}")
        predecessor = entry
        claims += _claim_faults(entry, books)
        # Entries that do not follow cannot be summed.
        if not chain and not contents:
            _follow(books, entry, contents=contents, caps=caps)
    ended = predecessor.digest if predecessor is not None else ""
    added_up = 0 if books.head is None else books.head.number + 1
    so_far = "" if added_up == len(records) else f"of the first {added_up} entries; the others do not follow"
    checks = (
        Check(
            "no entry was altered, removed, repeated, reordered or inserted",
            tuple(chain) if records else ("entry 0 is missing: there are no entries",),
        ),
        _end(len(records), ended, head, count),
        Check("every entry is complete and follows from those before", tuple(contents), so_far),
        Check("the events of every charge compose to no more than it claims", tuple(claims)),
        Check("no charge exceeded a cap", tuple(caps), so_far),
    )
    return Report(checks, tuple(_sums(books)), len(records), ended)


def _record(line: str) -> object:
    try:
        return json.loads(line, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return line


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError
    return values


def _end(entries: int, ended: str, head: str | None, count: int | None) -> Check:
    """Whether the ledger ends where it should."""
    faults = []
    if head is not None and head != ended:
        faults.append(f"entry {max(entries - 1, 0)} is the last and has the digest {ended or '(none)'}, not {head}")
    if count is not None and count != entries:
        faults.append(f"entry {min(entries, count)} is where it should not end: {entries} entries, not {count}")
    given = head is not None or count is not None
    note = "" if given else "not checked: no head was given to compare"
    return Check("the ledger ends where it should", tuple(faults), note, made=given)


def _follow(books: LedgerState, entry: Entry, *, contents: list[str], caps: list[str]) -> None:
    """Apply an entry and, if it is a charge, compare the sums after it with the caps."""
    try:
        books.enter(entry)
        fact = entry.fact()
        balances = books.balances(fact.dataset, entry.time) if isinstance(fact, Charge) else ()
    except DeniableError as error:
        contents.append(str(error))
        return
    caps += [
        f"entry {entry.number} should have been refused: {balance.statement}"
        for balance in balances
        if balance.spent.exceeds(balance.limit)
    ]


def _claim_faults(entry: Entry, books: LedgerState) -> list[str]:
    """Faults where a charge's events cost more than it claims; unreadable entries are reported elsewhere.

    Args:
        entry: the entry.
        books: the state before it. A joint cost with charges that are not in it is a fault of the entry's content.
    """
    try:
        charge = entry.fact()
    except InvalidInput:
        return []
    if not isinstance(charge, Charge):
        return []
    faults = [fault_of_claim(charge.events, charge.claim.cost, charge.most_records)]
    if charge.per_record is not None:
        faults.append(_claim_fault(charge.events, charge.per_record.cost, _each_record))
    if charge.joint is not None and all(map(books.is_charged, charge.joint.others)):
        others = [books.charged(identity).charge for identity in charge.joint.others]
        fault = fault_of_joint(charge, others)
        faults.append(fault and f"together with {', '.join(each.step for each in others)}, {fault}")
    return [f"entry {entry.number}: step {charge.step}: {fault}" for fault in faults if fault is not None]


def fault_of_joint(charge: Charge, others: Sequence[Charge]) -> str | None:
    """The fault of a charge's cost together with earlier ones; None if none, or if it has no such cost.

    Args:
        charge: the charge.
        others: the charges that it names, in any order.
    """
    if charge.joint is None:
        return None
    events = tuple(event for each in (*others, charge) for event in each.events)
    return fault_of_claim(events, charge.joint.claim.cost, charge.most_records)


def fault_of_claim(events: Events, claimed: Cost, most_records: int = 1) -> str | None:
    """The fault of the claimed total cost of events; None if none.

    Args:
        events: the events, for one record.
        claimed: the cost claimed, for a person of whom at most `most_records` records are read.
        most_records: see there.
    """
    if most_records == 1:
        return _claim_fault(events, claimed, _together)
    epsilon = claimed.epsilon / most_records
    delta = Fraction(delta_of_record(float(epsilon), float(claimed.delta), most_records)) * (1 + _LAST_DIGITS)
    fault = _claim_fault(events, Cost(epsilon=epsilon, delta=delta), _together)
    return fault and f"for one of at most {most_records} records of a person, {fault}"


def _claim_fault(events: Events, claimed: Cost, composed: Callable[[Events, Fraction], float]) -> str | None:
    """The fault of a claim; the simplest theorem comes first, because it is exact and often sufficient."""
    try:
        basic = _basic(events)
        if basic is not None and not basic.exceeds(claimed):
            return None
        epsilon = composed(events, claimed.delta)
    # Events are read from the entry, and may have invalid parameters.
    except (ArithmeticError, TypeError, ValueError) as error:
        return f"its events cannot be composed again: {error}"
    if epsilon <= claimed.epsilon * (1 + _FLOATING):
        return None
    return (
        f"its events cost epsilon {rounded_up(Fraction(epsilon))} at delta {rounded(claimed.delta)}, but it claims "
        f"{rounded_down(claimed.epsilon)}"
    )


def _basic(events: Events) -> Cost | None:
    """Basic composition, exact; None if an event has no epsilon."""
    total = NOTHING
    for event in events:
        if event.epsilon is None:
            return None
        total += Cost(epsilon=event.outputs * event.epsilon, delta=event.outputs * event.delta)
    return total


@lru_cache(_REMEMBERED)
def _together(events: Events, delta: Fraction) -> float:
    """Total epsilon of the events."""
    event = events[0]
    if isinstance(event, PrivacyTestEvent):
        return best_for_candidates(event, float(delta)).epsilon
    return best_again(events, delta).epsilon


@lru_cache(_REMEMBERED)
def _each_record(events: Events, delta: Fraction) -> float:
    """Epsilon of the record of one attempt, by the tighter of the two forms of Theorem 1."""
    event = events[0]
    if not isinstance(event, PrivacyTestEvent):
        raise InvalidInput("only candidates tested for plausible deniability have a cost per record")
    exact = record_guarantee(event, float(delta)).epsilon
    try:
        t = best_t(k=event.k, eps0=event.eps0, delta=float(delta))
    except InvalidInput:
        return exact
    return min(exact, theorem_1(k=event.k, gamma=event.ratio, eps0=event.eps0, t=t).epsilon)


def _sums(books: LedgerState) -> list[str]:
    """The amounts spent, one line per cap."""
    if books.head is None:
        return []
    time = books.head.time
    return [balance.statement for dataset in sorted(books.policies) for balance in books.balances(dataset, time)]
