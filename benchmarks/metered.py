"""`python -m benchmarks.metered SPEC FIGURES`: one release in a separate process, metered step by step.

A step is metered by its whole process: wall seconds, seconds of all cores, and peak memory.
"""

import json
import sys
import time
from pathlib import Path

from benchmarks.measuring import forget_the_most, most_held_gib
from deniable.cli.dispatch import main
from tasks.running.progress import watching


class Meter:
    """Watches a release's steps; parts of a mapped step count as one.

    Attributes:
        steps: for each step its seconds, core seconds and GiB.
    """

    def __init__(self) -> None:
        self.steps: dict[str, dict[str, float]] = {}
        self._running = 0
        self._begun = (0.0, 0.0)

    def started(self, step: str) -> None:
        """A step or a part of one begins."""
        if self._running == 0:
            self._begun = time.perf_counter(), time.process_time()
            forget_the_most()
        self._running += 1
        self.steps.setdefault(step, {"seconds": 0.0, "core_seconds": 0.0, "gib": 0.0})

    def advanced(self, step: str, amount: int) -> None:
        """Do nothing: nothing is metered within a step."""

    def ended(self, step: str, *, well: bool) -> None:  # noqa: ARG002 - a release that fails is not metered
        """A step or a part of one is over."""
        self._running -= 1
        found = self.steps[step]
        found["gib"] = max(found["gib"], most_held_gib())
        if self._running == 0:
            wall, cores = self._begun
            found["seconds"] += time.perf_counter() - wall
            found["core_seconds"] += time.process_time() - cores


if __name__ == "__main__":
    meter = Meter()
    start = time.perf_counter()
    with watching(meter):
        code = main(["release", "make", sys.argv[1]])
    whole = {
        "seconds": time.perf_counter() - start,
        "core_seconds": time.process_time(),
        "gib": max(step["gib"] for step in meter.steps.values()),
    }
    Path(sys.argv[2]).write_text(json.dumps({**meter.steps, "whole release": whole}))
    sys.exit(code)
