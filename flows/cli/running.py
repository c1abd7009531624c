"""Carries out commands that work on a state folder, and says in one sentence why one failed.

Prefect and MLflow are imported only after the environment is set: a wrong spec is refused, and a query answered, within
a second or two.
"""

import argparse
import errno
import os
import resource
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.cli.contract import Command, Line, missing_library
from deniable.command_names import command_line
from deniable.console import show
from deniable.foundation.errors import DeniableError, InvalidInput, RefusedForGood, lacks_memory
from flows.cli.contract import StateCommand
from flows.interruption import end_in_order, is_of_a_signal
from infra.environment import prepare_environment

if TYPE_CHECKING:
    from schemas.spec.release_spec import ReleaseSpec

OK, FAILED, REFUSED, HELD, INTERRUPTED = 0, 1, 2, 3, 130

_OPEN_FILES = 256
_NO_MEMORY = "the machine has too little free memory; free some, or run the command on a larger machine."


class SpecRefused(InvalidInput):
    """The spec is wrong; nothing was begun."""


def add_options(parser: argparse.ArgumentParser, *, nested: bool = False) -> None:
    """Add the option that all commands have.

    Args:
        parser: the parser of a command, or of one of a command's own commands.
        nested: whether it is the latter; the option may be given before or after its name.
    """
    parser.add_argument(
        "--state",
        type=Path,
        metavar="DIR",
        default=argparse.SUPPRESS if nested else None,
        help="folder of everything that is made (default: DENIABLE_STATE or var)",
    )


def carry_out(_: Line, command: Command, asked: argparse.Namespace) -> int:
    """Carry out one command.

    Args:
        command: what its module declares.
        asked: the parsed arguments.

    Returns:
        0 when all went well, 1 when it failed, 2 when it was refused from the start, 3 when it waits for a
        person's decision, 130 when it was interrupted.
    """
    try:
        return _carry_out(command, asked)
    except Exception as error:
        # Memory may also be too little to say what happened.
        if not lacks_memory(error):
            raise
        return _complain(_NO_MEMORY)


def _carry_out(command: Command, asked: argparse.Namespace) -> int:
    """Carry out one command, and say in one sentence why it failed."""
    only_reading = isinstance(command, StateCommand) and command.only_reading
    try:
        _allow_open_files()
        state = _prepared(asked.state, only_reading=only_reading)
    except InvalidInput as error:
        return _complain(str(error))
    end_in_order()
    try:
        return command.run(asked, state)
    except KeyboardInterrupt as interruption:
        said = str(interruption) or "interrupted, nothing published."
        return _complain(said, INTERRUPTED, hint=_kept(command, asked, state))
    except Exception as error:  # noqa: BLE001 - a traceback on the screen helps no one who runs a release
        if is_of_a_signal(error):
            return _complain("interrupted.", INTERRUPTED, hint=_kept(command, asked, state))
        if isinstance(error, DeniableError):
            return _complain_of(error, command, asked, state)
        said = missing_library(command, error) or _unexpected(error, state)
        return _complain(said, hint=_kept(command, asked, state))


def checked_spec(path: Path) -> "ReleaseSpec":
    """Return a spec.

    Args:
        path: its file.

    Raises:
        SpecRefused: it is not valid.
    """
    from schemas.spec.release_spec import load_spec  # noqa: PLC0415 - few commands read one

    try:
        return load_spec(path)
    except InvalidInput as error:
        raise SpecRefused(str(error)) from None


def _complain_of(error: DeniableError, command: Command, asked: argparse.Namespace, state: Path) -> int:
    """Print why a command failed."""
    if isinstance(error, SpecRefused):
        return _complain(str(error), REFUSED)
    from stores.vault.pending_approval import Held, NotPublished  # noqa: PLC0415 - of most commands nothing is held

    if isinstance(error, Held):
        return _complain(str(error), HELD)
    _tell_counts(error)
    again = not isinstance(error, RefusedForGood)
    hint = "" if isinstance(error, NotPublished) else _kept(command, asked, state, again=again)
    return _complain(str(error), hint=hint)


def _tell_counts(error: DeniableError) -> None:
    """Show the exact counts behind a refusal to people cleared to read them; no message contains them."""
    from stores.vault.exact_counts import RefusedByCounts  # noqa: PLC0415 - where a step refused, it is imported

    if isinstance(error, RefusedByCounts) and (counts := error.counts()):
        show([f"Internal, for cleared staff:\n{counts}".rstrip()], sys.stderr)


def _allow_open_files() -> None:
    """Raise the soft limit on open files as far as this program needs, which servers and libraries share.

    Raises:
        InvalidInput: the hard limit is lower.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= _OPEN_FILES:
        return
    if hard != resource.RLIM_INFINITY and hard < _OPEN_FILES:
        msg = f"a command must be allowed {_OPEN_FILES} open files, and is allowed {hard}; raise the limit (ulimit -n)."
        raise InvalidInput(msg)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, hard))


def _prepared(named: Path | None, *, only_reading: bool) -> Path:
    """Return the state folder, after setting up the environment for it."""
    try:
        return prepare_environment(named, only_reading=only_reading)
    except OSError as error:
        folder = named or error.filename
        msg = f"the state folder must be writable, got {folder}: {error.strerror}; name another with --state."
    raise InvalidInput(msg)


def _kept(command: Command, asked: argparse.Namespace, state: Path, *, again: bool = True) -> str:
    """Return advice on an unfinished release that was kept, usually because it has been charged.

    Args:
        command: the command that failed.
        asked: its arguments.
        state: the state folder.
        again: whether it may succeed if it is repeated.
    """
    if not (isinstance(command, StateCommand) and command.resumable and getattr(asked, "spec", None) is not None):
        return ""
    from schemas.spec.release_spec import load_spec  # noqa: PLC0415 - as these commands do
    from stores.ledger.charging import is_known_to_be_charged  # noqa: PLC0415
    from stores.releases.resumable_releases import unfinished_release  # noqa: PLC0415

    try:
        unfinished = unfinished_release(state, load_spec(asked.spec).reading(getattr(asked, "source", None)))
    except DeniableError:
        return ""
    if unfinished is None:
        return ""
    name = unfinished.release_id
    if unfinished.finished:
        return f"{name} is finished; run the same command to report it, which charges nothing."
    if (state / "releases" / name).exists():
        return f"{name} is published already; run the same command to finish its report and its record."
    done = "has done and paid for" if is_known_to_be_charged(state, unfinished.dataset, name) else "has done"
    discard = command_line(f"release discard {name}")
    resumed = f"What {name} {done} is kept: run the same command to resume it; {discard} gives it up."
    refused = (
        "The same command would be refused again, whenever it is run. A changed spec begins another release, whose "
        f"model is charged again; {discard} removes what {name} {done}, and its charges remain."
    )
    return resumed if again else refused


def _unexpected(error: Exception, state: Path) -> str:
    """Return the message for an error outside the steps, such as one of Prefect's; its details may quote records."""
    if lacks_memory(error):
        return _NO_MEMORY
    if _cannot_be_written(error, state):
        return f"the state folder must be writable, and {state} no longer is; make it so, or name another with --state."
    from stores.vault.disk import DISK_FULL, disk_is_full  # noqa: PLC0415 - rarely so

    if disk_is_full(state):
        return DISK_FULL.format(state=state)
    from stores.servers.prefect_failures import prefect_failure  # noqa: PLC0415 - where Prefect failed, it is imported

    if (said := prefect_failure(error)) is not None:
        return said
    from stores.vault.private_files import keep_error  # noqa: PLC0415 - as above

    details = state / "vault" / "last-error.txt"
    said = f"an unexpected error ended the command ({type(error).__name__})"
    try:
        keep_error(error, details)
    except OSError as failed:
        return f"{said}; its details must be written to {details}, and cannot be: {failed.strerror}."
    return f"{said}; see {details}."


def _cannot_be_written(error: Exception, state: Path) -> bool:
    """Whether an error was caused by a state folder that became read-only or no longer exists."""
    if not os.access(state, os.W_OK | os.X_OK):
        return True
    if not isinstance(error, OSError) or error.errno not in {errno.EROFS, errno.EACCES, errno.EPERM}:
        return False
    return error.filename is None or Path(os.fsdecode(error.filename)).is_relative_to(state)


def _complain(sentence: str, status: int = FAILED, *, hint: str = "") -> int:
    show([*sentence.split("\n"), *([hint] if hint else [])], sys.stderr)
    return status
