"""Which cluster a flow is sent to, if any: DENIABLE_DASK says so, in a shell or in a deployment's job variables."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from prefect import Flow

from deniable.errors import InvalidInput
from flows.cluster.settings import checked_address
from flows.environment import CLUSTER_VARIABLE, state_folder

if TYPE_CHECKING:
    from prefect.task_runners import TaskRunner

P = ParamSpec("P")
R = TypeVar("R")


def cluster_runner(state: Path) -> "TaskRunner[Any] | None":
    """What sends the tasks of a flow to the cluster that the environment names; None where it names none.

    Args:
        state: the state folder.

    Raises:
        InvalidInput: what it names is no address, or what a cluster needs is not installed.
    """
    address = os.environ.get(CLUSTER_VARIABLE)
    if not address:
        return None
    checked_address(address)
    try:
        from flows.cluster.runner import ClusterRunner  # noqa: PLC0415 - needs what only a cluster needs
    except ImportError as error:
        raise InvalidInput(f"a cluster needs {error.name}, which is not installed; make cluster installs it.") from None
    return ClusterRunner(address, state)


def on_its_cluster(flow: Flow[P, R]) -> Flow[P, R]:
    """The flow, sent to the cluster that the environment names, if it names one."""
    runner = cluster_runner(state_folder())
    return flow if runner is None else flow.with_options(task_runner=runner)
