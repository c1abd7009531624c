"""Checks an exported privacy ledger."""

import argparse

from deniable.cli.contract import Command
from deniable.cli.files import lines_of, say
from deniable.ledger.verification import records_of, verify


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the exported ledger, one entry per line")
    parser.add_argument("--head", metavar="HASH", help="digest of the last entry, as recorded elsewhere")
    parser.add_argument("--count", type=int, metavar="N", help="number of entries, as recorded elsewhere")


def _verify(asked: argparse.Namespace) -> int:
    report = verify(records_of(lines_of(asked.file, "the ledger")), head=asked.head, count=asked.count)
    return say(report.lines, holds=report.holds)


COMMAND = Command(
    arguments=_add_arguments,
    run=_verify,
    description="Recompute the chain and the sums of an exported privacy ledger, compare the sums with the caps "
    "entry by entry, and compose the events of every charge again.",
)
