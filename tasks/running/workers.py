"""The workers to which the steps of this flow are sent, if any.

The starter of the flow chooses how the steps are sent.
"""

from pathlib import Path
from typing import Protocol, runtime_checkable

from prefect.context import FlowRunContext


@runtime_checkable
class Workers(Protocol):
    """Other processes that run the tasks of a flow."""

    def hands(self) -> int:
        """Return how many tasks run at the same time."""

    def require_workers(self, state: Path) -> None:
        """Require the workers that this flow needs.

        Args:
            state: the state folder.

        Raises:
            Refused: there are none, or they do not fit.
        """


def workers() -> Workers | None:
    """Return the workers of this flow; None if its tasks run in this process."""
    context = FlowRunContext.get()
    runner = context.task_runner if context is not None else None
    return runner if isinstance(runner, Workers) else None


def require_workers(state: Path) -> None:
    """Require the workers that this flow needs; a flow that runs in this process needs none.

    Args:
        state: the state folder.

    Raises:
        Refused: there are none, or they do not fit.
    """
    there = workers()
    if there is not None:
        there.require_workers(state)
