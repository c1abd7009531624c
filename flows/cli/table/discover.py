"""The command `deniable table discover SPEC`: values of open categories and ranges of numbers, at a cost.

The plan is shown first and costs nothing. The proposals are a function of noisy integers, which are kept with a signed
record. The mechanism is in deniable.discovery.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.command_names import command_line
from deniable.foundation.errors import DeniableError, InvalidInput
from flows.cli.contract import StateCommand
from flows.cli.spinner import at_work

if TYPE_CHECKING:
    from deniable.discovery.plan import DiscoveryPlan
    from flows.discovery import Discovered
    from schemas.codebooks.settling import Described, LeftOut
    from schemas.kinds.open_columns import OpenColumn
    from schemas.spec.release_spec import ReleaseSpec

OK, REFUSED = 0, 1
_DELTA = "1e-9"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", type=Path, metavar="SPEC", help="a release spec: its source, dataset and person")
    parser.add_argument(
        "--column", action="append", default=[], metavar="NAME", help="a column of categories; may be repeated"
    )
    parser.add_argument(
        "--range", action="append", default=[], metavar="NAME", help="a column of numbers; may be repeated"
    )
    parser.add_argument(
        "--missing",
        action="append",
        default=[],
        metavar="CODE",
        help="a code for missing values in these columns; may be repeated",
    )
    parser.add_argument("--epsilon", required=True, metavar="E", help="epsilon of all answers together")
    parser.add_argument("--delta", metavar="D", help=f"delta of all values together (default: {_DELTA})")
    parser.add_argument("--plan", action="store_true", help="show the plan alone; nothing is read or charged")
    parser.add_argument(
        "--write", action="store_true", help="write the proposals into the schema, if it has the form of a draft"
    )
    parser.add_argument(
        "--new", action="store_true", help="ask again, with fresh noise and another charge, what was requested before"
    )


def _run(asked: argparse.Namespace, state: Path) -> int:
    """Carry out the command.

    Args:
        asked: the parsed arguments.
        state: the state folder.

    Returns:
        0; 1 if only the plan was requested, and the budget has no room for it.

    Raises:
        DeniableError: nothing was drawn, for the reason that it states.
    """
    from schemas.spec.release_spec import load_spec  # noqa: PLC0415 - other commands do without it

    spec = load_spec(asked.spec)
    plan = _plan_of(asked, spec)
    from stores.releases.discoveries import require_unit  # noqa: PLC0415 - as above

    require_unit(spec)
    refusal = _show_plan(spec, plan, state, anew=asked.new)
    if asked.plan:
        return OK if refusal is None else REFUSED
    with at_work("Starting Prefect and MLflow, and reading the columns"):
        found = _discovered(asked.spec, plan, state, anew=asked.new)
    from schemas.codebooks.proposals import proposal_lines, proposed  # noqa: PLC0415 - as above

    columns = proposed(found.answers)
    _say("", *_told(spec, plan, found), "", *proposal_lines(columns, found.discovery), "")
    if asked.write:
        _write(spec, columns, found.discovery)
    else:
        _say(
            "Paste what you want of it into the columns of the schema, or run the same command with --write, which "
            "costs nothing more."
        )
    _say(f"Kept with a signed record, for auditors: {found.folder}")
    return OK


def _plan_of(asked: argparse.Namespace, spec: "ReleaseSpec") -> "DiscoveryPlan":
    """Return what is requested; the schema's codes for missing values of a column are included."""
    from deniable.discovery.plan import DiscoveryPlan  # noqa: PLC0415 - as above
    from deniable.discovery.plan import asked as questions_about  # noqa: PLC0415

    values, ranges = list(asked.column), list(asked.range)
    if not values and not ranges:
        declared = _declared(spec)
        values = [name for name, column in declared.items() if column.kind == "values"]
        ranges = [name for name, column in declared.items() if column.kind == "range"]
    if not values and not ranges:
        raise InvalidInput(
            "a discovery must be about some column, got none; declare open_columns in the schema, or name a column "
            "with --column or --range."
        )
    names = [*values, *ranges]
    stated = {name: _missing_of(spec, name) for name in names}
    missing = {name: list(dict.fromkeys((*codes, *asked.missing))) for name, codes in stated.items()}
    delta = (_DELTA if asked.delta is None else asked.delta) if values else (asked.delta or "0")
    return DiscoveryPlan(
        questions=questions_about(values, ranges, missing),
        epsilon=_number("epsilon", asked.epsilon),
        delta=_number("delta", delta),
    )


def _declared(spec: "ReleaseSpec") -> "Mapping[str, OpenColumn]":
    """Return the columns that the schema declares open."""
    from schemas.table import open_columns_of  # noqa: PLC0415 - as above

    return open_columns_of(spec.schema)


def _missing_of(spec: "ReleaseSpec", name: str) -> list[str]:
    """Return the codes for missing values of a column that the schema describes; refuse an identifier."""
    column = spec.schema.columns.get(name)
    if column is None:
        declared = _declared(spec).get(name)
        return [] if declared is None else [str(code) for code in declared.missing]
    from schemas.kinds.description import described  # noqa: PLC0415 - imports pandera

    known = described(column, name)
    if not known.is_released:
        raise InvalidInput(
            f"a discovery must be about columns that may be released, and {name} is an identifier; leave it out."
        )
    return [str(code) for code in known.missing]


def _number(name: str, stated: str) -> Fraction:
    """Return an exact number given on the command line."""
    from deniable.foundation.exact_numbers import exact_number  # noqa: PLC0415 - as above

    try:
        return exact_number(stated)
    except ValueError:
        example = "0.5" if name == "epsilon" else "1e-9"
        raise InvalidInput(f"{name} must be a number such as {example}, got {stated!r}; correct it.") from None


def _show_plan(spec: "ReleaseSpec", plan: "DiscoveryPlan", state: Path, *, anew: bool) -> str | None:
    """Print what a discovery would cost and propose; return why it would be refused, if at all."""
    from deniable.privacy.rounding import rounded_up  # noqa: PLC0415 - as above
    from stores.releases.discoveries import unit_in_words  # noqa: PLC0415

    _say(f"Discovery for {spec.title}: epsilon {rounded_up(plan.epsilon)}, delta {rounded_up(plan.delta)} in total")
    _say(f"  privacy unit: {unit_in_words(spec)}. No data were read.")
    each = rounded_up(plan.epsilon_per_column)
    for question in plan.questions:
        if question.kind == "values":
            _say(
                f"  {question.column}: epsilon {each}; a value is proposed if its number of records and noise of scale "
                f"{float(1 / plan.epsilon_per_column):.4g} come to {plan.threshold:,} or more"
            )
        else:
            one, ten, power = plan.range_thresholds
            _say(
                f"  {question.column}: epsilon {each}; the range ends where about {one:,} records agree in two digits, "
                f"{ten:,} in one, or {power:,} in the power of ten; the decimals that about "
                f"{plan.decimals_threshold:,} have are kept"
            )
    refusal, lines = _against_the_budget(spec, plan, state, anew=anew)
    _say(*(f"  {line}" for line in lines))
    return refusal


def _against_the_budget(
    spec: "ReleaseSpec", plan: "DiscoveryPlan", state: Path, *, anew: bool
) -> tuple[str | None, list[str]]:
    """Return why the budget refuses a discovery, if it does, and whether the spec's release fits into what is left."""
    from deniable.foundation.keys import fresh_salt  # noqa: PLC0415 - as above
    from deniable.ledger.budget import cost_of  # noqa: PLC0415
    from deniable.privacy.rounding import rounded_up  # noqa: PLC0415
    from flows.cli.planning import OPENED, trial_books  # noqa: PLC0415
    from schemas.spec.plan import plan_release  # noqa: PLC0415
    from stores.ledger.charging import planned_charges  # noqa: PLC0415
    from stores.releases.discoveries import begun_before, charge_of, request_digest  # noqa: PLC0415

    before = begun_before(state, spec, request_digest(spec, plan))
    if before is not None and before.finished and not anew:
        return None, [f"requested before, as {before.discovery}: shown again at no cost, unless --new is given"]
    if before is not None and not before.finished:
        return None, [f"begun before, as {before.discovery}: resumed from its copy of the columns, and charged once"]
    books, now, known = trial_books(spec, state)
    lines = []
    charge = charge_of(spec, plan, "discovery")
    try:
        for balance in books.balances(spec.dataset_name, now):
            opened = "" if known else f" {OPENED}"
            lines.append(f"left now: {balance.statement}{opened}")
        books.require_room([charge], now)
        books.enter(books.next_entry(charge, now, fresh_salt()))
    except DeniableError as refusal:
        return str(refusal), [*lines, f"the discovery would be refused: {refusal}"]
    planned = planned_charges(spec, plan_release(spec).accounts)
    cost = cost_of(planned, books.policy(spec.dataset_name).seed_cost)
    release = f"the release of {spec.name} costs epsilon {rounded_up(cost.epsilon)}, delta {rounded_up(cost.delta)}"
    try:
        books.require_room(planned, now)
    except DeniableError:
        lines.append(
            f"{release}, and would NOT fit into what is left after the discovery: lower its epsilon, or have the "
            f"custodian set a budget first by {command_line('budget set')} {spec.dataset_name}"
        )
    else:
        lines.append(f"{release}, and fits into what is left after the discovery")
    return None, lines


def _discovered(spec: Path, plan: "DiscoveryPlan", state: Path, *, anew: bool) -> "Discovered":
    """Run the flow."""
    from flows.cli.own_server import served_by  # noqa: PLC0415 - here and below: not for a plan alone
    from infra.servers.local_servers import own_prefect  # noqa: PLC0415

    with served_by(own_prefect(state), "discovery", "flows.discovery"):
        from flows.discovery import discover  # noqa: PLC0415

        return discover(spec, plan.document(), state, anew=anew)


def _told(spec: "ReleaseSpec", plan: "DiscoveryPlan", found: "Discovered") -> Iterator[str]:
    """Yield sentences on the charge of a discovery and the reliability of its proposals."""
    from deniable.privacy.rounding import rounded_up  # noqa: PLC0415 - as above

    cost = f"epsilon {rounded_up(plan.epsilon)}, delta {rounded_up(plan.delta)}"
    if found.charged:
        yield f"{found.discovery} was charged {cost} to {spec.dataset_name}."
    else:
        yield f"{found.discovery} was charged before ({cost} to {spec.dataset_name}); nothing was charged now."
    yield "The proposals are noisy: rare values are never proposed, and a range may end too early or too late."


def _write(spec: "ReleaseSpec", columns: Sequence["Described | LeftOut"], discovery: str) -> None:
    """Write the proposals into the schema; on failure the schema stays unchanged."""
    from schemas.catalog import load_schema  # noqa: PLC0415 - as above
    from schemas.codebooks.proposals import with_proposals  # noqa: PLC0415

    place = spec.folder / spec.dataset
    if place.suffix != ".py":
        raise InvalidInput(
            f"proposals can be written into a schema of your own alone, got {spec.dataset}; paste the lines by hand."
        )
    before = place.read_text(encoding="utf-8")
    after = with_proposals(before, columns, discovery)
    place.write_text(after, encoding="utf-8")
    try:
        load_schema(spec.dataset, spec.folder)
    except BaseException:
        place.write_text(before, encoding="utf-8")
        raise
    _say(f"Written into {place}: read them, and correct what is wrong.")


def _say(*lines: str) -> None:
    print(*lines, sep="\n", file=sys.stdout)  # noqa: T201 - this is the command line


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    description="Propose the values of open categories and the ranges of numbers for a schema. The answers are "
    "noisy, cost epsilon (and delta), and are charged to the dataset's ledger before any noise is drawn. The same "
    "command shows them again at no cost. Without --column and --range it is about the columns that the schema "
    "declares open.",
    imports=("prefect", "mlflow", "pandas"),
)
