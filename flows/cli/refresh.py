"""The command `refresh`: releases the new data of a dataset, shows its progress, and prints the outcome.

Prefect and MLflow are imported only after the spec has been found valid.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from deniable.foundation.errors import DeniableError
from flows.cli.own_server import served_by
from flows.cli.subcommands import Subcommands
from infra.servers.local_servers import own_prefect
from schemas.spec.release_spec import load_spec

DONE = 0

_FARTHEST = 3


def add_refresh_command(subparsers: Subcommands, parents: Sequence[argparse.ArgumentParser] = ()) -> None:
    """Add the command `refresh` to a parser.

    Args:
        subparsers: the commands of the parser, as `add_subparsers` returns them.
        parents: parsers of the options that all commands share.
    """
    command = subparsers.add_parser(
        "refresh",
        parents=parents,
        help="release the new data of a dataset, unless exactly these data are released already",
        description="Release the new data of a dataset. If a published release was made from the same rows, in "
        "whatever order, nothing is charged and nothing is published; otherwise the entry refresh of the spec limits "
        "what may be spent.",
    )
    command.add_argument("spec", type=Path, metavar="SPEC", help="a release spec with an entry refresh")
    command.add_argument(
        "--source", metavar="PLACE", help="the new data: a file, a folder or s3://... (default: as in the spec)"
    )


def run_refresh_command(asked: argparse.Namespace, state: Path) -> int:
    """Refresh a dataset, and print the outcome.

    Args:
        asked: the parsed arguments.
        state: the state folder.

    Returns:
        0, whether or not anything had to be released.

    Raises:
        DeniableError: the refresh failed or was refused; earlier releases are untouched.
    """
    spec = load_spec(asked.spec).reading(asked.source)
    try:
        with served_by(own_prefect(state), spec.title, "flows.refresh"):
            from flows.cli.release import print_summary, watched  # noqa: PLC0415 - imports Prefect and MLflow, as the next
            from flows.refresh import refresh  # noqa: PLC0415
            from flows.release import told_later  # noqa: PLC0415

            with watched(spec, state) as runner:
                # A release counts as reported only once it has been printed.
                again = refresh.with_options(task_runner=runner, on_completion=[told_later])
                done = again(asked.spec, state, asked.source)
    except DeniableError as error:
        for note in getattr(error, "__notes__", ()):
            print(note, file=sys.stderr)  # noqa: T201 - this is the command line
        raise
    console = Console(highlight=False)
    if done.released is not None:
        print_summary(done.released, console)
    console.print(Text(done.in_words), soft_wrap=True)
    for pair in done.drift.pairs[:_FARTHEST] if done.drift is not None else ():
        moved = f"  {' and '.join(pair.attributes)}: {pair.distance:.4f}, of which {pair.by_chance:.4f} by chance"
        console.print(Text(moved), soft_wrap=True)
    sys.stdout.flush()
    done.note_told()
    return DONE
