"""Shows what happened to a release while it ran, as OpenLineage events, or sends them to a lineage server."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.console import show
from flows.cli.contract import StateCommand

if TYPE_CHECKING:
    from deniable.catalogues.lineage_events import Event

DONE, NOT_TAKEN = 0, 1


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("release", metavar="RELEASE", help="name of a release, finished or not")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the events themselves, a line each")
    form.add_argument("--send", action="store_true", help="post all of them to the server that OPENLINEAGE_URL names")


def _run(asked: argparse.Namespace, state: Path) -> int:
    """Show or send the events of a release.

    Args:
        asked: the parsed arguments.
        state: the state folder.

    Returns:
        0, or 1 if the lineage server did not take all events.

    Raises:
        InvalidInput: there are no events of that name, or no lineage server is named.
    """
    import json  # noqa: PLC0415 - here and below: only what the command needs

    from stores.lineage.events import events_of  # noqa: PLC0415

    events = events_of(state, asked.release)
    if asked.send:
        return _send(events)
    show(json.dumps(event, separators=(",", ":")) if asked.json else _line(event) for event in events)
    return DONE


def _send(events: "list[Event]") -> int:
    from deniable.foundation.errors import InvalidInput  # noqa: PLC0415
    from stores.lineage.receiver import URL, receiver  # noqa: PLC0415 - as above

    server = receiver()
    if server is None:
        raise InvalidInput(f"{URL} must name the lineage server that takes the events, and is not set; set it.")
    sent = server.send(events)
    show([f"{sent:,} of {len(events):,} events were taken."])
    if server.fault:
        show([f"{server.fault}; send them again when it does."])
        return NOT_TAKEN
    return DONE


def _line(event: "Event") -> str:
    """Return an event in words: when, what happened, the job, what it read and made, and what it spent."""
    time, kind, job = event["eventTime"][:19].replace("T", " "), event["eventType"].lower(), event["job"]["name"]
    facets = event["run"].get("facets", {})
    # The name of a dataset may have dots, too.
    step = job.rpartition(".")[2] if "parent" in facets else "the release"
    cost = facets.get("deniable_privacyCost", {})
    spent = f"  epsilon {cost['epsilon']:.4g}" if cost.get("epsilon") else ""
    moved = [
        f"{word} {', '.join(item['name'].rpartition('/')[2] for item in event[part])}"
        for word, part in (("read", "inputs"), ("made", "outputs"))
        if event[part] and kind == "complete"
    ]
    return f"{time}  {kind:<8}  {step:<17}{spent}  {'; '.join(moved)}".rstrip()


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    description="Show what happened to a release while it ran: when each step began and ended or failed, what it read "
    "and made, and what it spent. The events are OpenLineage's, are internal, and are also sent to the lineage server "
    "that OPENLINEAGE_URL names.",
    imports=(),
)
