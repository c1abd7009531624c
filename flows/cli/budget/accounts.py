"""Accounts of the privacy ledger, and what was charged to them, as lines.

The steps of a release reserve and commit charges themselves.
"""

import textwrap
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from deniable.discovery.plan import STEP as DISCOVER
from deniable.ledger.budget import Balance, cost_of, counted
from deniable.ledger.entries import Claim, Entry, SeedCost
from deniable.ledger.state import Charged
from deniable.privacy.rounding import rounded, rounded_down, rounded_up
from stores.ledger.ledger import Ledger
from stores.ledger.state_ledger import state_ledger

_WIDTH = 80

Row = tuple[str, ...]
_COLUMNS: Row = ("step", "part", "epsilon", "delta", "entry", "state")


def datasets_of(state: Path, dataset: str | None) -> tuple[Ledger, Sequence[str]]:
    """Return the ledger of a state folder, and the datasets that a command is about.

    Args:
        state: the state folder, which holds the ledger unless DENIABLE_LEDGER names another.
        dataset: the one that was named; all of the ledger if none was.
    """
    ledger = state_ledger(state)
    return ledger, [dataset] if dataset else ledger.datasets()


def no_dataset(ledger: Ledger) -> str:
    """Return a sentence about a ledger without datasets."""
    return f"No dataset has a policy in the ledger at {ledger.place}."


def recovered_in_words(entry: Entry) -> str:
    """Return who recovered what, and why.

    Args:
        entry: the entry of a recovery.
    """
    content = entry.content
    kind = "accepted as it was found" if content["accepted"] else "rebuilt"
    return (
        f"entry {entry.number}: {kind} by {content['set_by']} on {entry.time[:10]}, with {content['found']} entries of "
        f"{content['known']} known, {content['restored']} restored: {content['reason']}"
    )


def account_lines(ledger: Ledger, dataset: str) -> list[str]:
    """Return a dataset's caps, what was spent of them, and what is left.

    Args:
        ledger: the ledger.
        dataset: the dataset.
    """
    balances = ledger.balances(dataset)
    rows = [("budget", "epsilon", "spent", "left", "delta", "spent", "left"), *(_balance(each) for each in balances)]
    return [f"{dataset}{counted(balances[0].seed_cost)}", *table_lines(rows)]


def _balance(balance: Balance) -> Row:
    limit, spent, left = balance.limit, balance.spent, balance.left
    return (
        balance.cap,
        *(rounded(limit.epsilon), rounded_up(spent.epsilon), rounded_down(left.epsilon)),
        *(rounded(limit.delta), rounded_up(spent.delta), rounded_down(left.delta)),
    )


def charge_lines(ledger: Ledger, dataset: str) -> list[str]:
    """Return the charges to a dataset by release, with the total of each release.

    Args:
        ledger: the ledger.
        dataset: the dataset.
    """
    seed_cost, published = ledger.policy(dataset).seed_cost, ledger.published()
    lines: list[str] = []
    by_release = sorted(ledger.charges(dataset), key=lambda charged: charged.charge.release)
    for release, group in groupby(by_release, key=lambda charged: charged.charge.release):
        charges = list(group)
        together = cost_of((charged.charge for charged in charges), seed_cost)
        state = outcome_of(charges, is_published=release in published)
        total = ("together", "", rounded_up(together.epsilon), rounded_up(together.delta), "", state)
        lines += ["", release, *table_lines([_COLUMNS, *(_charge(charged, seed_cost) for charged in charges), total])]
        lines += _accountants(charges, seed_cost)
    return lines or ["nothing was charged"]


def outcome_of(charges: Sequence[Charged], *, is_published: bool) -> str:
    """Return the outcome of what was charged; a discovery ends with answers and publishes no table.

    Args:
        charges: of one release.
        is_published: whether the ledger notes its publication.
    """
    if all(charged.charge.step == DISCOVER for charged in charges):
        return "answered" if all(charged.output is not None for charged in charges) else "not answered"
    return "released" if is_published else "not released"


def _claim(charged: Charged, seed_cost: SeedCost) -> Claim:
    """Return what a charge counts as."""
    charge = charged.charge
    return charge.per_record if seed_cost == "per_record" and charge.per_record is not None else charge.claim


def _charge(charged: Charged, seed_cost: SeedCost) -> Row:
    charge, cost = charged.charge, _claim(charged, seed_cost).cost
    return (
        *(charge.step, f"{charge.part} ({rounded(charge.probability)})"),
        *(rounded_up(cost.epsilon), rounded_up(cost.delta)),
        str(charged.entry.number),
        "reserved" if charged.output is None else "committed",
    )


def _accountants(charges: Sequence[Charged], seed_cost: SeedCost) -> list[str]:
    """Return which accountant computed each step's cost."""
    steps: dict[str, dict[str, None]] = {}
    for charged in charges:
        steps.setdefault(_claim(charged, seed_cost).accountant, {})[charged.charge.step] = None
    by = ", ".join(f"{accountant} ({', '.join(names)})" for accountant, names in steps.items())
    return textwrap.wrap(f"by {by}", _WIDTH, initial_indent="  ", subsequent_indent="     ")


def table_lines(rows: Sequence[Row]) -> list[str]:
    """Return the rows as lines, in columns as wide as their longest cell.

    Args:
        rows: as many cells in each.
    """
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
