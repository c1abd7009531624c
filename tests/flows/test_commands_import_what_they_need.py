"""A question is answered at once: a command imports only what it needs, and starts no server that is not needed."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from stores.vault.pending_approval import HeldNote
from stores.vault.workspace import file_digest
from tests.flows.command import environment, run
from tests.small_release import write_small_release

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
print(json.dumps({"status": status, "loaded": loaded, "modules": len(sys.modules), "started": started}))
"""


class Answers(BaseHTTPRequestHandler):
    """A Prefect server with a run that waits."""

    asked: list[str]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.asked.append(self.path)
        if "/mlflow/" in self.path:
            self.say({})
        else:
            self.say({"status": "ACCEPT"} if self.path.endswith("resume") else [{"id": "a run"}])

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.say("up")

    def say(self, answer: object) -> None:
        said = json.dumps(answer).encode()
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
    *printed, last = done.stdout.splitlines()
    said: dict[str, object] = json.loads(last)
    return said | {"printed": "\n".join(printed)}


@pytest.mark.parametrize(
    ("arguments", "needs", "modules"),
    [
        (["held"], set(), 600),
        (["ledger", "show"], set(), 950),
        (["keys", "show"], set(), 700),
        (["find"], {"mlflow", "pandas", "pyarrow", "scipy"}, 2700),
        # Schemas are pandera's, and the cost is dp-accounting's.
        (["plan", "spec"], {"numba", "pandas", "pyarrow", "scipy"}, 2500),
    ],
)
def test_a_question_needs_no_server_and_few_libraries(
    arguments: list[str], needs: set[str], modules: int, state: Path, tmp_path: Path
) -> None:
    spec = write_small_release(tmp_path / "release")
    said = watched(state, tmp_path, *(str(spec) if word == "spec" else word for word in arguments))
    # MLflow asks the system for its name.
    assert set(said["started"]) <= {"uname"}  # type: ignore[call-overload]
    assert HEAVY.intersection(said["loaded"]) <= needs  # type: ignore[arg-type]
    # A library that is imported for one of its functions shows here first.
    assert said["modules"] <= modules  # type: ignore[operator]


def test_a_decision_needs_neither_prefect_nor_mlflow(
    state: Path, tmp_path: Path, prefect_server: tuple[str, list[str]]
) -> None:
    address, asked = prefect_server
    variables = {"DENIABLE_OPERATOR": "ines", "DENIABLE_PREFECT_API_URL": address}
    said = watched(state, tmp_path, "approve", RELEASE, "--reason", "as agreed", **variables)
    assert (said["status"], said["started"]) == (0, [])
    assert HEAVY.intersection(said["loaded"]) == set()  # type: ignore[arg-type]
    assert asked == ["/api/flow_runs/filter", "/api/flow_runs/a%20run/resume"]


def test_pages_that_servers_have_are_told_at_once_and_none_is_started(
    state: Path, tmp_path: Path, prefect_server: tuple[str, list[str]]
) -> None:
    address, asked = prefect_server
    pages = address.removesuffix("/api")
    variables = {"DENIABLE_PREFECT_API_URL": address, "DENIABLE_MLFLOW_TRACKING_URI": pages}
    said = watched(state, tmp_path, "ui", **variables)
    assert (said["status"], said["started"]) == (0, [])
    assert f"{pages}/runs" in str(said["printed"])
    assert asked == ["/health", "/api/health", "/api/2.0/mlflow/experiments/search"]


def test_pages_of_a_server_that_is_down_are_a_sentence(state: Path, tmp_path: Path) -> None:
    nobody = "http://127.0.0.1:9"
    variables = {"DENIABLE_PREFECT_API_URL": f"{nobody}/api", "DENIABLE_MLFLOW_TRACKING_URI": nobody}
    done = run("ui", "--state", state, home=tmp_path, **variables)
    assert done.returncode == 1
    assert done.stderr == (
        "MLflow must answer at http://127.0.0.1:9, and does not (URLError); make stack starts what is down.\n"
    )


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
