"""Lists public releases, and which of them still hold; notes a review; signs the status file."""

import argparse
from pathlib import Path

from deniable.console import show
from flows.cli.contract import StateCommand

DONE = 0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("release", metavar="RELEASE", nargs="?", help="one release (default: all)")
    parser.add_argument(
        "--reviewed", metavar="WHY", help="note that this release was reviewed, and why it stays; it is published"
    )
    parser.add_argument("--write", action="store_true", help="sign the status file again, to be published")
    parser.add_argument("--days", type=int, metavar="N", help="with --write: days to rely on it (as before, or 90)")


def _run(asked: argparse.Namespace, state: Path) -> int:
    from deniable.foundation.errors import InvalidInput  # noqa: PLC0415 - here and below: only what the command needs
    from stores.releases.status_file import decide_standing, standings_of, write_status_file  # noqa: PLC0415

    if asked.days is not None and not asked.write:
        raise InvalidInput("--days is for a status file that is written; add --write.")
    if asked.reviewed is not None:
        if asked.release is None:
            raise InvalidInput("a review is of one release; name it before --reviewed.")
        decide_standing(state, asked.release, "reviewed", asked.reviewed)
    found = [each for each in standings_of(state) if asked.release in {None, each.release}]
    if asked.release is not None and not found:
        raise InvalidInput(f"a release must be public to have a status, and the ledger knows of no {asked.release}.")
    width = max((len(each.release) for each in found), default=0)
    show([f"{each.release.ljust(width)}  {each.in_words}" for each in found] or ["No release is public."])
    if asked.write:
        show([f"Signed: {write_status_file(state, asked.days)}"])
    return DONE


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    description="List public releases, and whether each is in force, superseded or withdrawn, since when and why, as "
    "the ledger says. With --reviewed, note that a release was reviewed and stays. With --write, sign the status file "
    "that is published beside the releases.",
)
