"""The commands `stack`, `worker` and `watch`: the servers of an agency, on one machine.

What they need beside the rest is installed by `make stack`, and imported only when they are used.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from deniable.foundation.errors import DeniableError, InvalidInput
from flows.cli.subcommands import Subcommands
from infra.stack.settings import POOL

_GRACE_S = 30


class PrefectSilent(DeniableError):
    """Prefect's server does not answer, or not to us."""


def add_stack_commands(subparsers: Subcommands, parents: Sequence[argparse.ArgumentParser] = ()) -> None:
    """Add the commands `stack` and `worker` to a parser.

    Args:
        subparsers: where commands are added.
        parents: parsers of the options that all commands share.
    """
    stack = subparsers.add_parser("stack", help="PostgreSQL, Prefect, MLflow with users, and a worker, on this machine")
    commands = stack.add_subparsers(dest="stack_command", required=True, metavar="COMMAND")
    commands.add_parser("up", parents=parents, help="start what does not run, and wait until all of it answers")
    commands.add_parser("down", parents=parents, help="stop what was started; all data are kept")
    commands.add_parser(
        "leave", parents=parents, help="bring ledger and history back into the state folder, and go on without servers"
    )
    commands.add_parser("status", parents=parents, help="what runs, and where")
    subparsers.add_parser("worker", parents=parents, help="run the flows of deployments, until it is stopped")
    subparsers.add_parser(
        "watch", parents=parents, help="start again what goes down, and go on with runs that an outage ended"
    )
    prefect = subparsers.add_parser(
        "prefect", parents=parents, help="a command of Prefect's own, such as: deployment run release/acs_ma --watch"
    )
    prefect.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="what Prefect is told")


def run_stack_command(asked: argparse.Namespace, state: Path) -> int:
    """Carry out one command of `stack`.

    Returns:
        0; 1 where `status` finds something down.

    Raises:
        DeniableError: a server does not start or stop, or is not installed.
    """
    try:
        from infra.stack.command import stack_command  # noqa: PLC0415 - needs what only the stack needs
    except ImportError as error:
        raise InvalidInput(f"the stack needs {error.name}, which is not installed; make stack installs it.") from None
    return stack_command(asked.stack_command, state)


def run_worker(_asked: argparse.Namespace, state: Path) -> int:
    """Become a worker of Prefect's, which runs the flows of deployments as processes of their own.

    Raises:
        InvalidInput: nothing says where Prefect's server is.
    """
    _become_prefect(["worker", "start", "--pool", POOL, "--type", "process"], state)


def run_watch(_asked: argparse.Namespace, state: Path) -> int:
    """Look after the stack of the state folder, if it has one, and after the runs of deployments, until it is stopped.

    Returns:
        0.

    Raises:
        InvalidInput: nothing says where Prefect's server is.
    """
    require_prefect(state)
    from flows.cli.servers.watch import watch  # noqa: PLC0415 - imports Prefect

    with suppress(KeyboardInterrupt):
        watch(state)
    return 0


def run_prefect_command(asked: argparse.Namespace, state: Path) -> int:
    """Become a command of Prefect's, to which this state folder's server is known.

    Raises:
        InvalidInput: nothing says where Prefect's server is.
        PrefectSilent: it does not answer, or not to us.
    """
    require_prefect(state)
    _require_answer(os.environ["PREFECT_API_URL"])
    _become_prefect(asked.arguments, state)


def _become_prefect(arguments: Sequence[str], state: Path) -> NoReturn:
    require_prefect(state)
    os.execv(sys.executable, [sys.executable, "-m", "prefect", *arguments])  # noqa: S606 - in place of this process


def _require_answer(address: str) -> None:
    """Refuse what Prefect's own command would say pages of text about.

    Raises:
        PrefectSilent: its server does not answer, or not to us.
    """
    import httpx  # noqa: PLC0415 - Prefect's own, and slow to import

    from stores.servers.prefect_failures import prefect_failure  # noqa: PLC0415

    user, _, password = os.environ.get("PREFECT_API_AUTH_STRING", "").partition(":")
    try:
        answer = httpx.get(f"{address}/admin/version", auth=(user, password) if password else None, timeout=_GRACE_S)
        answer.raise_for_status()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise PrefectSilent(prefect_failure(error)) from None


def require_prefect(state: Path) -> None:
    """Refuse what needs Prefect's server where nothing says where that is.

    Raises:
        InvalidInput: nothing says so.
    """
    if "PREFECT_API_URL" not in os.environ:
        msg = (
            f"this needs Prefect's server, and neither DENIABLE_PREFECT_API_URL nor a stack in {state} names one; "
            "make stack starts one."
        )
        raise InvalidInput(msg)
