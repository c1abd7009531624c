"""A table of 3,000 made-up people, its schema, and a spec that releases it in seconds."""

import csv
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from ruamel.yaml import YAML

ROWS = 3000
NAMES = ["age", "sex", "school", "employed"]
SCHEMA = """
from schemas.table import nominal, numeric, table

schema = table(
    {
        "age": numeric(18, 37, width=5),
        "sex": nominal(["f", "m"]),
        "school": nominal(["none", "some", "degree"]),
        "employed": nominal(["no", "yes"]),
    },
    description="Made-up people.",
    target="employed",
)
"""
SPEC: dict[str, Any] = {
    "name": "small",
    "title": "Made-up people",
    "dataset": "people.py",
    "source": {"kind": "file", "path": "people.csv"},
    "max_invalid_share": 0.01,
    "chunk_rows": 1000,
    "split": {"seeds": 0.5, "structure": 0.15, "parameters": 0.15, "holdout": 0.2},
    "learner": {
        "kind": "cfs",
        "noise": "laplace",
        "structure": {"epsilon": 1, "delta": 1e-6, "epsilon_rows": 0.1, "max_cost": 50},
        "parameters": {"epsilon": 1, "delta": 1e-6, "prior": 1, "estimate": "mean"},
    },
    "synthesis": {
        "guarantee": "tested_seeds",
        "omega": {2: 1, 3: 1},
        "k": 20,
        "gamma": 4,
        "eps0": 1,
        "test": 2,
        "epsilon": 1.4,
        "delta": 1e-4,
        "records": 400,
        "candidates": 1500,
        "drop_probability": 0.01,
        "public_rows": 1000,
        "chunk_candidates": 512,
        "total_delta": 1e-6,
    },
    "budget": {"epsilon": 1000, "delta": 0.1},
    "evaluation": {
        "classifiers": ["tree"],
        "train_rows": 400,
        "quasi_identifiers": ["age", "sex"],
        "sensitive": ["school"],
        "known": ["age", "sex"],
    },
    "thresholds": {"tvd_2way_max": 0.5},
}

QUICK: dict[str, Any] = {
    "learner": {
        "kind": "marginals",
        "noise": "gaussian",
        "parameters": {"epsilon": 1, "delta": 1e-6, "prior": 1, "estimate": "mean"},
    },
    "split": {"shared": 0.8, "holdout": 0.2},
    "synthesis": {"guarantee": "seedless", "records": 400, "chunk_candidates": 128},
}
"""What to change for the quickest release there is."""


HISTOGRAM_SEEDS: dict[str, Any] = {
    "synthesis": {
        "guarantee": "histogram_seeds",
        "omega": 2,
        "epsilon": 1,
        "delta": 1e-6,
        "records": 600,
        "chunk_candidates": 128,
    },
    "split": {"shared": 0.8, "holdout": 0.2},
    "learner__noise": "gaussian",
    "key": {"custodian": "destroyed"},
}
"""What to change for histogram seeds, and a key that is destroyed in the end."""


def made_up_people(rows: int = ROWS, drawn: bytes = b"small release") -> list[list[str]]:
    """Return rows of text; people with more years of school are more often employed."""
    draw = np.random.default_rng(list(drawn))
    ages = draw.integers(18, 38, rows)
    schools = draw.integers(0, 3, rows)
    employed = draw.random(rows) < 0.2 + 0.3 * schools
    sexes = draw.integers(0, 2, rows)
    return [
        [str(age), "fm"[sex], ["none", "some", "degree"][school], ["no", "yes"][int(works)]]
        for age, sex, school, works in zip(ages, sexes, schools, employed, strict=True)
    ]


def public_table() -> str:
    """Return other made-up people, as a public table."""
    lines = [NAMES, *made_up_people(800, b"public people")]
    return "".join(f"{','.join(line)}\n" for line in lines)


def write_small_release(
    folder: Path,
    *,
    people: list[list[str]] | None = None,
    names: list[str] | None = None,
    schema: str = SCHEMA,
    **changes: Any,
) -> Path:
    """Write table, schema and spec to a folder.

    Args:
        folder: where they go.
        people: rows of the table; `made_up_people()` by default.
        names: columns of the table.
        schema: the module of its schema.
        changes: changes to the spec, such as `split__seeds=0.1` for a nested entry.

    Returns:
        Path of the spec.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "people.csv").open("w", newline="") as file:
        csv.writer(file).writerows([names or NAMES, *(made_up_people() if people is None else people)])
    (folder / "public.csv").write_text(public_table())
    (folder / "people.py").write_text(schema)
    spec = deepcopy(SPEC)
    for place, value in changes.items():
        *path, last = place.split("__")
        inner = spec
        for key in path:
            inner = inner[key]
        inner[last] = deepcopy(value)  # a later change may go into it
    with (folder / "spec.yaml").open("w") as file:
        YAML(typ="safe", pure=True).dump(spec, file)
    return folder / "spec.yaml"
