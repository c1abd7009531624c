"""The content of a run's page in Prefect: a name with the outcome, and the lines that a terminal shows.

Only lines passed to this module get there, and they must suit every reader of Prefect's database: no figure measured on
real records, and only errors whose messages are public. Prefect's own loggers send nothing (infra.environment). A
server that does not answer neither delays a run nor makes it fail.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from datetime import UTC, datetime
from threading import Condition, Thread
from time import sleep
from typing import TypeVar, cast

from prefect import get_client
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import LogCreate
from prefect.client.schemas.objects import FlowRun
from prefect.context import FlowRunContext
from prefect.states import Completed

from deniable.foundation.errors import DeniableError, Refused
from flows.prefect_runs.run_tags import DATASET, RELEASE
from flows.progress import StepLines
from stores.vault.pending_approval import Held
from tasks.running.progress import watching

R = TypeVar("R")

_LOGGER = "deniable"
_TOGETHER_S = 0.5
_GRACE_S = 10.0


class RunPage:
    """The page of one run of a flow; without a run, nothing is sent anywhere.

    Args:
        subject: what the run does, such as `refresh of acs_ma`.
        run: the run.
        is_release: whether the run is named by its release alone, once that has a name.
    """

    def __init__(self, subject: str, run: FlowRun | None, *, is_release: bool = False) -> None:
        self._subject, self._release, self._outcome = subject, "", ""
        self._is_release = is_release
        self._post = _Post(run) if run is not None else None
        self._name()

    def about(self, dataset: str, release: str = "") -> None:
        """State the dataset of the run, and the release that it works on, if any."""
        self._release, self._outcome = release, ""
        self._name()
        if self._post is not None:
            self._post.tag([f"{DATASET}{dataset}", *([f"{RELEASE}{release}"] if release else [])])

    def ended(self, outcome: str) -> None:
        """State the outcome in a word or two."""
        self._outcome = outcome
        self._name()

    def failed(self, error: BaseException) -> None:
        """Report that an error ended the run, with its message if that is public."""
        if not self._outcome:
            self.ended(_outcome(error))
        level = logging.WARNING if isinstance(error, Held) else logging.ERROR
        self.say(*_said_of(error).splitlines(), level=level)

    def say(self, *lines: str, level: int = logging.INFO) -> None:
        """Add lines to the run's log."""
        if self._post is not None:
            self._post.add(lines, level)

    @contextmanager
    def telling_steps(self, amounts: Mapping[str, int]) -> Iterator[None]:
        """Add a line for each step that ends, as in a terminal's log, until the block ends.

        Args:
            amounts: amount of work of the steps for which it is known, in the unit in which they advance.
        """
        with watching(StepLines(self.say, amounts)):
            yield

    def close(self) -> None:
        """Wait until everything is sent, for a few seconds at most."""
        if self._post is not None:
            self._post.close()

    def _name(self) -> None:
        if self._is_release:
            said = (self._release or self._subject, self._outcome)
        else:
            said = (self._subject, f"{self._outcome} {self._release}".strip())
        if self._post is not None:
            self._post.call(": ".join(filter(None, said)))


_pages: ContextVar[RunPage | None] = ContextVar("page", default=None)


@contextmanager
def on_its_page(subject: str, *, is_release: bool = False) -> Iterator[RunPage]:
    """Make the current run report its work and its outcome until the block ends.

    Args:
        subject: what the run does, such as `refresh of acs_ma`; a run that already has a page keeps it.
        is_release: whether the run is named by its release alone, once that has a name.

    Yields:
        The run's page.
    """
    if (there := _pages.get()) is not None:
        yield there
        return
    context = FlowRunContext.get()
    page = RunPage(subject, context.flow_run if context is not None else None, is_release=is_release)
    token = _pages.set(page)
    try:
        yield page
    except BaseException as error:
        page.failed(error)
        raise
    finally:
        _pages.reset(token)
        page.close()


def completed(said: str, result: R) -> R:
    """End a flow with a message in its state; the caller of the flow gets only the result.

    A flow that Prefect may retry in the same process ends without a message: the engine ignores a state that such a
    flow returns, and raises the error of the previous attempt.
    """
    context = FlowRunContext.get()
    if context is not None and context.flow is not None and context.flow.retries:
        return result
    return cast("R", Completed(message=said, data=result))


class _Post:
    """Sends names and lines to Prefect's server in a separate thread."""

    def __init__(self, run: FlowRun) -> None:
        self._run, self._name, self._tags = run.id, "", list(run.tags)
        # Lines of an earlier attempt of the same run are of no use.
        self._others = [tag for tag in run.tags if not tag.startswith((DATASET, RELEASE))]
        self._known = (self._name, self._tags)
        self._lines: list[LogCreate] = []
        self._told, self._over = 0, False
        self._news = Condition()
        # The address of Prefect's server may be known only in this context.
        self._thread = Thread(target=copy_context().run, args=(self._deliver,), name="run page", daemon=True)
        self._thread.start()

    def call(self, name: str) -> None:
        """Set the run's name."""
        with self._news:
            self._name = name
            self._news.notify_all()

    def tag(self, tags: Iterable[str]) -> None:
        """Tag the run, keeping other tags."""
        with self._news:
            self._tags = [*self._others, *tags]
            self._news.notify_all()

    def add(self, lines: Iterable[str], level: int) -> None:
        """Add lines to the run's log."""
        common = {"name": _LOGGER, "level": level, "timestamp": datetime.now(UTC), "flow_run_id": self._run}
        with self._news:
            self._lines += [LogCreate.model_validate({**common, "message": line}) for line in lines]
            self._news.notify_all()

    def close(self) -> None:
        """Wait until everything is sent, for a few seconds at most."""
        with self._news:
            self._over = True
            self._news.notify_all()
        self._thread.join(_GRACE_S)
        with self._news:
            # Whatever could not be sent by now is dropped.
            self._known, self._told = (self._name, self._tags), len(self._lines)

    def _deliver(self) -> None:
        while not self._is_done():
            # A rejection by Prefect does not make the run fail; it is sent again with the next lines.
            with suppress(Exception), get_client(sync_client=True) as client:
                self._tell(client)
            if not self._is_done():
                sleep(_TOGETHER_S)

    def _tell(self, client: SyncPrefectClient) -> None:
        """Send what is new, a few times a second, until everything is sent and nothing more will follow."""
        while not self._is_done():
            with self._news:
                self._news.wait_for(lambda: self._over or self._is_new())
                self._news.wait_for(lambda: self._over, timeout=_TOGETHER_S)
                called, lines = (self._name, self._tags), self._lines[self._told :]
            if called != self._known:
                client.update_flow_run(self._run, name=called[0], tags=called[1])
                self._known = called
            if lines:
                client.create_logs(lines)
                self._told += len(lines)

    def _is_new(self) -> bool:
        return (self._name, self._tags) != self._known or len(self._lines) > self._told

    def _is_done(self) -> bool:
        return self._over and not self._is_new()


def _outcome(error: BaseException) -> str:
    """Return the outcome of a run that an error ended, in a word."""
    if isinstance(error, Held):
        return "held"
    if isinstance(error, Refused):
        return "refused"
    return "failed" if isinstance(error, Exception) else "interrupted"


def _said_of(error: BaseException) -> str:
    """Return the public text of an error."""
    if isinstance(error, DeniableError):
        return str(error)
    if isinstance(error, Exception):
        return f"an unexpected error ended the run ({type(error).__name__})."
    return "interrupted; what was paid for is kept, and the next run resumes it."
