"""Chooses the cluster for a flow, if any: DENIABLE_DASK names it, in a shell or in a deployment's job variables."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from prefect import Flow

from deniable.foundation.errors import InvalidInput
from infra.cluster.settings import checked_address
from infra.environment import CLUSTER_VARIABLE, PREFECT_VARIABLE, state_folder

if TYPE_CHECKING:
    from prefect.task_runners import TaskRunner

P = ParamSpec("P")
R = TypeVar("R")


def cluster_runner(state: Path) -> "TaskRunner[Any] | None":
    """Return the task runner for the cluster that the environment names; None if it names none.

    Args:
        state: the state folder.

    Raises:
        InvalidInput: the address is invalid, or a cluster's requirements are not installed.
    """
    address = os.environ.get(CLUSTER_VARIABLE)
    if not address:
        return None
    checked_address(address)
    if PREFECT_VARIABLE not in os.environ:
        raise InvalidInput(
            "workers must report to a permanent Prefect server, and a release starts one that ends with it; make stack "
            "starts one, or name one by DENIABLE_PREFECT_API_URL."
        )
    return _runner(address, state)


def on_its_cluster(flow: Flow[P, R]) -> Flow[P, R]:
    """Return the flow of a deployment, to be sent to the cluster that the environment names, if any."""
    address = os.environ.get(CLUSTER_VARIABLE)
    return flow.with_options(task_runner=_runner(checked_address(address), state_folder())) if address else flow


def _runner(address: str, state: Path) -> "TaskRunner[Any]":
    try:
        from infra.cluster.runner import ClusterRunner  # noqa: PLC0415 - needs what only a cluster needs
    except ImportError as error:
        raise InvalidInput(f"a cluster needs {error.name}, which is not installed; make cluster installs it.") from None
    return ClusterRunner(address, state)
