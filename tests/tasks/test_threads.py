"""Computations of a step run beside each other, and after an error no more are begun."""

import os
from concurrent.futures import Future
from threading import Barrier, Event

import pytest

from tasks.running.threads import threads

PATIENCE_S = 60


@pytest.mark.skipif(os.cpu_count() == 1, reason="one core computes one thing at a time")
def test_computations_run_at_the_same_time() -> None:
    met = Barrier(2)
    with threads() as pool:
        both = [pool.submit(met.wait, PATIENCE_S) for _ in range(2)]
    assert sorted(each.result() for each in both) == [0, 1]


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
