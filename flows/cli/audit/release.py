"""The command `audit`: compares everything that is kept of a release with its record, and prints the findings.

Prefect and MLflow are imported only when it runs; no server is needed.
"""

import argparse
from pathlib import Path

from deniable.console import show
from flows.cli.contract import StateCommand, add_keys_option
from flows.cli.spinner import at_work

HOLDS, DOES_NOT_HOLD = 0, 1


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "release", metavar="RELEASE", help="name of a release or a discovery, or the path of its public folder"
    )
    add_keys_option(parser)
    parser.add_argument(
        "--ledger", type=Path, metavar="EXPORT", help="an export of the ledger, if the ledger itself cannot be reached"
    )


def _run(asked: argparse.Namespace, state: Path) -> int:
    """Audit a release, and print each check, its findings and the verdict.

    Args:
        asked: the parsed arguments.
        state: the state folder that the release was made in.

    Returns:
        0 when everything holds, else 1.

    Raises:
        DeniableError: there is no such release.
    """
    with at_work(f"Auditing {asked.release}"):
        from flows.audit import audit_here  # noqa: PLC0415 - imports Prefect and MLflow

        audited = audit_here(asked.release, state, asked.keys, asked.ledger)
    show(audited.lines)
    return HOLDS if audited.holds else DOES_NOT_HOLD


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    description="Compare MLflow, the shelf, the public folder and the ledger with the signed record of a release, "
    "and name what was changed, added or deleted since. For a release made elsewhere, give the path of its "
    "public folder: what cannot be checked from here is marked by -- with the reason.",
    imports=("prefect", "mlflow"),
    only_reading=True,
)
