"""Progress of steps that workers carry out: how much is done, and how it ended."""

# Dask's functions have no annotations
# mypy: disallow-untyped-calls=False

from collections.abc import Callable, Iterator
from threading import Semaphore, get_ident
from time import sleep
from typing import Any
from uuid import uuid4

import pytest
from distributed import Client
from prefect import flow, task
from prefect.states import Completed, Crashed, Failed
from prefect_dask.task_runners import PrefectDaskFuture

from flows.progress import Screen
from infra.cluster.runner import ClusterFuture
from tasks.running.progress import advance, announced, part_begins, part_ends, watching
from tests.diary import Diary


@pytest.fixture(scope="module")
def dask() -> Iterator[Client]:
    with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        yield client


class Told(Diary):
    """A diary that says when an end was written down."""

    def __init__(self) -> None:
        super().__init__()
        self.ends = Semaphore(0)

    def ended(self, step: str, *, well: bool) -> None:
        super().ended(step, well=well)
        self.ends.release()


def submitted(dask: Client, work: Callable[..., Any], *arguments: float) -> ClusterFuture:
    sent = PrefectDaskFuture[Any](task_run_id=uuid4(), wrapped_future=dask.submit(work, *arguments, pure=False))
    return ClusterFuture(sent, "synthesize", 7)


def failing() -> None:
    raise MemoryError


@pytest.mark.parametrize(
    ("work", "told"),
    [
        (Completed, ["synthesize advanced 7", "synthesize ended well"]),
        (Failed, ["synthesize ended badly"]),
        (Crashed, ["synthesize ended badly"]),
        (failing, ["synthesize ended badly"]),
    ],
)
def test_it_is_told_once_how_a_part_really_ended(dask: Client, work: Callable[[], Any], told: list[str]) -> None:
    """Prefect catches what a task raises, so that to Dask all is well."""
    diary = Told()
    with watching(diary):
        sent = submitted(dask, work)
        sent.wait()
        diary.ends.acquire()
        sent.wait()
    assert diary.lines == told


def test_a_part_that_nobody_waits_for_any_more_did_not_end_well(dask: Client) -> None:
    diary = Told()
    with watching(diary):
        submitted(dask, sleep, 1).wrapped_future.cancel()
        diary.ends.acquire()
    assert diary.lines == ["synthesize ended badly"]


def shown(screen: Screen) -> tuple[str, float, float | None, str]:
    """The only line of a screen: its step, how much of how much is done, and what is written beside it."""
    (line,) = screen._lines.tasks
    return line.description, line.completed, line.total, line.fields["counted"]


def test_work_is_counted_as_the_parts_of_it_come_back() -> None:
    with Screen({"synthesize": 10}) as screen, watching(screen):
        for _ in range(2):
            part_begins("synthesize")
        part_ends("synthesize", well=True, amount=6)
        assert shown(screen) == ("synthesize", 6, 10, "6 of 10")
        part_ends("synthesize", well=True, amount=4)
        assert shown(screen) == ("synthesize", 10, 10, "10 of 10")


def test_where_no_work_is_counted_parts_are_round_after_round() -> None:
    with Screen({}) as screen, watching(screen):
        for done in (0, 2):
            for _ in range(2):
                part_begins("count")
            part_ends("count", well=True)
            assert shown(screen) == ("count", done + 1, done + 2, f"{done + 1} of {done + 2} parts")
            assert not screen._lines.tasks[0].finished
            part_ends("count", well=True)
            assert screen._lines.tasks[0].finished


def test_a_part_that_failed_is_not_counted_as_done() -> None:
    with Screen({"synthesize": 10}) as screen, watching(screen):
        part_begins("synthesize")
        part_ends("synthesize", well=False, amount=10)
        assert shown(screen) == ("[red]synthesize", 0, 10, "")


def test_a_watcher_goes_with_a_step_into_the_thread_that_prefect_calls_it_in(prefect: None) -> None:
    threads = []

    @task
    def synthesize() -> None:
        threads.append(get_ident())
        with announced("synthesize", "watched-1"):
            advance("synthesize", 3)

    @flow
    def one_step() -> None:
        synthesize.submit().result()

    with watching(diary := Diary()):
        one_step()
    assert threads != [get_ident()]
    assert diary.lines == ["synthesize started", "synthesize advanced 3", "synthesize ended well"]
