"""Checks workers that join a cluster later, before they work; a worker with other files or other code leaves."""

# Dask's functions have no annotations
# mypy: disallow-untyped-calls=False

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from distributed import Status, Worker, WorkerPlugin

from infra.cluster.worker_checks import complaint, describe_worker
from stores.vault.lease import has_died


@dataclass(frozen=True)
class Asked:
    """The requirements on a worker while a flow is under way.

    Attributes:
        state: the state folder.
        marker: name of a file in the state folder, known only to this flow.
        servers: addresses that should answer.
        expected: the findings of the flow's own process.
        elsewhere: the fault of any worker on another machine, if any.
        sign: name of the flow's sign of life, which also identifies the request to the scheduler.
    """

    state: Path
    marker: str
    servers: tuple[str, ...]
    expected: Mapping[str, str]
    elsewhere: str
    sign: str

    @property
    def key(self) -> list[str]:
        """The scheduler's key for whether the request still stands."""
        return ["asked", self.sign]

    def wrong_here(self) -> str:
        """Return the fault of this process; empty if there is none, or if the flow's process has died."""
        found = describe_worker(self.state, self.marker, self.servers)
        wrong = complaint(found, self.expected, marked=bool(found["writes"]))
        if not wrong and found["machine"] != self.expected["machine"]:
            wrong = self.elsewhere
        return "" if has_died(self.state, self.sign) else wrong


class AdmitWorkers(WorkerPlugin):
    """A check of a worker as it joins, before it takes any work; a worker that fails leaves, and is not restarted.

    Args:
        asked: the requirements.
    """

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._leaving: asyncio.Task[str | None] | None = None

    async def setup(self, worker: Worker) -> None:
        """Run the checks; Dask gives a worker no task until they are done.

        A flow may end meanwhile and remove its marker, so the scheduler is queried last.
        """
        wrong = await asyncio.to_thread(self._asked.wrong_here)
        if wrong and await worker.scheduler.get_metadata(keys=self._asked.key, default=False):
            print(f"This worker leaves the cluster: it {wrong}.", file=sys.stderr)  # noqa: T201 - its own log
            worker.status = Status.paused
            # The worker's nanny does not listen before the worker has started.
            self._leaving = asyncio.create_task(worker.close(nanny=True, reason=wrong))
