"""A day in an agency, from deployment to audit, each step by the person who does it, on the agency's servers."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from flows.entrypoints import DATASET_LIMIT
from flows.prefect_runs.automations import SILENT
from schemas.provenance import RECORD
from stores.keys.signed_record import read_signed
from stores.keys.trust_file import trusted_keys_place
from stores.servers.ui_links import registered_name
from stores.vault.pending_approval import held_notes
from tests.agency import SOON, Agency
from tests.catcher import Catcher, catching
from tests.small_release import QUICK, made_up_people, write_small_release

pytestmark = pytest.mark.nightly

REFRESH = {"budget": {"kind": "equal_share", "refreshes": 4}, "notify": {"webhook": "deniable"}}
# One dataset, three ways to release it.
SPECS: dict[str, dict[str, Any]] = {
    "first": {"decision": {"exact_figures_decide": True, "publish_within": {"tvd_2way_max": 0.000001}}},
    "yearly": {"refresh": REFRESH},
    "asked": {"refresh": REFRESH, "decision": {"always_ask": True, "approvers": ["ines"]}},
}


@pytest.fixture(scope="module")
def catcher() -> Iterator[Catcher]:
    with catching() as catcher:
        yield catcher


@pytest.fixture(scope="module")
def agency(tmp_path_factory: pytest.TempPathFactory, catcher: Catcher) -> Iterator[Agency]:
    folder = tmp_path_factory.mktemp("agency")
    for name, changes in SPECS.items():
        spec = write_small_release(folder / "specs", **deepcopy({**QUICK, **changes, "name": name}))
        spec.rename(spec.with_name(f"{name}.yaml"))
    here = Agency(folder / "state", folder / "home", folder / "specs", {"DENIABLE_OPERATOR": "ada", **SOON})
    here.start()
    here.command("servers", "deploy", DENIABLE_WEBHOOK=catcher.address)
    yield here
    here.command("servers", "stack", "down")


def arrival(folder: Path, *, change: int, names: list[str] | None = None) -> str:
    """A vintage in which so many people are another."""
    people = made_up_people()
    for person in people[:change]:
        person[1] = "m" if person[1] == "f" else "f"
    write_small_release(folder, people=people, names=names)
    return str(folder / "people.csv")


def releases(agency: Agency) -> list[str]:
    return sorted(path.name for path in (agency.state / "releases").glob("*"))


def current(agency: Agency) -> str:
    asked = f"/registered-models/alias?name={registered_name('people')}&alias=current"
    version = agency.mlflow(asked, "auditor")["model_version"]
    return next(tag["value"] for tag in version["tags"] if tag["key"] == "release")


def verified(agency: Agency, release: str) -> bool:
    """Whether a release holds for somebody who has its folder and the trust file alone."""
    keys = trusted_keys_place(agency.state)
    arguments = ["-m", "deniable", "verify", str(agency.state / "releases" / release), "--keys", str(keys)]
    return subprocess.run([sys.executable, *arguments], capture_output=True, check=False).returncode == 0


def test_a_day_in_the_agency(agency: Agency, catcher: Catcher, tmp_path: Path) -> None:  # noqa: PLR0915 - it is long
    # Ada runs a deployment. It is held: its run waits, and no process does.
    first = agency.begun("release/any", spec="first")
    assert agency.once(first, "PAUSED")["state"]["name"] == "Suspended"
    agency.wait_until_nobody_works()
    (note,) = held_notes(agency.state)
    assert (note.flow_run, note.started_by, releases(agency)) == (first, "ada", [])
    again = agency.triggered("release/any", spec="first")["state"]
    assert (again["name"], first in again["message"]) == ("Held", True)

    # Every server is ended and begun again.
    agency.command("servers", "stack", "down")
    agency.command("servers", "stack", "up")
    assert agency.run(first)["state"]["type"] == "PAUSED"

    # Ada may not approve it, nor anybody decide what is no decision; Ines may, and clicks twice.
    assert agency.answered(first, decision="perhaps", name="ines", reason="why not") == "REJECT"
    assert agency.answered(first, decision="approved", name="Ada", reason="mine") == "ACCEPT"
    agency.once(first, "PAUSED", asked=1)
    assert releases(agency) == []
    # A name in a form is no signature: Ines approves with her key, and twice.
    assert agency.answered(first, decision="approved", name="ines", reason="as agreed") == "ACCEPT"
    agency.once(first, "PAUSED", asked=2)
    assert releases(agency) == []
    ines = agency.approver("ines")
    assert "resumes" in agency.command("release", "approve", note.release, "--reason", "as agreed", **ines)
    assert f"was approved by ines on {note.since[:4]}" in agency.command(
        "release", "approve", note.release, "--reason", "as agreed", **ines
    )
    assert agency.once(first, "COMPLETED")["state"]["message"] == f"published {note.release}"
    approval = read_signed(agency.state / "releases" / note.release / RECORD).record.people.approval
    assert approval is not None
    assert (approval.by, approval.identity, approval.seen) == ("ines", "key", note.candidate)
    assert verified(agency, note.release)
    assert (releases(agency), current(agency)) == ([note.release], note.release)

    # The next year arrives, and its refresh is triggered twice at once: one publishes, the other finds nothing new.
    year = arrival(tmp_path / "2016", change=10)
    both = [agency.begun("refresh/any", spec="yearly", source=year) for _ in range(2)]
    said = sorted(agency.once(flow_run, "COMPLETED")["state"]["message"] for flow_run in both)
    (second,) = set(releases(agency)) - {note.release}
    assert f"published {second}; against {note.release}" in said[0]
    assert f"unchanged since {second}" in said[1]
    assert current(agency) == second
    spent = agency.command("budget", "show")

    # A year with another column stops it, and leaves all as it was; whoever is to know is told, and told no place.
    assert catcher.caught == []
    other = arrival(tmp_path / "2017-other", change=20, names=["age", "sex", "schooling", "employed"])
    failed = agency.begun("refresh/any", spec="yearly", source=other)
    assert "lacks school" in agency.once(failed, "FAILED")["state"]["message"]
    assert (agency.command("budget", "show"), current(agency)) == (spent, second)
    assert releases(agency) == [note.release, second]
    (told,) = map(json.loads, catcher.once(1))
    assert (told["event"], told["run"]) == ("refresh failed", "refresh of yearly")
    assert str(tmp_path) not in str(told)

    # One that a person decides upon waits as a release does; Ines approves it where she works.
    asked = agency.begun("refresh/any", spec="asked", source=arrival(tmp_path / "2017", change=20))
    assert agency.once(asked, "PAUSED")["state"]["name"] == "Suspended"
    assert asked in agency.command("release", "held")
    (note,) = held_notes(agency.state)
    carol = agency.approver("carol")
    assert "one of its approvers" in agency.command(
        "release", "approve", note.release, "--reason", "fine", status=1, **carol
    )
    agency.command("release", "approve", note.release, "--reason", "as agreed", **ines)
    assert f"published {note.release}; against {second}" in agency.once(asked, "COMPLETED")["state"]["message"]
    assert (current(agency), verified(agency, note.release)) == (note.release, True)
    assert json.loads(catcher.once(2)[1])["event"] == "refresh held"

    # Nobody has touched anything since, says whoever can touch nothing; and so says the nightly run.
    secrets = agency.said("secrets")
    auditor = {"MLFLOW_TRACKING_USERNAME": "auditor", "MLFLOW_TRACKING_PASSWORD": secrets["auditor"]}
    agency.command("audit", "release", note.release, **auditor)
    nightly = agency.triggered("audit/all")["state"]
    assert (nightly["type"], nightly["message"][:22]) == ("COMPLETED", "3 of 3 releases are as"), nightly
    assert len(catcher.caught) == 2, "of what a refresh told itself nobody is told again"


def test_a_run_that_is_refused_fails_with_the_reason_and_is_told_of(agency: Agency, catcher: Catcher) -> None:
    before, told = releases(agency), len(catcher.caught)
    flow_run = agency.begun("release/any", spec="first", begin_another=True)
    agency.once(flow_run, "PAUSED")
    assert agency.answered(flow_run, decision="refused", name="ines", reason="too near") == "ACCEPT"
    assert "refused by ines" in agency.once(flow_run, "FAILED")["state"]["message"]
    assert releases(agency) == before
    message = json.loads(catcher.once(told + 1)[-1])
    assert (message["event"], message["flow_run"]) == ("run failed", flow_run)


def test_a_run_whose_machine_dies_is_ended_and_gone_on_with_where_it_stopped(
    agency: Agency, catcher: Catcher, tmp_path: Path
) -> None:
    year = arrival(tmp_path / "2018", change=40)
    before, told = releases(agency), len(catcher.caught)
    dead = agency.begun("refresh/any", spec="yearly", source=year)
    agency.once(dead, "RUNNING")
    while not taken(agency):
        time.sleep(0.1)
    listen_for(agency, 10)
    for process in agency.processes("worker"):
        process.kill()
    # Nobody does anything: another worker is started, the run is ended, and gone on with.
    agency.gone_on_with(dead)
    listen_for(agency, 180)
    done = agency.once(dead, "COMPLETED", though=("CRASHED",))
    (made,) = set(releases(agency)) - set(before)
    assert f"published {made}" in done["state"]["message"]
    assert len(catcher.caught) == told, "of what is gone on with nobody is told"
    agency.command("servers", "stack", "down")
    agency.command("servers", "stack", "up")

    # Told of them once more, Prefect has its automations as they were.
    there = {item["id"] for item in agency.prefect("/automations/filter", {})}
    agency.command("servers", "deploy")
    again = agency.prefect("/automations/filter", {})
    assert (len(again), {item["id"] for item in again}) == (3, there)
    assert {item["trigger"]["within"] for item in again} == {0, 180, 900}

    # What the dead one had to itself is free again, although Prefect was begun again meanwhile.
    other = agency.triggered("refresh/any", spec="yearly", source=year)["state"]
    assert other["type"] == "COMPLETED", other["message"]
    assert f"unchanged since {made}" in other["message"]
    assert not taken(agency)


def listen_for(agency: Agency, silence_s: int) -> None:
    """Have Prefect end runs that say nothing for so long."""
    (found,) = [item for item in agency.prefect("/automations/filter", {}) if item["name"] == SILENT]
    told = {name: value for name, value in found.items() if name not in {"id", "created", "updated"}}
    told["trigger"]["within"] = silence_s
    agency.prefect(f"/automations/{found['id']}", told, method="PUT")


def taken(agency: Agency) -> bool:
    """Whether a run has the dataset to itself."""
    limit = agency.prefect(f"/v2/concurrency_limits/{DATASET_LIMIT.format('people')}", method="GET")
    return bool(limit["active_slots"])
