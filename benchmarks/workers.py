"""The gain from more workers of a cluster: the same release with one and with two workers, in wall and core seconds."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from benchmarks.measuring import Result, most_held_gib
from benchmarks.scaling import STEPS, Size, write_spec

_SIZE = Size(records=20_000_000)


def measured(size: Size, numbers: Sequence[int]) -> list[dict[str, Any]]:
    """Make the same release with each number of workers, on one stack, including evaluation and publication.

    Args:
        size: the size of the release.
        numbers: numbers of workers.

    Returns:
        For each number the cost of each step, the workers' core seconds, and the peak GiB of the largest worker.
    """
    with tempfile.TemporaryDirectory(prefix="deniable-bench-") as name:
        folder = Path(name)
        spec, state = write_spec(folder, size), folder / "var"
        _command(state, "stack", "up")
        try:
            return [_measured(spec, state, number, folder / f"{number}.json") for number in numbers]
        finally:
            _command(state, "stack", "down")


def by_workers(numbers: tuple[int, int] = (1, 2)) -> list[Result]:
    """Measure the same release with each number of workers, side by side."""
    found = measured(_SIZE, numbers)
    clock, cores = ([one["whole release"][what] for one in found] for what in ("seconds", "core_seconds"))
    efficiency = clock[0] * numbers[0] / (clock[1] * numbers[1])
    steps = [step for step in ("whole release", *STEPS) if step in found[0]]
    return [
        Result(f"workers, {_SIZE.records:,} records", " / ".join(map(str, numbers))),
        *(Result(step, " / ".join(f"{one[step]['seconds']:.1f} s" for one in found)) for step in steps),
        Result("core seconds of the release", " / ".join(f"{taken:.0f}" for taken in cores)),
        Result("core seconds of the workers", " / ".join(f"{one['workers']:.0f}" for one in found)),
        Result("efficiency", f"{efficiency:.2f}", "0.9"),
    ]


def _measured(spec: Path, state: Path, workers: int, figures: Path) -> dict[str, Any]:
    """Measure one release on a new cluster with the given number of workers."""
    address = _command(state, "cluster", "up", "--workers", str(workers)).rpartition("=")[2].strip()
    try:
        watching = psutil.Process(json.loads((state / "cluster" / "run" / "workers.json").read_text())["pid"])
        command = [sys.executable, "-m", "benchmarks.metered", str(spec), str(figures)]
        told = os.environ | {"DENIABLE_STATE": str(state), "DENIABLE_DASK": address}
        subprocess.run(command, env=told, check=True)
        ran = watching.children(recursive=True)
        taken = sum(one.cpu_times().user + one.cpu_times().system for one in ran)
        held = max(most_held_gib(one.pid) for one in ran)
    finally:
        _command(state, "cluster", "down")
    return {**json.loads(figures.read_text()), "workers": taken, "workers_gib": held}


def _command(state: Path, *arguments: str) -> str:
    """Run one of our commands, and return its output."""
    command = [sys.executable, "-m", "flows", *arguments, "--state", str(state)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
