"""What was released before there was a stack is a part of it, and what was released in it stays when it is left."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import httpx
import pytest

from schemas.provenance import RECORD
from stores.keys.signed_record import read_signed
from stores.tracking.run_index import RUN_INDEX
from stores.vault.pending_approval import held_notes
from tests.agency import Agency
from tests.flows.command import environment
from tests.small_release import QUICK, made_up_people, write_small_release

ROOT = Path(__file__).resolve().parents[2]
REFRESH = {"budget": {"kind": "equal_share", "refreshes": 4}}


@pytest.fixture
def agency(tmp_path: Path) -> Iterator[Agency]:
    """An agency that has no servers yet."""
    changes = {"yearly": {"refresh": REFRESH}, "asked": {"decision": {"approvers": ["ines"]}}}
    for name, change in changes.items():
        spec = write_small_release(tmp_path / "specs", **deepcopy({**QUICK, **change, "name": name}))
        spec.rename(spec.with_name(f"{name}.yaml"))
    here = Agency(tmp_path / "state", tmp_path / "home", tmp_path / "specs", {"DENIABLE_OPERATOR": "ada"})
    yield here
    if (here.state / "stack").exists():
        here.command("servers", "stack", "down")


def arrived(agency: Agency, change: int) -> Path:
    """A table of people of whom so many are others than before."""
    people = made_up_people()
    for person in people[:change]:
        person[1] = "m" if person[1] == "f" else "f"
    write_small_release(agency.home / f"arrived-{change}", people=people)
    return agency.home / f"arrived-{change}" / "people.csv"


def refreshed(agency: Agency, change: int) -> str:
    """What a refresh publishes of them."""
    before = set((agency.state / "releases").glob("*"))
    agency.command("release", "refresh", agency.specs / "yearly.yaml", "--source", arrived(agency, change))
    (folder,) = set((agency.state / "releases").glob("*")) - before
    return folder.name


def asked_to_seal(agency: Agency, change: int) -> list[str]:
    """What a refresh asks of MLflow's server while it seals what it publishes."""
    notes = agency.home / "asked"
    arguments = [agency.specs / "yearly.yaml", agency.state, arrived(agency, change), notes]
    subprocess.run(
        [sys.executable, "-m", "tests.flows.asking", *map(str, arguments)],
        env={**environment(agency.home), **agency.variables, "PYTHONPATH": str(ROOT)},
        cwd=agency.home,
        check=True,
        capture_output=True,
    )
    lines = [line.split("\t") for line in notes.read_text().splitlines()]
    return [question for step, question in lines if step == "seal"]


def audited(agency: Agency, *releases: str) -> None:
    """See that every release is found, and as it was."""
    found = agency.command("release", "find", "--dataset", "people")
    assert {line.split()[0] for line in found.splitlines() if "  epsilon " in line} == set(releases)
    for release in releases:
        assert " checks hold." in agency.command("audit", "release", release)


def previous(agency: Agency, release: str) -> str | None:
    return read_signed(agency.state / "releases" / release / RECORD).record.release.previous


@pytest.mark.nightly
def test_releases_go_into_a_stack_and_out_of_it_with_their_history(agency: Agency) -> None:
    first = refreshed(agency, 0)
    agency.command("release", "make", agency.specs / "asked.yaml", status=3)
    (held,) = (note.release for note in held_notes(agency.state))
    agency.command("servers", "backup", agency.home / "copy")

    agency.start()
    assert not (agency.state / "mlflow" / "mlflow.db").exists()
    audited(agency, first)
    second = refreshed(agency, 10)
    assert previous(agency, second) == first
    shown = agency.mlflow("/experiments/get-by-name?experiment_name=people", "auditor")["experiment"]
    runs = agency.mlflow("/runs/search", "auditor", {"experiment_ids": [shown["experiment_id"]]})["runs"]
    ids = {run["info"]["run_name"]: run["info"]["run_id"] for run in runs}
    (page,) = (
        tag["value"]
        for run in runs
        for tag in run["data"]["tags"]
        if (run["info"]["run_name"], tag["key"]) == (second, "mlflow.note.content")
    )
    assert f"/runs/{ids[first]}?" in page
    index, auditor = f"{agency.page('mlflow')}{RUN_INDEX}", ("auditor", agency.said("secrets")["auditor"])
    told = httpx.get(index, params={"run_id": ids[first]}, auth=auditor, timeout=60).json()
    assert len(told["runs"]) == len(told["entries"]) == len({ids[first], *told["runs"]}) > 10
    assert httpx.get(index, params={"run_id": ids[first]}, timeout=60).status_code == 401
    assert agency.mlflow("/experiments/create", "engineer", {"name": "new"})["experiment_id"] == "2"

    # What waited for a person goes on, in the run that it had.
    agency.command("release", "approve", held, "--reason", "as agreed", **agency.approver("ines"))
    agency.command("release", "make", agency.specs / "asked.yaml")
    audited(agency, first, second, held)
    assert "was moved from" not in agency.command("servers", "stack", "up")

    # Sealing asks a bounded number of things, and for no file or history one by one that it can have at once.
    asked = asked_to_seal(agency, 5)
    assert len(asked) <= 110, Counter(asked).most_common()
    counted = Counter(question for question in asked if "/mlflow-artifacts/" not in question)
    assert counted.total() <= 40, counted.most_common()
    assert not [question for question in asked if "get-history" in question]
    fetched = Counter(
        question for question in asked if question.startswith("GET") and "/mlflow-artifacts/artifacts/" in question
    )
    assert set(fetched.values()) == {1}, fetched.most_common(5)
    third = max(path.name for path in (agency.state / "releases").iterdir())

    # And back: all is there without a server, and what is released there goes into the stack again.
    assert "The history of 4 releases" in agency.command("servers", "stack", "leave")
    assert not agency.processes()
    agency.command("servers", "stack", "leave", status=1)
    audited(agency, first, second, held, third)
    fourth = refreshed(agency, 20)
    assert previous(agency, fourth) == third
    assert "The history of 5 releases" in agency.command("servers", "stack", "up")
    audited(agency, first, second, held, third, fourth)

    # A backup of before is as good as what it was made of.
    restored = Agency(agency.home / "restored", agency.home, agency.specs)
    restored.command("servers", "restore", agency.home / "copy")
    audited(restored, first)
    try:
        restored.start()
        audited(restored, first)
    finally:
        restored.command("servers", "stack", "down")
