"""Starts and stops the servers of an agency on one machine, and shows what is running."""

import signal
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from deniable.foundation.errors import InvalidInput
from infra.stack import postgres, servers
from infra.stack.backup import restore_databases
from infra.stack.daemons import running, stop
from infra.stack.moving import leave, move_into_stack, require_in_use
from infra.stack.settings import ADMINISTRATOR, AUDITOR, DATABASES, ENGINEER, LOOPBACK, Stack
from infra.stack.stack_client import make_pool
from stores.vault.lease import all_leased, turn

DONE, NOT_ALL_UP = 0, 1

# In the order of starting; they are stopped in the reverse order.
_STOP_SIGNALS = {
    "postgres": signal.SIGINT,
    "prefect": signal.SIGTERM,
    "mlflow": signal.SIGTERM,
    "worker": signal.SIGTERM,
    "watch": signal.SIGTERM,
}
TURN = ".stack"
"""Name of the lock for starting and stopping; no dataset has such a name."""


def stack_command(command: str, state: Path) -> int:
    """Carry out one command of `stack`: up, down, leave or status.

    Returns:
        0; 1 if `status` finds something down.

    Raises:
        DeniableError: a server does not start or stop.
    """
    stack, console = Stack(state), Console(highlight=False, markup=False, soft_wrap=True)
    if command == "up":
        with turn(state, TURN):
            start(stack, console)
        _tell(stack, console)
        return DONE
    if command in {"down", "leave"}:
        with turn(state, TURN):
            if command == "leave":
                _leave(stack, console)
            stopped = [name for name in reversed(_STOP_SIGNALS) if stop(_run(stack), name, _STOP_SIGNALS[name])]
        console.print(f"Stopped {', '.join(stopped)}; the data are kept." if stopped else "The stack was not running.")
        return DONE
    return _show_status(stack, console)


def restore(stack: Stack, place: Path) -> None:
    """Fill the databases of a fresh stack from a backup, and leave PostgreSQL running.

    Raises:
        DeniableError: PostgreSQL does not start, or does not accept them.
    """
    database = postgres.daemon(stack)
    database.start()
    database.wait_until_up()
    postgres.prepare(stack, empty=True)
    restore_databases(stack, place)
    postgres.separate_ledger(stack)
    stack.keep_environment()


def start(stack: Stack, console: Console) -> None:
    """Start what is not running, and wait until everything answers; on a failure, stop what was started."""
    started: list[str] = []
    try:
        for name in _started(stack, console):
            started.append(name)
            console.print(f"{name}: up")
    except BaseException:
        for name in reversed(_STOP_SIGNALS):
            if name in started or (_run(stack) / f"{name}.starting").exists():
                stop(_run(stack), name, _STOP_SIGNALS[name])
        raise


def _started(stack: Stack, console: Console) -> Iterator[str]:
    """Start the servers one after the other, but Prefect and MLflow in parallel."""
    database = postgres.daemon(stack)
    if database.start():
        yield database.name
    database.wait_until_up()
    postgres.prepare(stack)
    postgres.separate_ledger(stack)
    both = [servers.prefect_server(stack), servers.mlflow_server(stack)]
    fresh = [server for server in both if server.start()]
    for server in both:
        server.wait_until_up()
    yield from (server.name for server in fresh)
    servers.make_users(stack)
    make_pool(stack)
    move_into_stack(stack, console)
    hands = servers.worker(stack)
    if hands.start():
        yield hands.name
    hands.wait_until_up()
    eyes = servers.watch(stack)
    if eyes.start():
        yield eyes.name


def stopped_servers(stack: Stack) -> list[str]:
    """Return servers that are not running although they were started and no one has stopped them."""
    noted = [name for name in _STOP_SIGNALS if (_run(stack) / f"{name}.json").exists()]
    return [name for name in noted if running(_run(stack), name) is None]


def _leave(stack: Stack, console: Console) -> None:
    """Move the stack's ledger and history back, while only PostgreSQL is running."""
    require_in_use(stack)
    with all_leased(stack.state, "ledger and history are brought back"):
        pass  # No release may be under way while servers are stopped.
    for name in ("watch", "worker", "mlflow"):
        stop(_run(stack), name, _STOP_SIGNALS[name])
    database = postgres.daemon(stack)
    database.start()
    database.wait_until_up()
    leave(stack, console)


def _run(stack: Stack) -> Path:
    return stack.folder / "run"


def _tell(stack: Stack, console: Console) -> None:
    """Print the addresses, and how to log in."""
    console.print(f"Prefect     {stack.prefect_pages}  as deniable:PASSWORD, that of prefect_server")
    console.print(f"MLflow      {stack.mlflow_pages}  users: {ENGINEER} writes, {AUDITOR} reads, {ADMINISTRATOR}")
    console.print(f"PostgreSQL  {LOOPBACK}:{stack.ports['postgres']}         databases: {', '.join(DATABASES)}")
    console.print(f"passwords   {stack.folder / 'secrets.json'}, for you alone")
    console.print("All commands of this state folder use the stack from now on. make stack-down stops it.")


def _show_status(stack: Stack, console: Console) -> int:
    if not stack.is_set_up:
        raise InvalidInput(f"{stack.state} has no stack; make stack starts one.")
    processes = {name: running(_run(stack), name) for name in _STOP_SIGNALS}
    for name, process in processes.items():
        console.print(f"{name:<10}{'down' if process is None else f'up, process {process.pid}'}")
    _tell(stack, console)
    return DONE if all(processes.values()) else NOT_ALL_UP
