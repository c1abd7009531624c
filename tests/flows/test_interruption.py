"""A command that is told to end says so, wherever in it the signal arrives."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import BaseModel, PlainSerializer
from pydantic_core import PydanticSerializationError

from flows import __main__ as command
from flows.__main__ import FAILED, INTERRUPTED, main
from flows.interruption import end_in_order, is_of_a_signal
from flows.running import watched
from schemas.release_spec import load_spec
from stores import unfinished
from stores.held import NotPublished
from tasks.step import StepFailed
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


def test_a_command_was_interrupted_whatever_became_of_the_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "prepare_environment", lambda state: state)
    monkeypatch.setattr(unfinished, "left_in_words", lambda _: [_Document(number=1).model_dump_json()])
    assert main(["unfinished", "--state", str(tmp_path)]) == INTERRUPTED
    assert "interrupted." in capsys.readouterr().err


def test_the_same_error_without_a_signal_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failed(_: Path) -> list[str]:
        msg = "Error calling function"
        raise PydanticSerializationError(msg)

    monkeypatch.setattr(command, "prepare_environment", lambda state: state)
    monkeypatch.setattr(unfinished, "left_in_words", failed)
    assert main(["unfinished", "--state", str(tmp_path)]) == FAILED
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
