"""Shows what a dataset has spent of its budget, a line for each release, and what is left."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.console import show
from flows.cli.contract import StateCommand

if TYPE_CHECKING:
    from deniable.ledger.state import Charged
    from stores.ledger.ledger import Ledger

DONE = 0
_DAY = len("2026-11-20")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", metavar="DATASET", nargs="?", help="name of one dataset (default: all)")


def _run(asked: argparse.Namespace, state: Path) -> int:
    from flows.cli.budget.accounts import account_lines, datasets_of, no_dataset  # noqa: PLC0415 - opens a ledger

    ledger, datasets = datasets_of(state, asked.dataset)
    for number, dataset in enumerate(datasets):
        show([*([""] if number else []), *account_lines(ledger, dataset), "", *_spent(ledger, dataset)])
    if not datasets:
        show([no_dataset(ledger)])
    return DONE


def _spent(ledger: "Ledger", dataset: str) -> Iterator[str]:
    """Yield a line for each release, in the order of their first charges."""
    from deniable.ledger.budget import cost_of  # noqa: PLC0415 - as above
    from deniable.privacy.rounding import rounded_up  # noqa: PLC0415
    from flows.cli.budget.accounts import outcome_of, table_lines  # noqa: PLC0415

    by_release: dict[str, list[Charged]] = {}
    for charged in sorted(ledger.charges(dataset), key=lambda charged: charged.entry.number):
        by_release.setdefault(charged.charge.release, []).append(charged)
    if not by_release:
        yield "nothing was charged"
        return
    seed_cost, published = ledger.policy(dataset).seed_cost, ledger.published()
    rows = [("release", "epsilon", "delta", "day", "state")]
    for release, charges in by_release.items():
        cost = cost_of((charged.charge for charged in charges), seed_cost)
        day, outcome = charges[0].entry.time[:_DAY], outcome_of(charges, is_published=release in published)
        rows.append((release, rounded_up(cost.epsilon), rounded_up(cost.delta), day, outcome))
    yield from table_lines(rows)


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    description="Show what a dataset has spent of its budget, a line for each release in the order of their first "
    "charges, and what is left. A release that was begun and not published has spent too. What is spent of the budget "
    "composes all charges, and need not be the sum of the lines.",
    imports=("sqlalchemy",),
)
