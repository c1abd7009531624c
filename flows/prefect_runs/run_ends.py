"""The ends of runs that could not report them to Prefect, kept in the state folder until the watch reports them."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from prefect.client.schemas.objects import State, StateType

from stores.vault.lease import LOCKS
from stores.vault.private_files import PRIVATE_FILE


@dataclass(frozen=True, kw_only=True)
class RunEnd:
    """The state in which a run ended, and the releases that it finished.

    The message is the one that Prefect would have shown, so it holds nothing that depends on a record.
    """

    type: str
    name: str
    message: str
    finished: Sequence[str] = ()

    def as_state(self) -> State[object]:
        """The state, for Prefect."""
        return State(type=StateType(self.type), name=self.name, message=self.message)


def keep_end(state: Path, run: object, end: RunEnd) -> None:
    """Keep how a run ended; the file is whole, even if the process is stopped meanwhile."""
    place = _place(state, run)
    part = place.with_suffix(".part")
    part.touch(mode=PRIVATE_FILE)
    part.write_text(json.dumps(asdict(end)), encoding="utf-8")
    part.replace(place)


def kept_end(state: Path, run: object) -> RunEnd | None:
    """The end of a run that could not report it to Prefect; None for any other."""
    try:
        return RunEnd(**json.loads(_place(state, run).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None


def forget_end(state: Path, run: object) -> None:
    """Remove an earlier attempt's end: the run was resumed, or Prefect has the end."""
    _place(state, run).unlink(missing_ok=True)


def _place(state: Path, run: object) -> Path:
    return state / LOCKS / f".run-{run}.end"
