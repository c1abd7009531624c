"""The cost of a release by its sizes (records in, records out, attributes), with each step's time and memory."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import dataset
from ruamel.yaml import YAML

from benchmarks.measuring import Result
from benchmarks.wide import write_people

STEPS = (
    "ingest",
    "validate",
    "clean",
    "split",
    "learn_structure",
    "learn_parameters",
    "learn_loglinear",
    "synthesize",
    "gather",
    "evaluate_utility",
    "evaluate_risk",
    "publish",
    "verify_published",
)
_SCHEMA = """
from benchmarks.wide import columns
from schemas.table import table

schema = table(columns({attributes}), target="a01")
"""
_LEARNERS: dict[str, dict[str, Any]] = {
    "loglinear": {"kind": "loglinear", "noise": "gaussian", "parameters": {"epsilon": 1, "delta": 1e-9}},
    "cfs": {
        "kind": "cfs",
        "noise": "laplace",
        "structure": {"epsilon": 0.5, "delta": 1e-10, "epsilon_rows": 0.01, "max_cost": 300},
        "parameters": {"epsilon": 0.5, "delta": 1e-10, "prior": 1.0, "estimate": "mean"},
    },
}


@dataclass(frozen=True)
class Size:
    """The size of one measured release.

    Attributes:
        people: number of records for learning and evaluation.
        records: number of released records.
        attributes: number of attributes.
        learner: `loglinear` or `cfs`.
        partitioned: whether the people are in one folder per value of an attribute (Hive partitions).
    """

    people: int = 200_000
    records: int = 1_000_000
    attributes: int = 11
    learner: str = "loglinear"
    partitioned: bool = False


def by_records(records: Sequence[int] = (1_000_000, 10_000_000)) -> list[Result]:
    """Release increasing numbers of records, learnt from the same people."""
    return _side_by_side(
        "records released", [f"{size:,}" for size in records], [Size(records=size) for size in records]
    )


def by_people(people: Sequence[int] = (1_000_000, 10_000_000)) -> list[Result]:
    """Learn from increasing numbers of people, in partitioned Parquet, and release the same number of records."""
    sizes = [Size(people=size, records=200_000, partitioned=True) for size in people]
    return _side_by_side("people learnt from", [f"{size:,}" for size in people], sizes)


def by_attributes(attributes: Sequence[int] = (10, 20, 40, 80)) -> list[Result]:
    """Release tables of increasing numbers of attributes, with each learner."""
    return [
        result
        for learner in _LEARNERS
        for result in _side_by_side(
            f"attributes, learner {learner}",
            [f"{size}" for size in attributes],
            [Size(100_000, 100_000, size, learner) for size in attributes],
        )
    ]


def _side_by_side(what: str, names: Sequence[str], sizes: Sequence[Size]) -> list[Result]:
    """Return one line per step, with one column per release."""
    found = [measured(size) for size in sizes]
    steps = [step for step in ("whole release", *STEPS) if step in found[0]]
    files = list(found[0]["files"])
    return [
        Result(what, " / ".join(names)),
        *(Result(step, " / ".join(_took(one[step]) for one in found)) for step in steps),
        *(Result(file, " / ".join(f"{one['files'][file] / 2**20:,.0f} MiB" for one in found)) for file in files),
    ]


def _took(step: dict[str, float]) -> str:
    """Return wall time, core time and memory of a step, in words."""
    return f"{step['seconds']:.1f} s ({step['core_seconds']:.1f} of cores, {step['gib']:.2f} GiB)"


def measured(size: Size) -> dict[str, Any]:
    """Run one release in a separate process, and return the cost of each step and the sizes of its files.

    Args:
        size: the size of the release.
    """
    with tempfile.TemporaryDirectory(prefix="deniable-bench-") as name:
        folder = Path(name)
        write_spec(folder, size)
        command = [sys.executable, "-m", "benchmarks.metered", str(folder / "spec.yaml"), str(folder / "figures.json")]
        done = subprocess.run(command, env=os.environ | {"DENIABLE_STATE": str(folder / "var")}, check=False)
        if done.returncode != 0:
            raise SystemExit(f"the release must succeed to be measured, got exit code {done.returncode}.")
        found: dict[str, Any] = json.loads((folder / "figures.json").read_text())
        (published,) = (folder / "var" / "releases").iterdir()
        files = {name: (published / name).stat().st_size for name in ("synthetic.csv", "synthetic.parquet")}
        files["all of the state folder"] = sum(
            path.stat().st_size for path in (folder / "var").rglob("*") if path.is_file()
        )
        return {**found, "files": files}


def write_spec(folder: Path, size: Size) -> Path:
    """Write `spec.yaml`, its schema and its people to a folder.

    Args:
        folder: the folder.
        size: the size of the release.
    """
    people = folder / "people.parquet"
    if size.partitioned:
        write_people(folder / "all.parquet", size.attributes, size.people)
        values = pa.schema([("a02", pa.int64())])
        dataset.write_dataset(
            dataset.dataset(folder / "all.parquet"),
            people,
            format="parquet",
            partitioning=dataset.partitioning(values, flavor="hive"),
        )
        (folder / "all.parquet").unlink()
    else:
        write_people(people, size.attributes, size.people)
    (folder / "people.py").write_text(_SCHEMA.format(attributes=size.attributes))
    with (folder / "spec.yaml").open("w") as file:
        YAML(typ="safe", pure=True).dump(_spec(size), file)
    return folder / "spec.yaml"


def _spec(size: Size) -> dict[str, Any]:
    learner = _LEARNERS[size.learner]
    return {
        "name": "scaling",
        "title": "Made-up people",
        "dataset": "people.py",
        "source": {"kind": "file", "path": "people.parquet"},
        "max_invalid_share": 0.001,
        "chunk_rows": 100_000,
        "split": {"seeds": 0.01, "parameters": 0.6, "holdout": 0.2}
        | ({"structure": 0.19} if "structure" in learner else {}),
        "learner": learner,
        "synthesis": {"guarantee": "seedless", "records": size.records, "chunk_candidates": 65_536},
        "budget": {"epsilon": 20, "delta": 1e-5},
        "evaluation": {
            "classifiers": ["tree", "forest"],
            "train_rows": 20_000,
            "quasi_identifiers": ["a00", "a01", "a04"],
            "known": ["a00", "a01", "a03"],
            "sensitive": ["a02"],
        },
        "thresholds": {"tvd_2way_max": 0.9},
    }
