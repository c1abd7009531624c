"""The command line: `python -m flows release SPEC` and the other commands, which `python -m flows --help` lists.

A command imports only what it needs, and Prefect and MLflow only after the environment is set: a wrong spec is refused,
and a query answered, within a second or two.
"""

import argparse
import errno
import os
import resource
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.console import print_any_character, show
from deniable.foundation.errors import DeniableError, InvalidInput, lacks_memory
from flows.interruption import end_in_order, is_of_a_signal
from infra.environment import prepare_environment

if TYPE_CHECKING:
    from schemas.spec.release_spec import ReleaseSpec

OK, FAILED, REFUSED, HELD, INTERRUPTED = 0, 1, 2, 3, 130

_OPEN_FILES = 256
_NO_MEMORY = "the machine has too little free memory; free some, or run the command on a larger machine."

# Commands with a module of their own: the module, the function that adds them to the parser, and those that run them.
_MODULES: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("flows.cli.refresh", "add_refresh_command", {"refresh": "run_refresh_command"}),
    (
        "flows.cli.approve",
        "add_deciding_commands",
        dict.fromkeys(("held", "approve", "refuse"), "run_deciding_command"),
    ),
    ("flows.cli.tables.schema", "add_schema_commands", {"schema": "run_schema_command"}),
    ("flows.cli.tables.new", "add_new_command", {"new": "begin_release"}),
    ("flows.cli.public.select", "add_select_command", {"select": "run_select_command"}),
    ("flows.cli.find", "add_find_command", {"find": "run_find_command"}),
    ("flows.cli.runs", "add_runs_command", {"runs": "run_runs_command"}),
    ("flows.cli.audit", "add_audit_command", {"audit": "run_audit_command"}),
    ("flows.cli.replay", "add_replay_command", {"replay": "run_replay_command"}),
    ("flows.cli.compare", "add_compare_command", {"compare": "run_compare_command"}),
    ("flows.cli.ledger", "add_ledger_commands", {"ledger": "run_ledger_command"}),
    ("flows.cli.keys", "add_key_commands", {"keys": "run_key_command"}),
    ("flows.cli.surveys.survey", "add_survey_command", {"survey": "run_survey_command"}),
    (
        "flows.cli.servers.stack",
        "add_stack_commands",
        {
            "stack": "run_stack_command",
            "worker": "run_worker",
            "watch": "run_watch",
            "prefect": "run_prefect_command",
        },
    ),
    ("flows.cli.servers.cluster", "add_cluster_commands", {"cluster": "run_cluster_command"}),
    ("flows.cli.servers.deploy", "add_deploy_command", {"deploy": "run_deploy_command"}),
    (
        "flows.cli.servers.backup",
        "add_backup_commands",
        {"backup": "run_backup_command", "restore": "run_restore_command"},
    ),
)
# Commands that this module implements itself.
_SHORT = {"release", "plan", "unfinished", "discard", "ui"}
# Commands for which the state folder may be on a read-only disk.
_ONLY_READING = {"audit"}
_COMMANDS = {command: (module, run) for module, _, runs in _MODULES for command, run in runs.items()}


class _SpecRefused(InvalidInput):
    """The spec is wrong; nothing was begun."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command.

    Returns:
        0 when all went well, 1 when it failed, 2 when it was refused from the start, 3 when it waits for a
        person's decision, 130 when it was interrupted.
    """
    print_any_character()
    try:
        return _main(arguments)
    except Exception as error:
        # Memory may also be too little to say what happened.
        if not lacks_memory(error):
            raise
        return _complain(_NO_MEMORY)


def _main(arguments: Sequence[str] | None) -> int:
    """Carry out one command, and say in one sentence why it failed."""
    asked = _parser(arguments if arguments is not None else sys.argv[1:]).parse_args(arguments)
    try:
        _allow_open_files()
        state = _prepared(asked.state, only_reading=asked.command in _ONLY_READING)
    except InvalidInput as error:
        return _complain(str(error))
    end_in_order()
    try:
        return _carry_out(asked, state) if _remains(asked, state) else OK
    except KeyboardInterrupt as interruption:
        said = str(interruption) or "interrupted, nothing published."
        return _complain(said, INTERRUPTED, hint=_kept(asked, state))
    except Exception as error:  # noqa: BLE001 - a traceback on the screen helps no one who runs a release
        if is_of_a_signal(error):
            return _complain("interrupted.", INTERRUPTED, hint=_kept(asked, state))
        if isinstance(error, DeniableError):
            return _complain_of(error, asked, state)
        return _complain(_unexpected(error, state), hint=_kept(asked, state))


def _complain_of(error: DeniableError, asked: argparse.Namespace, state: Path) -> int:
    """Print why a command failed."""
    if isinstance(error, _SpecRefused):
        return _complain(str(error), REFUSED)
    from stores.vault.pending_approval import Held, NotPublished  # noqa: PLC0415 - of most commands nothing is held

    if isinstance(error, Held):
        return _complain(str(error), HELD)
    _tell_counts(error)
    return _complain(str(error), hint="" if isinstance(error, NotPublished) else _kept(asked, state))


def _tell_counts(error: DeniableError) -> None:
    """Show the exact counts behind a refusal to people cleared to read them; no message contains them."""
    from stores.vault.exact_counts import RefusedByCounts  # noqa: PLC0415 - where a step refused, it is imported

    if isinstance(error, RefusedByCounts) and (counts := error.counts()):
        _tell(f"Internal, for cleared staff:\n{counts}".rstrip())


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


def _remains(asked: argparse.Namespace, state: Path) -> bool:
    """Return whether a command remains to be carried out; after `new` that is the release, if it was accepted."""
    if asked.command == "new":
        from flows.cli.tables.new import begin_release  # noqa: PLC0415 - imports pydantic

        asked.command, asked.spec, asked.new = "release", begin_release(state), False
        return asked.spec is not None
    return True


def _carry_out(asked: argparse.Namespace, state: Path) -> int:
    """Carry out the requested command."""
    if asked.command in _COMMANDS:
        module, run = _COMMANDS[asked.command]
        carry_out: Callable[[argparse.Namespace, Path], int] = getattr(import_module(module), run)
        return carry_out(asked, state)
    if asked.command == "ui":
        from flows.cli.servers.ui import show  # noqa: PLC0415 - here and below: only what the command needs

        show(state, mlflow_port=asked.mlflow_port, prefect_port=asked.prefect_port)
        return OK
    if asked.command == "plan":
        from flows.cli.plan import show_plan  # noqa: PLC0415

        return show_plan(_checked(asked.spec), state, everything=asked.all)
    if asked.command == "unfinished":
        from stores.releases.resumable_releases import left_in_words  # noqa: PLC0415

        print("\n".join(left_in_words(state) or ["No release is unfinished."]))  # noqa: T201 - this is the command line
        return OK
    if asked.command == "discard":
        from flows.cli.discard import discard_release  # noqa: PLC0415

        discard_release(state, asked.release)
        return OK
    _release(asked.spec, state, anew=asked.new)
    return OK


def _checked(path: Path) -> "ReleaseSpec":
    """Return the spec, or raise if it is not valid."""
    from schemas.spec.release_spec import load_spec  # noqa: PLC0415 - few commands read one

    try:
        return load_spec(path)
    except InvalidInput as error:
        raise _SpecRefused(str(error)) from None


def _kept(asked: argparse.Namespace, state: Path) -> str:
    """Return advice on an unfinished release that was kept, usually because it has been charged."""
    if asked.command not in {"release", "refresh"}:
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
    return f"What {name} {done} is kept: run the same command to resume it; python -m flows discard {name} gives it up."


def _release(path: Path, state: Path, *, anew: bool) -> None:
    """Refuse a wrong spec at once, then run the release."""
    spec = _checked(path)
    from infra.servers.local_servers import own_prefect  # noqa: PLC0415 - here and below: only what the command needs

    # The server starts while the rest is imported.
    server = own_prefect(state)
    from flows.cli.own_server import served_by  # noqa: PLC0415
    from stores.releases.resumable_releases import other_unfinished_releases, what_comes_next  # noqa: PLC0415

    _tell(what_comes_next(state, spec, anew=anew))
    for other in other_unfinished_releases(state, spec):
        _tell(
            f"{other.release_id} of the same dataset is unfinished, and is left as it is: its spec differs from this "
            "one in what is drawn."
        )
    with served_by(server, spec.title, "flows.cli.release"):
        from flows.cli.release import run_release  # noqa: PLC0415

        run_release(path, spec, state, anew=anew)


def _tell(sentence: str) -> None:
    show([sentence], sys.stderr)


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Return a parser of the requested command and of those in this module; of all if the command is unknown."""
    parser = argparse.ArgumentParser(
        prog="python -m flows", description="Release synthetic tables, and inspect releases."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--state", type=Path, metavar="DIR", help="folder of everything that is made (default: DENIABLE_STATE or var)"
    )
    release = commands.add_parser("release", parents=[common], help="run the release that a spec describes")
    release.add_argument(
        "spec", type=Path, metavar="SPEC", help="a release spec, such as deployments/specs/acs_ma.yaml"
    )
    release.add_argument(
        "--new", action="store_true", help="begin another release, even if one of this spec is unfinished"
    )
    plan = commands.add_parser(
        "plan", parents=[common], help="show what a release would cost, and whether the budget allows it"
    )
    plan.add_argument("spec", type=Path, metavar="SPEC", help="a release spec; its data are not read")
    plan.add_argument("--all", action="store_true", help="show each mechanism and the figures of each accountant, too")
    commands.add_parser(
        "unfinished", parents=[common], help="list the releases that a command would resume, and how far each is"
    )
    discard = commands.add_parser("discard", parents=[common], help="give up an unfinished release")
    discard.add_argument("release", metavar="RELEASE", help="its name; what was charged for it stays charged")
    asked = arguments[0] if arguments else ""
    for module, adds, runs in _MODULES:
        if asked in runs or asked not in _SHORT | _COMMANDS.keys():
            getattr(import_module(module), adds)(commands, [common])
    show = commands.add_parser("ui", parents=[common], help="show the pages of MLflow and Prefect on this machine")
    show.add_argument("--mlflow-port", type=int, default=5000, metavar="PORT", help="default: 5000, or any free port")
    show.add_argument("--prefect-port", type=int, default=4200, metavar="PORT", help="default: 4200, or any free port")
    return parser


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


if __name__ == "__main__":
    sys.exit(main())
