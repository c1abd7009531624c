"""The commands `stack`, `worker` and `watch`: the servers of an agency, on one machine.

Their additional requirements are installed by `make stack`, and imported only when the commands are used.
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
    """Prefect's server does not answer, or denies access."""


def add_stack_commands(subparsers: Subcommands, parents: Sequence[argparse.ArgumentParser] = ()) -> None:
    """Add the commands `stack` and `worker` to a parser.

    Args:
        subparsers: the commands of the parser, as `add_subparsers` returns them.
        parents: parsers of the options that all commands share.
    """
    stack = subparsers.add_parser("stack", help="run PostgreSQL, Prefect, MLflow with users, and a worker here")
    commands = stack.add_subparsers(dest="stack_command", required=True, metavar="COMMAND")
    commands.add_parser("up", parents=parents, help="start what is not running, and wait until everything answers")
    commands.add_parser("down", parents=parents, help="stop all servers; all data are kept")
    commands.add_parser(
        "leave", parents=parents, help="move the ledger and history back into the state folder, to work without servers"
    )
    commands.add_parser("status", parents=parents, help="show what is running, and where")
    subparsers.add_parser("worker", parents=parents, help="run the flows of deployments until stopped")
    subparsers.add_parser(
        "watch", parents=parents, help="restart servers that go down, and resume runs that an outage ended"
    )
    prefect = subparsers.add_parser(
        "prefect", parents=parents, help="run a Prefect command, such as: deployment run release/acs_ma --watch"
    )
    prefect.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="arguments of Prefect's command")


def run_stack_command(asked: argparse.Namespace, state: Path) -> int:
    """Carry out one command of `stack`.

    Returns:
        0; 1 if `status` finds something down.

    Raises:
        DeniableError: a server does not start or stop, or is not installed.
    """
    try:
        from infra.stack.command import stack_command  # noqa: PLC0415 - needs what only the stack needs
    except ImportError as error:
        raise InvalidInput(f"the stack needs {error.name}, which is not installed; make stack installs it.") from None
    return stack_command(asked.stack_command, state)


def run_worker(_asked: argparse.Namespace, state: Path) -> int:
    """Replace this process by a Prefect worker, which runs the flows of deployments as separate processes.

    Raises:
        InvalidInput: the address of Prefect's server is not known.
    """
    _become_prefect(["worker", "start", "--pool", POOL, "--type", "process"], state)


def run_watch(_asked: argparse.Namespace, state: Path) -> int:
    """Watch the stack of the state folder, if it has one, and the runs of deployments, until this process is stopped.

    Returns:
        0.

    Raises:
        InvalidInput: the address of Prefect's server is not known.
    """
    require_prefect(state)
    from flows.cli.servers.watch import watch  # noqa: PLC0415 - imports Prefect

    with suppress(KeyboardInterrupt):
        watch(state)
    return 0


def run_prefect_command(asked: argparse.Namespace, state: Path) -> int:
    """Replace this process by one of Prefect's own commands, set up for the server of this state folder.

    Raises:
        InvalidInput: the address of Prefect's server is not known.
        PrefectSilent: it does not answer, or denies access.
    """
    require_prefect(state)
    _require_answer(os.environ["PREFECT_API_URL"])
    _become_prefect(asked.arguments, state)


def _become_prefect(arguments: Sequence[str], state: Path) -> NoReturn:
    require_prefect(state)
    os.execv(sys.executable, [sys.executable, "-m", "prefect", *arguments])  # noqa: S606 - in place of this process


def _require_answer(address: str) -> None:
    """Require that Prefect's server answers; otherwise Prefect's own command would print pages of text.

    Raises:
        PrefectSilent: the server does not answer, or denies access.
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
    """Require the address of Prefect's server.

    Raises:
        InvalidInput: it is not known.
    """
    if "PREFECT_API_URL" not in os.environ:
        msg = (
            f"this needs Prefect's server, and neither DENIABLE_PREFECT_API_URL nor a stack in {state} names one; "
            "make stack starts one."
        )
        raise InvalidInput(msg)
