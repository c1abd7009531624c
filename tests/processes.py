"""Real processes that start at once, for tests of what only happens between processes."""

from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier
from typing import Any

# Forked ones start within milliseconds of each other; new interpreters would arrive one by one.
PROCESSES = get_context("fork")


def at_once(number: int, work: Callable[[int, Barrier], Any]) -> list[Any]:
    """What `work` returns in each of some processes, which are all let go at the same moment.

    Args:
        number: how many processes.
        work: told which process it is in, and a barrier at which all of them can meet again.
    """
    barrier = PROCESSES.Barrier(number)
    running = [start(lambda process, pipe: _work(process, pipe, work, barrier), process) for process in range(number)]
    results = [_result(pipe) for _, pipe in running]
    for process, _ in running:
        process.join()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


def start(work: Callable[[int, Connection], None], number: int) -> tuple[BaseProcess, Connection]:
    """Start a process that tells what it has to tell through a pipe."""
    here, there = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=work, args=(number, there))
    process.start()
    # So that reading ends when the process does.
    there.close()
    return process, here


def told(pipe: Connection) -> list[Any]:
    """All that a process told before it ended."""
    messages = []
    while True:
        try:
            messages.append(pipe.recv())
        except EOFError:
            return messages


def _work(number: int, pipe: Connection, work: Callable[[int, Barrier], Any], barrier: Barrier) -> None:
    try:
        barrier.wait()
        pipe.send(work(number, barrier))
    except BaseException as error:  # noqa: BLE001 - raised again by who asked for the work
        barrier.abort()
        pipe.send(error)


def _result(pipe: Connection) -> Any:
    messages = told(pipe)
    return messages[0] if messages else RuntimeError("a process ended without a result")
