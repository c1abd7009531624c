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
    from deniable.ledger.checkpoint import checkpoint_of, request_after  # noqa: PLC0415 - slow to import
    from stores.keys.signing_keys import signing_key  # noqa: PLC0415
    from stores.ledger.gate import digests_of, read_checkpoint_file, require_continues  # noqa: PLC0415 - opens a ledger
    from stores.ledger.ledger import kept_lines, ledger_place, write_lines  # noqa: PLC0415

    place = ledger_place(state)
    digests = digests_of(kept_lines(place), str(place))
    before = None if asked.after is None else read_checkpoint_file(asked.after)
    if before is not None:
        require_continues(before, digests, str(place))
    checkpoint = checkpoint_of(digests).signed(signing_key(state).private)
    request = request_after(0 if before is None else before.size, digests, checkpoint)
    write_lines(request.text.splitlines(), asked.file)
    show([f"{asked.file} is for the witness: {len(digests):,} entries, to be cosigned with audit witness."])
    return DONE


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    description="Write a checkpoint of the ledger, signed with the key of releases, with the proof that it continues "
    "the last one that a witness has cosigned. The witness cosigns it with audit witness.",
)
