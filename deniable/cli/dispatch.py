"""Finds the command that was typed, and has it carried out; an unknown command is answered by the nearest name.

The module of a command is imported only when it is used, so that help takes no time.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NoReturn, cast

from deniable.cli.contract import Command, Line, Runner
from deniable.cli.former_names import FORMER, UNTIL, renamed
from deniable.cli.pages import first_page, group_page
from deniable.cli.registry import GROUPS, lines_here
from deniable.command_names import command_line, name_commands
from deniable.console import print_any_character, show

OK, UNKNOWN = 0, 2
_HELP = ("-h", "--help")
_SHOWN = 60
_OF_A_CHECKOUT = ".venv/bin/deniable"
_NEAR = 0.7


class _Parser(argparse.ArgumentParser):
    """A parser that says in one sentence what is wrong."""

    nested: "type[_Parser] | None" = None

    def add_subparsers(self, **how: Any) -> Any:
        return super().add_subparsers(**{"parser_class": self.nested or _Parser, **how})

    def error(self, message: str) -> NoReturn:
        self.exit(UNKNOWN, f"{self.prog}: {message}; {self.prog} --help shows what it takes.\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command.

    Returns:
        0 when all went well, 1 when it failed or a check does not hold, 2 when it was refused from the start or
        something cannot be read, 3 when it waits for a person's decision, 130 when it was interrupted.
    """
    print_any_character()
    typed = list(sys.argv[1:] if arguments is None else arguments)
    lines = lines_here()
    names = [line.name for line in lines]
    words = renamed(typed, names)
    if words != typed and sys.stderr.isatty():
        now = " ".join(words[: 1 + (len(words) > 1)])
        show([f"deniable {typed[0]} is now deniable {now}; the former name ends with version {UNTIL}."], sys.stderr)
    first, second = (*words, "", "")[:2]
    if first in ("", *_HELP):
        show(first_page(lines))
        return OK if first else UNKNOWN
    if first == "--version":
        from importlib.metadata import version  # noqa: PLC0415 - slow to import

        show([version("deniable")])
        return OK
    if any(line.group == first for line in lines) and second in ("", *_HELP):
        show(group_page(first, lines))
        return OK if second else UNKNOWN
    found = next((line for line in lines if line.name == f"{first} {second}"), None)
    if found is None:
        show([unknown(first, second, lines)], sys.stderr)
        return UNKNOWN
    return _carry_out(found, words[2:])


def run() -> NoReturn:
    """Carry out the command of this process, whose messages name commands as this shell finds them."""
    name_commands(_script_here())
    sys.exit(main())


def parser_of(line: Line) -> argparse.ArgumentParser:
    """Return the parser of a command's arguments.

    Args:
        line: its line in a registry.
    """
    command, runner = declared(line), runner_of(line)

    class Nested(_Parser):
        """The parser of one of the command's own commands."""

        def __init__(self, **how: Any) -> None:
            super().__init__(**how)
            runner.add_options(self, nested=True)

    description = command.description or f"{line.help[0].upper()}{line.help[1:]}."
    parser = _Parser(prog=f"deniable {line.name}", description=description)
    parser.nested = Nested
    runner.add_options(parser)
    command.arguments(parser)
    return parser


def declared(line: Line) -> Command:
    """Return what the module of a command declares."""
    command: Command = import_module(line.module).COMMAND
    return command


def runner_of(line: Line) -> Runner:
    """Return what carries out a command."""
    return cast("Runner", import_module(line.runner))


def unknown(first: str, second: str, lines: Sequence[Line]) -> str:
    """Return a sentence about a command that does not exist, with the nearest name.

    Args:
        first: the first word.
        second: the second word, or nothing.
        lines: the commands of this installation.
    """
    here = _groups(lines)
    if first in GROUPS and first not in here:
        return f"the commands of deniable {first} need the project's checkout; this installation has the wheel alone."
    typed = f"{first} {second}"[:_SHOWN] if first in here else first[:_SHOWN]
    nearest = _nearest(first, second, lines)
    advice = f"did you mean {command_line(nearest)}?" if nearest else f"{command_line('--help')} lists all."
    return f"there is no command deniable {typed}; {advice}"


def _nearest(first: str, second: str, lines: Sequence[Line]) -> str:
    """Return the name that resembles what was typed most, or nothing."""
    of_group = {line.word: line.name for line in lines if line.group == first}
    if of_group:
        if near := get_close_matches(second, of_group, 1, _NEAR):
            return of_group[near[0]]
        elsewhere = {line.word: line.name for line in reversed(lines)}
        near = get_close_matches(second, elsewhere, 1, _NEAR)
        return elsewhere[near[0]] if near else f"{first} --help"
    names = [line.name for line in lines]
    former = {name: now for name, now in FORMER.items() if now in names}
    by_word = {line.word: line.name for line in reversed(lines)} | former | {group: group for group in _groups(lines)}
    by_name = {line.name: line.name for line in lines}
    if near := get_close_matches(f"{first} {second}", by_name, 1, _NEAR):
        return near[0]
    near = get_close_matches(first, by_word, 1, _NEAR)
    if near and near[0] in _groups(lines):
        return next((line.name for line in lines if line.name == f"{near[0]} {second}"), f"{near[0]} --help")
    return by_word[near[0]] if near else ""


def _groups(lines: Sequence[Line]) -> set[str]:
    return {line.group for line in lines}


def _carry_out(line: Line, words: Sequence[str]) -> int:
    return runner_of(line).carry_out(line, declared(line), parser_of(line).parse_args(words))


def _script_here() -> str:
    """How the user of this process types `deniable`: by its path in a checkout whose environment is not active."""
    active = os.path.dirname(sys.executable) in os.environ.get("PATH", "").split(os.pathsep)  # noqa: PTH120
    return "deniable" if active or not os.path.isfile(_OF_A_CHECKOUT) else _OF_A_CHECKOUT  # noqa: PTH113
