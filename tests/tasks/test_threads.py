"""Computations of a step run beside each other, and after an error no more are begun."""

import os
from concurrent.futures import Future
from threading import Barrier, Event

import pytest

from tasks.running.threads import threads

PATIENCE_S = 60


def test_as_many_computations_as_cores_run_at_the_same_time() -> None:
    cores = os.cpu_count() or 1
    met = Barrier(cores)
    with threads() as pool:
        places = [pool.submit(met.wait, PATIENCE_S) for _ in range(cores)]
    assert sorted(place.result() for place in places) == list(range(cores))


def failing(queued: list[Future[bool]]) -> None:
    """Fail while every thread computes until what is queued has ended."""
    ended = Event()
    with threads() as pool:
        for _ in range(os.cpu_count() or 1):
            pool.submit(ended.wait, PATIENCE_S)
        queued.append(pool.submit(bool))
        queued[0].add_done_callback(lambda _: ended.set())
        raise ValueError("the step failed")


def test_after_an_error_no_more_are_begun() -> None:
    queued: list[Future[bool]] = []
    with pytest.raises(ValueError, match="the step failed"):
        failing(queued)
    assert queued[0].cancelled()
