"""Answers a survey with randomized responses; only these leave the respondent's machine."""

import argparse
import os

from deniable.cli.contract import Command
from deniable.cli.files import CONFIGURATION, HOLDS, Unreadable, configuration
from deniable.foundation.errors import InvalidInput

_KEY_FILE = ("deniable", "respondent.key")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("survey", metavar="SURVEY", help="the survey's document, JSON")
    parser.add_argument(
        "--key",
        metavar="FILE",
        help=f"your key, made if there is none (default: {CONFIGURATION}/{'/'.join(_KEY_FILE)})",
    )
    parser.add_argument("--answers", metavar="FILE", help="your answers, JSON, instead of typing them")
    parser.add_argument("--out", metavar="FILE", help="append the line to a file (default: standard output)")


def _respond(asked: argparse.Namespace) -> int:
    from deniable.respondent import respond_to  # noqa: PLC0415 - as above

    key = asked.key or os.path.join(configuration(), *_KEY_FILE)  # noqa: PTH118
    try:
        respond_to(asked.survey, key, asked.answers, asked.out)
    except InvalidInput as error:
        raise Unreadable(str(error)) from None
    except OSError as error:
        raise Unreadable(f"your key and the list of your responses must be writable, got {key}: {error}.") from None
    return HOLDS


COMMAND = Command(
    arguments=_add_arguments,
    run=_respond,
    description="Ask the questions of a survey, randomize the answers on this machine under your own key, and "
    "write one line of responses. Only that line is for the collector; answers are not kept.",
)
