"""Names the page of a release on which its records are filtered and counted, and opens it in a browser with --open."""

import argparse
import os

from deniable.cli.contract import Command
from deniable.cli.files import HOLDS, RELEASE_HELP, Unreadable
from deniable.console import show
from deniable.foundation.checks import printable

_PAGE = "explore.html"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("release", metavar="RELEASE_DIR", help=RELEASE_HELP)
    parser.add_argument("--open", action="store_true", help="open the page in your browser")


def _explore(asked: argparse.Namespace) -> int:
    path = os.path.realpath(os.path.join(asked.release, _PAGE))  # noqa: PTH118
    if not os.path.isfile(path):  # noqa: PTH113
        raise Unreadable(
            f"a release must have the page {_PAGE}, and {asked.release} has none; name the folder of a release."
        )
    show([printable(path, len(path)), "The page holds the synthetic records and loads nothing else."])
    if asked.open:
        import webbrowser  # noqa: PLC0415 - only to open it

        if not webbrowser.open(f"file://{path}"):
            raise Unreadable("no browser could be started on this machine; open the page on another.")
    return HOLDS


COMMAND = Command(
    arguments=_add_arguments,
    run=_explore,
    description="Print the path of the page on which the synthetic records of a release are filtered, counted and "
    "cross-tabulated. It works offline. To estimate what is true of the people, with intervals, use infer.",
)
