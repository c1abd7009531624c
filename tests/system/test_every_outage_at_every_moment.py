"""PostgreSQL, MLflow and Prefect go down, each in the middle of learning, synthesis, publication and sealing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.catcher import Catcher, catching
from tests.nights import DisturbedAgency, disturbed_agency, undisturbed

SERVERS = ("postgres", "mlflow", "prefect")
MOMENTS = ("learning", "synthesis", "publication", "sealing")


@pytest.fixture(scope="module")
def catcher() -> Iterator[Catcher]:
    with catching() as catcher:
        yield catcher


@pytest.fixture(scope="module")
def agency(tmp_path_factory: pytest.TempPathFactory, catcher: Catcher) -> Iterator[DisturbedAgency]:
    yield from disturbed_agency(tmp_path_factory.mktemp("agency"), catcher)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.usefixtures("prefect")
def test_a_run_survives_the_outage_of_a_server(
    agency: DisturbedAgency, catcher: Catcher, tmp_path: Path, server: str, moment: str
) -> None:
    before, charged = set(agency.releases()), len(agency.charges())
    run = agency.begun("release/any", spec="nightly")
    agency.disturb(run, {moment: server})
    done = agency.once(run, "COMPLETED", though=("CRASHED",))
    (made,) = set(agency.releases()) - before
    assert done["state"]["message"] == f"published {made}"
    assert agency.published(made) == undisturbed(agency, made, tmp_path)
    assert len(agency.charges()) == charged + 1
    assert catcher.caught == []
    agency.wait_until_no_task_runs()
