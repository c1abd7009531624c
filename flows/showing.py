"""Shows what was done: MLflow's and Prefect's pages on this machine's loopback, until Ctrl-C."""

import json
import signal
from pathlib import Path
from urllib.request import Request, urlopen

from flows.services import Server, free_port, start_mlflow, start_prefect

# The view is kept with each experiment (stores.lineage.RELEASES_VIEW, which would take seconds to import). Without the
# type of work MLflow opens its pages for language models, where a release is hard to find.
_VIEW = "viewStateShareKey=releases&workflowType=machine_learning"


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
    mlflow = start_mlflow(state, free_port(mlflow_port))
    prefect = start_prefect(state, free_port(prefect_port), pages=True)
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
    print("\nReleases, what they cost and how good they are (MLflow):")  # noqa: T201
    for name, number in _datasets(mlflow).items():
        print(f"  {name}: {mlflow.address}/#/experiments/{number}/runs?{_VIEW}")  # noqa: T201
    print(f"How each release ran, step by step (Prefect):\n  {prefect.address}/runs")  # noqa: T201
    print("\nCtrl-C stops both.", flush=True)  # noqa: T201


def _datasets(mlflow: Server) -> dict[str, str]:
    """Names and numbers of the experiments, one a dataset, less the empty one that MLflow makes."""
    asked = Request(  # noqa: S310 - our own server
        f"{mlflow.address}/api/2.0/mlflow/experiments/search",
        data=json.dumps({"max_results": 1000}).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urlopen(asked, timeout=30) as answer:  # noqa: S310 - our own server
        found = json.load(answer).get("experiments", [])
    return {item["name"]: item["experiment_id"] for item in found if item["name"] != "Default"}
