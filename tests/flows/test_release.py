"""A release goes from a table to a folder for everyone; with the same key it goes there again, to the bit."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from mlflow import MlflowClient
from prefect.task_runners import ProcessPoolTaskRunner, TaskRunner, ThreadPoolTaskRunner

from deniable.foundation.errors import InvalidInput, Refused
from deniable.ledger.budget import BudgetExceeded
from flows.release import release
from flows.release_session import new_vault
from flows.released import Released
from schemas.provenance import RECORD
from stores.keys.signed_record import read_signed
from stores.keys.signing_keys import revoke_key, signing_key
from stores.keys.trust_file import trusted_keys
from stores.ledger.ledger import Ledger, ledger_place
from stores.record.folder_verification import verified_release
from tests.small_release import NAMES, ROWS, write_small_release
from tests.warm.pools import pools_of_prefect
from tests.whole_release import SEEDLESS, drawn_release

pytestmark = pytest.mark.usefixtures("prefect")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("releases")


@pytest.fixture(scope="module")
def released(folder: Path, prefect: None) -> Released:
    """A release in six blocks of four chunks."""
    return release(write_small_release(folder / "spec", synthesis__chunk_candidates=64), folder / "state")


def table(made: Released) -> bytes:
    return (made.workspace.release_folder / "synthetic.csv").read_bytes()


def test_a_release_publishes_the_records_that_were_wanted(released: Released) -> None:
    records = pd.read_parquet(released.published.path)
    assert len(records) == released.published.rows == 400
    assert list(records.columns) == NAMES


def test_a_release_is_recorded_as_finished_with_its_totals(released: Released, state: Path) -> None:
    run = MlflowClient(f"sqlite:///{state}/mlflow/mlflow.db").get_run(released.workspace.mlflow_run_id)
    assert run.info.status == "FINISHED"
    assert released.accounts.total is not None
    assert run.data.metrics["epsilon.total"] == released.accounts.total.epsilon
    assert run.data.metrics["public/records"] == 400
    assert run.data.params["synthesis.k"] == "20"


def test_the_statement_that_is_published_is_that_of_the_accounts(released: Released) -> None:
    said = json.loads((released.workspace.release_folder / "privacy.json").read_text())
    assert released.accounts.total is not None
    assert said["total"]["epsilon"] == released.accounts.total.epsilon
    assert said["model"]["epsilon"] == released.accounts.model.epsilon


def test_the_record_names_the_runs_that_the_release_was_made_in(released: Released) -> None:
    public = read_signed(released.workspace.release_folder / RECORD).record
    internal = read_signed(released.record.path).record
    assert released.record.path == released.workspace.shelf / RECORD
    assert public.runs == internal.runs
    assert (public.runs.mlflow_run, public.runs.mlflow_experiment) == (released.workspace.mlflow_run_id, "people")
    assert public.runs.prefect_flow_run is not None
    assert all(step.prefect_task_run and step.mlflow_run for step in internal.steps)
    assert [step.step for step in internal.steps] == [*(step.step for step in public.steps), "report"]
    assert internal.ledger.entries[-1]["content"]["release"] == released.workspace.release_id


def test_a_release_that_is_published_verifies(released: Released) -> None:
    lines = Ledger.open(ledger_place(released.workspace.state)).entries()
    report = verified_release(
        released.workspace.release_folder,
        trusted_keys(released.workspace.state),
        ledger=[entry.to_line() for entry in lines],
    )
    assert report.holds, report.lines


def test_the_report_says_that_the_record_holds_ledger_and_all(released: Released) -> None:
    page = released.report.path.read_text()
    assert f"The release {released.workspace.release_id} holds" in page
    assert "not checked: no ledger was given" not in page


def test_a_release_that_nobody_may_sign_is_not_begun(tmp_path: Path) -> None:
    spec, state = write_small_release(tmp_path / "spec"), tmp_path / "state"
    revoke_key(state, signing_key(state).keyid, "compromised")
    with pytest.raises(Refused, match="compromised"):
        release(spec, state)
    assert [path.name for path in state.iterdir()] == ["keys"]


def test_a_release_with_another_key_is_another(released: Released, folder: Path) -> None:
    assert table(release(folder / "spec" / "spec.yaml", folder / "state")) != table(released)


@pytest.mark.parametrize(
    "runner",
    [
        pytest.param(ThreadPoolTaskRunner(max_workers=1), id="one thread", marks=pytest.mark.nightly),
        pytest.param(ThreadPoolTaskRunner(max_workers=4), id="four threads"),
        pytest.param(ProcessPoolTaskRunner(max_workers=2), id="two processes"),
    ],
)
def test_with_the_same_key_threads_and_processes_release_the_same_to_the_bit(
    released: Released, folder: Path, tmp_path: Path, runner: TaskRunner[Any]
) -> None:
    """In chunks as before; six blocks of four are divided among the workers."""
    key = released.workspace.vault / "key"
    with pools_of_prefect():
        again = release.with_options(task_runner=runner)(folder / "spec" / "spec.yaml", tmp_path / "again", key)
    assert table(again) == table(released)
    assert again.passed == released.passed > 100
    assert key.read_bytes() == (again.workspace.vault / "key").read_bytes()


HISTOGRAM = {
    "guarantee": "histogram_seeds",
    "omega": 2,
    "epsilon": 1,
    "delta": 1e-6,
    "k": 10,
    "beta": 1e-3,
    "max_rows": 10_000,
    "records": 3_100,
    "chunk_candidates": 2_048,
}


def test_histogram_seeds_release_more_records_than_there_are_people_and_only_prefixes_that_k_share(
    tmp_path: Path,
) -> None:
    made = drawn_release(tmp_path, synthesis=HISTOGRAM)
    made.publish()
    folder = made.workspace.release_folder
    noisy = json.loads((folder / "seeds.json").read_text())
    records = pd.read_parquet(folder / "synthetic.parquet")
    seeds = pd.read_parquet(made.workspace.vault / "seeds.parquet")
    domain = made.workspace.spec.domain
    people = seeds.apply(
        lambda column: column.map(dict(enumerate(domain.attributes[domain.index(column.name)].values)))
    )
    held = people.groupby(noisy["attributes"]).size()
    released_prefixes = records.groupby(noisy["attributes"]).size()
    assert len(records) == 3_100 > ROWS > len(people)
    assert (held[released_prefixes.index] >= 10).all()
    said = json.loads((folder / "privacy.json").read_text())
    assert said["histogram"]["plausible_seeds"]["k"] == 10
    assert "of_records" not in said["histogram"]["plausible_seeds"]
    words = (folder / "PRIVACY.md").read_text()
    assert "for every gamma" in words
    assert "begin elsewhere" not in words


def test_one_part_for_all_steps_costs_more_and_releases_too(released: Released, tmp_path: Path) -> None:
    made = drawn_release(tmp_path, split={"shared": 0.8, "holdout": 0.2})
    assert made.publish().rows == 400
    assert made.accounts.model.epsilon > released.accounts.model.epsilon


def test_a_key_file_that_holds_no_key_is_refused(folder: Path) -> None:
    (folder / "no key").write_text("too short")
    with pytest.raises(InvalidInput, match="32 bytes"):
        release(folder / "spec" / "spec.yaml", folder / "no state", folder / "no key")
    assert list((folder / "no state" / "vault").glob("*/key")) == []


def test_marginals_are_released_without_seeds_and_cost_no_more_than_the_model(tmp_path: Path) -> None:
    made = drawn_release(tmp_path, **SEEDLESS)
    assert made.publish().rows == 400
    said = json.loads((made.workspace.release_folder / "privacy.json").read_text())
    assert said["total"]["epsilon"] == said["model"]["epsilon"]
    assert "plausible_deniability" not in said


def test_privacy_test_one_is_refused_where_the_budget_has_a_delta(tmp_path: Path) -> None:
    first = {"synthesis__test": 1, "synthesis__accept_no_differential_privacy": True}
    with pytest.raises(BudgetExceeded):
        release(write_small_release(tmp_path / "spec", **first), tmp_path / "state")
    assert not (tmp_path / "state" / "releases").exists()


def test_releases_that_begin_within_one_second_have_names_of_their_own(tmp_path: Path) -> None:
    vaults = [new_vault(tmp_path, "small") for _ in range(3)]
    assert len({vault.name for vault in vaults}) == 3
    assert all(vault.is_dir() for vault in vaults)
