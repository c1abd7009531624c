"""However many commands of one spec are started at once, one release begins, and is paid for once."""

import subprocess
import sys
import time
from pathlib import Path

from infra.servers.local_servers import start_prefect
from stores.ledger.ledger import Ledger, ledger_place
from tests.flows.command import environment, variables_of
from tests.small_release import QUICK, write_small_release

ROOT = Path(__file__).resolve().parents[2]
STARTS = 4
A_MOMENT_S = 0.1


def begun(spec: Path, state: Path, file: Path, server: dict[str, str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "tests.flows.started", str(spec), str(state), str(file)],
        env={**environment(state.parent / "home"), **server, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def say(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("now\n")
    process.stdin.flush()


def test_of_four_commands_of_one_spec_one_begins_a_release_and_three_say_which(tmp_path: Path) -> None:
    spec, state, file = write_small_release(tmp_path / "spec", **QUICK), tmp_path / "state", tmp_path / "go on"
    (tmp_path / "server" / "prefect").mkdir(parents=True)
    server = start_prefect(tmp_path / "server")
    server.wait_until_up()
    started = [begun(spec, state, file, variables_of(server)) for _ in range(STARTS)]
    try:
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in started:
            say(process)
        while sum(process.poll() is not None for process in started) < STARTS - 1:
            time.sleep(A_MOMENT_S)
        file.touch()
        said = [process.communicate()[1] for process in started]
    finally:
        for process in started:
            process.kill()
        server.stop()
    (release,) = (path.name for path in (state / "releases").iterdir())
    assert sorted(process.returncode for process in started) == [0, 1, 1, 1], said
    refusal = f"a release must be worked on by one process, and another is at {release}; wait until it is done."
    assert [words.strip() for words in said if words.strip()] == [refusal] * 3
    assert [path.name for path in (state / "vault").iterdir()] == [release]
    charges = Ledger.open(ledger_place(state)).charges()
    assert {charged.charge.release for charged in charges} == {release}
    assert len(charges) == 1
