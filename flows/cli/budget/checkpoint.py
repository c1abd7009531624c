"""Writes a checkpoint of the ledger, for a witness to cosign."""

import argparse
from pathlib import Path

from deniable.console import show
from flows.cli.contract import StateCommand

DONE = 0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="the file for the witness")
    parser.add_argument(
        "--after",
        type=Path,
        metavar="CHECKPOINT",
        help="the last checkpoint that the witness has cosigned (default: none)",
    )


def _run(asked: argparse.Namespace, state: Path) -> int:
    from deniable.ledger.checkpoint import checkpoint_of, read_checkpoint, request_after  # noqa: PLC0415 - slow
    from stores.keys.signing_keys import signing_key  # noqa: PLC0415
    from stores.ledger.gate import digests_of, require_continues  # noqa: PLC0415 - opens a ledger
    from stores.ledger.ledger import kept_lines, ledger_place  # noqa: PLC0415
    from stores.vault.disk import replace_whole  # noqa: PLC0415

    place = ledger_place(state)
    digests = digests_of(kept_lines(place), str(place))
    before = None if asked.after is None else read_checkpoint(_text(asked.after))
    if before is not None:
        require_continues(before, digests, str(place))
    key = signing_key(state)
    checkpoint = checkpoint_of(digests).signed(key.trusted.owner.replace(" ", "-") or "ledger", key.private)
    replace_whole(asked.file, request_after(0 if before is None else before.size, digests, checkpoint).text)
    show([f"{asked.file} is for the witness: {len(digests):,} entries, to be cosigned with audit witness."])
    return DONE


def _text(path: Path) -> str:
    from schemas.regular_files import read_regular  # noqa: PLC0415

    return read_regular(path, "the checkpoint", 1 << 20).decode()


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    description="Write a checkpoint of the ledger, signed with the key of releases, with the proof that it continues "
    "the last one that a witness has cosigned. The witness cosigns it with audit witness.",
)
