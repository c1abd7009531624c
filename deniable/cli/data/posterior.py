"""Computes what a release of synthetic sets says about the population."""

import argparse
import sys

from deniable.cli.contract import Command
from deniable.cli.data.sets import released_sets_in
from deniable.cli.files import HOLDS, RELEASE_HELP, Unreadable
from deniable.command_names import command_line
from deniable.console import show
from deniable.foundation.checks import printable
from deniable.foundation.errors import InvalidInput


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("release", metavar="RELEASE_DIR", help=RELEASE_HELP)
    parser.add_argument("--people", type=int, metavar="N", help="number of people, if the release does not state it")
    parser.add_argument("--level", type=float, default=0.95, metavar="P", help="level of intervals (default: 0.95)")


def _show(asked: argparse.Namespace) -> int:
    from deniable.learners.multinomial_sets.release import posterior_lines  # noqa: PLC0415 - as above

    try:
        lines = list(posterior_lines(released_sets_in(asked.release), asked.people, asked.level))
    except InvalidInput as error:
        raise Unreadable(f"{asked.release}: {error}") from None
    show(map(printable, lines))
    print(f"Not verified; to verify the release, run {command_line('audit verify')}.", file=sys.stderr)  # noqa: T201
    return HOLDS


COMMAND = Command(
    arguments=_add_arguments,
    run=_show,
    description="Compute the posterior of the population's shares from the sets of a release of the learner "
    "multinomial_sets, by a model of how they were made. The release is not verified.",
)
