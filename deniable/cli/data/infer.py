"""Answers a question from the noisy counts that a release published."""

import argparse
import json
import sys

from deniable.cli.contract import Command
from deniable.cli.files import HOLDS, KEYS_HELP, Unreadable, of_unreadable, trusted, write
from deniable.console import show
from deniable.folder_on_disk import FolderOnDisk
from deniable.foundation.checks import printable
from deniable.foundation.errors import DeniableError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    from deniable.data_user import add_infer_arguments  # noqa: PLC0415 - slow to import

    add_infer_arguments(parser, KEYS_HELP)


def _infer(asked: argparse.Namespace) -> int:
    from deniable.data_user import answer_to, csv_of, document_of, lines_of, read_release  # noqa: PLC0415 - as above

    try:
        read = read_release(FolderOnDisk(asked.release), trusted(asked), asked.people)
        answer = answer_to(read.inference, asked)
    except DeniableError as error:
        raise Unreadable(printable(str(error))) from None
    except OSError as error:
        raise Unreadable(of_unreadable(asked.release, error)) from None
    if asked.csv is not None:
        write(asked.csv, csv_of(answer))
    elif asked.json:
        print(json.dumps(document_of(read, answer), indent=2))  # noqa: T201
    else:
        show(map(printable, lines_of(answer)))
    if read.notes:
        show(map(printable, read.notes), sys.stderr)
    return HOLDS


COMMAND = Command(
    arguments=_add_arguments,
    run=_infer,
    description="Answer a question from the noisy counts that a release published: an estimate, an interval, "
    "what the interval covers, its basis, and its conditions. The synthetic records are not used, unless "
    "you accept the grade model.",
)
