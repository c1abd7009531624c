"""`python -m benchmarks.peer_programs.driver REQUEST`: run one program once, on one core, by the same protocol as all.

Reads a request, and writes beside it `records.npy` (the codes of the records, a row each) and `figures.json`. Runs in
the environment of the program, so it imports nothing but the standard library, numpy, and the module of the program.
"""

import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.measuring import most_held_gib

RECORDS: Final = "records.npy"
FIGURES: Final = "figures.json"
_TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Request:
    """What to run.

    Attributes:
        module: a module of this package.
        program: a program of its PROGRAMS.
        train: CSV file of the codes to learn from, with a header.
        meta: JSON file that describes its columns.
        seed: the seed of the program's randomness.
        epsilon: the total epsilon.
        delta: the total delta, for programs that spend one.
        records: number of records to draw.
        core: the core on which everything runs.
        warm_within: CPU seconds; a program that takes longer is not fitted a second time.
    """

    module: str
    program: str
    train: str
    meta: str
    seed: int
    epsilon: float
    delta: float
    records: int
    core: int
    warm_within: float

    @property
    def sizes(self) -> dict[str, int]:
        """Number of values of each column, which is public."""
        columns = json.loads(Path(self.meta).read_text(encoding="utf-8"))["columns"]
        return {name: column["size"] for name, column in columns.items()}

    def write(self, folder: Path) -> Path:
        """Write the request into a folder, and return its path."""
        path = folder / "request.json"
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")
        return path


Draw = Callable[[int], Any]
"""Draws a number of records, as a two-dimensional array of codes in the order of the columns."""
Fit = Callable[[Request], Draw]
"""Reads the file and fits to it."""


def spent(process: int) -> float:
    """Return the CPU seconds of a process and its children, in steps of a clock tick; 0 if it has ended.

    Args:
        process: its id.
    """
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    own = sum(map(int, stat.rpartition(")")[2].split()[11:15])) / _TICKS
    return own + sum(spent(child) for child in children(process))


def children(process: int) -> list[int]:
    """Return the ids of the running children of a process."""
    found: list[int] = []
    for listed in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            found += map(int, listed.read_text(encoding="utf-8").split())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def spent_here() -> float:
    """Return the CPU seconds of this process from its start, all its threads and children included."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    running = sum(spent(child) for child in children(os.getpid()))
    return time.process_time() + ended.ru_utime + ended.ru_stime + running


def most_held_mib() -> float:
    """Return the peak memory of this process or of its largest child, in MiB."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    here = os.getpid()
    return max(ended, _peak(here), *map(_peak, children(here))) / 2**10


def _peak(process: int) -> float:
    try:
        return most_held_gib(process) * 2**20
    except (FileNotFoundError, ProcessLookupError, ValueError):
        # It has ended.
        return 0.0


def run(request: Request, folder: Path) -> None:
    """Fit, draw and write the records; then draw and fit again, for figures of a warm process."""
    os.sched_setaffinity(0, {request.core})
    module = importlib.import_module(f"benchmarks.peer_programs.{request.module}")
    fit: Fit = module.PROGRAMS[request.program]
    draw = fit(request)
    import numpy as np  # noqa: PLC0415 - imported when the program is, so that it counts

    np.save(folder / RECORDS, np.asarray(draw(request.records)))
    figures = {"cold": spent_here(), "mib": most_held_mib()}
    _write(folder, figures)
    start = spent_here()
    draw(request.records)
    figures["per_second"] = request.records / (spent_here() - start)
    _write(folder, figures)
    if figures["cold"] <= request.warm_within:
        start = spent_here()
        fit(request)
        figures["warm"] = spent_here() - start
        _write(folder, figures)


def _write(folder: Path, figures: dict[str, float]) -> None:
    new = folder / "figures.new"
    new.write_text(json.dumps(figures), encoding="utf-8")
    new.replace(folder / FIGURES)


if __name__ == "__main__":
    asked = Path(sys.argv[1])
    run(Request(**json.loads(asked.read_text(encoding="utf-8"))), asked.parent)
