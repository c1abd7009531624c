"""Sets the privacy budget of a dataset."""

import argparse
import getpass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from deniable.console import show
from deniable.foundation.errors import InvalidInput
from flows.cli.contract import StateCommand

if TYPE_CHECKING:
    from deniable.ledger.entries import Policy

DONE = 0
_SHOWN = 60


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    from deniable.ledger.entries import PeriodLength, SeedCost  # noqa: PLC0415 - imports NumPy

    parser.add_argument("dataset", metavar="DATASET", help="name of the dataset, as in the specs")
    parser.add_argument("--epsilon", type=_exact, required=True, metavar="E", help="cap over the dataset's lifetime")
    parser.add_argument("--delta", type=_exact, required=True, metavar="D", help="cap over the dataset's lifetime")
    parser.add_argument("--per", choices=get_args(PeriodLength), help="also a cap for each calendar period (UTC)")
    parser.add_argument("--period-epsilon", type=_exact, metavar="E", help="cap of one period")
    parser.add_argument("--period-delta", type=_exact, metavar="D", help="cap of one period (default: --delta)")
    parser.add_argument(
        "--seed-cost",
        choices=get_args(SeedCost),
        default="total",
        help="how candidates tested for plausible deniability are charged: all of them together (the default), or "
        "one attempt alone, which gives no guarantee for a whole release",
    )
    parser.add_argument("--people", metavar="WHOSE", help="for a second account: whose records these are, in words")
    parser.add_argument("--spec", type=Path, metavar="SPEC", help="a spec whose source has the records of these people")


def _run(asked: argparse.Namespace, state: Path) -> int:
    from flows.cli.budget.accounts import account_lines  # noqa: PLC0415 - here and below: only what the command needs
    from schemas.spec.release_spec import load_spec  # noqa: PLC0415
    from stores.ledger.accounts import declared, source_marks  # noqa: PLC0415
    from stores.ledger.state_ledger import state_ledger  # noqa: PLC0415

    ledger = state_ledger(state)
    sources = () if asked.spec is None else source_marks(state, load_spec(asked.spec))
    ledger.set_policy(declared(_policy(asked), ledger, asked.people, sources))
    show(account_lines(ledger, asked.dataset))
    return DONE


def _policy(asked: argparse.Namespace) -> "Policy":
    """Return the requested policy."""
    from deniable.ledger.entries import Cost, PeriodCap, Policy  # noqa: PLC0415 - as above

    if (asked.per is None) != (asked.period_epsilon is None) or (asked.per is None and asked.period_delta is not None):
        raise InvalidInput(
            "a cap for each period must be given with --per and --period-epsilon, got one without the other; add "
            "it, or leave both out."
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


def _exact(text: str) -> Fraction:
    """Return a decimal number exactly as written: 0.1 is one tenth."""
    from deniable.foundation.exact_numbers import exact_number  # noqa: PLC0415 - as above

    try:
        return exact_number(text)
    except InvalidInput:
        msg = f"a number such as 0.5 or 1e-6 is needed, got {text[:_SHOWN]}"
    raise argparse.ArgumentTypeError(msg)


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    description="Set the privacy budget of a dataset from now on. It is signed with the custodian's key. What was "
    "spent stays spent.",
    imports=("pandas",),
)
