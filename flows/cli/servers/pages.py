"""Shows the pages of MLflow and Prefect: prints their addresses, and serves them until Ctrl-C if necessary."""

import base64
import json
import os
import signal
from pathlib import Path
from typing import Any, Protocol
from urllib.error import URLError
from urllib.request import Request, urlopen

from infra.servers.local_servers import ServerFailed, new_credentials, start_mlflow, start_prefect
from stores.servers.ui_links import (
    artifact_page,
    mlflow_pages,
    prefect_pages,
    registered_model_page,
    releases_page,
    run_page,
)
from stores.tracking.release_search import release_filter

_REPORT = "internal/report.html"
_PATIENCE_S = 30


class Pages(Protocol):
    """The address of some pages, and the credentials for them, as USER:PASSWORD."""

    @property
    def address(self) -> str: ...  # noqa: D102 - a value
    @property
    def credentials(self) -> str: ...  # noqa: D102 - a value


class _Elsewhere:
    """Pages of a server that this command did not start."""

    def __init__(self, name: str, address: str, health: str, credentials: str) -> None:
        self.address, self.credentials = address, credentials
        self._name, self._health = name, health

    def wait_until_up(self) -> None:
        """Check that the server answers.

        Raises:
            ServerFailed: the server does not answer.
        """
        try:
            with urlopen(f"{self.address}{self._health}", timeout=_PATIENCE_S):  # noqa: S310 - the user's own server
                return
        except OSError as error:
            failed = ServerFailed(
                f"{self._name} must answer at {self.address}, and does not ({type(error).__name__}); make stack "
                "starts what is down."
            )
        raise failed

    def stop(self) -> None:
        """Do nothing: this command did not start the server."""


def show(state: Path, *, mlflow_port: int, prefect_port: int) -> None:
    """Print the addresses of the pages, and serve those that no server serves until interrupted.

    Args:
        state: the state folder.
        mlflow_port: port for MLflow, if it is free.
        prefect_port: port for Prefect, if it is free.

    Raises:
        ServerFailed: a server does not start, or does not answer.
    """
    credentials = new_credentials()
    elsewhere = _mlflow_elsewhere(), _prefect_elsewhere()
    if None in elsewhere:
        print("Starting the servers ...", flush=True)  # noqa: T201 - this is what the command is for
    mlflow = elsewhere[0] or start_mlflow(state, mlflow_port, credentials=credentials)
    prefect = elsewhere[1] or start_prefect(state, prefect_port, credentials=credentials, pages=True)
    try:
        mlflow.wait_until_up()
        prefect.wait_until_up()
        _tell(mlflow, prefect)
        if None in elsewhere:
            user, _, password = credentials.partition(":")
            print(f"\nTo log in: user {user}, password {password}; in Prefect's form, {credentials}")  # noqa: T201
            print("\nThe password is valid until this command ends. Ctrl-C stops what it started.", flush=True)  # noqa: T201
            signal.pause()
        else:
            print(f"\nTo log in: {_who_may_enter(state)}.")  # noqa: T201
    except KeyboardInterrupt:
        print("Stopped.")  # noqa: T201
    finally:
        mlflow.stop()
        prefect.stop()


def _mlflow_elsewhere() -> _Elsewhere | None:
    """Return the MLflow server that the environment names, if any."""
    if not os.environ["MLFLOW_TRACKING_URI"].startswith("http"):
        return None
    user, password = (os.environ.get(f"MLFLOW_TRACKING_{what}", "") for what in ("USERNAME", "PASSWORD"))
    return _Elsewhere("MLflow", mlflow_pages(), "/health", f"{user}:{password}")


def _prefect_elsewhere() -> _Elsewhere | None:
    """Return the Prefect server that the environment names, if any."""
    if "PREFECT_API_URL" not in os.environ:
        return None
    return _Elsewhere("Prefect", prefect_pages(), "/api/health", os.environ.get("PREFECT_API_AUTH_STRING", ""))


def _who_may_enter(state: Path) -> str:
    """Return how to log in to servers that this command did not start."""
    passwords = state / "stack" / "secrets.json"
    if not passwords.exists():
        return "as one of the servers' own users"
    return (
        f"passwords are in {passwords}, for you alone; in MLflow as engineer, or as auditor, who may only read; "
        "in Prefect's form, deniable:PASSWORD, with the password of prefect_server"
    )


def _tell(mlflow: Pages, prefect: Pages) -> None:
    print("\nThe record of releases (MLflow):", *pages_of(mlflow), sep="\n")  # noqa: T201
    print(f"\nHow each release ran, step by step (Prefect):\n  {prefect.address}/runs")  # noqa: T201


def pages_of(mlflow: Pages) -> list[str]:
    """Return the addresses in MLflow of each dataset's releases, models and newest release.

    Args:
        mlflow: an MLflow server.

    Returns:
        Lines to print.
    """
    lines: list[str] = []
    datasets = _ask(mlflow, "experiments/search", max_results=1000).get("experiments", [])
    for dataset in datasets:
        name, number = dataset["name"], dataset["experiment_id"]
        published = _ask(
            mlflow,
            "runs/search",
            experiment_ids=[number],
            filter=release_filter(),
            order_by=["attributes.start_time DESC"],
            max_results=1,
        ).get("runs", [])
        pages = {"all releases, their cost and quality": releases_page(number)}
        for run in (run["info"] for run in published):
            pages["their models"] = registered_model_page(name)
            pages[f"the newest, {run['run_name']}"] = run_page(number, run["run_id"])
            pages["its report"] = artifact_page(number, run["run_id"], _REPORT)
        lines += [f"  {name}", *(f"    {what}: {mlflow.address}/{page}" for what, page in pages.items())]
    return lines


def _ask(mlflow: Pages, what: str, **query: Any) -> dict[str, Any]:
    """Return MLflow's answer to a query."""
    asked = Request(  # noqa: S310 - our own server
        f"{mlflow.address}/api/2.0/mlflow/{what}",
        data=json.dumps(query).encode(),
        headers={
            "Content-Type": "application/json",
            "Authorization": f"Basic {base64.b64encode(mlflow.credentials.encode()).decode()}",
        },
    )
    try:
        with urlopen(asked, timeout=_PATIENCE_S) as answer:  # noqa: S310 - our own server
            found: dict[str, Any] = json.load(answer)
    except URLError as error:
        failed = ServerFailed(f"MLflow must list its contents at {mlflow.address}, and does not ({error.reason}).")
    else:
        return found
    raise failed
