"""Whether the steps of this flow can be sent to other processes, and how many parts of their work are worth it.

How they are sent is for whoever starts the flow to say; it is not known here.
"""

from pathlib import Path
from typing import Protocol, runtime_checkable

from prefect.context import FlowRunContext


@runtime_checkable
class Elsewhere(Protocol):
    """What runs the tasks of a flow in other processes."""

    def hands(self) -> int:
        """How many tasks run at the same time."""

    def require_workers(self, state: Path) -> None:
        """Refuse what has no workers, or others than this flow needs.

        Args:
            state: the state folder.

        Raises:
            Refused: there is something wrong with them.
        """


def elsewhere() -> Elsewhere | None:
    """What runs the tasks of this flow in other processes; None where they run here."""
    context = FlowRunContext.get()
    runner = context.task_runner if context is not None else None
    return runner if isinstance(runner, Elsewhere) else None


def require_workers(state: Path) -> None:
    """Refuse a flow whose workers are not there, or are not what it needs; one that runs here needs none.

    Args:
        state: the state folder.

    Raises:
        Refused: there is something wrong with them.
    """
    runner = elsewhere()
    if runner is not None:
        runner.require_workers(state)
