"""Tables of which no attribute, or only one, has several values: nothing is charged, or all of the budget is spent."""

from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.foundation.keys import ReleaseKey
from deniable.learners.registry import steps_of
from deniable.privacy.loss import MechanismEvent
from schemas.spec.release_spec import load_spec
from tests.mechanisms.audit.subjects import InMemory
from tests.mechanisms.table import ROWS
from tests.small_release import write_small_release
from tests.urn_law import plain_domain

_LEARNERS = ("independent", "marginals", "pegs_noisy", "privbayes", "cfs", "loglinear", "mst", "aim")
"""Those that release noisy counts, and need no public file."""
_PURE = ("independent", "marginals", "pegs_noisy", "privbayes")
"""Those whose counts have the noise of their whole epsilon."""
_RECORDS = 2000


def learnt(kind: str, folder: Path, *cardinalities: int) -> tuple[Any, list[MechanismEvent]]:
    """Run a learner; its entry, and the events of its parameters."""
    entry = load_spec(write_small_release(folder, **ROWS[f"learner {kind}"])).learner
    if kind == "pegs_noisy":
        entry = entry.model_copy(update={"orders": None})
    domain, key = plain_domain(*cardinalities), ReleaseKey(bytes(32))
    codes = np.stack([np.arange(_RECORDS) % size for size in cardinalities], axis=1).astype(np.uint16)
    made: dict[str, Any] = {}
    events: list[MechanismEvent] = []
    for step in steps_of(entry, domain, lambda delta: delta):
        given = {name: made[name] for name in step.reads}
        made |= step.run(InMemory(codes), given, partial(key.stream, step=step.name, inputs="")).products
        events += step.events if step.part == "parameters" else ()
    return entry, events


@pytest.mark.parametrize("kind", _LEARNERS)
def test_a_table_without_an_attribute_of_several_values_is_learnt_and_costs_no_tables(
    kind: str, tmp_path: Path
) -> None:
    assert learnt(kind, tmp_path, 1, 1)[1] == []


@pytest.mark.parametrize("kind", _PURE)
def test_one_table_is_measured_with_the_whole_budget(kind: str, tmp_path: Path) -> None:
    entry, events = learnt(kind, tmp_path, 3, 1)
    spent = sum(Fraction(str(event.epsilon)) * event.outputs for event in events)
    assert float(spent) == pytest.approx(float(entry.parameters.epsilon), rel=1e-9)
