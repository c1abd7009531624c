"""What the module of a command declares that works on a state folder: see `deniable.cli.contract`."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from deniable.cli.contract import Command


@dataclass(frozen=True, kw_only=True)
class StateCommand(Command):
    """A command that is given the parsed arguments and the state folder.

    Attributes:
        only_reading: whether the state folder may be on a read-only disk.
        resumable: whether a release that it leaves unfinished is kept; the arguments name its spec.
    """

    only_reading: bool = False
    resumable: bool = False


def add_keys_option(parser: argparse.ArgumentParser, only: str = "") -> None:
    """Add the option that names the agency's trust file.

    Args:
        parser: the command's parser.
        only: when it counts, such as `with --after, `.
    """
    parser.add_argument(
        "--keys",
        type=Path,
        metavar="TRUSTED",
        help=f"{only}the agency's trust file (default: DENIABLE_TRUSTED_KEYS, or that of the state folder)",
    )
