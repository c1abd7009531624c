"""Makes or updates the ledger's tables in PostgreSQL."""

import argparse
from pathlib import Path

from deniable.console import show
from flows.cli.contract import StateCommand

DONE = 0


def _run(_: argparse.Namespace, _state: Path) -> int:
    from stores.ledger.roles import prepare_named_ledger  # noqa: PLC0415 - opens a ledger

    show([prepare_named_ledger()])
    return DONE


COMMAND = StateCommand(
    run=_run,
    description="Make the ledger's tables, or bring them up to date, as the owner in the PostgreSQL URL "
    "DENIABLE_LEDGER_OWNER, and limit the user in the URL DENIABLE_LEDGER to reading and appending.",
)
