"""Turns a forked process into a command, as if Python had just been started for it with everything imported."""

import os
import runpy
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

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


def become(module: str, arguments: Sequence[str], env: dict[str, str]) -> int:
    """Run `python -m module arguments` in this process, with its standard input and output.

    Args:
        module: the module to run.
        arguments: arguments of the command.
        env: its environment.

    Returns:
        Its exit status.
    """
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - as long as the process
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    os.environ.__class__ = os._Environ
    os.environ.clear()
    os.environ.update(env)
    read_settings_again()
    tempfile.tempdir = None
    sys.argv = [module, *arguments]
    os.environ.__class__ = _Environment
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
            read_settings_again()


def read_settings_again() -> None:
    """Read Prefect's settings, unless that would create its folder in the user's home."""
    if "PREFECT_HOME" not in os.environ:
        return
    from prefect.context import refresh_global_settings_context  # noqa: PLC0415 - it is there already
    from prefect.logging.configuration import setup_logging  # noqa: PLC0415

    refresh_global_settings_context()
    if _of_logging() and not is_logging_set_up():
        note_logging()
        setup_logging(incremental=False)


def _status_of(module: str) -> int:
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)  # noqa: T201 - as Python does
            return 1
        return end.code or 0
    return 0
