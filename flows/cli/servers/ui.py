"""Shows the pages of MLflow and Prefect on this machine."""

import argparse
from pathlib import Path

from flows.cli.contract import StateCommand

DONE = 0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mlflow-port", type=int, default=5000, metavar="PORT", help="default: 5000, or any free port")
    parser.add_argument(
        "--prefect-port", type=int, default=4200, metavar="PORT", help="default: 4200, or any free port"
    )


def _run(asked: argparse.Namespace, state: Path) -> int:
    from flows.cli.servers.pages import show  # noqa: PLC0415 - only what the command needs

    show(state, mlflow_port=asked.mlflow_port, prefect_port=asked.prefect_port)
    return DONE


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    description="Print the addresses of the pages of MLflow and Prefect. Pages that no server serves are served on "
    "this machine's loopback until Ctrl-C.",
)
