"""The client of MLflow: one for all threads of a process, with one clear sentence for whatever goes wrong.

Where MLflow is, whether its server is waited for, and how a run is closed. What is recorded does not belong here.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from threading import Lock

from mlflow import MlflowClient
from mlflow.environment_variables import MLFLOW_HTTP_REQUEST_MAX_RETRIES
from mlflow.exceptions import MlflowException
from mlflow.utils.credentials import get_default_host_creds
from mlflow.utils.rest_utils import http_request
from sqlalchemy.exc import SQLAlchemyError

from deniable.foundation.errors import DeniableError
from stores.servers.mlflow_database import ready_client
from stores.servers.patience import ServerDown, is_given_up, note_answer
from stores.vault.disk import DISK_FULL, disk_is_full
from stores.vault.pending_approval import Held
from stores.vault.scratch import is_scratch

PARENT, USER, FAILURE = "mlflow.parentRunId", "mlflow.user", "failure"
"""Tags of runs: the run that one is within, who made it, and why it failed."""
_WAITING = "SCHEDULED"  # what MLflow calls a run that goes on later
_BRIEFLY = 2
"""How often a server is asked again that is not waited for: at once, and after four seconds."""

_one_at_a_time = Lock()

# MLflow logs its errors with the errors that they happened in, and those may quote records.
logging.getLogger("mlflow").setLevel(logging.CRITICAL)
logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)  # tells of every time that it asks again


class RecordFailed(DeniableError):
    """MLflow or Prefect did not take what must be recorded."""


class RecordServerDown(RecordFailed, ServerDown):
    """MLflow's server does not answer, or the database below it."""


class UserRefused(RecordFailed):
    """MLflow does not know its user, or does not let them do what was asked."""


def tracking_uri(state: Path) -> str:
    """Where MLflow keeps its records: MLFLOW_TRACKING_URI, else a database in the state folder, always in scratch."""
    named = None if is_scratch(state) else os.environ.get("MLFLOW_TRACKING_URI")
    return named or f"sqlite:///{state / 'mlflow' / 'mlflow.db'}"


@lru_cache
def client_of(uri: str) -> MlflowClient:
    """The client for an address, made once."""
    return ready_client(uri)


@contextmanager
def recording(state: Path, *, patiently: bool = True) -> Iterator[MlflowClient]:
    """Yield the client, to one thread at a time; what goes wrong with it is one clear sentence.

    MLflow's store has a few connections, and threads that find none free give up after half a minute. A server that
    does not answer may be starting again: it is waited for, but only once in vain. How long MLflow's client waits is
    a setting of the process's (infra.environment); a server that is not to be waited for must answer first.

    Args:
        state: the state folder.
        patiently: whether a server that does not answer is waited for, stores.servers.patience.
    """
    uri = tracking_uri(state)
    try:
        with _one_at_a_time:
            if uri.startswith("http") and (is_given_up(uri) or not patiently):
                _require_answer(uri)
            yield client_of(uri)
    except (MlflowException, SQLAlchemyError, OSError) as error:
        note_answer(uri, answered=False)
        failed = _failure(state, uri, error)
    else:
        note_answer(uri, answered=True)
        return
    raise failed


def _require_answer(uri: str) -> None:
    """Ask a server for one experiment, and briefly: its own client would wait for as long as for any other question.

    Raises:
        MlflowException: neither it nor the database below it answers.
    """
    times = min(_BRIEFLY, MLFLOW_HTTP_REQUEST_MAX_RETRIES.get())  # type: ignore[no-untyped-call]
    who = get_default_host_creds(uri)  # type: ignore[no-untyped-call]
    question = {"max_results": 1}
    http_request(who, "/api/2.0/mlflow/experiments/search", "POST", max_retries=times, json=question)  # type: ignore[no-untyped-call]


def _failure(state: Path, uri: str, error: Exception) -> RecordFailed:
    """What to do where MLflow does not take or give a record."""
    if disk_is_full(state):
        return RecordFailed(DISK_FULL.format(state=state))
    place = uri.rpartition("@")[2]
    code = error.error_code if isinstance(error, MlflowException) else None
    if code == "UNAUTHENTICATED":
        return UserRefused(
            f"MLflow at {place} must accept its user, and refuses; correct MLFLOW_TRACKING_USERNAME and "
            "MLFLOW_TRACKING_PASSWORD."
        )
    if code == "PERMISSION_DENIED":
        said = f"MLflow at {place} must let its user write, and does not; work as a user who may, such as engineer."
        return UserRefused(said)
    if uri.startswith("http"):
        return RecordServerDown(
            f"MLflow must take the record of the release, and {place} does not; see that its server and its database "
            "run (make stack starts what is down; its log says more), and give the same command again."
        )
    return RecordFailed(
        f"MLflow must take the record of the release, and {place} does not; "
        "check that it can be reached, that its disk is not read-only, and that its version fits."
    )


@contextmanager
def closing_run(state: Path, run_id: str) -> Iterator[None]:
    """Close a run as its block ends; an error within the block is worth more than one while closing."""
    try:
        yield
    except BaseException as error:
        with suppress(RecordFailed), recording(state) as client:
            if isinstance(error, DeniableError) and not isinstance(error, Held):
                client.set_tag(run_id, FAILURE, str(error))
            if isinstance(error, Held):
                client.update_run(run_id, status=_WAITING)
            else:
                client.set_terminated(run_id, "FAILED" if isinstance(error, Exception) else "KILLED")
        raise
    with recording(state) as client:
        client.set_terminated(run_id, "FINISHED")
