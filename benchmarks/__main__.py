"""`python -m benchmarks [PART ...]`: measure, and print the documentation's tables."""

import argparse
from collections.abc import Callable
from functools import partial

from benchmarks import guarantees, histogram, learning, release, scaling, synthesis, workers
from benchmarks.measuring import Result, table

PARTS: dict[str, Callable[[], list[Result]]] = {
    "synthesis": synthesis.measure,
    "histogram": histogram.measure,
    "learning": learning.measure,
    "release": release.measure,
    "guarantees": guarantees.measure,
}
LONG: dict[str, Callable[[], list[Result]]] = {
    "scaling": scaling.by_records,
    "hundred-million": partial(scaling.by_records, (1_000_000, 10_000_000, 100_000_000)),
    "people": scaling.by_people,
    "attributes": scaling.by_attributes,
    "workers": workers.by_workers,
}
"""Parts that take several minutes each and gigabytes of disk; measured only if named."""


def main() -> None:
    """Measure the named parts, by default all but the long ones."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    every = PARTS | LONG
    parser.add_argument("parts", nargs="*", choices=[[], *every], metavar="PART", help=", ".join(every))
    asked = parser.parse_args().parts or list(PARTS)
    print(table([result for part in asked for result in every[part]()]))


if __name__ == "__main__":
    main()
