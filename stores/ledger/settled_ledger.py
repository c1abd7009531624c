"""A ledger with the charges of one release from its record, and without room for any other charge.

A replay uses it: the same draw costs nothing again and must give the same result; any other draw is refused before it
is made. The ledger itself does not belong here (stores.ledger.ledger), nor does the verification of the record's
entries (deniable.verification.release).
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
"""A cap must be above 0; the amount already spent exceeds this one, so nothing can be added."""


def write_settled_ledger(
    place: Path, dataset: str, entries: Sequence[Mapping[str, Any]], free_since: str = "", limit: Cost = _NO_ROOM
) -> None:
    """Write a new ledger with the charges of a release and their outputs.

    Args:
        place: path of its file.
        dataset: the charged dataset.
        entries: the entries of the release's record, shown or sealed.
        free_since: start of the release, if it costs nothing; any other release must show its charges.
        limit: the dataset's cap; by default there is no room for any other charge.

    Raises:
        InvalidInput: the record shows no charge.
        LedgerBroken: its entries contradict each other.
    """
    shown = [entry for entry in map(entry_of, entries) if isinstance(entry, Entry)]
    facts = [(entry.time, entry.fact()) for entry in shown]
    own = {fact.identity for _, fact in facts if isinstance(fact, Charge) and fact.dataset == dataset}
    settled = [(time, fact) for time, fact in facts if isinstance(fact, Charge | Output) and fact.identity in own]
    if not settled and not free_since:
        raise InvalidInput(
            "the record of a release must show what was charged for it, got no charge; use its complete record."
        )
    begun = settled[0][0] if settled else free_since
    policy = Policy(dataset=dataset, limit=limit, set_by="replay")
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
