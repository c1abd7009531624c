"""Lists the learners and samplers that a spec can name."""

import argparse
from collections.abc import Iterator, Sequence
from importlib import import_module

from deniable.cli.contract import Command
from deniable.console import show
from deniable.learners.registry import LEARNERS
from deniable.samplers.registry import SAMPLERS

DONE = 0


def _list(_: argparse.Namespace) -> int:
    show([*_of("learners", LEARNERS), "", *_of("samplers", SAMPLERS)])
    return DONE


def _of(kind: str, names: Sequence[str]) -> Iterator[str]:
    """Yield the names of a kind, each with what its folder says first."""
    yield f"{kind.capitalize()}"
    width = max(map(len, names))
    for name in names:
        first, _, _ = (import_module(f"deniable.{kind}.{name}").__doc__ or "").partition("\n")
        yield f"  {name.ljust(width)}  {first}"


COMMAND = Command(
    run=_list,
    description="List the learners, which make a model or draw from exact counts, and the samplers, which draw "
    "records of a model with one of several guarantees.",
)
