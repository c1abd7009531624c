"""Verifies the ledger in place."""

import argparse
from pathlib import Path

from deniable.console import show
from flows.cli.contract import StateCommand

HOLDS, DOES_NOT_HOLD = 0, 1


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--head", metavar="HASH", help="digest of the last entry, as noted elsewhere")
    parser.add_argument("--count", type=int, metavar="N", help="number of entries, as noted elsewhere")


def _run(asked: argparse.Namespace, state: Path) -> int:
    from deniable.ledger.verification import records_of, verify  # noqa: PLC0415 - imports NumPy
    from stores.ledger.gate import fault_of_ledger  # noqa: PLC0415 - opens a ledger
    from stores.ledger.ledger import kept_lines, ledger_place  # noqa: PLC0415

    place = ledger_place(state)
    report = verify(records_of(kept_lines(place)), head=asked.head, count=asked.count)
    lost = fault_of_ledger(state, lambda: kept_lines(place))
    show(report.lines)
    if lost is not None:
        show([f"THE LEDGER IS NOT THE ONE THAT {state} KNOWS: it {lost}."])
    return HOLDS if report.holds and lost is None else DOES_NOT_HOLD


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    description="Verify the ledger that this state folder uses, and that it is the one that the folder knows. Exits "
    "with 1 if it does not hold. To check an export anywhere, use audit ledger.",
)
