"""A run of a deployment comes to its end though its servers, its process and its worker go down, and nobody intervenes.

In one run each goes down once, each at another moment, and stays down until the run has failed because of it: the first
and the last of them by day, all at night. All other pairs of server and moment are in tests/system.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.catcher import Catcher, catching
from tests.nights import Disturbances, DisturbedAgency, disturbed_agency, undisturbed

DISTURBANCES: Disturbances = {
    "learning": "postgres",
    "synthesis": "prefect",
    "publication": "mlflow",
    "sealing": "process",
    "the end": "worker",
}


@pytest.fixture(scope="module")
def catcher() -> Iterator[Catcher]:
    with catching() as catcher:
        yield catcher


@pytest.fixture(scope="module")
def agency(tmp_path_factory: pytest.TempPathFactory, catcher: Catcher) -> Iterator[DisturbedAgency]:
    yield from disturbed_agency(tmp_path_factory.mktemp("agency"), catcher)


@pytest.mark.nightly
@pytest.mark.usefixtures("prefect")
def test_a_run_survives_every_outage_to_the_same_bytes_and_charge(
    agency: DisturbedAgency, catcher: Catcher, tmp_path: Path
) -> None:
    run = agency.begun("release/any", spec="nightly")
    agency.disturb(run, DISTURBANCES)
    done = agency.once(run, "COMPLETED", though=("CRASHED",))
    (made,) = agency.releases()
    assert done["state"]["message"] == f"published {made}"
    assert agency.published(made) == undisturbed(agency, made, tmp_path)
    assert agency.charges() == ["learn_parameters"]
    assert catcher.caught == [], "what is gone on with is told to nobody"
    said = [str(state["message"]) for state in agency.states(run)]
    assert not [line for line in said if "Error" in line or "Traceback" in line], said
    agency.wait_until_no_task_runs()
