"""Final states of runs that could not report them to Prefect, stored in the state folder until the watch does."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from prefect.client.schemas.objects import State, StateType

from stores.own_files import read_own
from stores.vault.disk import replace_whole
from stores.vault.lease import LOCKS


@dataclass(frozen=True, kw_only=True)
class RunEnd:
    """The final state of a run, and the releases that it finished.

    The message is the one that Prefect would have shown, so it does not depend on any record.
    """

    type: str
    name: str
    message: str
    finished: Sequence[str] = ()

    def as_state(self) -> State[object]:
        """Return the state in Prefect's form."""
        return State(type=StateType(self.type), name=self.name, message=self.message)


def keep_end(state: Path, run: object, end: RunEnd) -> None:
    """Store the end of a run; the file is complete even if the process is stopped meanwhile."""
    replace_whole(_place(state, run), json.dumps(asdict(end)))


def kept_end(state: Path, run: object) -> RunEnd | None:
    """Return the stored end of a run that could not report it to Prefect; None if there is none."""
    try:
        return RunEnd(**json.loads(read_own(_place(state, run))))
    except FileNotFoundError:
        return None


def forget_end(state: Path, run: object) -> None:
    """Remove the stored end of a run that was resumed, or whose end Prefect has received."""
    _place(state, run).unlink(missing_ok=True)


def _place(state: Path, run: object) -> Path:
    return state / LOCKS / f".run-{run}.end"
