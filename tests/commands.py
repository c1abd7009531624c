"""Carries out a command in this process, without preparing the environment for it."""

from collections.abc import Sequence
from pathlib import Path

from deniable.cli.dispatch import declared, parser_of
from deniable.cli.registry import lines_here


def carry_out(name: str, arguments: Sequence[str | Path], state: Path) -> int:
    """Return the exit status of a command of the checkout.

    Args:
        name: the group and the command, such as `budget show`.
        arguments: its arguments.
        state: the state folder.
    """
    (line,) = [line for line in lines_here() if line.name == name]
    return declared(line).run(parser_of(line).parse_args(list(map(str, arguments))), state)
