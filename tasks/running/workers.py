"""The workers that the steps of this flow are sent to, if it has any, and how many parts of work are worth sending.

How they are sent is for whoever starts the flow to say; it is not known here.
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
        """Refuse what has no workers, or others than this flow needs.

        Args:
            state: the state folder.

        Raises:
            Refused: there is something wrong with them.
        """


def workers() -> Workers | None:
    """The workers of this flow; None where its tasks run in this process."""
    context = FlowRunContext.get()
    runner = context.task_runner if context is not None else None
    return runner if isinstance(runner, Workers) else None


def require_workers(state: Path) -> None:
    """Refuse a flow whose workers are not there, or are not what it needs; one that runs here needs none.

    Args:
        state: the state folder.

    Raises:
        Refused: there is something wrong with them.
    """
    there = workers()
    if there is not None:
        there.require_workers(state)
