"""Sends the tasks of a flow to the workers of a Dask cluster, after checking each of them.

Only a task's arguments are sent: the workspace and references, but no records and no keys. A failure of the cluster is
reported in one sentence.
"""

# Dask's functions have no annotations
# mypy: disallow-untyped-calls=False

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from pathlib import Path
from typing import Any, Self, cast

from distributed import CancelledError, Future
from distributed.scheduler import KilledWorker
from distributed.security import Security
from prefect.tasks import Task
from prefect.utilities.annotations import BaseAnnotation
from prefect.utilities.engine import collect_task_run_inputs_sync, link_state_to_task_run_result
from prefect_dask.task_runners import DaskTaskRunner, PrefectDaskFuture

from deniable.command_names import command_line
from deniable.foundation.errors import DeniableError, Refused
from deniable.foundation.keys import new_secret
from infra.cluster.joining import AdmitWorkers, Asked
from infra.cluster.settings import Cluster, configured_trust, is_loopback
from infra.cluster.worker_checks import complaint, describe_worker
from stores.tracking.client import tracking_uri
from stores.vault.lease import forget_turn, turn
from stores.vault.private_files import PRIVATE_FILE
from tasks.running.cancellation import allow_steps, stop_parts, stopping_too
from tasks.running.progress import part_begins, part_ends
from tasks.running.step import amount_of

_PATIENCE_S = 15
_WAIT_FOR_WORKERS_S = 60


class ClusterFailed(DeniableError):
    """The cluster lost a task."""


class ClusterFuture(PrefectDaskFuture[Any]):
    """The result of a task on a worker; if the cluster loses it, the error is one sentence.

    Watchers are notified when the flow collects the result. Dask considers a failed task successful, because the task
    returns a Prefect state that contains the failure, and fetching that state in one of Dask's callbacks would disturb
    other tasks. The watchers are known where the task is sent, but not in Dask's own threads.

    Args:
        sent: the task that was sent.
        step: name of the step to which the task belongs.
        amount: amount of work of the part.
    """

    def __init__(self, sent: PrefectDaskFuture[Any], step: str, amount: int) -> None:
        super().__init__(task_run_id=sent.task_run_id, wrapped_future=sent.wrapped_future)
        self._step, self._untold, self._context = step, [amount], copy_context()
        sent.wrapped_future.add_done_callback(self._lost)

    def wait(self, timeout: float | None = None) -> None:
        """Wait for the worker's result."""
        super().wait(timeout)
        self._tell()

    def result(self, timeout: float | None = None, raise_on_failure: bool = True) -> Any:  # noqa: FBT001, FBT002
        """Return the worker's result.

        Raises:
            ClusterFailed: the cluster lost the result.
        """
        try:
            given = super().result(timeout, raise_on_failure)
        except KilledWorker:
            failed = ClusterFailed(
                "a step must be finished by a worker, and several were killed at it, as happens when memory runs out; "
                "give them more, and run the release again to resume it."
            )
        except (CancelledError, OSError):
            failed = ClusterFailed(
                "the cluster must stay up until the release is done, and it is gone; start it, and run the release "
                "again to resume it."
            )
        else:
            if self._final_state is not None:
                link_state_to_task_run_result(self._final_state, given)
            return given
        finally:
            self._tell()
        raise failed

    def _tell(self) -> None:
        """Notify the watchers of the outcome, once it is known."""
        if self._final_state is not None:
            self._ended(well=self._final_state.is_completed())

    def _lost(self, future: "Future[Any]") -> None:
        """Notify the watchers that the task ended without a result."""
        if future.status != "finished":
            self._ended(well=False)

    def _ended(self, *, well: bool) -> None:
        with suppress(IndexError):  # the end was already reported
            self._context.run(part_ends, self._step, well=well, amount=self._untold.pop())


class ClusterRunner(DaskTaskRunner):
    """Runs tasks on the workers of a cluster.

    Args:
        address: address of the scheduler.
        state: the state folder.
    """

    def __init__(self, address: str, state: Path) -> None:
        super().__init__(address=address, client_kwargs={"security": security(state), "timeout": _PATIENCE_S})
        self._place, self._state = address, state

    def __enter__(self) -> Self:
        """Begin; from now on, stopping steps also stops those on the workers."""
        super().__enter__()
        self._exit_stack.enter_context(stopping_too(self))
        return self

    def duplicate(self) -> "ClusterRunner":
        """Return another runner for the same cluster."""
        return ClusterRunner(self._place, self._state)

    def submit(  # type: ignore[override] # none of its overloads is for coroutines
        self,
        task: Task[..., Any],
        parameters: dict[str, Any],
        wait_for: Iterable[PrefectDaskFuture[Any]] | None = None,
        dependencies: dict[str, set[Any]] | None = None,
    ) -> ClusterFuture:
        """Send a task to a worker."""
        if wait_for:
            # The maker of each object is known here, but not on the worker.
            dependencies = {**(dependencies or {}), "wait_for": set(collect_task_run_inputs_sync(wait_for))}
            wait_for = [_shown(each) for each in wait_for]
        parameters = {name: _shown(each) for name, each in parameters.items()}
        with _answering(self._place):
            sent: PrefectDaskFuture[Any] = super().submit(task, parameters, wait_for, dependencies)
        part_begins(task.name)
        return ClusterFuture(sent, task.name, amount_of(task.name, parameters))

    def hands(self) -> int:
        """Return the number of tasks that run at the same time: the threads of all workers."""
        with _answering(self._place):
            threads = cast("dict[str, int]", self.client.nthreads())
        return sum(threads.values())

    def allow(self, release: str) -> None:
        """Allow steps of a release to begin on the workers, even if an earlier run of it was stopped."""
        if self._runs:
            with _answering(self._place):
                self.client.run(allow_steps, release)

    def stop(self, release: str, patience_s: float) -> None:
        """Prevent further steps of a release on the workers, and wait for those that are running."""
        if self._runs:
            with suppress(OSError):
                self.client.run(stop_parts, release, patience_s, on_error="ignore")

    @property
    def _runs(self) -> bool:
        """Whether the cluster is in use, and answers."""
        return self._client is not None and self._client.status == "running"

    def require_workers(self, state: Path) -> None:
        """Require that every worker passes the checks.

        Raises:
            Refused: the cluster does not answer, has no workers, or has workers with other files or other code.
        """
        # Some certificate errors are not OSErrors.
        with _answering(self._place, RuntimeError, TypeError, ValueError):
            client = self.client
        with _answering(self._place):
            try:
                client.wait_for_workers(1, timeout=_WAIT_FOR_WORKERS_S)
            except TimeoutError:
                msg = (
                    f"the cluster at {self._place} must have a worker, and has none; start one by "
                    f"{command_line('servers cluster worker')} {self._place}."
                )
                raise Refused(msg) from None
        marker = self._exit_stack.enter_context(_marker(state))
        sign = f".{Path(marker).name}"
        servers = _servers(state)
        here = describe_worker(state, marker, ())
        asked = Asked(state, marker, servers, here, _wrong_with_servers(state, servers), sign)
        self._look(asked)
        self._exit_stack.enter_context(self._looking_at_newcomers(asked))

    def _look(self, asked: Asked) -> None:
        """Check every worker, and refuse the cluster if one fails."""
        state, here = asked.state, asked.expected
        with _answering(self._place):
            found = self.client.run(describe_worker, state, asked.marker, asked.servers, on_error="return")
        for address, seen in found.items():
            if not isinstance(seen, dict):
                wrong = "runs other code; install the same version of the project there"
            else:
                wrong = complaint(seen, here, marked=bool(seen["writes"]) and (state / seen["writes"]).exists())
                if not wrong and seen["machine"] != here["machine"]:
                    wrong = asked.elsewhere
            if wrong:
                raise Refused(f"every worker must be able to do this release's work, and {address} {wrong}.")

    @contextmanager
    def _looking_at_newcomers(self, asked: Asked) -> Iterator[None]:
        """Also check workers that join later, until the flow ends.

        If the scheduler cannot be notified of the end, the sign of life shows that the flow's process has died.
        """
        with turn(asked.state, asked.sign):
            with _answering(self._place):
                self.client.set_metadata(asked.key, value=True)
                self.client.register_plugin(AdmitWorkers(asked), name=asked.sign)
            try:
                yield
            finally:
                if self._runs:
                    with suppress(OSError):
                        self.client.set_metadata(asked.key, value=False)
                        self.client.unregister_worker_plugin(asked.sign)
                        forget_turn(asked.state, asked.sign)


def _shown(argument: Any) -> Any:
    """Return an argument without the wrapper that hides it from Prefect, which Dask would turn into a tuple."""
    return argument.unwrap() if isinstance(argument, BaseAnnotation) else argument


def security(state: Path) -> Security:
    """Return the certificates of the cluster's processes, from Dask's configuration or else from this state folder."""
    own = Cluster(state)
    if configured_trust() or not own.has_certificate:
        return Security()
    certificate, key = str(own.tls / "certificate.pem"), str(own.tls / "key.pem")
    return Security(tls_ca_file=certificate, tls_client_cert=certificate, tls_client_key=key)


@contextmanager
def _answering(address: str, *others: type[Exception]) -> Iterator[None]:
    """Turn system errors and some others into one sentence: that the cluster does not answer."""
    failures: tuple[type[Exception], ...] = (OSError, *others)
    try:
        yield
    except failures:
        failed = Refused(
            f"the cluster at {address} must answer, and does not; start it by {command_line('servers cluster up')}, "
            "or check "
            "its address and its certificates."
        )
    else:
        return
    raise failed


@contextmanager
def _marker(state: Path) -> Iterator[str]:
    """Make a file in the state folder that only this run knows; workers write theirs next to it; all are removed."""
    folder, name = Cluster(state).part("probes"), f"probe-{new_secret().hex()[:16]}"
    place = folder / name
    place.touch(mode=PRIVATE_FILE)
    place.write_text(new_secret().hex(), encoding="ascii")
    try:
        yield str(place.relative_to(state))
    finally:
        for path in folder.glob(f"{name}*"):
            path.unlink(missing_ok=True)


def _servers(state: Path) -> tuple[str, ...]:
    """Return the addresses that workers query: Prefect's, and MLflow's if it is a server."""
    from prefect.settings import PREFECT_API_URL  # noqa: PLC0415 - read as late as possible

    tracking = tracking_uri(state)
    api = PREFECT_API_URL.value()
    return tuple(
        address
        for address in (f"{api}/health" if api else "", f"{tracking}/health" if tracking.startswith("http") else "")
        if address
    )


def _wrong_with_servers(state: Path, servers: tuple[str, ...]) -> str:
    """Return the fault of any worker on another machine: databases in files serve one machine only."""
    if not tracking_uri(state).startswith("http"):
        return "is on another machine, which cannot write MLflow's file; name a server by DENIABLE_MLFLOW_TRACKING_URI"
    if not servers or any(is_loopback(server) for server in servers):
        return "is on another machine; name Prefect's and MLflow's servers by addresses that can be reached from there"
    return ""
