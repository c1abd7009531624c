"""`python -m benchmarks PART ...`: measure parts that take minutes each, and print them as tables."""

import argparse
from collections.abc import Callable
from functools import partial

from benchmarks import designed_seeds, guarantees, scaling, workers
from benchmarks.measuring import Result, table

PARTS: dict[str, Callable[[], list[Result]]] = {
    "guarantees": guarantees.measure,
    "designed-seeds": designed_seeds.measure,
    "scaling": scaling.by_records,
    "hundred-million": partial(scaling.by_records, (1_000_000, 10_000_000, 100_000_000)),
    "people": scaling.by_people,
    "attributes": scaling.by_attributes,
    "workers": workers.by_workers,
}


def main() -> None:
    """Measure the named parts."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="+", choices=PARTS, metavar="PART", help=", ".join(PARTS))
    print(table([result for part in parser.parse_args().parts for result in PARTS[part]()]))


if __name__ == "__main__":
    main()
