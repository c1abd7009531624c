"""The contract of commands: what the module of a command declares, as COMMAND, and its line in a registry.

How to add one: docs/developer/adding-a-command.md.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol


def _no_arguments(_: argparse.ArgumentParser) -> None:
    """Add nothing."""


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command.

    Attributes:
        run: carries it out, given the parsed arguments (and the state folder, for a command of the checkout), and
            returns its exit status.
        arguments: adds its arguments to a parser.
        description: what it does, in its own help; its line in the registry by default.
        imports: large libraries that it imports when it runs. Its module imports none of them: a message about a
            wrong argument takes no time.
        installed_by: how to install them, if not every installation has them.
    """

    run: Callable[..., int]
    arguments: Callable[[argparse.ArgumentParser], None] = _no_arguments
    description: str = ""
    imports: Sequence[str] = ()
    installed_by: str = ""


@dataclass(frozen=True)
class Line:
    """The line of a command in a registry.

    Attributes:
        name: the group and the command, as they are typed.
        help: what it does, in the list of its group: at most 60 characters.
        module: the module that declares it.
        runner: the module that carries it out, with the functions of `Runner`.
    """

    name: str
    help: str
    module: str
    runner: str = "deniable.cli.offline"

    @property
    def group(self) -> str:
        """The first word."""
        return self.name.partition(" ")[0]

    @property
    def word(self) -> str:
        """The second word."""
        return self.name.partition(" ")[2]


class Runner(Protocol):
    """Carries out commands of one kind."""

    def add_options(self, parser: argparse.ArgumentParser, *, nested: bool = False) -> None:
        """Add the options that all commands of this kind have.

        Args:
            parser: the parser of a command, or of one of a command's own commands.
            nested: whether it is the latter; an option that is left out there is that of the command.
        """

    def carry_out(self, line: Line, command: Command, asked: argparse.Namespace) -> int:
        """Carry out a command, say in one sentence why it failed, and return the exit status."""


def missing_library(command: Command, error: Exception) -> str:
    """Return a sentence about a library that a command needs and this installation lacks; empty for other errors.

    Args:
        command: the command.
        error: what ended it.
    """
    if not isinstance(error, ImportError) or error.name is None or not command.installed_by:
        return ""
    if error.name.partition(".")[0] not in command.imports:
        return ""
    return f"this command needs {error.name}, which is not installed; {command.installed_by}."
