"""Servers of a stack and processes of a cluster that forked commands start: by day, they are forked too."""

import os
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing import resource_tracker
from typing import Any

from infra.stack import daemons
from tests.warm.becoming import read_again
from tests.warm.forked import Forked
from tests.warm.forking import FORKS
from tests.warm.servers import do_not_tire

_METHOD = "DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD"


def fork_daemons() -> None:
    """Fork those that this process will start."""
    daemons.subprocess = _Subprocess  # type: ignore[assignment]


class _Subprocess:
    """The part of `subprocess` that `infra.stack.daemons` uses."""

    DEVNULL = subprocess.DEVNULL
    STDOUT = subprocess.STDOUT

    @staticmethod
    def Popen(command: Sequence[str], **how: Any) -> Any:  # noqa: N802 - as it is called there
        """Fork a daemon; start anything else as usual."""
        if command[1] != "-m" or command[2] not in _PREPARED:
            return subprocess.Popen(command, **how)
        forked = Forked(FORKS, stays=True)
        forked.begin(command[2], command[3:], prepare=_PREPARED[command[2]], **how)
        return forked


def _read_settings() -> None:
    """Read Dask's settings, as if it were imported now."""
    import dask  # noqa: PLC0415 - it is there already
    from distributed.config import initialize_logging  # noqa: PLC0415

    dask.config.refresh()
    initialize_logging(dask.config.config)


def _fork_workers() -> None:
    """Fork the processes of a worker too, whenever they are started again.

    The semaphores of a worker that is killed are left to a tracker that ends with this process.
    """
    from distributed.process import AsyncProcess  # noqa: PLC0415 - it is there already

    resource_tracker._resource_tracker._fd = None
    os.environ[_METHOD] = "forkserver"
    _read_settings()
    AsyncProcess._run = staticmethod(partial(_run_worker, dict(os.environ)))


def _run_worker(environment: dict[str, str], *arguments: Any, **named: Any) -> None:
    """Run the process of a worker in the environment of the one that started it."""
    from distributed.process import AsyncProcess  # noqa: PLC0415 - it is there already

    os.environ.clear()
    os.environ.update(environment)
    read_again()
    _read_settings()
    AsyncProcess._run(*arguments, **named)


_PREPARED: dict[str, Callable[[], None] | None] = {
    "infra.stack.prefect_server": do_not_tire,
    "infra.stack.mlflow_server": None,
    "flows": None,
    "distributed.cli.dask_scheduler": _read_settings,
    "distributed.cli.dask_worker": _fork_workers,
}
"""Daemons that are forked, and what prepares each process, if anything."""
