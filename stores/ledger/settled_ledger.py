"""A ledger in which one release is paid for, as its record says, and in which there is room for nothing else.

A replay draws on it: a draw that is the same costs nothing again and must give the same, any other is refused before it
is made. What a ledger is does not belong here (stores.ledger.ledger), nor whether the record's entries hold
(deniable.verification.release).
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import fresh_salt
from deniable.ledger.entries import Charge, Cost, Entry, Fact, Opening, Output, Policy, entry_of
from deniable.ledger.state import LedgerState
from stores.ledger.database import LedgerDatabase, insert_lines

_NO_ROOM = Cost(epsilon=Fraction(1, 10**60), delta=Fraction(0))
"""A cap must be above 0; what was spent already is above this one, so that nothing can be added."""


def write_settled_ledger(place: Path, dataset: str, entries: Sequence[Mapping[str, Any]], free_since: str = "") -> None:
    """Write a new ledger that holds the charges of a release and what they gave.

    Args:
        place: path of its file.
        dataset: the dataset that paid.
        entries: the entries of the release's record, shown or sealed.
        free_since: when the release began, if it costs nothing; any other must show what was charged for it.

    Raises:
        InvalidInput: the record shows no charge.
        LedgerBroken: its entries contradict each other.
    """
    shown = [entry for entry in map(entry_of, entries) if isinstance(entry, Entry)]
    facts = [(entry.time, entry.fact()) for entry in shown]
    own = {fact.identity for _, fact in facts if isinstance(fact, Charge) and fact.dataset == dataset}
    settled = [(time, fact) for time, fact in facts if isinstance(fact, Charge | Output) and fact.identity in own]
    if not settled and not free_since:
        raise InvalidInput("the record of a release must show what was charged for it, got no charge.")
    begun = settled[0][0] if settled else free_since
    policy = Policy(dataset=dataset, limit=_NO_ROOM, set_by="replay")
    opened: list[tuple[str, Fact]] = [(begun, Opening(ledger="replay")), (begun, policy)]
    books = LedgerState()
    lines: list[str] = []
    for time, fact in [*opened, *settled]:
        entry = books.next_entry(fact, time, fresh_salt())
        books.enter(entry)
        lines.append(entry.to_line())
    database = LedgerDatabase.at(place)
    database.bring_up_to_date()
    with database.writing() as connection:
        insert_lines(connection, lines)
