"""Summarises a record that a trusted key signed."""

import argparse
import os

from deniable.cli.contract import Command
from deniable.cli.files import KEYS_HELP, RELEASE_HELP, Unreadable, content, say, trusted
from deniable.foundation.errors import InvalidInput


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("release", metavar="RELEASE_DIR", help=RELEASE_HELP)
    parser.add_argument("--step", metavar="STEP", help="one step, by its number or its name")
    parser.add_argument("--keys", metavar="FILE", help=KEYS_HELP)


def _show(asked: argparse.Namespace) -> int:
    from deniable.record.summary import step_lines, summary_lines  # noqa: PLC0415 - as above
    from deniable.verification.discovery import discovery_lines  # noqa: PLC0415
    from deniable.verification.release import RECORD, signed_predicate  # noqa: PLC0415
    from deniable.verification.survey import survey_lines  # noqa: PLC0415

    path = os.path.join(asked.release, RECORD)  # noqa: PTH118
    try:
        check, record = signed_predicate(content(path, "the record"), trusted(asked))
        if not check.holds:
            told = []
        elif "survey" in record:
            told = list(survey_lines(record))
        elif "discovery" in record:
            told = list(discovery_lines(record))
        else:
            told = list(step_lines(record, asked.step) if asked.step else summary_lines(record))
    except InvalidInput as error:
        raise Unreadable(f"{path}: {error}") from None
    return say([*told, "", check.line] if told else [check.line], holds=check.holds)


COMMAND = Command(
    arguments=_add_arguments,
    run=_show,
    description="Summarise a record that a trusted key signed: people, times, code and cost; with --step, show what "
    "one step read, did and made. To check that all of it holds, use verify.",
)
