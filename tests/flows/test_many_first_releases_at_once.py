"""Many processes that find a fresh state folder at the same moment make its databases once, and continue."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.flows.command import environment

ROOT = Path(__file__).resolve().parents[2]
TOGETHER = 3

RECORDS = """
from stores.tracking.client import recording
def go():
    with recording(state) as client:
        client.search_experiments(max_results=1)
        client.search_registered_models(max_results=1)
"""
SERVER = """
from infra.servers.prefect_database import make_prefect_database
import prefect.server.database
def go():
    make_prefect_database()
"""
BEGINNING = """
import sys
from pathlib import Path
from infra.environment import prepare_environment
state = prepare_environment(Path(sys.argv[1]))
"""
END = """
print("ready", flush=True)
sys.stdin.readline()
go()
"""


@pytest.mark.nightly
@pytest.mark.parametrize("what", [RECORDS, SERVER], ids=["MLflow", "Prefect"])
def test_a_database_is_made_once_by_many(tmp_path: Path, what: str) -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-c", BEGINNING + what + END, str(tmp_path / "state")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment(tmp_path / "home"),
        )
        for _ in range(TOGETHER)
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    ended = [(process.communicate()[1], process.returncode) for process in started]
    assert [status for _, status in ended] == [0] * TOGETHER, ended
