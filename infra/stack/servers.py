"""The servers of the stack other than PostgreSQL: Prefect, MLflow with its users, and a worker that runs flows."""

import configparser
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from infra.servers.local_servers import guarded_prefect
from infra.stack.daemons import Daemon, DaemonFailed
from infra.stack.settings import ADMINISTRATOR, ENGINEER, POOL, USERS, Stack
from stores.vault.disk import replace_whole

if TYPE_CHECKING:
    from mlflow.server.auth.client import AuthServiceClient

_GRACE_S = 5
_READ, _OWN = "READ", "MANAGE"
_UNAUTHORISED = 401


def prefect_server(stack: Stack) -> Daemon:
    """Return Prefect's server and pages, on PostgreSQL, with one password for all users."""
    return _daemon(
        stack,
        "prefect",
        [sys.executable, "-m", "infra.stack.prefect_server"],
        {
            "PREFECT_HOME": str(stack.part("prefect")),
            "PREFECT_API_DATABASE_CONNECTION_URL": stack.database("prefect", "+asyncpg"),
            **guarded_prefect(stack.prefect_credentials, stack.encryption_key, stack.prefect_pages),
            # A run from before a restart would hold leases in memory forever.
            "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
            "PREFECT_LOGGING_SERVER_LEVEL": "WARNING",
            "PREFECT_LOGGING_LEVEL": "WARNING",
        },
        _answering(f"{stack.prefect_pages}/api/health"),
    )


def mlflow_server(stack: Stack) -> Daemon:
    """Return MLflow's server and pages, on PostgreSQL, with users; all artifacts go through it."""
    settings = stack.folder / "mlflow_users.ini"
    _write_users_settings(stack, settings)
    return _daemon(
        stack,
        "mlflow",
        [sys.executable, "-m", "infra.stack.mlflow_server", str(stack.part("artifacts"))],
        {
            # Not in the arguments, which every user of the machine can read.
            "MLFLOW_BACKEND_STORE_URI": stack.database("mlflow", "+psycopg"),
            "MLFLOW_AUTH_CONFIG_PATH": str(settings),
            "MLFLOW_FLASK_SERVER_SECRET_KEY": stack.secrets["flask"],
            "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
            "MLFLOW_ENABLE_REMOTE_ASSISTANT": "false",
        },
        _answering(f"{stack.mlflow_pages}/health"),
    )


def worker(stack: Stack) -> Daemon:
    """Return a worker that runs the flows of deployments, one process each, in the environment of the stack."""
    return _daemon(
        stack,
        "worker",
        [sys.executable, "-m", "flows", "servers", "worker", "--state", str(stack.state)],
        {**stack.environment(), "PREFECT_LOGGING_LEVEL": "WARNING"},
        lambda: _works(stack),
    )


def watch(stack: Stack) -> Daemon:
    """Return the watch, which restarts servers of the stack that go down, and resumes runs that an outage ended."""
    return _daemon(
        stack,
        "watch",
        [sys.executable, "-m", "flows", "servers", "watch", "--state", str(stack.state)],
        {**stack.environment(), "PREFECT_LOGGING_LEVEL": "WARNING", "PYTHONUNBUFFERED": "1"},
        lambda: True,
    )


def make_users(stack: Stack) -> None:
    """Create those of MLflow's users that do not exist yet: an engineer, who may write, and an auditor, who may read.

    Raises:
        DaemonFailed: MLflow does not allow it.
    """
    users, failure = _users(stack)
    for name in USERS:
        try:
            users.get_user(name)
        except failure:
            try:
                users.create_user(name, stack.secrets[name])
            except failure:
                msg = f"MLflow must let its administrator make the user {name}, and does not; see its log."
                raise DaemonFailed(msg) from None


def let_engineer_write(stack: Stack, experiments: Sequence[str], models: Sequence[str]) -> None:
    """Permit the engineer to write to objects that were not made through the server, as if they had been.

    Args:
        stack: the stack, whose MLflow server is up.
        experiments: ids of experiments.
        models: names of registered models.

    Raises:
        DaemonFailed: MLflow does not allow it.
    """
    users, failure = _users(stack)
    try:
        for kind, names in {"experiment": experiments, "registered_model": models}.items():
            for name in names:
                if users.get_user_permission(ENGINEER, kind, name).permission != _OWN:
                    users.grant_user_permission(ENGINEER, kind, name, _OWN)
    except failure:
        msg = f"MLflow must let its administrator grant what {ENGINEER} may do, and does not; see its log."
        raise DaemonFailed(msg) from None


def make_tables(stack: Stack) -> None:
    """Make MLflow create the tables of its database, as it does at its first request.

    Raises:
        DaemonFailed: MLflow does not create them.
    """
    _, failure = _users(stack)
    from mlflow import MlflowClient  # noqa: PLC0415 - it takes seconds, and reads the environment

    try:
        MlflowClient(stack.mlflow_pages).search_experiments(max_results=1)
    except failure:
        raise DaemonFailed("MLflow must make the tables of its database, and does not; see its log.") from None


def _users(stack: Stack) -> "tuple[AuthServiceClient, type[Exception]]":
    """Return a client for MLflow's users, as its administrator, and the exception that it raises."""
    os.environ["MLFLOW_TRACKING_USERNAME"] = ADMINISTRATOR
    os.environ["MLFLOW_TRACKING_PASSWORD"] = stack.secrets[ADMINISTRATOR]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecation warnings between MLflow and its libraries
        from mlflow.exceptions import MlflowException  # noqa: PLC0415 - it takes seconds, and reads the environment
        from mlflow.server import get_app_client  # noqa: PLC0415

    users: AuthServiceClient = get_app_client("basic-auth", tracking_uri=stack.mlflow_pages)
    return users, MlflowException


def _write_users_settings(stack: Stack, place: Path) -> None:
    """Write the settings of MLflow's users: every user may read, and the creator of an experiment may write to it."""
    settings = configparser.ConfigParser(interpolation=None)
    settings["mlflow"] = {
        "default_permission": _READ,
        "database_uri": stack.database("mlflow_users", "+psycopg"),
        "admin_username": ADMINISTRATOR,
        "admin_password": stack.secrets[ADMINISTRATOR],
        "authorization_function": "mlflow.server.auth:authenticate_request_basic_auth",
        # Otherwise every request hashes a password, and the record of a release takes hundreds of requests.
        "auth_cache_ttl_seconds": "60",
    }
    text = StringIO()
    settings.write(text)
    replace_whole(place, text.getvalue())


def _daemon(stack: Stack, name: str, command: list[str], environment: dict[str, str], up: Callable[[], bool]) -> Daemon:
    """Return a server with the commands' own environment, without the variables of other servers."""
    own = {
        variable: value
        for variable, value in os.environ.items()
        if not variable.startswith(("PREFECT_API", "MLFLOW_TRACKING", "PG"))
    }
    return Daemon(
        name=name,
        command=command,
        environment={**own, **environment},
        run=stack.part("run"),
        logs=stack.part("logs"),
        up=up,
        port=stack.ports.get(name),
    )


def _answering(page: str) -> Callable[[], bool]:
    def answers() -> bool:
        try:
            with urlopen(page, timeout=_GRACE_S):  # noqa: S310 - our own server
                return True
        except HTTPError as error:
            return error.code == _UNAUTHORISED
        except (URLError, TimeoutError, ConnectionError):
            return False

    return answers


def _works(stack: Stack) -> bool:
    """Whether a worker has reported to Prefect."""
    from infra.stack.stack_client import online_workers  # noqa: PLC0415 - imports Prefect

    return bool(online_workers(stack, POOL))
