"""Makes a model and synthetic records from noisy tables that others published."""

import argparse
import os

from deniable.cli.contract import Command
from deniable.cli.files import HOLDS, Unreadable, content, write
from deniable.foundation.checks import printable
from deniable.foundation.errors import DeniableError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the noisy tables, JSON in the documented format")
    parser.add_argument("folder", metavar="FOLDER", help="the new folder")
    parser.add_argument("--records", type=int, default=10_000, metavar="N", help="synthetic records (default: 10000)")


def _draw(asked: argparse.Namespace) -> int:
    from deniable.from_measurements import made_of_others  # noqa: PLC0415 - compiled code

    try:
        made = made_of_others(content(asked.file, "the file of noisy tables").decode(errors="replace"), asked.records)
    except DeniableError as error:
        raise Unreadable(printable(str(error))) from None
    try:
        os.mkdir(asked.folder)  # noqa: PTH102
    except OSError as error:
        raise Unreadable(f"the folder must be a new one, got {asked.folder}: {error.strerror}; name another.") from None
    for name, text in made.files.items():
        write(os.path.join(asked.folder, name), text)  # noqa: PTH118
    print(f"{made.tables} noisy tables of about {made.records:,.0f} records; a model of {made.cells:,} cells")  # noqa: T201
    print(f"{asked.records:,} synthetic records in {printable(asked.folder)}")  # noqa: T201
    return HOLDS


COMMAND = Command(
    arguments=_add_arguments,
    run=_draw,
    description="Read noisy tables and the distribution of their noise. Write consistent estimates, intervals, "
    "a model and synthetic records to a new folder, about which infer answers questions.",
    imports=("numba", "scipy"),
    installed_by="install deniable[learn]",
)
