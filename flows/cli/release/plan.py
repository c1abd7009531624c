"""Shows what a release would cost, and whether the budget allows it."""

import argparse
from pathlib import Path

from flows.cli.contract import StateCommand


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", type=Path, metavar="SPEC", help="a release spec; its data are not read")
    parser.add_argument(
        "--all", action="store_true", help="show each mechanism and the figures of each accountant, too"
    )


def _run(asked: argparse.Namespace, state: Path) -> int:
    from flows.cli.running import checked_spec  # noqa: PLC0415 - here and below: only what the command needs

    spec = checked_spec(asked.spec)
    from flows.cli.planning import show_plan  # noqa: PLC0415

    return show_plan(spec, state, everything=asked.all)


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    description="Show what a release would cost, in total and step by step, against the budget that is left. Exits "
    "with 1 if the budget does not allow it. No data are read, and nothing is charged.",
    imports=("numba", "pandas", "pyarrow", "scipy"),
)
