"""Real processes that start simultaneously, for tests of interactions between processes."""

from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier
from typing import Any

# Forked processes start within milliseconds of each other; new interpreters would start one by one.
PROCESSES = get_context("fork")


def at_once(number: int, work: Callable[[int, Barrier], Any]) -> list[Any]:
    """Return the results of `work` in several processes, which all start at the same moment.

    Args:
        number: number of processes.
        work: a function of the number of its process and a barrier at which all processes can meet again.
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
    """Start a process that reports through a pipe."""
    here, there = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=work, args=(number, there))
    process.start()
    # Closed here, so that reading ends when the process ends.
    there.close()
    return process, here


def told(pipe: Connection) -> list[Any]:
    """Return everything that a process reported before it ended."""
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
    except BaseException as error:  # noqa: BLE001 - the caller raises it again
        barrier.abort()
        pipe.send(error)


def _result(pipe: Connection) -> Any:
    messages = told(pipe)
    return messages[0] if messages else RuntimeError("a process ended without a result")
