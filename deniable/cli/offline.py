"""Carries out commands that need neither a service nor a network."""

import argparse
import os
import sys

from deniable.cli.contract import Command, Line, missing_library
from deniable.cli.files import UNREADABLE, Unreadable
from deniable.console import show


def add_options(_: argparse.ArgumentParser, *, nested: bool = False) -> None:
    """Add nothing: these commands have no option in common."""


def carry_out(_: Line, command: Command, asked: argparse.Namespace) -> int:
    """Carry out a command.

    Returns:
        0 if every check passes, 1 if one fails, 2 if something cannot be read.
    """
    try:
        status = command.run(asked)
        sys.stdout.flush()
    except Unreadable as error:
        show(str(error).split("\n"), sys.stderr)
        return UNREADABLE
    except ImportError as error:
        if not (told := missing_library(command, error)):
            raise
        show([told], sys.stderr)
        return UNREADABLE
    except BrokenPipeError:
        # The reader has closed the pipe: nothing can be reported, now or at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREADABLE
    return status
