"""The MLflow client: one for all threads of a process, with one clear sentence for every failure.

This module decides where MLflow is, whether to wait for its server, and how to close a run. The content of records does
not belong here.
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
from stores.servers.mlflow_database import read_only, ready_client
from stores.servers.patience import ServerDown, is_given_up, note_answer
from stores.vault.disk import DISK_FULL, disk_is_full
from stores.vault.pending_approval import Held
from stores.vault.scratch import is_scratch

PARENT, USER, FAILURE = "mlflow.parentRunId", "mlflow.user", "failure"
"""Tags of runs: the parent run, the user who started it, and the reason for a failure."""
_WAITING = "SCHEDULED"  # MLflow's status for a run that continues later
_BRIEFLY = 2
"""Number of retries for a server that is not waited for: immediately, and after four seconds."""

_one_at_a_time = Lock()

# MLflow logs its errors together with their causes, and those may quote records.
logging.getLogger("mlflow").setLevel(logging.CRITICAL)
logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)  # it logs every retry


class RecordFailed(DeniableError):
    """MLflow or Prefect did not accept a required record."""


class RecordServerDown(RecordFailed, ServerDown):
    """MLflow's server or its database does not answer."""


class UserRefused(RecordFailed):
    """MLflow does not know its user, or does not permit the requested action."""


def tracking_uri(state: Path) -> str:
    """Location of MLflow's records: MLFLOW_TRACKING_URI, except in scratch, or else a database in the state folder."""
    named = None if is_scratch(state) else os.environ.get("MLFLOW_TRACKING_URI")
    return named or f"sqlite:///{state / 'mlflow' / 'mlflow.db'}"


def place_of_artifacts(state: Path, experiment: str) -> str | None:
    """Location of the files of an experiment in MLflow; None if a server decides.

    Without a location, MLflow would keep them below the current folder of the command.
    """
    own = tracking_uri(state).startswith("sqlite:")
    return str(state / "mlflow" / "artifacts" / experiment) if own else None


@lru_cache
def client_of(uri: str) -> MlflowClient:
    """The client for an address; it is created once."""
    return ready_client(uri)


@contextmanager
def recording(state: Path, *, patiently: bool = True, only_reading: bool = False) -> Iterator[MlflowClient]:
    """Yield the client to one thread at a time; every failure becomes one clear sentence.

    MLflow's store has few connections, and threads that find no free one give up after half a minute. A server that
    does not answer may be restarting, so this waits for it, but after one unsuccessful wait it does not wait again. The
    waiting time of MLflow's client is a setting of the process (infra.environment); a server that is not to be waited
    for must answer a short request first.

    Args:
        state: the state folder.
        patiently: whether to wait for a server that does not answer (stores.servers.patience).
        only_reading: whether nothing is changed; a database in a file may then be on a read-only disk.
    """
    uri = tracking_uri(state)
    try:
        with _one_at_a_time:
            if uri.startswith("http") and (is_given_up(uri) or not patiently):
                _require_answer(uri)
            yield client_of(read_only(uri) if only_reading else uri)
    except (MlflowException, SQLAlchemyError, OSError) as error:
        note_answer(uri, answered=False)
        failed = _failure(state, uri, error)
    else:
        note_answer(uri, answered=True)
        return
    raise failed


def _require_answer(uri: str) -> None:
    """Send a server a short request for one experiment; its own client would wait as long as for any other request.

    Raises:
        MlflowException: the server or its database does not answer.
    """
    times = min(_BRIEFLY, MLFLOW_HTTP_REQUEST_MAX_RETRIES.get())  # type: ignore[no-untyped-call]
    who = get_default_host_creds(uri)  # type: ignore[no-untyped-call]
    question = {"max_results": 1}
    http_request(who, "/api/2.0/mlflow/experiments/search", "POST", max_retries=times, json=question)  # type: ignore[no-untyped-call]


def _failure(state: Path, uri: str, error: Exception) -> RecordFailed:
    """The error for a record that MLflow does not accept or return."""
    if disk_is_full(state):
        return RecordFailed(DISK_FULL.format(state=state))
    place = uri.rpartition("@")[2]
    code = error.error_code if isinstance(error, MlflowException) else None
    if code == "UNAUTHENTICATED":
        return UserRefused(
            f"MLflow at {place} must accept its user, got a refusal; correct MLFLOW_TRACKING_USERNAME and "
            "MLFLOW_TRACKING_PASSWORD."
        )
    if code == "PERMISSION_DENIED":
        said = (
            f"MLflow at {place} must let its user write, and does not; use an account that may write, such as engineer."
        )
        return UserRefused(said)
    if uri.startswith("http"):
        return RecordServerDown(
            f"MLflow must take the record of the release, and {place} does not; check that its server and its "
            "database run (make stack starts them; its log has details), and run the same command again."
        )
    return RecordFailed(
        f"MLflow must take the record of the release, and {place} does not; "
        "check that it can be reached, that its disk is not read-only, and that its version is compatible."
    )


@contextmanager
def closing_run(state: Path, run_id: str) -> Iterator[None]:
    """Close a run at the end of its block; an error in the block takes precedence over one while closing."""
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
