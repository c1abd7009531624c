"""Prefect's page of a run says which release it was, what came of it, and what the terminal shows; and nothing else."""

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prefect import flow, get_client
from prefect.client.schemas.filters import LogFilter
from prefect.client.schemas.objects import FlowRun, State
from prefect.client.schemas.sorting import LogSort
from prefect.context import FlowRunContext
from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES, temporary_settings

from deniable.foundation.errors import DeniableError, Refused
from flows.prefect_runs import run_page
from flows.prefect_runs.run_page import RunPage, completed, on_its_page
from stores.vault.pending_approval import Held, HeldNote
from tasks.running.progress import advance, announced
from tests.flows.looked_at import LookedAt

CANARY = "bad row 4711"
NO_RUN = "00000000-0000-4000-8000-000000000000"
NOTE = HeldNote(
    release="small-20261122T110111Z",
    title="Small",
    dataset="small",
    action="hold",
    why=("a person is asked",),
    candidate="0" * 64,
    since="2026-11-22T11:01:11Z",
    started_by="ada",
    approvers=None,
    page=Path("/report.html"),
    page_digest="0" * 64,
    mlflow_run="run",
)
DURATION = re.compile(r"\d+\.\d s$")


class Said:
    """What Prefect's page of a run says."""

    def __init__(self, state: State[Any]) -> None:
        run = state.state_details.flow_run_id
        assert run is not None
        with get_client(sync_client=True) as client:
            self.name, self.tags = (there := client.read_flow_run(run)).name, there.tags
            asked = LogFilter.model_validate({"flow_run_id": {"any_": [run]}})
            found = client.read_logs(log_filter=asked, sort=LogSort.TIMESTAMP_ASC)
        self.lines = [(log.level, DURATION.sub("", log.message)) for log in found]
        self.message = state.message


def ran(work: Callable[[RunPage], object], subject: str = "release of small", *, is_release: bool = True) -> Said:
    """Do some work as a run of Prefect's."""

    @flow(name="some work")
    def some_work() -> object:
        with on_its_page(subject, is_release=is_release) as page:
            return work(page)

    return Said(some_work(return_state=True))


def test_a_run_is_called_by_its_release_and_what_came_of_it_and_logs_its_lines(prefect: None) -> None:
    def work(page: RunPage) -> str:
        with page.telling_steps({"synthesize": 10}):
            page.say("A new release.")
            page.about("people", "small-1")
            with announced("split", "small-1"):
                pass
            with announced("synthesize", "small-1"):
                advance("synthesize", 5)
                advance("synthesize", 5)
        page.ended("published")
        return completed("published small-1", "small-1")

    said = ran(work)
    assert (said.name, said.message) == ("small-1: published", "published small-1")
    assert said.tags == ["dataset: people", "release: small-1"]
    assert said.lines == [
        (20, line)
        for line in ("A new release.", "split: ", "synthesize: 5 of 10", "synthesize: 10 of 10", "synthesize: ")
    ]


def test_a_refresh_that_makes_a_release_has_one_page(prefect: None) -> None:
    def work(page: RunPage) -> None:
        with on_its_page("release of small", is_release=True) as mine:
            assert mine is page
            mine.about("people", "small-1")
            mine.ended("published")

    assert ran(work, "refresh of small", is_release=False).name == "refresh of small: published small-1"


@pytest.mark.parametrize(
    ("error", "outcome", "level", "line"),
    [
        (Refused("the cap must hold."), "refused", 40, "the cap must hold."),
        (DeniableError("a server must answer."), "failed", 40, "a server must answer."),
        (Held(NOTE), "held", 30, str(Held(NOTE))),
        (ValueError(CANARY), "failed", 40, "an unexpected error ended the run (ValueError)."),
    ],
)
def test_an_error_is_in_the_name_and_in_the_log_if_it_may_be_shown(
    error: Exception, outcome: str, level: int, line: str, prefect: None
) -> None:
    def work(page: RunPage) -> None:
        page.about("people", "small-1")
        raise error

    said = ran(work)
    assert said.name == f"small-1: {outcome}"
    assert said.lines == [(level, line)]


def test_nothing_of_prefect_s_own_loggers_is_on_the_page(prefect: None, caplog: pytest.LogCaptureFixture) -> None:
    """They log an error with its traceback, and that may quote a record."""

    def work(_page: RunPage) -> None:
        raise ValueError(CANARY)

    with caplog.at_level("DEBUG", logger="prefect"):
        said = ran(work)
    assert CANARY in caplog.text
    assert [line for _, line in said.lines if CANARY in line] == []


def test_a_run_ends_as_it_would_where_nothing_can_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_page, "_GRACE_S", 0.1)
    there = FlowRunContext.model_construct(flow_run=FlowRun.model_construct(id=NO_RUN))
    with (
        temporary_settings({PREFECT_API_URL: "http://127.0.0.1:9/api", PREFECT_CLIENT_MAX_RETRIES: 0}),
        there,
        on_its_page("release of small") as page,
    ):
        page.say("A line.")


def test_outside_of_a_run_nobody_is_told() -> None:
    with on_its_page("release of small") as page:
        page.say("A line.")
        page.ended("published")


# What each step of a release with tested seeds reads of what others made.
ARROWS = {
    "account": set(),
    "ingest": set(),
    "validate": {"ingest"},
    "clean": {"validate"},
    "split": {"clean"},
    "learn structure": {"split"},
    "learn parameters": {"learn structure", "split"},
    "index seeds": {"learn parameters", "split"},
    "synthesize": {"index seeds", "learn parameters"},
    "gather": {"index seeds", "synthesize"},
    "draw baseline": {"split"},
    "evaluate utility": {"draw baseline", "gather", "split"},
    "evaluate risk": {"gather", "split"},
    "decide": {"evaluate utility", "evaluate risk", "gather"},
    "publish": {"account", "decide", "gather", "learn parameters", "learn structure"},
    "verify published": {"publish"},
    "report": {
        "account",
        "ingest",
        "clean",
        "split",
        "learn structure",
        "gather",
        "evaluate utility",
        "evaluate risk",
        "verify published",
    },
    "seal": {"publish", "report"},
}


def test_the_arrows_of_a_release_are_the_flow_of_its_data(looked_at: LookedAt) -> None:
    with sqlite3.connect(looked_at.state / "prefect" / "prefect.db") as database:
        rows = database.execute(
            "SELECT t.id, t.name, t.task_inputs FROM task_run t JOIN flow_run r ON r.id = t.flow_run_id "
            "JOIN flow f ON f.id = r.flow_id WHERE f.name = 'release'"
        ).fetchall()
    # Blocks are told apart by what follows the comma.
    steps = {run.replace("-", ""): name.partition(",")[0] for run, name, _ in rows}
    arrows: dict[str, set[str]] = {name: set() for name in steps.values()}
    for run, _, inputs in rows:
        for read in (each for several in json.loads(inputs).values() for each in several):
            arrows[steps[run.replace("-", "")]].add(steps[read["id"].replace("-", "")])
    assert arrows == ARROWS


def test_each_artifact_has_a_name_of_its_own_and_says_what_it_is(looked_at: LookedAt) -> None:
    with sqlite3.connect(looked_at.state / "prefect" / "prefect.db") as database:
        said = dict(database.execute("SELECT key, description FROM artifact WHERE key IS NOT NULL"))
    assert said["release-in-mlflow"] == "Its privacy costs, its quality and its files."
    step = f"Inputs, outputs and privacy cost of the step learn_structure of {looked_at.name}."
    assert said["learn-structure-in-mlflow"] == step
    assert len(said) == 1 + len(ARROWS) - 1, "verifying leaves nothing in MLflow"
    assert all(said.values())


def test_the_page_of_a_release_has_the_lines_of_the_terminal_and_no_figure_of_real_records(
    looked_at: LookedAt,
) -> None:
    with sqlite3.connect(looked_at.state / "prefect" / "prefect.db") as database:
        runs = {
            flow_name: (run, name)
            for run, name, flow_name in database.execute(
                "SELECT r.id, r.name, f.name FROM flow_run r JOIN flow f ON f.id = r.flow_id"
            )
        }
        lines = {
            flow_name: [
                DURATION.sub("", line)
                for (line,) in database.execute(
                    "SELECT message FROM log WHERE flow_run_id = ? ORDER BY timestamp", [run]
                )
            ]
            for flow_name, (run, _) in runs.items()
        }
    assert {flow_name: name for flow_name, (_, name) in runs.items()} == {
        "release": f"{looked_at.name}: published",
        "replay": f"replay of {looked_at.name}: the same",
    }
    [said] = [text for command, text in looked_at.said.items() if command.startswith("release make")]
    shown = {" ".join(DURATION.sub("", line.strip("│ ")).split()) for line in said.splitlines()}
    assert "learn structure: " in lines["release"]
    assert [line for line in lines["release"] if " ".join(line.split()) not in shown] == []
    # What is on the terminal alone was measured on real records, or says where to look.
    internal = [
        line for line in sorted(shown) if line.endswith(("passed the test", "pairs of attributes", "thresholds met"))
    ]
    assert len(internal) == 3
    for line in internal:
        figure = line.removeprefix("internal").split()[0]
        assert [told for told in lines["release"] if figure in told.split()] == []
    assert lines["replay"][-1] == "Every step gives the same bytes."
