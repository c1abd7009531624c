"""The process from which commands and servers are forked: it has imported everything, and done nothing else.

All processes of a test run share it. The first process that needs it starts it, at an address in the folder of files
made once. It ends when all of them have ended, because each holds the writing end of a named pipe open.
"""

import multiprocessing
import os
import socket
import sys
from multiprocessing import forkserver, resource_tracker, util
from typing import Final

import pytest

from stores.locks import locked
from tests.made_once import FOLDER

FORKS: Final = multiprocessing.get_context("forkserver")

_PRELOADED = ["tests.warm.imported"]
_ADDRESS, _PIPE = FOLDER / "forks", FOLDER / "forks-are-wanted"
_ITS_OWN = forkserver._forkserver  # type: ignore[attr-defined]


def _ensure_running() -> None:
    """Replace multiprocessing's method, which starts a fork server for each process."""
    with pytest.MonkeyPatch.context() as patch:
        # Processes that tests kill leave semaphores, of which the tracker would tell after the counts of the tests.
        patch.setenv("PYTHONWARNINGS", "ignore:resource_tracker")
        resource_tracker.ensure_running()
    if _ITS_OWN._forkserver_alive_fd is not None:
        return
    with locked(FOLDER / "forking.lock", wait=True):
        _ITS_OWN._forkserver_alive_fd = os.open(_PIPE, os.O_WRONLY) if _ADDRESS.exists() else _start()
    _ITS_OWN._forkserver_address = str(_ADDRESS)


def _start() -> int:
    """Start the process.

    Returns:
        The descriptor by which this process holds the pipe open.
    """
    os.mkfifo(_PIPE, 0o600)
    # Opened for reading too, so that opening does not wait for another process.
    held = os.open(_PIPE, os.O_RDWR)
    wanted = os.open(_PIPE, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(_ADDRESS))
        listener.listen()
        given = [listener.fileno(), wanted]
        command = f"from multiprocessing.forkserver import main; main(*{given}, {_PRELOADED}, sys_path={sys.path})"
        util.spawnv_passfds(
            os.fsencode(sys.executable), [sys.executable, *util._args_from_interpreter_flags(), "-c", command], given
        )
    os.close(wanted)
    return held


def start_imports() -> None:
    """Start the process before it is needed, for this process and its forks, if processes can share it."""
    if _ITS_OWN.ensure_running == _ensure_running:
        _ensure_running()


if hasattr(_ITS_OWN, "_forkserver_authkey"):
    # Later versions of Python require a secret of the starting process, so each process starts its own.
    FORKS.set_forkserver_preload(_PRELOADED)
else:
    _ITS_OWN.ensure_running = _ensure_running
