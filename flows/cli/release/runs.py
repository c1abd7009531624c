"""The command `runs`: lists the runs in Prefect, their outcome, and what to do next.

Prefect's own `flow-run ls` truncates ids, and shows neither datasets nor releases.
"""

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable.command_names import command_line
from deniable.console import show
from deniable.foundation.checks import printable
from deniable.foundation.errors import DeniableError, InvalidInput
from flows.cli.contract import StateCommand
from flows.prefect_runs.run_tags import DATASET, RELEASE

if TYPE_CHECKING:
    from infra.servers.prefect_api import PrefectApi

DONE = 0
_LAST, _MOST = 20, 200
_SHORTEST = 4
_HELD, _UNDER_WAY = {"Held", "Suspended", "Paused"}, {"RUNNING", "PENDING", "CANCELLING"}

Run = dict[str, Any]


class RunsUnknown(DeniableError):
    """Prefect's server does not list its runs."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run",
        nargs="?",
        metavar="RUN",
        help="show one run with its steps and its log: its id, the beginning of its id, or its release",
    )
    parser.add_argument("--dataset", metavar="DATASET", help="only runs of this dataset")
    parser.add_argument("--last", type=int, default=_LAST, metavar="N", help=f"at most this many (default: {_LAST})")


def _run(asked: argparse.Namespace, state: Path) -> int:
    """List the runs, the newest first, or show one of them.

    Args:
        asked: the parsed arguments.
        state: the state folder, whose runs are shown unless DENIABLE_PREFECT_API_URL names another server.

    Returns:
        0.

    Raises:
        InvalidInput: there is no such run, or more than one.
        RunsUnknown: Prefect's server does not answer.
    """
    from httpx import HTTPError, InvalidURL  # noqa: PLC0415 - other commands need none of this

    from infra.servers.local_servers import own_prefect  # noqa: PLC0415
    from infra.servers.prefect_api import PrefectApi  # noqa: PLC0415
    from stores.servers.prefect_failures import prefect_failure  # noqa: PLC0415

    server = own_prefect(state)
    try:
        if server is not None:
            from rich.console import Console  # noqa: PLC0415

            with Console(stderr=True).status("Starting Prefect, which is not running ..."):
                server.wait_until_up()
        with PrefectApi() as prefect:
            lines = list(_shown(prefect, asked.run) if asked.run else _listed(prefect, asked.dataset, asked.last))
    except (HTTPError, InvalidURL) as error:
        raise RunsUnknown(prefect_failure(error)) from None
    finally:
        if server is not None:
            server.stop()
    show(map(printable, lines))
    return DONE


def _listed(prefect: "PrefectApi", dataset: str | None, last: int) -> Iterator[str]:
    """Yield lines on the latest runs."""
    found = _runs(prefect, last, **({"tags": {"all_": [f"{DATASET}{dataset}"]}} if dataset else {}))
    for number, run in enumerate(found):
        if number:
            yield ""
        yield from _about(run)
    if not found:
        yield f"Prefect has no runs{f' of {dataset}' if dataset else ''}."


def _shown(prefect: "PrefectApi", asked: str) -> Iterator[str]:
    """Yield lines on one run, its steps and its log."""
    run = _found(prefect, asked)
    mine = {"id": {"any_": [run["id"]]}}
    yield from _about(run)
    steps = prefect.post("task_runs/filter", flow_runs=mine, sort="EXPECTED_START_TIME_ASC", limit=_MOST)
    if steps:
        width = max(len(step["name"]) for step in steps)
        yield "  steps"
        for step in steps:
            yield f"    {step['name']:<{width}}  {step['state_name']:<9}  {step['total_run_time']:.1f} s"
    logs = {"flow_run_id": {"any_": [run["id"]]}}
    lines = prefect.post("logs/filter", logs=logs, sort="TIMESTAMP_ASC", limit=_MOST)
    if lines:
        yield "  log"
        yield from (f"    {line['timestamp'][11:19]}  {line['message']}" for line in lines)


def _runs(prefect: "PrefectApi", most: int, **wanted: object) -> list[Run]:
    """Return the runs that have begun or are due."""
    begun = {"expected_start_time": {"before_": datetime.now(UTC).isoformat()}, **wanted}
    found: list[Run] = prefect.post(
        "flow_runs/filter", flow_runs=begun, sort="EXPECTED_START_TIME_DESC", limit=max(1, min(most, _MOST))
    )
    return found


def _found(prefect: "PrefectApi", asked: str) -> Run:
    """Return the run with the given id or beginning of an id, or the latest run of the given release."""
    runs = _runs(prefect, _MOST)
    named = [run for run in runs if _tag(run, RELEASE) == asked]
    found = named[:1] or [run for run in runs if len(asked) >= _SHORTEST and run["id"].startswith(asked.lower())]
    if len(found) != 1:
        many = "several match" if found else f"none of the latest {_MOST} matches"
        raise InvalidInput(
            f"a run must be named by its id, the beginning of it, or its release, got {asked}: {many}; "
            f"{command_line('release runs')} lists them."
        )
    return found[0]


def _about(run: Run) -> Iterator[str]:
    """Yield lines on a run, both for a list and for a single run."""
    began = run["start_time"] or run["expected_start_time"]
    yield f"{run['name']}  ({run['state_name']})"
    yield f"  run      {run['id']}"
    yield f"  began    {began[:19].replace('T', ' ')} UTC, {run['total_run_time']:.0f} s"
    if dataset := _tag(run, DATASET):
        yield f"  dataset  {dataset}"
    if release := _tag(run, RELEASE):
        yield f"  release  {release}"
    if message := (run.get("state") or {}).get("message"):
        yield f"  message  {message}"
    yield f"  next     {_next(run)}"


def _next(run: Run) -> str:
    """Return the next step for the user."""
    release, dataset, kind = _tag(run, RELEASE), _tag(run, DATASET), run["state_type"]
    retry = command_line(f"servers prefect flow-run retry {run['id']}")
    again = retry if run["deployment_id"] else "the same command again"
    said = f"{again} resumes where it stopped; what was charged is not charged again"
    if run["state_name"] in _HELD:
        approve = f'{command_line("release approve")} {release} --reason "..."'
        said = f"review what {command_line('release held')} lists; then {approve}"
    elif kind == "COMPLETED":
        made = release and run["name"].startswith((release, "refresh"))
        find, audit = command_line("release find"), command_line("audit release")
        said = f"{find} --dataset {dataset} shows it, {audit} {release} checks it"
        said = said if made else "nothing"
    elif kind in _UNDER_WAY:
        said = f"wait; {command_line('servers prefect')} flow-run cancel {run['id']} ends it"
    elif kind == "CRASHED" and run["deployment_id"]:
        said = f"nothing, if the watch of the stack is running: it resumes automatically; otherwise {said}"
    elif run["state_name"] == "AwaitingRetry":
        said = "nothing: it resumes automatically, at the time shown on its page"
    elif kind == "SCHEDULED":
        said = f"wait for a worker; {command_line('servers stack status')} shows whether one is running"
    elif kind == "FAILED" and (run["name"].endswith(": refused") or ": refused " in run["name"]):
        said = "do what the message requires; an unchanged run will be refused again"
    return said


def _tag(run: Run, kind: str) -> str:
    """Return a run's tag of the given kind."""
    return next((tag.removeprefix(kind) for tag in run["tags"] if tag.startswith(kind)), "")


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
)
