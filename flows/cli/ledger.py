"""The operator's commands for the privacy ledger: set budgets, show charges, export, verify and recover the ledger.

The steps of a release reserve and commit charges themselves.
"""

import argparse
import getpass
import textwrap
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any, get_args

from deniable.console import show
from deniable.discovery.plan import STEP as DISCOVER
from deniable.foundation.errors import InvalidInput
from deniable.foundation.exact_numbers import exact_number
from deniable.ledger.budget import Balance, cost_of, counted
from deniable.ledger.entries import Claim, Cost, Entry, PeriodCap, PeriodLength, Policy, SeedCost
from deniable.ledger.state import Charged
from deniable.ledger.verification import records_of, verify
from deniable.privacy.rounding import rounded, rounded_down, rounded_up
from flows.cli.subcommands import Subcommands
from schemas.spec.release_spec import load_spec
from stores.ledger.accounts import declared, source_marks
from stores.ledger.gate import fault_of_ledger
from stores.ledger.ledger import LEDGER_VARIABLE, Ledger, kept_lines, ledger_place, write_lines
from stores.ledger.recovery import recover
from stores.ledger.roles import OWNER_VARIABLE, prepare_named_ledger
from stores.ledger.state_ledger import state_ledger
from stores.vault.actors import operator

DONE, DOES_NOT_HOLD = 0, 1
_SHOWN = 60
_WIDTH = 80

Row = tuple[str, ...]
_COLUMNS: Row = ("step", "part", "epsilon", "delta", "entry", "state")


def add_ledger_commands(subparsers: Subcommands, parents: Sequence[argparse.ArgumentParser] = ()) -> None:
    """Add the command `ledger` and its own commands to a parser.

    Args:
        subparsers: the commands of the parser, as `add_subparsers` returns them.
        parents: parsers of the options that all commands share.
    """
    ledger = subparsers.add_parser("ledger", help="set privacy budgets, and show what was spent of them")
    commands = ledger.add_subparsers(dest="ledger_command", required=True, metavar="COMMAND")
    policy = commands.add_parser("policy", parents=parents, help="set the privacy budget of a dataset from now on")
    policy.add_argument("dataset", metavar="DATASET", help="name of the dataset, as in the specs")
    policy.add_argument("--epsilon", type=_exact, required=True, metavar="E", help="cap over the dataset's lifetime")
    policy.add_argument("--delta", type=_exact, required=True, metavar="D", help="cap over the dataset's lifetime")
    policy.add_argument("--per", choices=get_args(PeriodLength), help="also a cap for each calendar period (UTC)")
    policy.add_argument("--period-epsilon", type=_exact, metavar="E", help="cap of one period")
    policy.add_argument("--period-delta", type=_exact, metavar="D", help="cap of one period (default: --delta)")
    policy.add_argument(
        "--seed-cost",
        choices=get_args(SeedCost),
        default="total",
        help="how candidates tested for plausible deniability are charged: all of them together (the default), or "
        "one attempt alone, which gives no guarantee for a whole release",
    )
    policy.add_argument("--people", metavar="WHOSE", help="for a second account: whose records these are, in words")
    policy.add_argument("--spec", type=Path, metavar="SPEC", help="a spec whose source has the records of these people")
    show = commands.add_parser("show", parents=parents, help="show releases, steps, charges and what is left")
    show.add_argument("dataset", metavar="DATASET", nargs="?", help="name of one dataset (default: all)")
    export = commands.add_parser("export", parents=parents, help="write all entries to a file, to be verified anywhere")
    export.add_argument("file", type=Path, metavar="FILE", help="the file, one entry a line")
    check = commands.add_parser("verify", parents=parents, help="verify the ledger in place")
    check.add_argument("--head", metavar="HASH", help="digest of the last entry, as noted elsewhere")
    check.add_argument("--count", type=int, metavar="N", help="number of entries, as noted elsewhere")
    commands.add_parser(
        "prepare",
        parents=parents,
        help="make or update the ledger's tables in PostgreSQL, and limit its user to reading and appending",
        description=f"Make the ledger's tables, or bring them up to date, as the owner in the PostgreSQL URL "
        f"{OWNER_VARIABLE}, and limit the user in the URL {LEDGER_VARIABLE} to reading and appending.",
    )
    again = commands.add_parser(
        "recover", parents=parents, help="rebuild a ledger that was lost or replaced, or accept it as it is"
    )
    again.add_argument(
        "--reason", required=True, metavar="WHY", help="the reason; the ledger keeps it, with the user's name"
    )
    again.add_argument(
        "--from",
        dest="copies",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help="an export, or a ledger.db",
    )
    again.add_argument(
        "--accept", action="store_true", help="give up entries that no copy has, or accept that this is another ledger"
    )


def run_ledger_command(asked: argparse.Namespace, state: Path) -> int:
    """Carry out one command of `ledger`.

    Args:
        asked: the parsed arguments.
        state: the state folder, which holds the ledger unless DENIABLE_LEDGER names another.

    Returns:
        0 when all went well, 1 when the ledger does not hold.

    Raises:
        DeniableError: the ledger cannot be read or written, was altered, or the arguments make no sense.
    """
    if asked.ledger_command == "prepare":
        _say([prepare_named_ledger()])
        return DONE
    place = ledger_place(state)
    if asked.ledger_command == "verify":
        lines = kept_lines(place)
        report = verify(records_of(lines), head=asked.head, count=asked.count)
        lost = fault_of_ledger(state, lambda: kept_lines(place))
        _say(report.lines)
        if lost is not None:
            _say([f"THE LEDGER IS NOT THE ONE THAT {state} KNOWS: it {lost}."])
        return DONE if report.holds and lost is None else DOES_NOT_HOLD
    if asked.ledger_command == "export":
        # An altered ledger is exported too: it is evidence.
        lines = kept_lines(place)
        write_lines(lines, asked.file)
        head = verify(records_of(lines)).head
        _say([f"{len(lines)} entries are in {asked.file}; keep a note of the head {head} elsewhere."])
        return DONE
    if asked.ledger_command == "recover":
        _say(recover(state, asked.copies, by=operator(), reason=asked.reason, accept=asked.accept))
        return DONE
    ledger = state_ledger(state)
    if asked.ledger_command == "policy":
        sources = () if asked.spec is None else source_marks(state, load_spec(asked.spec))
        ledger.set_policy(declared(_policy(asked), ledger, asked.people, sources))
        _say(_account(ledger, asked.dataset))
        return DONE
    datasets = [asked.dataset] if asked.dataset else ledger.datasets()
    for dataset in datasets:
        _say([*_account(ledger, dataset), *_charges(ledger, dataset), ""])
    if recoveries := ledger.recoveries():
        _say([_recovered(entry) for entry in recoveries])
    if not datasets:
        _say([f"No dataset has a policy in the ledger at {ledger.place}."])
    return DONE


def _recovered(entry: Entry) -> str:
    """Return who recovered what, and why."""
    content = entry.content
    kind = "accepted as it was found" if content["accepted"] else "rebuilt"
    return (
        f"entry {entry.number}: {kind} by {content['set_by']} on {entry.time[:10]}, with {content['found']} entries of "
        f"{content['known']} known, {content['restored']} restored: {content['reason']}"
    )


def _policy(asked: argparse.Namespace) -> Policy:
    """The requested policy."""
    if (asked.per is None) != (asked.period_epsilon is None) or (asked.per is None and asked.period_delta is not None):
        raise InvalidInput(
            "a cap for each period must be given with --per and --period-epsilon, got one without the other; add "
            "it, or "
            "leave both out."
        )
    period = None
    if asked.per is not None:
        delta = asked.delta if asked.period_delta is None else asked.period_delta
        period = PeriodCap(length=asked.per, limit=Cost(epsilon=asked.period_epsilon, delta=delta))
    return Policy(
        dataset=asked.dataset,
        limit=Cost(epsilon=asked.epsilon, delta=asked.delta),
        period=period,
        seed_cost=asked.seed_cost,
        set_by=getpass.getuser(),
    )


def _account(ledger: Ledger, dataset: str) -> list[str]:
    """Return a dataset's caps, what was spent of them, and what is left."""
    balances = ledger.balances(dataset)
    rows = [("budget", "epsilon", "spent", "left", "delta", "spent", "left"), *(_balance(each) for each in balances)]
    return [f"{dataset}{counted(balances[0].seed_cost)}", *_table(rows)]


def _balance(balance: Balance) -> Row:
    limit, spent, left = balance.limit, balance.spent, balance.left
    return (
        balance.cap,
        *(rounded(limit.epsilon), rounded_up(spent.epsilon), rounded_down(left.epsilon)),
        *(rounded(limit.delta), rounded_up(spent.delta), rounded_down(left.delta)),
    )


def _charges(ledger: Ledger, dataset: str) -> list[str]:
    """Return the charges to a dataset by release, with the total of each release."""
    seed_cost, published = ledger.policy(dataset).seed_cost, ledger.published()
    lines: list[str] = []
    by_release = sorted(ledger.charges(dataset), key=lambda charged: charged.charge.release)
    for release, group in groupby(by_release, key=lambda charged: charged.charge.release):
        charges = list(group)
        together = cost_of((charged.charge for charged in charges), seed_cost)
        state = _ended(charges, is_published=release in published)
        total = ("together", "", rounded_up(together.epsilon), rounded_up(together.delta), "", state)
        lines += ["", release, *_table([_COLUMNS, *(_charge(charged, seed_cost) for charged in charges), total])]
        lines += _accountants(charges, seed_cost)
    return lines or ["nothing was charged"]


def _ended(charges: Sequence[Charged], *, is_published: bool) -> str:
    """Return the outcome of what was charged; a discovery ends with answers and publishes no table."""
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


def _table(rows: Sequence[Row]) -> list[str]:
    """Return the rows as lines, in columns as wide as their longest cell."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _exact(text: str) -> Fraction:
    """Return a decimal number exactly as written: 0.1 is one tenth."""
    try:
        return exact_number(text)
    except InvalidInput:
        msg = f"a number such as 0.5 or 1e-6 is needed, got {text[:_SHOWN]}"
    raise argparse.ArgumentTypeError(msg)


def _say(lines: Iterable[Any]) -> None:
    show(lines)
