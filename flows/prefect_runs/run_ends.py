"""How runs of the deployments ended that could not tell Prefect, kept in the state folder until the watch tells it."""

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
    """Keep how a run ended; a process that is stopped meanwhile leaves no half of it."""
    place = _place(state, run)
    part = place.with_suffix(".part")
    part.touch(mode=PRIVATE_FILE)
    part.write_text(json.dumps(asdict(end)), encoding="utf-8")
    part.replace(place)


def kept_end(state: Path, run: object) -> RunEnd | None:
    """How a run ended that could not tell Prefect; None for any other."""
    try:
        return RunEnd(**json.loads(_place(state, run).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None


def forget_end(state: Path, run: object) -> None:
    """Leave nothing of an earlier attempt's end: the run goes on, or Prefect was told."""
    _place(state, run).unlink(missing_ok=True)


def _place(state: Path, run: object) -> Path:
    return state / LOCKS / f".run-{run}.end"
