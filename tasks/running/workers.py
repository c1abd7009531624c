"""The workers that the steps of this flow are sent to, if it has any.

How the steps are sent is chosen where the flow is started.
"""

from pathlib import Path
from typing import Protocol, runtime_checkable

from prefect.context import FlowRunContext


@runtime_checkable
class Workers(Protocol):
    """The processes, other than this one, that run the tasks of a flow."""

    def hands(self) -> int:
        """How many tasks run at the same time."""

    def require_workers(self, state: Path) -> None:
        """Require the workers that this flow needs.

        Args:
            state: the state folder.

        Raises:
            Refused: there are none, or they do not fit.
        """


def workers() -> Workers | None:
    """The workers of this flow; None if its tasks run in this process."""
    context = FlowRunContext.get()
    runner = context.task_runner if context is not None else None
    return runner if isinstance(runner, Workers) else None


def require_workers(state: Path) -> None:
    """Require the workers that a flow needs; a flow that runs in this process needs none.

    Args:
        state: the state folder.

    Raises:
        Refused: there are none, or they do not fit.
    """
    there = workers()
    if there is not None:
        there.require_workers(state)
