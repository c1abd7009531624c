"""Shows what each step of each release was charged, and what is left of the budget."""

import argparse
from pathlib import Path

from deniable.console import show
from flows.cli.contract import StateCommand

DONE = 0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", metavar="DATASET", nargs="?", help="name of one dataset (default: all)")


def _run(asked: argparse.Namespace, state: Path) -> int:
    from flows.cli.budget.accounts import (  # noqa: PLC0415 - opens a ledger
        account_lines,
        charge_lines,
        datasets_of,
        no_dataset,
        recovered_in_words,
    )

    ledger, datasets = datasets_of(state, asked.dataset)
    for dataset in datasets:
        show([*account_lines(ledger, dataset), *charge_lines(ledger, dataset), ""])
    if recoveries := ledger.recoveries():
        show([recovered_in_words(entry) for entry in recoveries])
    if not datasets:
        show([no_dataset(ledger)])
    return DONE


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    description="Show the budget of a dataset, each charge to it, release by release and step by step, and what is "
    "left. For one line a release, use spent.",
)
