"""A step bound to a task stores nothing and says nothing that quotes a record."""

import asyncio
import errno
import os
import stat
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from inspect import signature
from pathlib import Path
from pkgutil import walk_packages
from threading import Event, Thread
from typing import Any

import pytest
from prefect.cache_policies import NO_CACHE

import tasks
from deniable.foundation.errors import DeniableError, Refused
from schemas.references import Audience
from schemas.spec.flow_steps import flow_steps
from schemas.spec.release_spec import load_spec
from stores.vault.workspace import Workspace
from tasks.running.cancellation import StepStopped, allow_steps, stop_parts, stop_steps, stopping_too
from tasks.running.progress import advance, watching
from tasks.running.step import StepFailed, as_task
from tests.diary import Diary
from tests.small_release import write_small_release

CONFIDENTIAL = "income-of-a-person-4711"


def failing_with(error: BaseException) -> Callable[[Workspace], None]:
    def clean(workspace: Workspace) -> None:
        raise error

    return clean


def message_of(error: BaseException, workspace: Workspace) -> str:
    with pytest.raises(StepFailed) as caught:
        as_task(failing_with(error)).fn(workspace)
    return str(caught.value)


def test_a_task_has_the_name_of_its_step_and_stores_no_result(bare_workspace: Workspace) -> None:
    task = as_task(failing_with(ValueError()))
    assert task.name == "clean"
    assert task.persist_result is False
    assert task.cache_policy is NO_CACHE


def test_a_step_gives_back_what_its_function_does(bare_workspace: Workspace) -> None:
    def double(workspace: Workspace, number: int) -> int:
        return 2 * number

    assert as_task(double).fn(bare_workspace, 21) == 42


def test_an_unexpected_error_is_not_quoted(bare_workspace: Workspace) -> None:
    with pytest.raises(StepFailed) as caught:
        as_task(failing_with(ValueError(f"bad row {CONFIDENTIAL}"))).fn(bare_workspace)
    assert CONFIDENTIAL not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


class Broken:
    """What fails wherever it is touched, and quotes a record."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ValueError(f"bad row {CONFIDENTIAL}")

    def __getitem__(self, name: object) -> object:
        raise ValueError(f"bad row {CONFIDENTIAL}")

    def __iter__(self) -> Iterator[object]:
        raise ValueError(f"bad row {CONFIDENTIAL}")


# Steps that are files of their own, and the one that carries out what mechanisms plan.
MODULES = {
    each.name.rpartition(".")[2]: each.name
    for each in walk_packages(tasks.__path__, "tasks.")
    if not each.ispkg
    and each.name.split(".")[1] in {"data", "learning", "synthesis", "evaluation", "publication"}
    and hasattr(import_module(each.name), "recorded_step")
}
PLANNED: dict[str, dict[str, Any]] = {"planned_step": {"step": "index_seeds"}}


def test_every_step_of_a_flow_is_tried(tmp_path: Path) -> None:
    spec = load_spec(write_small_release(tmp_path, people=[]))
    assert set(flow_steps(spec)) - {*spec.learner.steps, *spec.synthesis.steps} <= MODULES.keys()


@pytest.mark.parametrize("step", MODULES)
def test_no_step_of_the_flow_quotes_an_unexpected_error(
    step: str, bare_workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = load_spec(write_small_release(tmp_path / "other", people=[]))
    workspace = replace(bare_workspace, spec=spec)
    with workspace.writing("key", Audience.RESTRICTED) as path:
        path.write_bytes(bytes(32))
    module = import_module(MODULES[step])
    monkeypatch.setattr(module, "recorded_step", lambda *_, **__: Broken().record)
    takes = list(signature(getattr(module, step)).parameters)[1:]
    with pytest.raises(StepFailed) as caught:
        getattr(module, f"{step}_task").fn(workspace, **{name: Broken() for name in takes} | PLANNED.get(step, {}))
    assert CONFIDENTIAL not in "".join(traceback.format_exception(caught.value))
    [kept] = (workspace.vault / "errors").iterdir()
    assert kept.stem == PLANNED.get(step, {}).get("step", step)
    assert CONFIDENTIAL in kept.read_text()


def test_the_details_of_an_unexpected_error_are_in_the_vault_for_nobody_else(bare_workspace: Workspace) -> None:
    message = message_of(ValueError(f"bad row {CONFIDENTIAL}"), bare_workspace)
    details = bare_workspace.vault / "errors" / "clean.txt"
    assert str(details) in message
    assert CONFIDENTIAL in details.read_text()
    assert stat.S_IMODE(details.stat().st_mode) == 0o600
    assert stat.S_IMODE(details.parent.stat().st_mode) == 0o700


def test_a_refusal_passes_as_it_is_but_without_what_led_to_it(bare_workspace: Workspace) -> None:
    def validate(workspace: Workspace) -> None:
        try:
            raise ValueError(CONFIDENTIAL)  # noqa: TRY301 - the context is what is tested
        except ValueError as error:
            raise Refused("column age must be whole numbers.") from error

    with pytest.raises(Refused, match="column age must be whole numbers") as caught:
        as_task(validate).fn(bare_workspace)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert not (bare_workspace.vault / "errors").exists()


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "who owns"),
        (errno.EFBIG, "ulimit -f"),
    ],
)
def test_an_error_of_the_disk_names_its_remedy(number: int, remedy: str, bare_workspace: Workspace) -> None:
    error = OSError(number, os.strerror(number), CONFIDENTIAL)
    message = message_of(error, bare_workspace)
    assert remedy in message
    assert CONFIDENTIAL not in message


def test_a_full_disk_is_recognized_behind_another_error(bare_workspace: Workspace) -> None:
    error = RuntimeError("the writer failed")
    error.__cause__ = OSError(errno.ENOSPC, "No space left on device")
    assert "free some space" in message_of(error, bare_workspace)


def test_a_failure_is_told_even_where_its_details_cannot_be_written(bare_workspace: Workspace) -> None:
    bare_workspace.vault.parent.mkdir(parents=True)
    bare_workspace.vault.write_text("a file where the folder should be")
    assert "could not be written" in message_of(ValueError(CONFIDENTIAL), bare_workspace)


def test_an_interruption_is_not_taken_for_an_error(bare_workspace: Workspace) -> None:
    with pytest.raises(KeyboardInterrupt):
        as_task(failing_with(KeyboardInterrupt())).fn(bare_workspace)
    assert not bare_workspace.vault.exists()


def test_no_step_of_a_stopped_release_begins_and_those_of_others_do(bare_workspace: Workspace) -> None:
    task = as_task(failing_with(DeniableError("it began.")))
    stop_steps("stopped", patience_s=1)
    with pytest.raises(KeyboardInterrupt):
        task.fn(replace(bare_workspace, release_id="stopped"))
    with pytest.raises(DeniableError, match="it began"):
        task.fn(bare_workspace)


def test_a_step_that_runs_while_its_release_is_stopped_ends_where_it_advances(bare_workspace: Workspace) -> None:
    def synthesize(workspace: Workspace) -> None:
        stop_steps(workspace.release_id, patience_s=0)
        advance("synthesize", 1)

    with pytest.raises(KeyboardInterrupt):
        as_task(synthesize).fn(replace(bare_workspace, release_id="stopped midway"))


class Workers:
    """Other processes that steps are sent to."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def allow(self, release: str) -> None:
        self.told.append(f"allow {release}")

    def stop(self, release: str, patience_s: float) -> None:
        self.told.append(f"stop {release} within {patience_s:g} s")


def test_who_stops_a_release_stops_its_steps_in_other_processes_until_it_goes_on() -> None:
    workers = Workers()
    with stopping_too(workers):
        stop_steps("spread", patience_s=0)
        allow_steps("spread")
    allow_steps("spread")
    assert workers.told == ["stop spread within 0 s", "allow spread"]


def test_a_process_that_steps_are_sent_to_ends_them_and_goes_on(bare_workspace: Workspace) -> None:
    """Dask takes an interruption for the end of the worker."""
    here = replace(bare_workspace, release_id="stopped there")

    def synthesize(workspace: Workspace) -> None:
        asyncio.run(stop_parts(workspace.release_id, patience_s=0))
        advance("synthesize", 1)

    task = as_task(synthesize)
    for _ in range(2):
        with pytest.raises(StepStopped, match="its release was stopped"):
            task.fn(here)
    allow_steps(here.release_id)
    assert as_task(finished_step).fn(here) == "done"


def test_a_process_that_waits_for_its_steps_to_end_does_all_else_meanwhile(bare_workspace: Workspace) -> None:
    """Here the step ends only once the event loop has gone on."""
    here = replace(bare_workspace, release_id="waited for")
    began, may_end = Event(), Event()

    def synthesize(workspace: Workspace) -> None:
        began.set()
        may_end.wait()

    async def stop() -> None:
        waiting = asyncio.create_task(stop_parts(here.release_id, patience_s=5))
        await asyncio.sleep(0)
        assert not waiting.done()
        may_end.set()
        await waiting

    step = Thread(target=as_task(synthesize).fn, args=(here,))
    step.start()
    began.wait()
    try:
        asyncio.run(stop())
    finally:
        may_end.set()
        step.join()
    allow_steps(here.release_id)


def finished_step(workspace: Workspace) -> str:
    return "done"


def test_watchers_are_told_how_a_step_goes(bare_workspace: Workspace) -> None:
    def synthesize(workspace: Workspace) -> None:
        advance("synthesize", 3)

    diary = Diary()
    with watching(diary):
        as_task(synthesize).fn(bare_workspace)
        with pytest.raises(StepFailed):
            as_task(failing_with(ValueError())).fn(bare_workspace)
    as_task(synthesize).fn(bare_workspace)
    assert diary.lines == [
        "synthesize started",
        "synthesize advanced 3",
        "synthesize ended well",
        "clean started",
        "clean ended badly",
    ]


def test_watchers_of_one_release_hear_nothing_of_another_in_the_same_process(bare_workspace: Workspace) -> None:
    def synthesize(workspace: Workspace) -> None:
        advance("synthesize", 3)

    def other() -> None:
        with watching(others):
            as_task(synthesize).fn(bare_workspace)

    mine, others = Diary(), Diary()
    with watching(mine):
        elsewhere = Thread(target=other)
        elsewhere.start()
        elsewhere.join()
    assert mine.lines == []
    assert others.lines == ["synthesize started", "synthesize advanced 3", "synthesize ended well"]
