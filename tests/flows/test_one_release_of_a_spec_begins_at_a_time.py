"""However many commands of one spec are started at once, one release begins, and is paid for once."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from stores.ledger.ledger import Ledger, ledger_place
from tests.flows.command import environment, variables_of_this_server
from tests.small_release import QUICK, write_small_release
from tests.warm import run_module

ROOT = Path(__file__).resolve().parents[2]
STARTS = 4
A_MOMENT_S = 0.1


def until(holds: Callable[[], bool]) -> None:
    while not holds():
        time.sleep(A_MOMENT_S)


def test_of_four_commands_of_one_spec_one_begins_a_release_and_three_say_which(tmp_path: Path, prefect: None) -> None:
    spec, state = write_small_release(tmp_path / "spec", **QUICK), tmp_path / "state"
    names = [f"ready {number}" for number in range(STARTS)]
    with ThreadPoolExecutor(STARTS) as pool:
        env = {**environment(tmp_path / "home"), **variables_of_this_server()}
        started = [
            pool.submit(
                run_module, "tests.flows.started", [*map(str, (spec, state, tmp_path)), name], env=env, cwd=ROOT
            )
            for name in names
        ]
        try:
            until(lambda: all((tmp_path / name).exists() for name in names))
            (tmp_path / "now").touch()
            until(lambda: sum(process.done() for process in started) >= STARTS - 1)
        finally:
            (tmp_path / "now").touch()
            (tmp_path / "on").touch()
        ended = [process.result() for process in started]
    said = [process.stderr for process in ended]
    (release,) = (path.name for path in (state / "releases").iterdir())
    assert sorted(process.returncode for process in ended) == [0, 1, 1, 1], said
    refusal = f"a release must be worked on by one process, and another is at {release}; wait until it is done."
    assert [words.strip() for words in said if words.strip()] == [refusal] * 3
    assert [path.name for path in (state / "vault").iterdir()] == [release]
    charges = Ledger.open(ledger_place(state)).charges()
    assert {charged.charge.release for charged in charges} == {release}
    assert len(charges) == 1
