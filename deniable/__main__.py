"""The command line of an auditor: `python -m deniable verify-ledger FILE`, offline, without the rest of the project."""

import argparse
import sys
from collections.abc import Sequence

from deniable.ledger_verification import records_of, verify

HOLDS, DOES_NOT_HOLD, UNREADABLE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command.

    Returns:
        0 when the ledger holds, 1 when it does not, 2 when it cannot be read.
    """
    asked = _parser().parse_args(arguments)
    try:
        # Only the end of a line ends an entry: text within may hold other things that look like one.
        with open(asked.file, encoding="utf-8") as file:  # noqa: PTH123 - no part of `deniable` knows paths
            lines = file.read().removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        print(f"the ledger must be a readable file, got {asked.file}: {error}; name another.", file=sys.stderr)  # noqa: T201
        return UNREADABLE
    report = verify(records_of(lines if lines != [""] else []), head=asked.head, count=asked.count)
    print("\n".join(report.lines))  # noqa: T201 - this is the command line
    return HOLDS if report.holds else DOES_NOT_HOLD


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m deniable", description="Check what a release claims, offline.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    verifying = commands.add_parser(
        "verify-ledger",
        help="check an exported privacy ledger",
        description="Recompute the chain of an exported privacy ledger, add its sums up again, compare them with the "
        "caps entry by entry, and compose the events of every charge again.",
    )
    verifying.add_argument("file", metavar="FILE", help="the exported ledger, one entry a line")
    verifying.add_argument("--head", metavar="HASH", help="digest of the last entry, as it was noted elsewhere")
    verifying.add_argument("--count", type=int, metavar="N", help="number of entries, as it was noted elsewhere")
    return parser


if __name__ == "__main__":
    sys.exit(main())
