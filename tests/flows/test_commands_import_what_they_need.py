"""A question is answered at once: a command imports only what it needs, and starts no server that is not needed."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

import pytest

from tests.approving import approver, held_note, key_place
from tests.flows.command import environment, run
from tests.flows.looked_at import LookedAt
from tests.small_release import write_small_release

# Each of these takes about a second, or several, before it does anything.
HEAVY = {"prefect", "mlflow", "pandas", "scipy", "numba", "sklearn", "matplotlib", "pyarrow", "distributed"}
RELEASE = "small-20261122T110111Z"
# Parts of libraries that a command may need otherwise.
PARTS = {"dp_accounting", "scipy.stats", "scipy.special", "scipy.fft", "mlflow.genai", "prefect.server", "requests"}
WATCHED = """
import json, sys
started, opened = [], []

def note(event, given):
    if event in ("subprocess.Popen", "os.exec"):
        started.append(str(given[0]))
    elif event == "open" and isinstance(given[0], str) and not given[0].startswith((sys.prefix, sys.base_prefix)):
        opened.extend([] if given[0].endswith((".py", ".pyc")) else [given[0]])

sys.addaudithook(note)
from deniable.cli.dispatch import main
status = main(sys.argv[1:])
loaded = sorted({name.partition(".")[0] for name in sys.modules})
seen = {"modules": len(sys.modules), "all": sorted(sys.modules), "opened": opened}
print(json.dumps({"status": status, "loaded": loaded, "started": started} | seen))
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
    note = held_note(page, RELEASE, flow_run="a run")
    (vault / "held.json").write_text(note.model_dump_json())
    return tmp_path / "state"


def watched(state: Path, home: Path, *arguments: str, **variables: str) -> dict[str, object]:
    """Run a command: how it ended, what it has imported and opened, and the processes that it has started."""
    return watched_code(WATCHED, home, *arguments, "--state", str(state), **variables)


def watched_code(code: str, home: Path, *arguments: str, **variables: str) -> dict[str, object]:
    """Run a command as `watched` does, whatever it is imported from."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
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
    ("arguments", "needs", "parts", "modules", "opened"),
    [
        (["release", "held"], set(), set(), 590, 10),
        (["budget", "show"], set(), set(), 900, 40),
        (["keys", "show"], set(), set(), 650, 10),
        (["release", "find"], {"mlflow", "pandas", "pyarrow", "scipy"}, {"mlflow.genai", "requests"}, 2550, 40),
        # Schemas are pandera's; numba opens a folder for each function that it would compile. An account is found
        # by a key and a note.
        (["release", "plan", "spec"], {"numba", "pandas", "pyarrow", "scipy"}, set(), 1680, 192),
    ],
)
def test_a_question_needs_no_server_few_libraries_and_few_files(
    arguments: list[str], needs: set[str], parts: set[str], modules: int, opened: int, state: Path, tmp_path: Path
) -> None:
    spec = write_small_release(tmp_path / "release")
    asked = [str(spec) if word == "spec" else word for word in arguments]
    if "plan" in arguments:
        # What a plan costs is worked out once, by dp-accounting.
        first = watched(state, tmp_path, *asked)
        assert "dp_accounting" in first["loaded"]  # type: ignore[operator]
    said = watched(state, tmp_path, *asked)
    # MLflow asks the system for its name.
    assert set(said["started"]) <= {"uname"}  # type: ignore[call-overload]
    assert HEAVY.intersection(said["loaded"]) <= needs  # type: ignore[arg-type]
    assert PARTS.intersection(said["all"]) <= parts  # type: ignore[arg-type]
    # A library that is imported for one of its functions shows here first.
    assert said["modules"] <= modules  # type: ignore[operator]
    assert len(said["opened"]) <= opened  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name",
    [
        *(
            "audit.release",
            "audit.replay",
            "budget.set",
            "budget.spent",
            "keys.revoke",
            "keys.show",
            "mechanisms.select",
        ),
        *("release.approve", "release.find", "release.make", "release.plan", "release.refresh", "release.runs"),
        *("release.unfinished", "servers.backup", "servers.ui", "table.check", "table.draft"),
    ],
)
def test_the_options_of_a_command_need_neither_numpy_nor_pydantic(name: str, tmp_path: Path) -> None:
    """The module that has them is imported for a message about a wrong option, too."""
    code = WATCHED.replace("from deniable.cli.dispatch import main", f"import flows.cli.{name}")
    said = watched_code(code.replace("main(sys.argv[1:])", "0"), tmp_path)
    assert f"flows.cli.{name}" in said["all"]  # type: ignore[operator]
    assert (HEAVY | {"numpy", "pydantic"}).intersection(said["loaded"]) == set()  # type: ignore[arg-type]


def test_a_decision_needs_neither_prefect_nor_mlflow(
    state: Path, tmp_path: Path, prefect_server: tuple[str, list[str]]
) -> None:
    address, asked = prefect_server
    approver(state, "ines")
    variables = {"DENIABLE_APPROVER_KEY": str(key_place(state, "ines")), "DENIABLE_PREFECT_API_URL": address}
    said = watched(state, tmp_path, "release", "approve", RELEASE, "--reason", "as agreed", **variables)
    assert (said["status"], said["started"]) == (0, [])
    assert HEAVY.intersection(said["loaded"]) == set()  # type: ignore[arg-type]
    assert asked == ["/api/flow_runs/filter", "/api/flow_runs/a%20run/resume"]


def test_pages_that_servers_have_are_told_at_once_and_none_is_started(
    state: Path, tmp_path: Path, prefect_server: tuple[str, list[str]]
) -> None:
    address, asked = prefect_server
    pages = address.removesuffix("/api")
    variables = {"DENIABLE_PREFECT_API_URL": address, "DENIABLE_MLFLOW_TRACKING_URI": pages}
    said = watched(state, tmp_path, "servers", "ui", **variables)
    assert (said["status"], said["started"]) == (0, [])
    assert f"{pages}/runs" in str(said["printed"])
    assert asked == ["/health", "/api/health", "/api/2.0/mlflow/experiments/search"]


def test_pages_of_a_server_that_is_down_are_a_sentence(state: Path, tmp_path: Path) -> None:
    nobody = "http://127.0.0.1:9"
    variables = {"DENIABLE_PREFECT_API_URL": f"{nobody}/api", "DENIABLE_MLFLOW_TRACKING_URI": nobody}
    done = run("servers", "ui", "--state", state, home=tmp_path, **variables)
    assert done.returncode == 1
    assert done.stderr == (
        "MLflow must answer at http://127.0.0.1:9, and does not (URLError); make stack starts what is down.\n"
    )


def test_the_search_finds_what_it_is_for(state: Path, tmp_path: Path) -> None:
    """A command that needs a library is seen to import it."""
    said = watched(state, tmp_path, "release", "unfinished")
    assert "sqlalchemy" in said["loaded"]  # type: ignore[operator]
    # Packages of these names that do nothing stand for the real ones, which exist.
    assert [part for part in PARTS if find_spec(part) is None] == []
    for part in PARTS | {"prefect"}:
        package = tmp_path / part.replace(".", "/")
        package.mkdir(parents=True, exist_ok=True)
        for folder in (package, *package.relative_to(tmp_path).parents[:-1]):
            (tmp_path / folder / "__init__.py").touch()
    parts = f"sys.path.insert(0, {str(tmp_path)!r})\n" + "".join(f"import {part}\n" for part in sorted(PARTS))
    opening = "import prefect, subprocess\nsubprocess.run(['true'])\nopen('/dev/null')\n"
    code = WATCHED.replace("from deniable.cli.dispatch import main\n", parts + opening).replace(
        "main(sys.argv[1:])", "0"
    )
    said = watched_code(code, tmp_path)
    assert "prefect" in said["loaded"]  # type: ignore[operator]
    assert "true" in said["started"]  # type: ignore[operator]
    assert {*said["all"]} >= PARTS  # type: ignore[misc]
    assert "/dev/null" in said["opened"]  # type: ignore[operator]


@pytest.mark.nightly
def test_verification_needs_numpy_and_arrow_alone(tmp_path: Path, looked_at: LookedAt) -> None:
    """Verification of a published folder: no library that makes a release, and no pandas, which Arrow would import."""
    keys = looked_at.state / "keys" / "trusted.json"
    said = watched_code(WATCHED, tmp_path, "audit", "verify", str(looked_at.release), "--keys", str(keys))
    assert said["status"] == 0
    assert HEAVY.intersection(said["loaded"]) == {"pyarrow"}  # type: ignore[arg-type]
    assert {*PARTS, "sqlalchemy", "pydantic"}.intersection(said["all"]) == set()  # type: ignore[arg-type]
    assert said["modules"] <= 460  # type: ignore[operator]
    # Each file of the folder is read, and little else.
    assert len(said["opened"]) <= 40  # type: ignore[arg-type]
