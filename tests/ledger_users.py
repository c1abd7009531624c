"""What processes do that use the ledger of a state folder; forked ones import nothing else for it."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deniable.ledger.entries import ALL_ROWS, Charge
from stores.ledger import state_ledger as opening
from stores.ledger.anchor import Anchor
from stores.ledger.database import LedgerDatabase, insert_lines
from stores.ledger.ledger import LEDGER_VARIABLE, write_lines
from tests.charging import charge


def asks(epsilon: int, **changes: Any) -> Charge:
    return charge(epsilon, part=ALL_ROWS, step=f"step {epsilon}", **changes)


def with_ledger(place: str, work: Callable[..., None], *given: object) -> None:
    os.environ[LEDGER_VARIABLE] = place
    work(*given)


def restore_old_ledger(state: Path, lines: list[str]) -> None:
    """Put an old ledger back together with the state folder's copy of it, as from a backup of both."""
    place = state / "ledger" / "ledger.db"
    place.unlink()
    database = LedgerDatabase.at(place)
    database.bring_up_to_date()
    with database.writing() as writing:
        insert_lines(writing, lines)
    write_lines(lines, state / "ledger-anchor.jsonl")


def charge_and_be_killed(state: Path, moment: str) -> None:
    """Charge, and be killed once the ledger has the charge, and the state folder has nothing, a part or all of it."""
    ledger, whole = opening.state_ledger(state), Anchor.extend

    def killed(anchor: Anchor, first: int, lines: list[str]) -> None:
        if moment == "torn":
            with anchor.place.open("a") as file:
                file.write(lines[-1][:40])
                file.flush()
        if moment == "kept":
            whole(anchor, first, lines)
        os.kill(os.getpid(), signal.SIGKILL)

    Anchor.extend = killed  # type: ignore[assignment,method-assign]
    ledger.reserve(asks(3))


def charge_often(state: Path, number: int) -> None:
    for another in range(8):
        name = f"{number} {another}"
        opening.state_ledger(state).reserve(asks(1, release=name, inputs=name))
