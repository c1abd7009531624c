"""Draws the R-U map and the intruder's curves of the table of a spec; nothing is released or charged."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.console import show
from flows.cli.contract import StateCommand
from flows.cli.spinner import at_work

if TYPE_CHECKING:
    from reports.figures.confidentiality_map import MapPoint

OK = 0
_FOLDER = "maps"
_FIT_ROWS = 20_000
_CAUTION = (
    "Nothing was released or charged. On a confidential table, a choice made by this map depends on its rows, and no "
    "guarantee covers it: choose by the map of a public table."
)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", type=Path, metavar="SPEC", help="a release spec, for its table and its evaluation")
    parser.add_argument(
        "--epsilons",
        type=float,
        nargs="+",
        metavar="E",
        help="epsilons of one record, for records that are charged one by one (default: 1, 10 and 100)",
    )
    parser.add_argument(
        "--totals",
        type=float,
        nargs="+",
        metavar="E",
        help="epsilons of a whole table, for models (default: .1, 1 and 10)",
    )
    parser.add_argument("--records", type=int, metavar="N", help="records charged one by one (default: 1000)")
    parser.add_argument("--repeats", type=int, metavar="N", help="number of tables behind each point (default: 3)")
    parser.add_argument(
        "--imputation", action="store_true", help="with multiple imputation too, whose fit may take minutes"
    )
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="a folder for the page and its figures (default: in the vault)"
    )


def _run(asked: argparse.Namespace, state: Path) -> int:
    """Make the map, and write its page and its figures.

    Args:
        asked: the parsed arguments.
        state: the state folder.

    Returns:
        0.

    Raises:
        InvalidInput: the spec, the source or an option is at fault.
        Refused: no row is valid, or the schema's own code failed.
    """
    from schemas.spec.release_spec import load_spec  # noqa: PLC0415 - here and below: only what the command needs

    spec = load_spec(asked.spec)
    from reports.figures.confidentiality_map import as_csv  # noqa: PLC0415
    from reports.pages.confidentiality_map import render_map  # noqa: PLC0415 - imports matplotlib
    from stores.vault.disk import replace_whole  # noqa: PLC0415
    from stores.vault.private_files import make_private_folder  # noqa: PLC0415
    from tasks.mapping.own_table import Asked, map_of, rows_of  # noqa: PLC0415 - imports pandas

    given = {name: getattr(asked, name) for name in ("epsilons", "totals", "records", "repeats")}
    wanted = Asked(
        fit_rows=_FIT_ROWS if asked.imputation else 0,
        **{name: value for name, value in given.items() if value is not None},
    )
    with at_work("Reading the table"):
        codes = rows_of(spec, state)
    show([f"Map of {len(codes):,} rows of {spec.dataset} (internal: exact functions of real records)"])
    drawn = map_of(spec, codes, wanted, _say)
    folder: Path = asked.out or make_private_folder(state / "vault" / _FOLDER / spec.name)
    folder.mkdir(parents=True, exist_ok=True)
    replace_whole(folder / "map.csv", as_csv(drawn))
    replace_whole(folder / "map.html", render_map(drawn))
    show(
        [
            f"Page and figures: {folder / 'map.html'} and map.csv (internal)",
            _CAUTION,
        ]
    )
    return OK


def _say(point: "MapPoint") -> None:
    """Show a point as soon as it is there."""
    cost = "no differential privacy" if point.total is None else f"epsilon {point.total:,.6g} in total"
    one = "" if point.per_record is None else f", {point.per_record:g} a record"
    show([f"  {point.curve}: {cost}{one}; marginal distance {point.figures[0]:.3f}"])


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    description="Draw the R-U map of a spec's table: how far synthetic tables are from it, what an intruder guesses "
    "from them, and what they cost in total. Nothing is released or charged; the page is internal.",
    imports=("pandas", "pyarrow", "numba", "matplotlib"),
)
