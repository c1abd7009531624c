"""Shows what was done: MLflow's and Prefect's pages on this machine's loopback, until Ctrl-C."""

import base64
import json
import signal
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from flows.services import Server, new_credentials, start_mlflow, start_prefect
from stores.addresses import artifact_page, registered_model_page, releases_page, run_page
from stores.release_search import release_filter

_REPORT = "internal/report.html"


def show(state: Path, *, mlflow_port: int, prefect_port: int) -> None:
    """Serve the pages and print where they are; returns when interrupted.

    Args:
        state: the state folder.
        mlflow_port: port for MLflow, if it is free.
        prefect_port: port for Prefect, if it is free.

    Raises:
        ServerFailed: one of them does not start.
    """
    print("Starting MLflow and Prefect ...", flush=True)  # noqa: T201 - this is what the command is for
    credentials = new_credentials()
    mlflow = start_mlflow(state, mlflow_port, credentials=credentials)
    prefect = start_prefect(state, prefect_port, credentials=credentials, pages=True)
    try:
        _wait_and_tell(mlflow, prefect)
        signal.pause()
    except KeyboardInterrupt:
        print("Stopped.")  # noqa: T201
    finally:
        mlflow.stop()
        prefect.stop()


def _wait_and_tell(mlflow: Server, prefect: Server) -> None:
    mlflow.wait_until_up()
    prefect.wait_until_up()
    print("\nThe record of releases (MLflow):", *pages_of(mlflow), sep="\n")  # noqa: T201
    print(f"\nHow each release ran, step by step (Prefect):\n  {prefect.address}/runs")  # noqa: T201
    user, _, password = mlflow.credentials.partition(":")
    print(f"\nTo enter: user {user}, password {password}; in Prefect's form, {prefect.credentials}")  # noqa: T201
    print("\nThe password is good until this ends. Ctrl-C stops both.", flush=True)  # noqa: T201


def pages_of(mlflow: Server) -> list[str]:
    """Where MLflow shows each dataset: all its releases, their models, and what was published last.

    Args:
        mlflow: a server of MLflow's.

    Returns:
        Lines to print.
    """
    lines = []
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
        pages = {"all releases, what they cost and how good they are": releases_page(number)}
        for run in (run["info"] for run in published):
            pages["their models"] = registered_model_page(name)
            pages[f"the newest, {run['run_name']}"] = run_page(number, run["run_id"])
            pages["its report"] = artifact_page(number, run["run_id"], _REPORT)
        lines += [f"  {name}", *(f"    {what}: {mlflow.address}/{page}" for what, page in pages.items())]
    return lines


def _ask(mlflow: Server, what: str, **query: Any) -> dict[str, Any]:
    """What a server of our own answers."""
    asked = Request(  # noqa: S310 - our own server
        f"{mlflow.address}/api/2.0/mlflow/{what}",
        data=json.dumps(query).encode(),
        headers={
            "Content-Type": "application/json",
            "Authorization": f"Basic {base64.b64encode(mlflow.credentials.encode()).decode()}",
        },
    )
    with urlopen(asked, timeout=30) as answer:  # noqa: S310 - our own server
        found: dict[str, Any] = json.load(answer)
    return found
