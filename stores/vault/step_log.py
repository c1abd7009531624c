"""Inputs, outputs, costs and artifacts of each step of a release, noted in the vault when the step ends.

The provenance record is made from these notes and not from MLflow, where everything can be changed afterwards.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from deniable.privacy.loss import Guarantee, MechanismEvent
from deniable.roles import Role
from schemas.provenance import Artifact, Resource, Spent, Step
from schemas.references import Audience, Reference
from stores.own_files import NotOurFile, read_own
from stores.vault.private_files import make_private_folder
from stores.vault.workspace import Workspace

SEEDED = "records_seeded"
"""The figure of the step `synthesize`, and of `gather` for all of its parts: records that start from a seed."""

_FOLDER = "record"
_NOT_IN_NAMES = re.compile(r"[^a-z0-9_]+")


def time_now() -> str:
    """The current time in Coordinated Universal Time, to the second."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


def resource(reference: Reference) -> Resource:
    """A stored file in the form of the record: without its location and its number of rows."""
    return Resource(name=reference.name, digest=reference.digest, audience=reference.audience)


def spent(guarantee: Guarantee | None) -> Spent | None:
    """A guarantee in the form of the record; JSON has no infinity."""
    if guarantee is None:
        return None
    epsilon = guarantee.epsilon if math.isfinite(guarantee.epsilon) else None
    return Spent(epsilon=epsilon, delta=guarantee.delta, accountant=guarantee.accountant)


@dataclass
class StepDraft:
    """What a step in progress has done so far."""

    started: str = field(default_factory=time_now)
    inputs: list[Resource] = field(default_factory=list)
    outputs: list[Resource] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=dict)
    figures: dict[str, float] = field(default_factory=dict)
    artifacts: dict[str, Artifact] = field(default_factory=dict)
    cost: Spent | None = None
    events: tuple[dict[str, Any], ...] = ()

    def spent(self, guarantee: Guarantee | None, events: Sequence[MechanismEvent]) -> None:
        """Note the cost of the step; the last call is valid."""
        self.cost = spent(guarantee)
        self.events = tuple(event.to_record() for event in events)

    def artifact(self, name: str, audience: Audience, content: bytes) -> None:
        """Note a file that the step stored in MLflow; it replaces one of the same name and audience."""
        self.artifacts[f"{audience.value}/{name}"] = Artifact(
            name=name, audience=audience, sha256=sha256(content).hexdigest()
        )

    def finished(self, step: str, part: str | None, *, mlflow_run: str, task_run: str | None) -> Step:
        """The completed step."""
        return Step(
            step=step,
            part=part,
            inputs=tuple(self.inputs),
            outputs=tuple(self.outputs),
            cost=self.cost,
            events=self.events,
            artifacts=tuple(self.artifacts[place] for place in sorted(self.artifacts)),
            started=self.started,
            ended=time_now(),
            mlflow_run=mlflow_run,
            prefect_task_run=str(task_run) if task_run else None,
            parameters=self.parameters,
            # JSON has neither infinity nor NaN.
            figures={name: value for name, value in self.figures.items() if math.isfinite(value)},
        )


def note_step(workspace: Workspace, step: Step) -> None:
    """Note a successful step; if a resumed release repeats it, the later note replaces this one."""
    name = _NOT_IN_NAMES.sub("-", f"{step.step} {step.part}" if step.part else step.step)
    make_private_folder(workspace.vault / _FOLDER)
    with workspace.writing(f"{_FOLDER}/{name}.json", Audience.RESTRICTED) as path:
        path.write_text(step.model_dump_json(), encoding="utf-8")


def noted_steps(workspace: Workspace, order: Sequence[str]) -> tuple[Step, ...]:
    """The successful steps.

    Args:
        workspace: the release.
        order: names of all steps, in the order of the flow.

    Returns:
        The steps in that order; the parts of a step are sorted by number and come before the step as a whole.
    """
    return tuple(
        sorted(
            _notes(workspace), key=lambda note: (order.index(note.step), _numbers(note.part or ""), note.part is None)
        )
    )


def seeded_of_blocks(workspace: Workspace) -> int | None:
    """How many drawn records start from a seed, as all parts of the step `synthesize` noted; None if none noted it."""
    name = f"{Audience.INTERNAL.value}/{SEEDED}"
    notes = [note.figures or {} for note in _notes(workspace) if note.step == Role.CANDIDATES]
    found = [int(figures[name]) for figures in notes if name in figures]
    return sum(found) if found else None


def seeded_records(workspace: Workspace) -> int | None:
    """How many released records start from a seed, as the step `gather` noted; None if it did not."""
    name = f"{Audience.PUBLIC.value}/{SEEDED}"
    notes = [note.figures or {} for note in _notes(workspace) if note.step == "gather"]
    return next((int(figures[name]) for figures in notes if name in figures), None)


def _notes(workspace: Workspace) -> list[Step]:
    return [Step.model_validate_json(read_own(path)) for path in (workspace.vault / _FOLDER).glob("*.json")]


def spent_nothing(vault: Path, step: str) -> bool:
    """Whether a step of a release is noted to have spent nothing; False if it is not noted, or not readably.

    Args:
        vault: the release's folder in the vault.
        step: name of the step, which has no parts.
    """
    try:
        note = Step.model_validate_json(read_own(vault / _FOLDER / f"{step}.json"))
    except (NotOurFile, OSError, ValueError):
        return False
    return not note.events and note.cost is not None and (note.cost.epsilon, note.cost.delta) == (0, 0)


def _numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]
