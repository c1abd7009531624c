"""Whatever becomes of Prefect's or MLflow's server, there is one sentence that says what to do, and nothing is lost."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from mlflow.exceptions import MlflowException
from requests import PreparedRequest, Response, Session

from infra.servers.local_servers import Server, free_port
from stores.ledger.ledger import Ledger, ledger_place
from stores.tracking.client import RecordFailed, recording
from tests.flows.command import run, start, variables_of
from tests.small_release import write_small_release
from tests.warm.servers import mlflow_server, prefect_server

if TYPE_CHECKING:
    import subprocess

# How often Prefect's and MLflow's clients ask again: never, where users wait for two minutes.
IMPATIENT = {
    "PREFECT_CLIENT_MAX_RETRIES": "0",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
    "DENIABLE_PATIENCE_S": "2",
}
TIMES = "MLFLOW_HTTP_REQUEST_MAX_RETRIES"


class Served(NamedTuple):
    """A state folder, and a Prefect server with a password that is not started by the command itself."""

    state: Path
    home: Path
    port: int
    server: Server

    @property
    def told(self) -> dict[str, str]:
        return {**variables_of(self.server), **IMPATIENT}

    def run(self, *arguments: str | Path, **variables: str) -> "subprocess.CompletedProcess[str]":
        return run(*arguments, "--state", self.state, home=self.home, **{**self.told, **variables})


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    port = free_port()
    with prefect_server(tmp_path / "state", port) as server:
        yield Served(tmp_path / "state", tmp_path / "home", port, server)


@pytest.mark.nightly
def test_a_release_whose_prefect_server_goes_away_says_so_and_goes_on_when_it_is_back(
    served: Served, tmp_path: Path
) -> None:
    spec = write_small_release(tmp_path / "spec")
    refused = served.run("servers", "prefect", "flow-run", "ls", PREFECT_API_AUTH_STRING="deniable:wrong")
    assert refused.returncode == 1
    assert "must accept its password, got a refusal; correct PREFECT_API_AUTH_STRING" in refused.stderr
    assert served.run("servers", "prefect", "flow-run", "ls").returncode == 0

    process = start("release", "make", spec, "--state", served.state, home=served.home, **served.told)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("learn structure"):
            served.server.stop()
            break
    said = process.stderr.read()
    assert process.wait() == 1
    assert "Prefect must answer" in said
    assert "is kept: run the same command to resume it" in said
    assert "Traceback" not in said
    assert not list((served.state / "releases").glob("*"))

    silent = served.run("servers", "prefect", "flow-run", "ls")
    assert silent.returncode == 1
    assert "Prefect must answer" in silent.stderr
    assert len(silent.stderr.strip().splitlines()) == 1

    with prefect_server(served.state, served.port, credentials=served.server.credentials):
        done = served.run("release", "make", spec)
    assert done.returncode == 0, done.stderr
    charges = Ledger.open(ledger_place(served.state)).charges("people")
    assert [each.charge.step for each in charges] == ["learn_structure", "learn_parameters", "synthesize"]
    assert len({each.charge.release for each in charges}) == 1


def counting_questions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that are asked from now on."""
    asked: list[str] = []
    send = Session.send

    def counted(session: Session, request: PreparedRequest, **how: Any) -> Response:
        asked.append(str(request.url))
        return send(session, request, **how)

    monkeypatch.setattr(Session, "send", counted)
    return asked


def said_of(state: Path) -> str:
    """What is said where MLflow does not take a tag."""
    with pytest.raises(RecordFailed) as failed, recording(state) as client:
        client.set_experiment_tag("0", "some", "thing")
    return str(failed.value)


def test_an_mlflow_server_that_is_gone_and_one_that_forbids_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TIMES, "0")
    (tmp_path / "mlflow").mkdir()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow' / 'mlflow.db'}")
    with mlflow_server(tmp_path) as pages:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", pages.address)
        user, _, password = pages.credentials.partition(":")
        monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", user)
        monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", password)
        forbidden = said_of(tmp_path)
    assert "must let its user write" in forbidden
    gone = said_of(tmp_path)
    assert "check that its server and its database run" in gone
    assert pages.address in gone


@pytest.mark.nightly
def test_a_server_that_was_waited_for_in_vain_is_not_waited_for_again_before_it_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mlflow").mkdir()
    pages_of = f"sqlite:///{tmp_path / 'mlflow' / 'mlflow.db'}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", pages_of)
    asked: list[int] = []
    with mlflow_server(tmp_path) as pages:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", pages.address)
        user, _, password = pages.credentials.partition(":")
        monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", user)
        monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", password)
        counted = counting_questions(monkeypatch)
        for answers in (False, True, True):
            counted.clear()
            try:
                with recording(tmp_path) as client:
                    client.search_experiments(max_results=1)
                    if not answers:
                        raise MlflowException("it does not answer")
            except RecordFailed:
                pass
            asked.append(len(counted))
    assert asked == [1, 2, 1], "once it was given up, it is asked briefly whether it answers before anything else"
