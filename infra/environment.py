"""Sets the environment that Prefect and MLflow read, before they are imported.

Nothing here imports either of them, directly or indirectly.
"""

import json
import os
from pathlib import Path

from deniable.foundation.errors import InvalidInput
from schemas.regular_files import expanded_path, whole_path
from stores.own_files import read_own, require_own_folder
from stores.servers.patience import doublings

STATE_VARIABLE = "DENIABLE_STATE"
MLFLOW_VARIABLE = "DENIABLE_MLFLOW_TRACKING_URI"
PREFECT_VARIABLE = "DENIABLE_PREFECT_API_URL"
CLUSTER_VARIABLE = "DENIABLE_DASK"

_CHECKOUT = Path(__file__).resolve().parent.parent
_NOBODY_ELSE = 0o077
_PRIVATE_FOLDER = 0o700

# Set regardless of the caller's shell: these variables prevent confidential data from being stored or sent.
_ALWAYS = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
    "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
    # A server that Prefect starts automatically has no password; commands start their own.
    "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",  # MLflow accepts only the word `true`
    "MLFLOW_LOGGING_LEVEL": "CRITICAL",  # MLflow logs its errors together with their causes
    "MLFLOW_ENABLE_REMOTE_ASSISTANT": "false",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
}

# Preferences and timeouts: the caller's own value takes precedence.
_DEFAULTS = {
    "PREFECT_TASKS_RUNNER_THREAD_POOL_MAX_WORKERS": str(os.cpu_count() or 1),  # Prefect's own default is no limit
    "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "60",  # how soon the loss of a run's machine is detected
    "PREFECT_CLIENT_RETRY_EXTRA_CODES": "500",  # its answer while its database is down
    "PREFECT_LOGGING_LEVEL": "CRITICAL",  # the command itself reports the failure, once
    "PREFECT_INTERNAL_LOGGING_LEVEL": "CRITICAL",  # it lists everything that it could not send to a stopped server
    "PREFECT_LOGGING_SERVER_LEVEL": "ERROR",
    "AWS_EC2_METADATA_DISABLED": "true",  # without credentials, a store's client requests them from the network
    "MLFLOW_SKIP_PIP_REQUIREMENTS_CHECK": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "GIT_PYTHON_REFRESH": "quiet",
    "MPLBACKEND": "Agg",
}


def default_state_folder() -> Path:
    """Return the folder of everything that is made, unless another is named."""
    return _CHECKOUT / "var"


def state_folder() -> Path:
    """Return the folder of everything that is made, trusted keys included: DENIABLE_STATE, otherwise the default.

    Raises:
        InvalidInput: DENIABLE_STATE is relative, so the current folder would decide which keys are trusted.
    """
    folder = expanded_path(Path(os.environ.get(STATE_VARIABLE) or default_state_folder()), "the state folder")
    if not folder.is_absolute():
        raise InvalidInput(f"{STATE_VARIABLE} must be an absolute path, got {folder}; or name a folder with --state.")
    return whole_path(folder, "the state folder")


def _stack(state: Path) -> dict[str, str]:
    """Return the variables of a state folder's stack; without the stack's ledger, a dataset would have two."""
    place = state / "stack" / "environment.json"
    try:
        said: dict[str, str] = json.loads(read_own(place))
    except FileNotFoundError:
        return {}
    except ValueError:
        raise InvalidInput(f"{place} must be as the stack wrote it, and is not; restore it from a backup.") from None
    return said


def prepare_environment(state: Path | None = None, *, only_reading: bool = False) -> Path:
    """Point Prefect and MLflow at the state folder, without output and without contacting other servers.

    A shell may contain the address of another project's server (PREFECT_API_URL, MLFLOW_TRACKING_URI). Internal figures
    must not go there by accident, so this project's servers are named by DENIABLE_PREFECT_API_URL and
    DENIABLE_MLFLOW_TRACKING_URI instead. A state folder with a stack uses it (infra.stack), unless these are set.

    Args:
        state: the state folder; by default `state_folder()`.
        only_reading: whether nothing in the folder is changed, so that it may be on a read-only disk.

    Returns:
        The state folder, which now exists, and which only its owner may enter; if it is only read, it is as it was.

    Raises:
        OSError: the folder cannot be made.
        InvalidInput: the folder has a stack whose settings cannot be read.
        NotOurFile: something else is in the place of one of its files.
    """
    state = whole_path(state or state_folder(), "the state folder")
    os.umask(_NOBODY_ELSE)
    is_kept = only_reading and state.is_dir() and not os.access(state, os.W_OK)
    for folder in () if is_kept else (state, state / "prefect", state / "mlflow"):
        folder.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        if folder.stat().st_mode & _NOBODY_ELSE:
            folder.chmod(_PRIVATE_FOLDER)
    # Their files are opened by Prefect and MLflow.
    require_own_folder(state / "prefect")
    require_own_folder(state / "mlflow")

    for name, value in _stack(state).items():
        os.environ.setdefault(name, value)
    os.environ.update(_ALWAYS)
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    # Prefect's client retries after two seconds, then after four, and so on.
    os.environ.setdefault("PREFECT_CLIENT_MAX_RETRIES", str(doublings(first_s=2.0)))
    # MLflow's client retries at once, then after four seconds, then after eight, and so on.
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
