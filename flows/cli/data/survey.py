"""The command `survey`: shows what a survey costs its respondents, and publishes responses with estimates.

Prefect and MLflow are imported only to publish.
"""

import argparse
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

from deniable.command_names import command_line
from deniable.foundation.errors import InvalidInput
from deniable.foundation.exact_numbers import exact_number
from deniable.local.words import guarantee_in_words, plan_lines
from flows.cli.contract import StateCommand

if TYPE_CHECKING:
    from flows.survey import Surveyed

DONE = 0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="survey_command", required=True, metavar="COMMAND")
    plan = commands.add_parser("plan", help="show what a survey costs each respondent")
    publish = commands.add_parser("publish", help="publish responses, estimates and a signed record")
    for command in (plan, publish):
        command.add_argument("survey", type=Path, metavar="SURVEY", help="the survey's document, JSON")
    publish.add_argument(
        "responses", type=Path, metavar="RESPONSES", help=f"the lines that {command_line('data respond')} wrote"
    )
    publish.add_argument(
        "--level", default="0.95", metavar="P", help="probability with which an interval covers (default: 0.95)"
    )


def _run(asked: argparse.Namespace, state: Path) -> int:
    """Carry out one command of `survey`.

    Args:
        asked: the parsed arguments.
        state: the state folder.

    Returns:
        0.

    Raises:
        DeniableError: the survey or its responses cannot be used, or it is published already.
    """
    console = Console(highlight=False, markup=False, soft_wrap=True)
    if asked.survey_command == "plan":
        from stores.surveys.survey_folder import load_survey  # noqa: PLC0415 - imports pandas

        for line in plan_lines(load_survey(asked.survey)):
            console.print(line)
        return DONE
    _print(_published(asked.survey, asked.responses, state, _level(asked.level)), console)
    return DONE


def _level(text: str) -> Fraction:
    level = exact_number(text)
    if not 0 < level < 1:
        raise InvalidInput(f"the level must be in (0, 1), got {text}; give a probability such as 0.95.")
    return level


def _published(document: Path, responses: Path, state: Path, level: Fraction) -> "Surveyed":
    from flows.cli.own_server import served_by  # noqa: PLC0415 - here and below: to publish only
    from infra.servers.local_servers import own_prefect  # noqa: PLC0415

    with served_by(own_prefect(state), "survey", "flows.survey"):
        from flows.survey import survey  # noqa: PLC0415

        return survey(document, responses, state, level=level)


def _print(published: "Surveyed", console: Console) -> None:
    console.print(guarantee_in_words(published.survey))
    left_out = published.repeated + published.unreadable
    console.print(
        f"{published.respondents:,} respondents; {left_out:,} lines left out ({published.repeated:,} repeated, "
        f"{published.unreadable:,} unreadable)"
    )
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("question", "value", "share", "interval", "all of a question together"):
        table.add_column(name)
    for question, value, _, share, _, _, low, high, outer_low, outer_high, _ in published.rows:
        numbers = [f"{float(each):.4f}" for each in (share, low, high, outer_low, outer_high)]
        table.add_row(question, value, numbers[0], f"{numbers[1]} to {numbers[2]}", f"{numbers[3]} to {numbers[4]}")
    Console(highlight=False, markup=False).print(table)
    console.print(f"public         {published.folder}")


COMMAND = StateCommand(arguments=_add_arguments, run=_run)
