"""A week of nights in which everything goes wrong once: nobody intervenes, and all is well in the morning."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.stack.command import TURN
from stores.vault.lease import turn
from tests.catcher import Catcher, catching
from tests.nights import DisturbedAgency, disturbed_agency, undisturbed

ENDS = ("COMPLETED", "FAILED")


@pytest.fixture
def catcher() -> Iterator[Catcher]:
    with catching() as catcher:
        yield catcher


@pytest.fixture
def agency(tmp_path: Path, catcher: Catcher) -> Iterator[DisturbedAgency]:
    yield from disturbed_agency(tmp_path / "agency", catcher, DENIABLE_RESUME_AFTER_S="2 10 20 40")


@pytest.mark.usefixtures("prefect")
def test_a_week_of_nights_mends_itself(agency: DisturbedAgency, catcher: Catcher, tmp_path: Path) -> None:
    nights = agency.planned_nights("release/any", spec="nightly")

    def came_to(run: str, *, releases: int, state: str = "Completed") -> None:
        """See that a night ended, and what there is by then."""
        ended = agency.once(run, *ENDS, though=("CRASHED",))["state"]
        assert (ended["name"], len(agency.releases())) == (state, releases), ended["message"]
        assert len(agency.charges()) == releases + (state == "GivenUp")

    # Servers and databases go down, one a night, each in the middle of something else.
    for number, (moment, server) in enumerate(
        [("learning", "postgres"), ("synthesis", "mlflow"), ("sealing", "prefect")], start=1
    ):
        night = next(nights)
        agency.disturb(night, {moment: server})
        came_to(night, releases=number)

    # A process is killed past its end, and its worker with it.
    night = next(nights)
    agency.disturb(night, {"publication": "process", "the end": "worker"})
    came_to(night, releases=4)

    # For two nights there is no worker; one release makes up for both.
    with turn(agency.state, TURN):
        agency.kill("worker")
        missed, made_up_for = next(nights), next(nights)
    came_to(made_up_for, releases=5)
    came_to(missed, releases=5, state="Missed")
    assert catcher.caught == []

    # MLflow is down for the whole night: the run is given up, and somebody is told, once.
    night = next(nights)
    with turn(agency.state, TURN):
        agency.disturb_for_good(night, "learning", "mlflow")
        came_to(night, releases=5, state="GivenUp")
    (told,) = map(json.loads, catcher.once(1))
    assert (told["event"], told["flow_run"]) == ("run failed", night)

    # The next night finishes what that one paid for, and makes a release of its own.
    came_to(next(nights), releases=7)

    # In the morning: every charge belongs to a release, every release is what it would have been, and nothing runs.
    assert agency.charges() == ["learn_parameters"] * 7
    first = agency.releases()[0]
    assert agency.published(first) == undisturbed(agency, first, tmp_path)
    audited = agency.triggered("audit/all")["state"]
    assert audited["message"] == "7 of 7 releases are as they were when their records were signed"
    agency.wait_until_no_task_runs()
    assert len(catcher.caught) == 1
    assert "No release is unfinished." in agency.command("release", "unfinished")
