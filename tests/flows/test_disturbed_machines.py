"""A release survives the machines around it: database connections that are cut, and workers that are killed."""

import os
import signal
import sys
import threading
import time
from concurrent.futures import BrokenExecutor
from pathlib import Path

import psycopg
import pytest
from prefect.task_runners import ProcessPoolTaskRunner

from flows.release import release
from flows.released import Released
from stores.ledger.ledger import LEDGER_VARIABLE, Ledger
from tests.postgres import fresh_database
from tests.small_release import write_small_release

pytestmark = pytest.mark.usefixtures("prefect")

GATES = Path(__file__).with_name("gates")


def table(made: Released) -> bytes:
    return (made.workspace.release_folder / "synthetic.csv").read_bytes()


class Cutting(threading.Thread):
    """Ends connections to a PostgreSQL database as soon as it sees them, the first few of a release.

    Args:
        url: the database.
        most: how many are ended; a charge that fails three times in a row is rightly given up.
    """

    def __init__(self, url: str, most: int = 2) -> None:
        super().__init__(daemon=True)
        self._url = url
        self._most = most
        self.done = threading.Event()
        self.cut = 0

    def run(self) -> None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            while self.cut < self._most and not self.done.is_set():
                ended = connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
                self.cut += len(ended.fetchall())


@pytest.mark.nightly
def test_a_release_is_charged_in_postgresql_though_its_connections_are_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = fresh_database()
    monkeypatch.setenv(LEDGER_VARIABLE, url)
    ledger = Ledger.open(url)
    cutting = Cutting(url)
    cutting.start()
    made = release(write_small_release(tmp_path / "spec"), tmp_path / "state")
    cutting.done.set()
    cutting.join()
    assert cutting.cut > 0
    charged = ledger.charges("people")
    assert [each.charge.step for each in charged] == ["learn_structure", "learn_parameters", "synthesize"]
    assert all(each.output for each in charged)
    assert made.workspace.release_id in ledger.published()


def kill_at(gate: Path) -> None:
    """Wait for a process that reaches a gate (tests/flows/gates), and kill it."""
    reached, deadline = gate.with_name(f"{gate.name}.reached"), time.monotonic() + 60
    while not (reached.exists() and (pid := reached.read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(int(pid), signal.SIGKILL)


@pytest.mark.nightly
@pytest.mark.skipif(
    sys.version_info < (3, 11, 5),
    reason="a pool of processes of this Python may wait for a worker that was killed (CPython issue 94777)",
)
def test_a_release_whose_worker_is_killed_is_finished_by_the_next_run_to_the_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker is killed in the middle of a block: its file is written, and not yet in place."""
    spec, state = write_small_release(tmp_path / "spec", synthesis__chunk_candidates=128), tmp_path / "state"
    block = "candidates-000004.parquet"
    (gate := tmp_path / "gates" / block).parent.mkdir()
    gate.touch()
    killing = threading.Thread(target=kill_at, args=(gate,))
    killing.start()
    pool: ProcessPoolTaskRunner = ProcessPoolTaskRunner(max_workers=2)  # type: ignore[type-arg]
    with monkeypatch.context() as gated:
        gated.setenv("DENIABLE_TEST_GATES", str(gate.parent))
        gated.setenv("PYTHONPATH", str(GATES), prepend=os.pathsep)
        with pytest.raises(BrokenExecutor):
            release.with_options(task_runner=pool)(spec, state)
    killing.join()
    (vault,) = (state / "vault").iterdir()
    assert not (vault / block).exists()
    assert list(vault.glob(f".{block}.*"))
    assert not (state / "releases").exists()
    made = release(spec, state)
    assert made.workspace.release_id == vault.name
    undisturbed = release(spec, tmp_path / "undisturbed", vault / "key")
    assert table(made) == table(undisturbed)
