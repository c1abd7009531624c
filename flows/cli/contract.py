"""What the module of a command declares that works on a state folder: see `deniable.cli.contract`."""

from dataclasses import dataclass

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
