"""`python -m benchmarks [PART ...]`: measure, and print the README's tables."""

import argparse

from benchmarks import guarantees, histogram, learning, release, synthesis
from benchmarks.measuring import table

PARTS = {
    "synthesis": synthesis.measure,
    "histogram": histogram.measure,
    "learning": learning.measure,
    "release": release.measure,
    "guarantees": guarantees.measure,
}


def main() -> None:
    """Measure the parts that were asked for, all by default."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], metavar="PART", help=", ".join(PARTS))
    asked = parser.parse_args().parts or list(PARTS)
    print(table([result for part in asked for result in PARTS[part]()]))


if __name__ == "__main__":
    main()
