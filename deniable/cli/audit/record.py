"""Prints the record of a release."""

import argparse
import os
import sys

from deniable.cli.contract import Command
from deniable.cli.files import HOLDS, RELEASE_HELP, Unreadable, content
from deniable.command_names import command_line
from deniable.foundation.checks import printable
from deniable.foundation.errors import InvalidInput


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("release", metavar="RELEASE_DIR", help=RELEASE_HELP)


def _show(asked: argparse.Namespace) -> int:
    from deniable.verification.release import RECORD, readable_record  # noqa: PLC0415 - as above

    path = os.path.join(asked.release, RECORD)  # noqa: PTH118
    try:
        readable = readable_record(content(path, "the record"))
    except InvalidInput as error:
        raise Unreadable(f"{path}: {error}") from None
    print("\n".join(printable(line, len(line)) for line in readable.split("\n")))  # noqa: T201
    print(f"Not verified; to verify it, run {command_line('audit verify')}.", file=sys.stderr)  # noqa: T201
    return HOLDS


COMMAND = Command(
    arguments=_add_arguments,
    run=_show,
    description="Show a record's statement as indented JSON. It is not verified.",
)
