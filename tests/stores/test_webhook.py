"""The address to be notified is notified once it answers; a failure is reported without the address."""

import json
from collections.abc import Iterator
from dataclasses import asdict

import pytest

from schemas.spec.refresh import Notify
from stores.servers.webhook import Message, are_one, tell
from tests.catcher import Catcher, catching

MESSAGE = Message(
    event="refresh failed", dataset="people", spec="small", reason="why", run="a run", time="2026-01-01T00:00:00Z"
)


@pytest.fixture
def catcher() -> Iterator[Catcher]:
    with catching() as catcher:
        yield catcher


def test_a_webhook_that_is_busy_is_asked_again(catcher: Catcher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", catcher.address)
    catcher.answers = [503, 429, 204]
    assert tell(Notify(webhook="HOOK"), MESSAGE) is None
    assert [json.loads(body) for body in catcher.caught] == [asdict(MESSAGE)] * 3


@pytest.mark.parametrize("answer", [404, 302])
def test_who_cannot_be_told_is_not_named_by_address(
    catcher: Catcher, monkeypatch: pytest.MonkeyPatch, answer: int
) -> None:
    monkeypatch.setenv("HOOK", f"{catcher.address}?token=secret")
    catcher.answers = [answer]
    said = tell(Notify(webhook="HOOK"), MESSAGE)
    assert said is not None
    assert "HOOK" in said
    assert "secret" not in said
    assert len(catcher.caught) == 1


def test_an_address_that_is_not_set_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOOK", raising=False)
    assert "HOOK must hold" in (tell(Notify(webhook="HOOK"), MESSAGE) or "")


def test_two_names_of_one_address_are_one_webhook_and_what_has_none_is_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", "http://127.0.0.1:9/hook")
    monkeypatch.setenv("SAME", "http://127.0.0.1:9/hook")
    monkeypatch.setenv("OTHER", "http://127.0.0.1:9/other")
    assert are_one("HOOK", "SAME")
    assert not are_one("HOOK", "OTHER")
    assert not are_one("NOBODY", "NOBODY")
