"""Tries epsilons on public records, before any is spent."""

import argparse
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.console import show
from flows.cli.contract import StateCommand

if TYPE_CHECKING:
    from schemas.rehearsal import Rehearsal, Rung

OK = 0
_REPEATS = 3
_SHORT = {"good": "good", "with caution": "caution", "do not": "do not", "not decided": "?"}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", type=Path, metavar="SPEC", help="a release spec; its source is not opened")
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--on", type=Path, metavar="TABLE", help="a public table like the source (default: the last public release)"
    )
    source.add_argument(
        "--schema", action="store_true", help="records drawn from the schema, as without a release of the dataset"
    )
    parser.add_argument("--rows", type=_count, metavar="N", help="number of records drawn from the schema")
    parser.add_argument(
        "--epsilon",
        type=_epsilon,
        nargs="+",
        metavar="E",
        help="epsilons of a whole release (default: .25 .5 1 2 4); that of the spec is always tried",
    )
    parser.add_argument(
        "--repeats", type=_count, default=_REPEATS, metavar="N", help=f"releases at each epsilon (default: {_REPEATS})"
    )


def _run(asked: argparse.Namespace, state: Path) -> int:
    """Rehearse a release, print a table, and write its page.

    Args:
        asked: the parsed arguments.
        state: the state folder.

    Returns:
        0.

    Raises:
        DeniableError: the spec, the table or an option is at fault, or no release can be made of these records.
    """
    from flows.cli.running import checked_spec  # noqa: PLC0415 - here and below: only what the command needs

    spec = checked_spec(asked.spec)
    from infra.servers.local_servers import own_prefect  # noqa: PLC0415

    server = own_prefect(state)
    from flows.cli.own_server import served_by  # noqa: PLC0415

    with served_by(server, f"{spec.title}, rehearsal", "flows.rehearsing.rehearsal"):
        from flows.rehearsing.rehearsal import LADDER, rehearse  # noqa: PLC0415 - imports Prefect and MLflow
        from flows.rehearsing.stand_ins import ROWS, stand_in_for  # noqa: PLC0415
        from reports.pages.rehearsal import cannot_tell, render_rehearsal, sentence_of  # noqa: PLC0415
        from stores.record.rehearsals import keep_rehearsal  # noqa: PLC0415

        standing = stand_in_for(spec, state, table=asked.on, from_schema=asked.schema, rows=asked.rows or ROWS)
        show([f"Rehearsal of {spec.title} on {standing.what.words}"])
        rehearsal = rehearse(asked.spec, state, standing, asked.epsilon or LADDER, asked.repeats, _say)
    page = keep_rehearsal(state, rehearsal, render_rehearsal(rehearsal))
    _print(rehearsal)
    show(["", sentence_of(rehearsal), *cannot_tell(rehearsal), f"Nothing was charged. Page: {page}"])
    return OK


def _say(rung: "Rung") -> None:
    """Show that an epsilon was tried."""
    show([f"  epsilon {rung.epsilon}: {rung.seconds:.1f} processor seconds a release, {rung.memory:,} MiB"])


def _print(rehearsal: "Rehearsal") -> None:
    """Print the verdicts by use and epsilon."""
    from rich.console import Console  # noqa: PLC0415 - as above
    from rich.table import Table  # noqa: PLC0415

    from deniable.evaluation.uses import USES  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("epsilon of the whole release", overflow="fold")
    for rung in rehearsal.rungs:
        table.add_column(f"{rung.epsilon}{'*' if rung.epsilon == rehearsal.own else ''}", no_wrap=True)
    names = {use.name: use.words for use in USES}
    for use in rehearsal.used:
        table.add_row(names[use], *(_SHORT[rung.uses.get(use, "not decided")] for rung in rehearsal.rungs))
    widths = ["-" if rung.width is None else f"{100 * rung.width:.3g}" for rung in rehearsal.rungs]
    table.add_row("interval of a share, points", *widths)
    sizes = ["none" if rung.group_size is None else f"{rung.group_size:,}" for rung in rehearsal.rungs]
    table.add_row("groups good from", *sizes)
    if rehearsal.rungs[0].passed is not None:
        table.add_row("candidates that pass", *(f"{rung.passed or 0:.1%}" for rung in rehearsal.rungs))
    console = Console(highlight=False)
    console.print()
    console.print(table)
    console.print("* the spec's own; a grade is the most cautious of all releases, and ? is not decided.")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"a number such as 3 is needed, got {text}")
    return int(text)


def _epsilon(text: str) -> Fraction:
    try:
        found = Fraction(text)
    except (ValueError, ZeroDivisionError):
        found = Fraction(0)
    if found <= 0:
        raise argparse.ArgumentTypeError(f"an epsilon above 0 such as 0.5 is needed, got {text}")
    return found


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    description="Try a release at several epsilons on public records: the last public release of the dataset, a public "
    "table, or records drawn from the schema. The source is not opened, and nothing is charged or published.",
    imports=("prefect", "mlflow"),
)
