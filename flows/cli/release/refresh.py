"""The command `refresh`: releases the new data of a dataset, shows its progress, and prints the outcome.

Prefect and MLflow are imported only after the spec has been found valid.
"""

import argparse
import sys
from pathlib import Path

from deniable.foundation.errors import DeniableError
from flows.cli.contract import StateCommand

DONE = 0

_FARTHEST = 3


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", type=Path, metavar="SPEC", help="a release spec with an entry refresh")
    parser.add_argument(
        "--source", metavar="PLACE", help="the new data: a file, a folder or s3://... (default: as in the spec)"
    )


def _run(asked: argparse.Namespace, state: Path) -> int:
    """Refresh a dataset, and print the outcome.

    Args:
        asked: the parsed arguments.
        state: the state folder.

    Returns:
        0, whether or not anything had to be released.

    Raises:
        DeniableError: the refresh failed or was refused; earlier releases are untouched.
    """
    from rich.console import Console  # noqa: PLC0415 - here and below: only what the command needs
    from rich.text import Text  # noqa: PLC0415

    from flows.cli.own_server import served_by  # noqa: PLC0415
    from infra.servers.local_servers import own_prefect  # noqa: PLC0415
    from schemas.spec.release_spec import load_spec  # noqa: PLC0415

    spec = load_spec(asked.spec).reading(asked.source)
    try:
        with served_by(own_prefect(state), spec.title, "flows.refresh"):
            from flows.cli.making import print_summary, watched  # noqa: PLC0415 - imports Prefect and MLflow, as the next
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


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    description="Release the new data of a dataset. If a published release was made from the same rows, in "
    "whatever order, nothing is charged and nothing is published; otherwise the entry refresh of the spec limits "
    "what may be spent.",
    imports=("prefect", "mlflow"),
    resumable=True,
)
