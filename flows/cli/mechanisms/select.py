"""Prints what a spec must state about a public file: `deniable mechanisms select SPEC`.

Some learners derive their tables from a public file. Such a release is planned, charged and verified by what the spec
states about these tables. This command reads the public file and prints the lines for the spec; it reads no
confidential record.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from deniable.foundation.errors import InvalidInput
from flows.cli.contract import StateCommand

if TYPE_CHECKING:
    from deniable.foundation.tables import Tally
    from schemas.spec.release_spec import ReleaseSpec
    from tasks.data.public_rows import SourceRecords

T = TypeVar("T", bound="Tally")

OK = 0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", type=Path, metavar="SPEC", help="a release spec whose learner names a public file")


def _run(asked: argparse.Namespace, state: Path) -> int:
    """Print the lines that belong in the spec's entry `learner`.

    Args:
        asked: the parsed arguments.
        state: the state folder.

    Returns:
        0.

    Raises:
        InvalidInput: the spec's learner has no public file, or the file is missing.
        Refused: the file is the confidential source, or has no valid row.
    """
    from ruamel.yaml import YAML  # noqa: PLC0415 - here and below: only what the command needs

    from deniable.learners.registry import derived_from_public  # noqa: PLC0415
    from schemas.spec.release_spec import load_spec  # noqa: PLC0415
    from tasks.data.public_rows import digest_of  # noqa: PLC0415 - imports Prefect

    spec = load_spec(asked.spec)
    if spec.learner.public_file is None:
        raise InvalidInput(
            f"the learner must be one that reads a public file, got {spec.learner.kind}; it needs no such lines."
        )
    path = spec.folder / spec.learner.public_file
    digest = digest_of(spec, path)
    stated = derived_from_public(spec.learner, spec.domain, _Rows(spec, path, state), digest)
    yaml = YAML()
    yaml.default_flow_style = None
    yaml.width = 110
    yaml.dump(dict(stated), sys.stdout)
    return OK


@dataclass(frozen=True)
class _Rows:
    """Counts the rows of a public file."""

    spec: "ReleaseSpec"
    path: Path
    state: Path

    def count(self, empty: Callable[[], T], _: str) -> T:
        """Count all valid rows; see `deniable.mechanisms.Counter`."""
        from tasks.data.public_rows import counted_publicly  # noqa: PLC0415 - as above

        return counted_publicly(self.spec, self.path, empty, self.state, self._source)

    @cached_property
    def _source(self) -> "SourceRecords":
        """Return the source's records, which are read once, however often public rows are counted."""
        from tasks.data.public_rows import SourceRecords  # noqa: PLC0415 - as above

        return SourceRecords(self.spec, self.state)

    def advance(self, amount: int) -> None:
        """Do nothing: the progress of counting public rows is not shown."""


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
)
