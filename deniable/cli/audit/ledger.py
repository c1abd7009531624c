"""Checks an exported privacy ledger."""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from deniable.cli.contract import Command
from deniable.cli.files import Unreadable, content, day_of, lines_of, say
from deniable.foundation.errors import InvalidInput
from deniable.ledger.checkpoint import check_continued, read_verifier_key
from deniable.ledger.verification import records_of, verify

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the exported ledger, one entry per line")
    parser.add_argument("--head", metavar="HASH", help="digest of the last entry, as recorded elsewhere")
    parser.add_argument(
        "--checkpoint", metavar="FILE", action="append", default=[], help="a checkpoint that the ledger must continue"
    )
    parser.add_argument("--witness-key", metavar="KEY", help="the key with which the checkpoints must be cosigned")
    parser.add_argument("--count", type=int, metavar="N", help="number of entries, as recorded elsewhere")


def _verify(asked: argparse.Namespace) -> int:
    records = records_of(lines_of(asked.file, "the ledger"))
    report = verify(records, head=asked.head, count=asked.count)
    if asked.checkpoint:
        key = _key(asked.witness_key)
        continued = tuple(
            check_continued(path, content(path, "the checkpoint"), records, key, day_of) for path in asked.checkpoint
        )
        report = replace(report, checks=(*report.checks, *continued))
    return say(report.lines, holds=report.holds)


def _key(text: str | None) -> "Ed25519PublicKey | None":
    try:
        return None if text is None else read_verifier_key(text)
    except InvalidInput as error:
        raise Unreadable(str(error)) from None


COMMAND = Command(
    arguments=_add_arguments,
    run=_verify,
    description="Recompute the chain and the sums of an exported privacy ledger, compare the sums with the caps "
    "entry by entry, and compose the events of every charge again.",
)
