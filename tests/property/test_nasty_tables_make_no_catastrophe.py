"""A release of any table is refused in a sentence, held for a person, or no worse than knowing nothing.

Tables are those of tests.nasty_tables; a spec says of them only where they are and at what epsilon they are released.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from deniable.foundation.errors import DeniableError
from schemas.spec.release_spec import load_spec
from stores.tables.tables import load_codes
from tasks.evaluation.decide import decide
from tests.extent import drawn, is_night
from tests.nasty_tables import MISSING, SHAPES, NastyTable, nasty_tables
from tests.whole_release import Drawn, drawn_by

pytestmark = pytest.mark.slow

KEY = bytes(range(32))
SEED = int.from_bytes(np.random.default_rng().bytes(4)) if is_night() else 20260
TABLES = list(nasty_tables(drawn(4 * len(SHAPES), len(SHAPES)), SEED))

BY_NIGHT = ("200 attributes", "mixed,", "one attribute of 40,000 values")
"""Beginnings of shapes that take long, of which there are others like them by day."""
RELEASED = [
    pytest.param(
        number,
        marks=[pytest.mark.nightly] if table.shape.startswith(BY_NIGHT) else [],
        id=f"{number} {table.shape[:40]}",
    )
    for number, table in enumerate(TABLES)
]

WORSE_THAN_NOTHING = 0.2
"""By how much a released attribute may be further from the real one than even counts are.

Where all of 4,000 values occur once or never, it is .15: some noise is taken for signal.
"""

CLOSE = 0.1
"""How far an attribute of few values may be from the real one, of 2,000 people at epsilon 1."""

FEW_VALUES, FEW_ATTRIBUTES, MANY_ROWS = 8, 20, 2000


@dataclass(frozen=True)
class Ended:
    """How a release ended.

    Attributes:
        refusal: the sentence by which it was refused; empty if it was not.
        drawn: what it would publish.
        held: why a person must decide; empty if nobody must.
    """

    refusal: str = ""
    drawn: Drawn | None = None
    held: tuple[str, ...] = ()


def released(table: NastyTable, folder: Path) -> Ended:
    """Release a table by the steps themselves; only refusals that are meant for people end it."""
    spec = load_spec(table.write(folder / "spec"))
    try:
        found = drawn_by(spec, folder, "nasty-1", KEY, f"nasty-{folder.name}")
    except DeniableError as error:
        return Ended(str(error))
    measured = next((item for item in found.learnt if item.name == "measured"), None)
    outcome = decide(found.workspace, *found.figures, measured).outcome
    found.publish()
    return Ended(drawn=found, held=outcome.reasons)


def distances(table: NastyTable, found: Drawn) -> dict[str, tuple[float, float]]:
    """Total variation distance of each attribute to the real table, and that of even counts."""
    codes = load_codes(found.codes.path, found.workspace.spec.domain)
    result = {}
    for number, (name, column) in enumerate(table.columns.items()):
        size = table.values[name]
        real = np.bincount(column, minlength=size) / len(column)
        made = np.bincount(codes[:, number], minlength=size) / len(codes)
        even = np.bincount(np.arange(len(codes)) % size, minlength=size) / len(codes)
        result[name] = float(np.abs(made - real).sum() / 2), float(np.abs(even - real).sum() / 2)
    return result


@pytest.mark.parametrize("number", RELEASED)
def test_a_nasty_table_makes_no_catastrophe(number: int, tmp_path: Path) -> None:
    table = TABLES[number]
    ended, rows = released(table, tmp_path / "nasty"), len(next(iter(table.columns.values())))
    if ended.refusal:
        sentence, _, _ = ended.refusal.partition("; the counts are in")
        assert "failed" not in sentence, ended.refusal
        assert not re.search(rf"\b{rows}\b", re.sub(r"holdout of 0|5\.000%", "", sentence)), sentence
        return
    assert ended.drawn is not None
    assert not any((column == MISSING).any() for column in table.columns.values())
    is_easy = table.epsilon >= 1 and len(table.columns) <= FEW_ATTRIBUTES and rows >= MANY_ROWS
    for name, (made, even) in distances(table, ended.drawn).items():
        assert ended.held or made <= even + WORSE_THAN_NOTHING, (table.shape, name, made, even)
        assert made <= CLOSE or not (is_easy and table.values[name] <= FEW_VALUES), (table.shape, name, made)
    record = json.loads((ended.drawn.workspace.release_folder / "privacy.json").read_text())
    assert record["total"]["epsilon"] <= table.epsilon


def test_each_shape_ends_as_it_should(tmp_path: Path) -> None:
    """The sentences; each shape is released by the test above as well, so few are repeated here."""
    shapes = dict(zip(SHAPES, nasty_tables(len(SHAPES), 1), strict=False))
    missing = released(shapes["all missing"], tmp_path / "missing").refusal
    assert missing.startswith("at most 5.000% of the rows in scope may be left out because they lack a value or have")
    one = released(shapes["one row"], tmp_path / "one").refusal
    assert one.startswith("each part of the split must have a record, got one without;")
