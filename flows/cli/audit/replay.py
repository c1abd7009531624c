"""The command `replay`: reruns a published release, shows its progress, and prints the findings.

Prefect and MLflow are imported only after the signature of the record has been verified.
"""

import argparse
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable.console import show
from flows.cli.contract import StateCommand, add_keys_option

if TYPE_CHECKING:
    from prefect.task_runners import TaskRunner


SAME, DIFFERS = 0, 1


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("release", metavar="RELEASE", help="its name, or the path of its folder")
    parser.add_argument("--key", type=Path, metavar="FILE", help="the release key (default: from its custodian)")
    parser.add_argument(
        "--snapshot", type=Path, metavar="FILE", help="the rows as they were read (default: those in the vault)"
    )
    parser.add_argument("--source", metavar="PLACE", help="the source of the rows, to read it again instead")
    add_keys_option(parser)
    parser.add_argument(
        "--workers", type=_count, default=os.cpu_count() or 1, metavar="N", help="threads (default: one a core)"
    )
    parser.add_argument("--processes", action="store_true", help="processes instead of threads")
    parser.add_argument(
        "--keep", action="store_true", help="keep the scratch folder, which holds the key and confidential records"
    )


def _run(asked: argparse.Namespace, state: Path) -> int:
    """Rerun a release, and print a line for each step, and the verdict.

    Args:
        asked: the parsed arguments.
        state: the state folder.

    Returns:
        0 when every step gave the same bytes, else 1.

    Raises:
        DeniableError: the release, key or snapshot is missing, or the record cannot be trusted.
    """
    from flows.cli.own_server import served_by  # noqa: PLC0415 - here and below: only what the command needs
    from infra.servers.local_servers import own_prefect  # noqa: PLC0415
    from schemas.provenance import RECORD  # noqa: PLC0415
    from stores.record.record_reader import (  # noqa: PLC0415
        find_release_folder,
        keys_to_trust,
        trusted_record,
        trusted_where,
    )

    folder = find_release_folder(asked.release, state)
    record = trusted_record(folder / RECORD, keys_to_trust(state, asked.keys), trusted_where(state, asked.keys)).record
    with served_by(own_prefect(state), record.release.id, "flows.replay"):
        from flows.progress import Screen  # noqa: PLC0415
        from flows.replay import ReplayDiffers, replay  # noqa: PLC0415 - imports Prefect and MLflow
        from tasks.running.progress import watching  # noqa: PLC0415

        runner = _runner(asked.workers, processes=asked.processes)
        try:
            with Screen({}) as screen, watching(screen):
                replayed = replay.with_options(task_runner=runner)(
                    folder, state, asked.key, asked.snapshot, asked.keys, source=asked.source, keep=asked.keep
                )
        except ReplayDiffers as differs:
            replayed = differs.replayed
    _say(replayed.lines())
    if replayed.kept is not None:
        _say([f"The replayed files are in {replayed.kept}, with the key; remove it when it is no longer needed."])
    return SAME if replayed.same else DIFFERS


def _runner(workers: int, *, processes: bool) -> "TaskRunner[Any]":
    """Return the task runner for the steps."""
    from prefect.task_runners import ProcessPoolTaskRunner, ThreadPoolTaskRunner  # noqa: PLC0415

    return ProcessPoolTaskRunner(max_workers=workers) if processes else ThreadPoolTaskRunner(max_workers=workers)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"a number of workers such as 4 is needed, got {text}")
    return int(text)


def _say(lines: Iterable[str]) -> None:
    show(lines)


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    description="Run a published release again from its record alone. It needs the release key and the snapshot of "
    "the rows, which are in the release's vault unless given here. Nothing is charged or published.",
    imports=("prefect", "mlflow"),
)
