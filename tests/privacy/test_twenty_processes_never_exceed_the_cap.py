"""However many processes reserve at once, on either database, and however they end, no cap is exceeded.

Cap and charges are exact numbers, so that "exceeded" means by any amount at all.
"""

import os
import signal
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from sqlalchemy import event as on
from sqlalchemy import text

from deniable.ledger.budget import BudgetExceeded
from deniable.ledger.entries import ALL_ROWS, Charge
from deniable.ledger.verification import verify
from stores.ledger.database import LedgerUnreachable
from stores.ledger.ledger import Ledger
from tests.charging import charge, policy
from tests.postgres import fresh_database
from tests.processes import at_once, start, told

PROCESSES = 20
CHARGES = 3
CAP, EACH = Fraction(1), Fraction("0.07")
ADMITTED = 14
PAUSE = 0.02
MANY = 200
"""More charges than a process makes before it is killed, unless another waits for the lock for very long."""


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "ledger.db") if request.param == "sqlite" else fresh_database()


@pytest.fixture
def postgresql() -> str:
    return fresh_database()


def asked(process: int, number: int = 0) -> Charge:
    return charge(EACH, "1e-7", part=ALL_ROWS, release=f"r{process}", inputs=f"draw {number} of process {process}")


def opened(place: str) -> Ledger:
    ledger = Ledger.open(place)
    ledger.set_policy(policy(CAP))
    return ledger


def admitted(reserve: Callable[[], Any]) -> bool:
    try:
        reserve()
    except BudgetExceeded:
        return False
    return True


def holds(ledger: Ledger) -> bool:
    entries = ledger.entries()
    return verify([entry.to_record() for entry in entries], head=entries[-1].digest, count=len(entries)).holds


def test_twenty_processes_spend_all_of_a_cap_and_nothing_more(place: str) -> None:
    ledger = opened(place)

    def reserve_some(process: int, _: object) -> int:
        own = Ledger.open(place)
        return sum(admitted(partial(own.reserve, asked(process, number))) for number in range(CHARGES))

    assert sum(at_once(PROCESSES, reserve_some)) == ADMITTED
    assert ledger.spent("people").epsilon == ADMITTED * EACH <= CAP < (ADMITTED + 1) * EACH
    assert len(ledger.charges("people")) == ADMITTED
    assert holds(ledger)


def test_the_same_processes_without_the_lock_do_exceed_it(place: str) -> None:
    ledger = opened(place)

    def check_then_write(process: int, barrier: Any) -> bool:
        own = Ledger.open(place)
        fits = admitted(lambda: own.check(asked(process)))
        barrier.wait()
        own._append(lambda _books, _time: asked(process) if fits else None)
        return fits

    assert sum(at_once(PROCESSES, check_then_write)) > ADMITTED
    assert ledger.spent("people").epsilon > CAP
    assert not holds(ledger), "and verification says so"


def test_a_draw_that_twenty_processes_reserve_is_charged_once(place: str) -> None:
    ledger = opened(place)

    def reserve(process: int, _: object) -> tuple[bool, int]:
        reserved = Ledger.open(place).reserve(charge("0.5", part=ALL_ROWS, release=f"r{process}"))
        return reserved.fresh, reserved.entry.number

    results = at_once(PROCESSES, reserve)
    assert sum(fresh for fresh, _ in results) == 1
    assert len({number for _, number in results}) == 1
    assert ledger.spent("people").epsilon == Fraction("0.5")
    assert holds(ledger)


def test_twenty_processes_open_a_fresh_database_at_once(place: str) -> None:
    heads = at_once(PROCESSES, lambda _process, _barrier: Ledger.open(place).entries()[0].digest)
    assert len(set(heads)) == 1
    assert len(Ledger.open(place).entries()) == 1


def dies_at(moment: str) -> Callable[[Ledger], None]:
    """Have a process kill itself at some moment of what it writes next, without any chance to clean up."""

    def die(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def die_if_inserted(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("INSERT"):
            die()

    def arrange(ledger: Ledger) -> None:
        engine = ledger._database.engine
        if moment == "before it writes":
            ledger._clock = die  # type: ignore[assignment]
        elif moment == "after it wrote":
            on.listen(engine, "after_cursor_execute", die_if_inserted)
        else:
            on.listen(engine, "commit", die)

    return arrange


@pytest.mark.parametrize("moment", ["before it writes", "after it wrote", "as it commits"])
def test_a_process_that_is_killed_while_it_reserves_leaves_the_ledger_whole(place: str, moment: str) -> None:
    ledger = opened(place)

    def reserve_and_die(_: int, pipe: Any) -> None:
        own = Ledger.open(place)
        dies_at(moment)(own)
        pipe.send("alive")
        own.reserve(asked(0))
        pipe.send("reserved")

    process, pipe = start(reserve_and_die, 0)
    assert told(pipe) == ["alive"]
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert ledger.charges() == []
    assert ledger.reserve(asked(0)).fresh, "nobody holds the lock, and trying again is safe"
    assert holds(ledger)


def test_what_was_promised_to_processes_that_are_killed_at_any_time_is_charged(place: str) -> None:
    ledger = opened(place)
    ledger.set_policy(policy(10**9, "0.9"))

    def reserve_many(process: int, pipe: Any) -> None:
        own = Ledger.open(place)
        for number in range(MANY):
            pipe.send(own.reserve(asked(process, number)).identity)
            # SQLite gives the lock to whoever asks first, and a process that asks again at once keeps it for long.
            sleep(PAUSE)

    running = [start(reserve_many, process) for process in range(8)]
    promised = []
    for count, (process, pipe) in enumerate(running):
        # Each is killed somewhere after its first charges, while the others go on.
        promised += [pipe.recv() for _ in range(count % 3 + 1)]
        sleep(count * PAUSE / 4)
        process.kill()
        promised += told(pipe)
        process.join()
    charged = [charged.charge.identity for charged in ledger.charges()]
    assert set(promised) <= set(charged)
    assert len(set(charged)) == len(charged) <= len(promised) + len(running), "one each may not have been told of"
    assert holds(ledger)


def terminating(ledger: Ledger, server: Ledger, moment: str) -> list[str]:
    """Have the server end the ledger's connection once, at some moment of what it writes next."""
    ended: list[str] = []

    def end(connection: Any) -> None:
        if not ended:
            ended.append(moment)
            process = connection.connection.dbapi_connection.info.backend_pid
            with server._database.engine.connect() as other:
                other.execute(text(f"SELECT pg_terminate_backend({process}, 10000)"))

    def end_if_inserted(connection: Any, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("INSERT"):
            end(connection)

    if moment == "before it commits":
        on.listen(ledger._database.engine, "commit", end)
    else:
        on.listen(ledger._database.engine, "after_cursor_execute", end_if_inserted)
    return ended


@pytest.mark.parametrize("moment", ["after it wrote", "before it commits"])
def test_a_connection_that_is_ended_while_it_reserves_is_made_anew_and_charged_once(
    postgresql: str, moment: str
) -> None:
    ledger, other = opened(postgresql), Ledger.open(postgresql)
    ended = terminating(ledger, other, moment)
    assert ledger.reserve(asked(0)).fresh
    assert ended == [moment]
    assert other.spent("people").epsilon == EACH
    assert holds(other)


def test_a_connection_that_is_ended_and_stays_so_leaves_nothing(
    postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DENIABLE_PATIENCE_S", "0")
    ledger, other = opened(postgresql), Ledger.open(postgresql)
    terminating(ledger, other, "after it wrote")
    with pytest.raises(LedgerUnreachable, match="trying again is safe"):
        ledger.reserve(asked(0))
    assert other.charges() == []
    assert ledger.reserve(asked(0)).fresh
    assert not other.reserve(asked(0)).fresh
    assert holds(other)
