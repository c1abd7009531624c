"""A command that receives a signal reports it, wherever in the command the signal arrives."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import pytest
from prefect.utilities.engine import capture_sigterm
from pydantic import BaseModel, PlainSerializer
from pydantic_core import PydanticSerializationError

from deniable.cli.dispatch import main
from flows.cli import running as command
from flows.cli.making import watched
from flows.cli.running import FAILED, INTERRUPTED
from flows.interruption import end_in_order, is_of_a_signal
from schemas.spec.release_spec import load_spec
from stores.releases import life as unfinished
from stores.vault.pending_approval import NotPublished
from tasks.running.cancellation import StepStopped, allow_steps
from tasks.running.progress import advance, announced
from tasks.running.step import StepFailed
from tests.small_release import write_small_release


def _signalled(value: int) -> int:
    os.kill(os.getpid(), signal.SIGTERM)
    return value


class _Document(BaseModel):
    """Something that a signal falls into the writing of."""

    number: Annotated[int, PlainSerializer(_signalled)]


@pytest.fixture(autouse=True)
def _handlers_kept() -> Iterator[None]:
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        end_in_order()
        for each, handler in before.items():
            signal.signal(each, handler)


def test_pydantic_makes_an_error_of_its_own_of_a_signal() -> None:
    end_in_order()
    with pytest.raises(PydanticSerializationError, match="KeyboardInterrupt") as raised:
        _Document(number=1).model_dump_json()
    assert is_of_a_signal(raised.value)
    # What a step made of it, and what a person or a policy decided.
    assert is_of_a_signal(StepFailed("learn structure failed."))
    assert not is_of_a_signal(NotPublished("a policy refuses it."))
    end_in_order()
    assert not is_of_a_signal(raised.value)
    assert is_of_a_signal(KeyboardInterrupt())


def test_a_signal_is_known_that_had_another_handler() -> None:
    """While a flow runs, Prefect's handler has SIGTERM, and what that raises may be swallowed as well."""
    end_in_order()
    with capture_sigterm(), pytest.raises(PydanticSerializationError, match="TerminationSignal") as raised:
        _Document(number=1).model_dump_json()
    assert is_of_a_signal(raised.value)
    end_in_order()
    assert not is_of_a_signal(raised.value)
    signal.signal(signal.SIGUSR1, lambda *_: None)
    os.kill(os.getpid(), signal.SIGUSR1)
    assert not is_of_a_signal(raised.value), "it was not told to end"


def _work_for_ten_seconds() -> None:
    with announced("synthesize", "heard-1"):
        for _ in range(1000):
            time.sleep(0.01)
            advance("synthesize", 1)


def test_what_a_forked_process_is_told_is_not_told_this_one() -> None:
    end_in_order()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
        time.sleep(60)
        os._exit(1)
    time.sleep(0.2)
    os.kill(child, signal.SIGTERM)
    assert os.waitpid(child, 0)[1] == 0
    assert not is_of_a_signal(ValueError())


class _Collected:
    """Something that a signal falls into the end of: what is raised there, Python prints and ignores."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_signal_that_nothing_heard_of_stops_the_steps() -> None:
    end_in_order()
    allow_steps("heard-1")
    with capture_sigterm():
        _Collected()
        with pytest.raises(KeyboardInterrupt):
            _work_for_ten_seconds()
    assert is_of_a_signal(StepStopped("its release was stopped"))
    allow_steps("heard-1")


def test_a_command_was_interrupted_whatever_became_of_the_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "prepare_environment", lambda state, **_: state)
    monkeypatch.setattr(unfinished, "left_in_words", lambda _: [_Document(number=1).model_dump_json()])
    assert main(["release", "unfinished", "--state", str(tmp_path)]) == INTERRUPTED
    assert "interrupted." in capsys.readouterr().err


def test_the_same_error_without_a_signal_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failed(_: Path) -> list[str]:
        msg = "Error calling function"
        raise PydanticSerializationError(msg)

    monkeypatch.setattr(command, "prepare_environment", lambda state, **_: state)
    monkeypatch.setattr(unfinished, "left_in_words", failed)
    assert main(["release", "unfinished", "--state", str(tmp_path)]) == FAILED
    assert "PydanticSerializationError" in capsys.readouterr().err


def test_a_release_that_is_interrupted_says_whether_it_was_too_late(tmp_path: Path) -> None:
    spec = load_spec(write_small_release(tmp_path / "spec"))
    end_in_order()
    with pytest.raises(KeyboardInterrupt, match="interrupted, nothing published"), watched(spec, tmp_path):
        _Document(number=1).model_dump_json()
    end_in_order()
    with pytest.raises(KeyboardInterrupt, match=r"interrupted too late: .*made-1"), watched(spec, tmp_path):
        _publish_and_be_signalled(tmp_path / "releases" / "made-1")


def _publish_and_be_signalled(folder: Path) -> None:
    folder.mkdir(parents=True)
    _Document(number=1).model_dump_json()
