"""Shows what a release would say about itself: who answers for it, what it is for, and on which terms."""

import argparse
from pathlib import Path

from flows.cli.contract import StateCommand

DONE, OVERDUE = 0, 1


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", type=Path, metavar="SPEC", help="a release spec; its data are not read")


def _run(asked: argparse.Namespace, _: Path) -> int:
    from flows.cli.running import checked_spec  # noqa: PLC0415 - here and below: only what the command needs

    spec = checked_spec(asked.spec)
    from datetime import UTC, datetime  # noqa: PLC0415

    from deniable.console import show  # noqa: PLC0415
    from schemas.spec.publication import ENTRIES, OPTIONAL, Publication, missing, stated  # noqa: PLC0415

    said, width = dict(stated(spec.publication)), max(map(len, ENTRIES))
    show(f"{name.ljust(width)}  {said.get(name) or ('none' if name in OPTIONAL else 'not stated')}" for name in ENTRIES)
    left, today = missing(spec.publication), datetime.now(UTC).date()
    if left:
        show(["", f"A catalogue would miss: {', '.join(left)}. They are entries of `publication` in the spec."])
    if (spec.publication or Publication()).is_overdue(today):
        show(["", f"The review was due by {said['review_by']}; decide, and set another day."])
        return OVERDUE
    return DONE


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    description="Show what a release says about itself, and what a catalogue would miss: publisher, licence, purpose, "
    "and the other entries of the spec's block `publication`. Exits with 1 if its review is overdue. No data are read.",
    imports=(),
)
