"""States that nobody should use a public release any more, or that another one replaces it."""

import argparse
from pathlib import Path

from deniable.console import show
from flows.cli.contract import StateCommand

DONE = 0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("release", metavar="RELEASE", help="the name of a public release")
    parser.add_argument("--reason", required=True, metavar="WHY", help="the reason, or the correction; it is published")
    parser.add_argument(
        "--replaced-by",
        default="",
        metavar="RELEASE",
        help="a public release of the same dataset to use instead: this one is then superseded, not withdrawn",
    )


def _run(asked: argparse.Namespace, state: Path) -> int:
    from stores.releases.status_file import (  # noqa: PLC0415 - here and below: only what the command needs
        decide_standing,
        standings_of,
        status_file_place,
    )
    from stores.tracking.client import RecordFailed  # noqa: PLC0415
    from stores.tracking.registry import leave_current  # noqa: PLC0415

    if asked.replaced_by:
        decide_standing(state, asked.release, "superseded", asked.reason, asked.replaced_by)
        told = f"{asked.release} is superseded by {asked.replaced_by}. It still verifies, and can still be withdrawn."
    else:
        decide_standing(state, asked.release, "withdrawn", asked.reason)
        told = f"{asked.release} is withdrawn for good. Its folder stays where it is, and its cost stays charged."
    try:
        leave_current(state, standings_of(state))
    except RecordFailed as error:
        show([f"The decision stands. MLflow may show a model as current that is not in force: {error}"])
    show([told, f"Publish {status_file_place(state)} beside the release, so that those who verify it know."])
    return DONE


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    description="Withdraw a public release, or state that another one replaces it. The ledger and the signed status "
    "file say so, with the reason, and verification of a withdrawn release fails with that file. A withdrawal cannot "
    "be taken back. No file of the release is changed, and no budget comes back.",
)
