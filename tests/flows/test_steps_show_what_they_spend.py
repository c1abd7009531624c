"""Every step of a release shows in MLflow what it does and spends; only steps that spend show more than 0."""

import json
from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from deniable.privacy.step_costs import StepCost
from flows.release import release
from flows.released import Released
from tests.small_release import write_small_release

pytestmark = pytest.mark.usefixtures("prefect")


@pytest.fixture(scope="module")
def client(state: Path) -> MlflowClient:
    return MlflowClient(f"sqlite:///{state}/mlflow/mlflow.db")


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory, prefect: None) -> Released:
    folder = tmp_path_factory.mktemp("tested")
    return release(write_small_release(folder / "spec", synthesis__chunk_candidates=128), folder / "state")


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory, prefect: None) -> Released:
    """By privacy test 1, which has no differential privacy.

    A ledger can only say delta 1 for the seeds, half of the records: a cap that gives up lets it through.
    """
    folder = tmp_path_factory.mktemp("exact")
    changes: dict[str, Any] = {
        "synthesis__test": 1,
        "synthesis__accept_no_differential_privacy": True,
        "budget": {"epsilon": 1000, "delta": 1},
    }
    return release(write_small_release(folder / "spec", **changes), folder / "state")


def steps_of(made: Released, client: MlflowClient) -> dict[str, Run]:
    """The runs of a release's steps, by their names without numbers; of a mapped step, those of its parts."""
    run_id = made.workspace.mlflow_run_id
    experiment = client.get_run(run_id).info.experiment_id
    found = client.search_runs([experiment], f"tags.`mlflow.parentRunId` = '{run_id}'")
    return {(run.info.run_name or "").partition(" ")[2]: run for run in found}


def planned_cost(made: Released, step: str) -> StepCost:
    [cost] = [cost for cost in made.accounts.steps if cost.step == step]
    return cost


def test_every_step_says_what_it_does_in_one_line(tested: Released, client: MlflowClient) -> None:
    for name, run in steps_of(tested, client).items():
        said = run.data.tags["mlflow.note.content"]
        assert said.endswith("."), name
        assert "\n" not in said


def test_steps_are_numbered_in_their_order_without_a_gap(tested: Released, client: MlflowClient) -> None:
    names = [run.info.run_name or "" for run in steps_of(tested, client).values()]
    numbers = {int(name[:2]) for name in names}
    assert numbers == set(range(1, len(numbers) + 1))
    began = sorted(steps_of(tested, client).values(), key=lambda run: run.info.start_time)
    assert [(run.info.run_name or "")[:2] for run in began] == sorted(name[:2] for name in names)


def test_every_step_shows_its_epsilon_and_most_show_none(tested: Released, client: MlflowClient) -> None:
    spent = {
        name: (run.data.metrics["epsilon"], run.data.metrics["delta"]) for name, run in steps_of(tested, client).items()
    }
    spenders = {name: cost for name, cost in spent.items() if cost != (0, 0)}
    assert spenders.keys() == {"learn_structure", "learn_parameters", "index_seeds"}
    for name, step in {**dict.fromkeys(spenders, ""), "index_seeds": "synthesize"}.items():
        guarantee = planned_cost(tested, step or name).guarantee
        assert guarantee is not None
        assert spenders[name] == (guarantee.epsilon, guarantee.delta)


def test_accounting_plans_and_spends_nothing(tested: Released, client: MlflowClient) -> None:
    run, total = steps_of(tested, client)["account"], tested.accounts.total
    assert total is not None
    assert run.data.metrics == {
        "epsilon": 0,
        "delta": 0,
        "planned.epsilon": total.epsilon,
        "planned.delta": total.delta,
    }
    assert [item.path for item in client.list_artifacts(run.info.run_id, "public")] == ["public/planned.events.json"]


def test_candidates_are_charged_with_their_events_where_the_seeds_are_indexed(
    tested: Released, client: MlflowClient
) -> None:
    run_id = steps_of(tested, client)["index_seeds"].info.run_id
    events = Path(client.download_artifacts(run_id, "public/events.json")).read_text()
    assert '"candidates from seeds"' in events


def test_blocks_show_how_many_candidates_were_tested_and_how_many_passed(
    tested: Released, client: MlflowClient
) -> None:
    blocks = [run.data.metrics for name, run in steps_of(tested, client).items() if name.startswith("synthesize")]
    assert len(blocks) == 3
    assert sum(block["public/tested"] for block in blocks) == 1500
    assert sum(block["internal/passed"] for block in blocks) == tested.passed


def test_what_has_no_differential_privacy_says_so_instead_of_showing_an_epsilon(
    exact: Released, client: MlflowClient
) -> None:
    steps = steps_of(exact, client)
    assert "epsilon" not in steps["index_seeds"].data.metrics
    assert "privacy test 1" in steps["index_seeds"].data.params["guarantee"]
    assert "planned.epsilon" not in steps["account"].data.metrics
    assert "privacy test 1" in steps["account"].data.params["planned.guarantee"]


def test_privacy_test_one_is_released_with_the_warning_that_it_has_no_differential_privacy(exact: Released) -> None:
    words = (exact.workspace.release_folder / "PRIVACY.md").read_text()
    assert "the whole release has no differential privacy" in words
    said = json.loads((exact.workspace.release_folder / "privacy.json").read_text())
    assert said["total"] is None
    assert said["dataset_so_far"]["delta"] >= 0.5
    assert said["dataset_so_far"]["vacuous"]
