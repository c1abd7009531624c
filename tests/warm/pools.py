"""Pools of processes that need not import Prefect, MLflow and other libraries first, by day."""

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.context import BaseContext
from types import SimpleNamespace

import pytest
from prefect import task_runners

from tests.extent import is_night
from tests.warm.forking import FORKS


def _context() -> BaseContext:
    """Return the way to start a process: forked like commands by day, new at night, as for a user."""
    return multiprocessing.get_context("spawn") if is_night() else FORKS


def pool(processes: int) -> ProcessPoolExecutor:
    """Return a pool of processes with the environment of this one."""
    return ProcessPoolExecutor(processes, _context(), _share_environment, (dict(os.environ),))


def _share_environment(variables: dict[str, str]) -> None:
    os.environ.update(variables)


@contextmanager
def pools_of_prefect() -> Iterator[None]:
    """Make Prefect's runners start their processes in the same way."""
    made = SimpleNamespace(**{**vars(multiprocessing), "get_context": lambda _method: _context()})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task_runners, "multiprocessing", made)
        yield
