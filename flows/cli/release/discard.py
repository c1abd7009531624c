"""Gives up an unfinished release."""

import argparse
from pathlib import Path

from flows.cli.contract import StateCommand

DONE = 0
_STAYS = {
    True: "What was charged for it stays charged.",
    False: "Nothing was charged for it.",
    None: "What was charged for it, if anything, stays charged.",
}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("release", metavar="RELEASE", help="its name; what was charged for it stays charged")


def _run(asked: argparse.Namespace, state: Path) -> int:
    discard_release(state, asked.release)
    return DONE


def discard_release(state: Path, release_id: str) -> None:
    """Remove what an unfinished release has made. What was charged for it stays charged: nothing is refunded.

    Args:
        state: the state folder.
        release_id: the release's name.

    Raises:
        InvalidInput: there is no such release.
        Refused: it is finished, published, or in use by another process.
    """
    from stores.ledger.charging import is_known_to_be_charged  # noqa: PLC0415 - other commands need none of this
    from stores.releases.life import Stage, require_may_become  # noqa: PLC0415
    from stores.releases.resumable_releases import find_release  # noqa: PLC0415
    from stores.vault.lease import leased  # noqa: PLC0415
    from stores.vault.workspace import discard_folders  # noqa: PLC0415

    begun = find_release(state, release_id)
    require_may_become(state, release_id, Stage.DISCARDED)
    charged = is_known_to_be_charged(state, begun.dataset, release_id)
    with leased(state / "vault" / release_id):
        discard_folders(state, release_id)
    print(f"{release_id} is discarded. {_STAYS[charged]}")  # noqa: T201 - of the command line


COMMAND = StateCommand(arguments=_add_arguments, run=_run)
