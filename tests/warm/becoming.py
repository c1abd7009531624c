"""Turns a forked process into a command, as if Python had just been started for it with everything imported."""

import atexit
import os
import runpy
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from tests.extent import is_night

_READ_AT_IMPORT = {"PREFECT_HOME", "PREFECT_API_URL", "PREFECT_API_AUTH_STRING"}
_SET_UP: dict[str, str] = {}
"""By which variables Prefect's logging was set up last."""


def note_logging() -> None:
    """Note the variables by which Prefect's logging was set up on import."""
    _SET_UP.clear()
    _SET_UP.update(_of_logging())


def is_logging_set_up() -> bool:
    """Whether Prefect's logging was set up by the present variables."""
    return _of_logging() == _SET_UP


def _of_logging() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("PREFECT_LOGGING_")}


def become(
    module: str, arguments: Sequence[str], env: dict[str, str], prepare: Callable[[], None] | None = None
) -> int:
    """Run `python -m module arguments` in this process, with its standard input and output.

    Args:
        module: the module to run, or a script.
        arguments: arguments of the command.
        env: its environment.
        prepare: what is done first in this environment, if anything.

    Returns:
        Its exit status.
    """
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - as long as the process
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    os.environ.__class__ = os._Environ
    os.environ.clear()
    os.environ.update(env)
    if prepare is not None:
        prepare()
    read_again()
    if os.environ.get("PREFECT_CLIENT_MAX_RETRIES") == "0":
        _connect_without_pauses()
    tempfile.tempdir = None
    sys.argv = [module, *arguments]
    os.environ.__class__ = _Environment
    if not is_night():
        os.execv = _become_instead  # type: ignore[assignment]
    status = _status_of(module)
    sys.stdout.flush()
    return status


class _Environment(os._Environ[str]):
    """The environment of a process, whose changes Prefect recognises as if it were imported afterwards."""

    def __setitem__(self, name: str, value: str) -> None:
        self.update({name: value})

    def update(self, *others: Any, **more: str) -> None:
        """Set all variables, and then make Prefect read them once."""
        given = dict(*others, **more)
        before = {name: self.get(name) for name in _READ_AT_IMPORT}
        for name, value in given.items():
            super().__setitem__(name, value)
        # If the address of an existing server is yet to be set, they are read then.
        address = self.get("DENIABLE_PREFECT_API_URL")
        waits = address and address != self.get("PREFECT_API_URL")
        if not waits and any(self.get(name) != value for name, value in before.items()):
            read_again()


def read_again() -> None:
    """Read Prefect's settings, unless that would create its folder in the user's home."""
    if "PREFECT_HOME" not in os.environ:
        return
    from prefect.context import refresh_global_settings_context  # noqa: PLC0415 - it is there already
    from prefect.logging.configuration import setup_logging  # noqa: PLC0415

    refresh_global_settings_context()
    if _of_logging() and not is_logging_set_up():
        note_logging()
        setup_logging(incremental=False)


def _connect_without_pauses() -> None:
    """Try to connect to a server as often as always, but at once, in a command that asks only once."""
    from httpcore._async import connection as later  # noqa: PLC0415 - it is there already
    from httpcore._sync import connection  # noqa: PLC0415

    connection.RETRIES_BACKOFF_FACTOR = later.RETRIES_BACKOFF_FACTOR = 0


def end_as_python_does() -> None:
    """Wait for threads, and then call what is registered: Prefect's thread sends events to a server that ends last."""
    threading._shutdown()
    atexit._run_exitfuncs()


_execv = os.execv


def _become_instead(program: str, command: Sequence[str]) -> NoReturn:
    """Become another module in place of starting Python again; nothing of the present one is left."""
    if program != sys.executable or command[1] != "-m":
        _execv(program, command)
    atexit._clear()
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        signal.signal(number, handler)
    status = become(command[2], command[3:], dict(os.environ))
    end_as_python_does()
    os._exit(status)


def _status_of(module: str) -> int:
    try:
        if module.endswith(".py"):
            sys.path.insert(0, str(Path(module).resolve().parent))
            runpy.run_path(module, run_name="__main__")
        else:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)  # noqa: T201 - as Python does
            return 1
        return end.code or 0
    return 0
