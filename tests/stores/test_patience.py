"""All clients wait equally long for a server; a server that did not answer in time is then asked only briefly."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from httpx import ConnectError, HTTPStatusError, Request, Response

from deniable.foundation.errors import DeniableError, InvalidInput
from infra.environment import prepare_environment
from stores.ledger.database import LedgerServerDown
from stores.ledger.ledger import Ledger
from stores.servers import patience
from stores.servers.patience import ServerDown, doublings, note_answer, patience_s, pauses
from stores.servers.prefect_failures import PrefectDown, asking_prefect
from stores.tracking.client import RecordServerDown, recording

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds for which somebody would have slept."""
    seconds: list[float] = []
    monkeypatch.setattr("time.sleep", seconds.append)
    monkeypatch.setattr(patience, "_in_vain", set())
    return seconds


def asked_of_prefect() -> None:
    def nobody() -> None:
        raise ConnectError("nobody there")

    asking_prefect(nobody)


def asked_of_the_ledger() -> None:
    Ledger.open("postgresql://someone:secret@/ledger?host=/nowhere")


@pytest.mark.parametrize("ask", [asked_of_prefect, asked_of_the_ledger])
def test_prefect_and_the_ledger_are_waited_for_for_two_minutes_and_then_briefly(
    ask: Callable[[], None], slept: list[float]
) -> None:
    with pytest.raises(ServerDown, match="must"):
        ask()
    assert sum(slept) == pytest.approx(120)
    assert slept[0] < 1, "one that restarts is not kept waiting"
    assert max(slept) <= 30
    slept.clear()
    with pytest.raises(ServerDown):
        ask()
    assert 0 < sum(slept) <= 3


def test_mlflow_is_waited_for_as_long(slept: list[float], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with monkeypatch.context() as own:
        for name in list(os.environ):
            own.setenv(name, os.environ[name])  # so that what is prepared here is undone
        own.delenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", raising=False)
        prepare_environment(tmp_path)
        own.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
        before = dict(os.environ)
        waited = []

        def asked() -> None:
            slept.clear()
            try:
                with recording(tmp_path) as client:
                    assert dict(os.environ) == before
                    client.search_experiments(max_results=1)
            finally:
                waited.append(sum(slept))

        for _ in range(2):
            with pytest.raises(RecordServerDown):
                asked()
        slept.clear()
        own.setattr(patience, "_in_vain", set())
        with pytest.raises(RecordServerDown), recording(tmp_path, patiently=False):
            pytest.fail("it must answer first")
        assert 0 < sum(slept) <= 6
        assert dict(os.environ) == before
    assert 120 <= waited[0] <= 131
    assert 0 < waited[1] <= 6


def test_prefects_own_client_waits_as_long(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with monkeypatch.context() as own:
        for name in ("PREFECT_CLIENT_MAX_RETRIES", "PREFECT_CLIENT_RETRY_EXTRA_CODES"):
            own.delenv(name, raising=False)
        for name in list(os.environ):
            own.setenv(name, os.environ[name])  # so that what is prepared here is undone
        prepare_environment(tmp_path)
        times = int(os.environ["PREFECT_CLIENT_MAX_RETRIES"])
        assert 120 <= sum(2**number for number in range(1, times + 1)) <= 130
        assert os.environ["PREFECT_CLIENT_RETRY_EXTRA_CODES"] == "500"


def test_whoever_answers_in_time_is_not_given_up(slept: list[float]) -> None:
    answers = iter([ConnectError("gone"), ConnectError("gone"), None])

    def asked() -> str:
        error = next(answers)
        if error is not None:
            raise error
        return "here"

    assert asking_prefect(asked) == "here"
    assert len(slept) == 2


def test_a_refusal_is_not_waited_for(slept: list[float]) -> None:
    def refused() -> None:
        request = Request("GET", "http://127.0.0.1/api")
        raise HTTPStatusError("no", request=request, response=Response(401, request=request))

    with pytest.raises(PrefectDown, match="must accept its password"):
        asking_prefect(refused)
    assert slept == []


def test_what_is_no_matter_of_servers_is_raised_as_it_is() -> None:
    def wrong() -> None:
        raise RuntimeError("something else")

    with pytest.raises(RuntimeError, match="something else"):
        asking_prefect(wrong)


def test_a_server_that_answers_again_is_waited_for_as_before() -> None:
    note_answer("it", answered=False)
    assert sum(pauses("it")) == 3
    note_answer("it", answered=True)
    assert sum(pauses("it")) == 120
    assert 2 * (2 ** doublings(2.0) - 1) >= 120


@pytest.mark.parametrize("said", ["soon", "-1", "inf", "nan"])
def test_a_patience_that_is_none_is_refused(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DENIABLE_PATIENCE_S", said)
    with pytest.raises(InvalidInput, match="must be a number of seconds"):
        patience_s()


def test_the_guide_states_how_long() -> None:
    guide = ROOT / "docs" / "release-engineer" / "when-something-goes-wrong.md"
    assert re.search(r"wait two minutes for a server that does not answer", guide.read_text())
    assert issubclass(ServerDown, DeniableError)
    assert issubclass(LedgerServerDown, ServerDown)
