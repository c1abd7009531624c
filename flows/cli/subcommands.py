"""The return type of `add_subparsers`, for which argparse has no public name."""

import argparse
from collections.abc import Sequence
from typing import Protocol


class Subcommands(Protocol):
    """The commands of a parser, as `argparse.ArgumentParser.add_subparsers` returns them."""

    def add_parser(
        self,
        name: str,
        *,
        parents: Sequence[argparse.ArgumentParser] = ...,
        help: str | None = ...,  # noqa: A002 - argparse's name
        description: str | None = ...,
    ) -> argparse.ArgumentParser:
        """Add a command.

        Args:
            name: the command's name.
            parents: parsers of options that it shares.
            help: what it does, in the list of commands.
            description: what it does, in its own help.

        Returns:
            The parser of the command's own arguments.
        """
