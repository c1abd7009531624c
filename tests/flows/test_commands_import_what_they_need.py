"""A question is answered at once: a command imports only what it needs, and starts no server."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from stores.held import HeldNote
from stores.workspace import file_digest
from tests.flows.command import environment

# Each of these takes about a second, or several, before it does anything.
HEAVY = {"prefect", "mlflow", "pandas", "scipy", "numba", "sklearn", "matplotlib", "pyarrow", "distributed"}
RELEASE = "small-20261122T110111Z"
WATCHED = """
import json, sys
started = []
sys.addaudithook(lambda event, given: started.append(str(given[0])) if event in ("subprocess.Popen", "os.exec") else 0)
from flows.__main__ import main
status = main(sys.argv[1:])
loaded = sorted({name.partition(".")[0] for name in sys.modules})
print(json.dumps({"status": status, "loaded": loaded, "started": started}))
"""


class Answers(BaseHTTPRequestHandler):
    """A Prefect server with a run that waits."""

    asked: list[str]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.asked.append(self.path)
        said = json.dumps({"status": "ACCEPT"} if self.path.endswith("resume") else [{"id": "a run"}]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def prefect_server() -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []
    server = HTTPServer(("127.0.0.1", 0), type("Here", (Answers,), {"asked": asked}))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/api", asked
    server.shutdown()
    server.server_close()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state folder with a release that waits for a decision."""
    page = tmp_path / "report.html"
    page.write_text("What was measured.")
    vault = tmp_path / "state" / "vault" / RELEASE
    vault.mkdir(parents=True)
    note = HeldNote(
        release=RELEASE,
        title="Made-up people",
        dataset="people",
        action="hold",
        why=("its spec has a person asked",),
        candidate="0" * 64,
        since="2026-11-22T11:01:11Z",
        started_by="ada",
        approvers=None,
        page=page,
        page_digest=file_digest(page),
        mlflow_run="a run",
        flow_run="a run",
    )
    (vault / "held.json").write_text(note.model_dump_json())
    return tmp_path / "state"


def watched(state: Path, home: Path, *arguments: str, **variables: str) -> dict[str, object]:
    """Run a command: how it ended, what it has imported, and the processes that it has started."""
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *arguments, "--state", str(state)],
        env={**environment(home), "PYTHONPATH": os.pathsep.join(sys.path), **variables},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return said


@pytest.mark.parametrize(
    ("arguments", "needs"),
    [
        (["held"], set()),
        (["ledger", "show"], set()),
        (["keys", "show"], set()),
        (["find"], {"mlflow", "pandas", "pyarrow", "scipy"}),
    ],
)
def test_a_question_needs_no_server_and_few_libraries(
    arguments: list[str], needs: set[str], state: Path, tmp_path: Path
) -> None:
    said = watched(state, tmp_path, *arguments)
    # MLflow asks the system for its name.
    assert set(said["started"]) <= {"uname"}  # type: ignore[call-overload]
    assert HEAVY.intersection(said["loaded"]) <= needs  # type: ignore[arg-type]


def test_a_decision_needs_neither_prefect_nor_mlflow(
    state: Path, tmp_path: Path, prefect_server: tuple[str, list[str]]
) -> None:
    address, asked = prefect_server
    variables = {"DENIABLE_OPERATOR": "ines", "DENIABLE_PREFECT_API_URL": address}
    said = watched(state, tmp_path, "approve", RELEASE, "--reason", "as agreed", **variables)
    assert (said["status"], said["started"]) == (0, [])
    assert HEAVY.intersection(said["loaded"]) == set()  # type: ignore[arg-type]
    assert asked == ["/api/flow_runs/filter", "/api/flow_runs/a%20run/resume"]


def test_the_search_finds_what_it_is_for(state: Path, tmp_path: Path) -> None:
    """A command that needs a library is seen to import it."""
    said = watched(state, tmp_path, "unfinished")
    assert "sqlalchemy" in said["loaded"]  # type: ignore[operator]
    code = WATCHED.replace("from flows.__main__ import main", "import prefect, subprocess; subprocess.run(['true'])")
    done = subprocess.run(
        [sys.executable, "-c", code.replace("main(sys.argv[1:])", "0")],
        env=environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    said = json.loads(done.stdout)
    assert "prefect" in said["loaded"]  # type: ignore[operator]
    assert said["started"] == ["true"]
