"""The environment that Prefect and MLflow read when they are imported, set before they are.

Nothing here imports either of them, or anything that does.
"""

import json
import os
from pathlib import Path

from deniable.foundation.errors import InvalidInput
from schemas.regular_files import expanded_path, whole_path
from stores.servers.patience import doublings

STATE_VARIABLE = "DENIABLE_STATE"
MLFLOW_VARIABLE = "DENIABLE_MLFLOW_TRACKING_URI"
PREFECT_VARIABLE = "DENIABLE_PREFECT_API_URL"
CLUSTER_VARIABLE = "DENIABLE_DASK"

_CHECKOUT = Path(__file__).resolve().parent.parent
_NOBODY_ELSE = 0o077
_PRIVATE_FOLDER = 0o700

# Set regardless of the caller's shell: these keep confidential data from being stored or sent.
_ALWAYS = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
    "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
    # A server that Prefect starts by itself has no password; commands start their own.
    "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",  # MLflow understands no other word than `true`
    "MLFLOW_LOGGING_LEVEL": "CRITICAL",  # its errors are logged with the errors that they happened in
    "MLFLOW_ENABLE_REMOTE_ASSISTANT": "false",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
}

# Preferences and timeouts: the caller's own value takes precedence.
_DEFAULTS = {
    "PREFECT_TASKS_RUNNER_THREAD_POOL_MAX_WORKERS": str(os.cpu_count() or 1),  # Prefect's own default is no limit
    "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "60",  # how soon the loss of a run's machine is noticed
    "PREFECT_CLIENT_RETRY_EXTRA_CODES": "500",  # what it answers while its database is down
    "PREFECT_LOGGING_LEVEL": "CRITICAL",  # the command itself reports what went wrong, once
    "PREFECT_INTERNAL_LOGGING_LEVEL": "CRITICAL",  # lists everything it could not send to a server that is gone
    "PREFECT_LOGGING_SERVER_LEVEL": "ERROR",
    "AWS_EC2_METADATA_DISABLED": "true",  # without credentials, a store client requests some from the network
    "MLFLOW_SKIP_PIP_REQUIREMENTS_CHECK": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "GIT_PYTHON_REFRESH": "quiet",
    "MPLBACKEND": "Agg",
}


def default_state_folder() -> Path:
    """Folder of everything that is made, unless another is named."""
    return _CHECKOUT / "var"


def state_folder() -> Path:
    """Folder of everything that is made, trusted keys included: DENIABLE_STATE, else the default one.

    Raises:
        InvalidInput: DENIABLE_STATE is relative, so that the working folder would decide whom to trust.
    """
    folder = expanded_path(Path(os.environ.get(STATE_VARIABLE) or default_state_folder()), "the state folder")
    if not folder.is_absolute():
        raise InvalidInput(f"{STATE_VARIABLE} must be an absolute path, got {folder}; or name a folder with --state.")
    return whole_path(folder, "the state folder")


def _stack(state: Path) -> dict[str, str]:
    """The variables of a state folder's stack; without its ledger, a dataset would have two."""
    place = state / "stack" / "environment.json"
    try:
        said: dict[str, str] = json.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError:
        raise InvalidInput(f"{place} must be as the stack wrote it, and is not; restore it from a backup.") from None
    return said


def prepare_environment(state: Path | None = None) -> Path:
    """Point Prefect and MLflow at the state folder, quietly and without any contact to the outside.

    Shells often carry the address of some other project's server (PREFECT_API_URL, MLFLOW_TRACKING_URI). Internal
    figures must not go there by accident, so a server for this project is named by DENIABLE_PREFECT_API_URL and
    DENIABLE_MLFLOW_TRACKING_URI instead. A state folder that has a stack uses it (infra.stack), unless these are set.

    Args:
        state: the state folder; by default `state_folder()`.

    Returns:
        The state folder, which exists and which only its owner may enter.

    Raises:
        OSError: the folder cannot be made.
        InvalidInput: the folder has a stack whose settings cannot be read.
    """
    state = whole_path(state or state_folder(), "the state folder")
    os.umask(_NOBODY_ELSE)
    for folder in (state, state / "prefect", state / "mlflow"):
        folder.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        if folder.stat().st_mode & _NOBODY_ELSE:
            folder.chmod(_PRIVATE_FOLDER)

    for name, value in _stack(state).items():
        os.environ.setdefault(name, value)
    os.environ.update(_ALWAYS)
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    # Prefect's client tries again after two seconds, then after four, and so on.
    os.environ.setdefault("PREFECT_CLIENT_MAX_RETRIES", str(doublings(first_s=2.0)))
    # MLflow's client tries again at once, then after four seconds, then after eight, and so on.
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", str(1 + doublings(first_s=4.0)))
    os.environ[STATE_VARIABLE] = str(state)
    os.environ["PREFECT_HOME"] = str(state / "prefect")
    os.environ["MLFLOW_TRACKING_URI"] = os.environ.get(MLFLOW_VARIABLE) or f"sqlite:///{state / 'mlflow' / 'mlflow.db'}"
    os.environ.pop("PREFECT_API_KEY", None)
    os.environ.pop("PREFECT_API_URL", None)
    if own_server := os.environ.get(PREFECT_VARIABLE):
        os.environ["PREFECT_API_URL"] = own_server
    else:
        os.environ.pop("PREFECT_API_AUTH_STRING", None)
    return state
