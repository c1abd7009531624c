"""A table of made-up people that satisfy rules of every kind, its schema, and the entries of a spec."""

from typing import Any

import numpy as np

ROWS = 3000
NAMES = ["age", "sex", "work", "weeks", "months", "group"]
SCHEMA = """
from schemas.rules import at_most, derived, impossible, public_counts, public_total, skipped
from schemas.table import nominal, numeric, table

BOOK = "codebook of the made-up survey, page 3"

schema = table(
    {
        "age": numeric(10, 29, width=5),
        "sex": nominal(["f", "m"]),
        "work": nominal(["inapplicable", "employed", "out"]),
        "weeks": numeric(0, 12),
        "months": numeric(0, 12, width=4),
        "group": nominal(["child", "young", "adult"]),
    },
    description="Made-up people with rules.",
    target="sex",
    rules=[
        skipped({"work": "inapplicable"}, when={"age": lambda age: age < 16}, source=BOOK),
        at_most("weeks", "months", source=BOOK),
        impossible({"age": range(16), "months": lambda months: months > 6}, source=BOOK),
        derived(
            "group",
            ["age", "work"],
            lambda age, work: "child" if age < 16 else "young" if age < 20 and work == "out" else "adult",
            source=BOOK,
        ),
    ],
    totals=[
        public_total(3000, source="census of the made-up people"),
        public_counts("sex", {"f": 1480, "m": 1520}, source="census of the made-up people"),
    ],
)
"""
CHANGES: dict[str, Any] = {
    "evaluation": {
        "classifiers": ["tree"],
        "train_rows": 400,
        "quasi_identifiers": ["age", "sex"],
        "sensitive": ["work"],
        "known": ["age", "sex"],
    },
    "thresholds": {},
}
"""What the spec of a release of this table says otherwise than the small one's."""


def people_with_rules(rows: int = ROWS) -> list[list[str]]:
    """Return rows of text that satisfy the rules."""
    draw = np.random.default_rng(list(b"people with rules"))
    found = []
    for _ in range(rows):
        age, sex = int(draw.integers(10, 30)), "fm"[draw.integers(2)]
        months = int(draw.integers(0, 7 if age < 16 else 13))
        weeks = int(draw.integers(0, months + 1))
        work = "inapplicable" if age < 16 else ["employed", "out"][int(draw.random() < 0.3)]
        group = "child" if age < 16 else "young" if age < 20 and work == "out" else "adult"
        found.append([str(age), sex, work, str(weeks), str(months), group])
    return found


def asked(**changes: Any) -> dict[str, Any]:
    """Return the spec entries for a release of this table."""
    return {"people": people_with_rules(), "names": NAMES, "schema": SCHEMA, **CHANGES, **changes}
