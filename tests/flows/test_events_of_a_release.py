"""A release says what happens to it while it runs, in OpenLineage's words; a lineage server may listen."""

import json
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import jsonschema
import pytest

from deniable.catalogues.lineage_events import LineageEvents, edges
from deniable.foundation.errors import InvalidInput
from deniable.privacy.loss import Guarantee
from flows.cli.audit.events import _line
from schemas.references import Audience, Reference
from stores.lineage import events
from stores.lineage.events import events_of, file_of_events
from stores.lineage.receiver import receiver
from stores.tracking.release_run import recorded_release
from stores.tracking.step_run import recorded_step
from stores.vault.pending_approval import Held
from stores.vault.workspace import Workspace
from tests.commands import carry_out
from tests.flows.looked_at import LookedAt
from tests.flows.test_lineage import listed, release_named


@dataclass
class Server:
    """A lineage server that takes events, or does not."""

    answer: int = 201
    events: list[dict[str, Any]] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    address: str = ""


@contextmanager
def listening(server: Server) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"]))
            server.asked.append((self.path, self.headers["Authorization"] or ""))
            if server.answer == 201:
                server.events.append(json.loads(sent))
            self.send_response(server.answer)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as here:
        server.address = f"http://127.0.0.1:{here.server_port}"
        Thread(target=here.serve_forever, daemon=True).start()
        yield
        here.shutdown()


def record_of(release: Path) -> dict[str, Any]:
    envelope = json.loads((release / "record.dsse.json").read_text(encoding="utf-8"))
    record: dict[str, Any] = json.loads(b64decode(envelope["payload"]))["predicate"]
    return record


def test_events_draw_the_same_graph_as_the_record(looked_at: LookedAt) -> None:
    """The graph of a release, of its command run as a process, is that of its signed record; no replay adds to it."""
    events = events_of(looked_at.state, looked_at.name)
    told = edges(events)
    job = f"release.{record_of(looked_at.release)['release']['dataset']}"
    signed = {
        edge
        for step in record_of(looked_at.release)["steps"]
        for edge in (
            *((f"{looked_at.name}/{item['name']}", f"{job}.{step['step']}") for item in step["inputs"]),
            *((f"{job}.{step['step']}", f"{looked_at.name}/{item['name']}") for item in step["outputs"]),
        )
    }
    # The report and the seal come after the record's steps.
    assert signed <= told
    later = {each for edge in told - signed for each in edge if each.startswith(job)}
    assert later <= {f"{job}.report", f"{job}.seal"}
    kinds = [event["eventType"] for event in events]
    assert (kinds[0], kinds[-1], events[-1]["job"]["name"]) == ("START", "COMPLETE", job)
    assert kinds.count("START") == kinds.count("COMPLETE") == len(kinds) / 2
    spent = [event["run"].get("facets", {}).get("deniable_privacyCost", {}).get("epsilon") for event in events]
    assert sorted(each for each in spent if each) == sorted(
        step["cost"]["epsilon"] for step in record_of(looked_at.release)["steps"] if step["cost"]["epsilon"]
    )


def test_events_are_openlineages_own(looked_at: LookedAt) -> None:
    from tests.tasks.test_a_release_in_the_words_of_other_systems import standard  # noqa: PLC0415 - slow to import

    schema = json.loads(standard("openlineage/OpenLineage.json").read_text(encoding="utf-8"))
    check = jsonschema.Draft202012Validator({**schema, "$ref": "#/$defs/RunEvent", "oneOf": [{}]})
    for event in events_of(looked_at.state, looked_at.name):
        assert [error.message for error in check.iter_errors(event)] == []


def test_events_are_for_this_account_alone(looked_at: LookedAt) -> None:
    place = file_of_events(looked_at.state, looked_at.name)
    assert (place.stat().st_mode & 0o777, place.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def read(name: str) -> Reference:
    return Reference(name=name, path=Path("nowhere"), digest="0" * 64, rows=None, audience=Audience.RESTRICTED)


def test_a_server_hears_each_event_when_it_happens(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()
    with listening(server):
        monkeypatch.setenv("OPENLINEAGE_URL", f"{server.address}/")
        monkeypatch.setenv("OPENLINEAGE_API_KEY", "a-token")
        with release_named("heard", state) as workspace:
            assert [event["eventType"] for event in server.events] == ["START"]
            with recorded_step(workspace, "clean", [read("checked")]) as step:
                assert server.events[-1]["inputs"][0]["name"] == "heard/checked"
                step.output(read("codes"))
            assert [item["name"] for item in server.events[-1]["outputs"]] == ["heard/codes"]
    assert set(server.asked) == {("/api/v1/lineage", "Bearer a-token")}
    assert server.events == events_of(state, "heard")
    times = [event["eventTime"] for event in server.events]
    assert times == sorted(times)
    root = server.events[0]["run"]["runId"]
    assert {event["run"]["facets"]["parent"]["run"]["runId"] for event in server.events[1:3]} == {root}


def end_with(error: BaseException, name: str, state: Path) -> None:
    with release_named(name, state) as workspace:
        with recorded_step(workspace, "clean"):
            pass
        raise error


class Interrupted(BaseException):
    """Ends a release as a signal does."""


@pytest.mark.parametrize(
    ("error", "kind"),
    [(ValueError("the man of 97"), "FAIL"), (Interrupted(), "ABORT"), (Held("wait"), "RUNNING")],
    ids=["failed", "interrupted", "held"],
)
def test_how_a_release_ends_is_told_without_a_word_of_the_error(error: BaseException, kind: str, state: Path) -> None:
    name = f"ends-{kind.lower()}"
    with pytest.raises(type(error)):
        end_with(error, name, state)
    events = events_of(state, name)
    assert [event["eventType"] for event in events] == ["START", "START", "COMPLETE", kind]
    assert "the man of" not in file_of_events(state, name).read_text(encoding="utf-8")


def test_a_step_that_fails_after_it_has_spent_says_what(state: Path) -> None:
    with pytest.raises(ValueError, match="late"), release_named("spent", state) as workspace:
        spend_and_fail(workspace)
    failed = next(event for event in events_of(state, "spent") if event["eventType"] == "FAIL")
    assert failed["job"]["name"].endswith(".learn_parameters")
    assert failed["run"]["facets"]["deniable_privacyCost"]["epsilon"] == 0.5
    with pytest.raises(ValueError, match="early"), release_named("unspent", state) as workspace:
        fail(workspace)
    failed = next(event for event in events_of(state, "unspent") if event["eventType"] == "FAIL")
    assert set(failed["run"]["facets"]) == {"parent"}


def spend_and_fail(workspace: Workspace) -> None:
    with recorded_step(workspace, "learn_parameters") as step:
        step.spent(Guarantee(0.5, 1e-9, "basic"))
        raise ValueError("late")


def fail(workspace: Workspace) -> None:
    with recorded_step(workspace, "learn_parameters"):
        raise ValueError("early")


def test_a_disk_without_room_for_an_event_does_not_hide_why_a_release_failed(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("no room")

    def fail_with_a_full_disk() -> None:
        with release_named("full", state):
            monkeypatch.setattr(events, "_append", full)
            raise ValueError("the reason")

    with pytest.raises(ValueError, match="the reason"):
        fail_with_a_full_disk()


def test_a_dataset_whose_name_has_dots_is_no_part_of_a_step() -> None:
    words = LineageEvents("people.of.2026", "people-1", "1")
    told = [
        _line(words.event("START", "2026-11-29T00:00:00Z", "run", words.job())),
        _line(words.event("START", "2026-11-29T00:00:00Z", "run", words.job("clean"), words.of_release("run"))),
    ]
    assert [line.rpartition("  ")[2].strip() for line in told] == ["the release", "clean"]


def test_a_server_that_takes_no_events_is_asked_once_and_stops_no_release(
    state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Server(answer=503)
    with listening(server):
        monkeypatch.setenv("OPENLINEAGE_URL", server.address)
        with release_named("unheard", state) as workspace, recorded_step(workspace, "clean"):
            pass
        assert len(server.asked) == 1
        asked = receiver("unheard")
        assert asked is not None
        assert asked.fault.endswith("got the answer 503")
        server.answer = 201
        with release_named("heard-again", state):
            pass
        assert server.events == events_of(state, "heard-again"), "a server that failed is asked by the next release"
        server.events.clear()
        assert carry_out("audit events", ["unheard", "--send"], state) == 0
    assert server.events == events_of(state, "unheard")
    assert "4 of 4 events were taken." in capsys.readouterr().out


@pytest.mark.parametrize(
    "address", ["http://lineage.example", "ftp://lineage.example", "lineage.example", "https://", "https://["]
)
def test_events_are_not_sent_where_others_read_them(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", address)
    with pytest.raises(InvalidInput, match="must be an address that begins with https://"):
        receiver()
    monkeypatch.setenv("OPENLINEAGE_DISABLED", "true")
    assert receiver() is None


def test_steps_outside_a_release_and_in_scratch_folders_have_no_events(state: Path, tmp_path: Path) -> None:
    with release_named("a-discovery", state) as workspace:
        alone = Workspace(state, "nothing-began", workspace.spec, workspace.mlflow_run_id)
        alone.vault.mkdir(parents=True)
        (alone.vault / "key").write_bytes((workspace.vault / "key").read_bytes())
        with recorded_step(alone, "clean"):
            pass
    assert not file_of_events(state, "nothing-began").exists()
    scratch = tmp_path / "replay.scratch"
    with recorded_release(scratch, "repeated", listed()):
        pass
    assert not file_of_events(scratch, "repeated").exists()


def test_the_command_shows_when_steps_began_and_ended(looked_at: LookedAt, capsys: pytest.CaptureFixture[str]) -> None:
    assert carry_out("audit events", [looked_at.name], looked_at.state) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("start     the release")
    assert lines[-1].endswith("complete  the release")
    assert any("complete  validate" in line and "read snapshot; made checked" in line for line in lines)
    assert any("learn_parameters" in line and "epsilon" in line for line in lines)
    assert carry_out("audit events", [looked_at.name, "--json"], looked_at.state) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert events == events_of(looked_at.state, looked_at.name)
