"""Every part of the data is read by the steps that it was drawn for, and no record is in two parts."""

from collections import defaultdict
from pathlib import Path

import pytest
from mlflow import MlflowClient

from flows.release import release
from flows.released import Released
from schemas.references import Audience, Reference
from stores.tables.tables import load_codes
from tests.small_release import SCHEMA, made_up_people, write_small_release

pytestmark = pytest.mark.usefixtures("prefect")

PARTS = ("seeds", "structure", "parameters", "holdout")
PEOPLE = 3000
EVALUATION = {"evaluate_utility", "evaluate_risk"}
# Of the parts the report says how many records they have.
REPORT = {"report"}
MAKING = {"learn_structure", "learn_parameters", "index_seeds", "synthesize", "gather", "draw_baseline"}


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory, prefect: None) -> Released:
    """A release of people of whom no two have the same age, so that their records can be told apart."""
    folder = tmp_path_factory.mktemp("parts")
    people = [[str(number), *person[1:]] for number, person in enumerate(made_up_people(PEOPLE))]
    # One seed has a candidate's age; so a candidate passes only where the age is drawn anew.
    spec = write_small_release(folder / "spec", people=people, synthesis__omega={3: 1, 4: 1})
    (spec.parent / "people.py").write_text(SCHEMA.replace("numeric(18, 37, width=5)", "numeric(0, 2999, width=750)"))
    return release(spec, folder / "state")


@pytest.fixture(scope="module")
def parts(released: Released) -> dict[str, Reference]:
    """The parts as they lie in the vault."""
    return {name: released.workspace.refer(name, f"{name}.parquet", Audience.RESTRICTED) for name in PARTS}


@pytest.fixture(scope="module")
def read(released: Released, state: Path) -> dict[str, set[tuple[str, str]]]:
    """Names and digests of what each step read, by MLflow's record."""
    client = MlflowClient(f"sqlite:///{state}/mlflow/mlflow.db")
    run_id = released.workspace.mlflow_run_id
    experiment = client.get_run(run_id).info.experiment_id
    inputs: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for run in client.search_runs([experiment], f"tags.`mlflow.parentRunId` = '{run_id}'"):
        for item in run.inputs.dataset_inputs if run.inputs else []:
            if [tag.value for tag in item.tags] == ["input"]:
                inputs[run.data.tags["step"]].add((item.dataset.name, item.dataset.digest))
    return inputs


def recorded(*references: Reference) -> set[tuple[str, str]]:
    """Things as MLflow's record has them."""
    return {(reference.name, reference.digest[:36]) for reference in references}


def test_each_step_of_learning_reads_its_own_part_and_what_was_learnt_before(
    released: Released, parts: dict[str, Reference], read: dict[str, set[tuple[str, str]]]
) -> None:
    graph = released.workspace.refer("graph", "graph.json", Audience.PUBLIC)
    model = released.workspace.refer("model", "model.json", Audience.PUBLIC)
    assert read["learn_structure"] == recorded(parts["structure"])
    assert read["learn_parameters"] == recorded(parts["parameters"], graph)
    assert read["index_seeds"] == recorded(parts["seeds"], model)
    assert read["draw_baseline"] == recorded(parts["parameters"])


def test_a_synthesis_reads_the_seeds_by_their_index_and_no_part(
    released: Released, read: dict[str, set[tuple[str, str]]]
) -> None:
    index = released.workspace.refer("seed_index", "seed_index.npy", Audience.RESTRICTED)
    model = released.workspace.refer("model", "model.json", Audience.PUBLIC)
    assert read["synthesize"] == recorded(model, index)


def test_the_holdout_is_read_by_the_evaluation_alone(
    parts: dict[str, Reference], read: dict[str, set[tuple[str, str]]]
) -> None:
    readers = {
        name: {step for step, inputs in read.items() if recorded(part) <= inputs} for name, part in parts.items()
    }
    assert readers == {
        "holdout": EVALUATION | REPORT,
        "structure": {"learn_structure"} | EVALUATION | REPORT,
        "parameters": {"learn_parameters", "draw_baseline"} | EVALUATION | REPORT,
        "seeds": {"index_seeds"} | EVALUATION | REPORT,
    }
    assert set(read) >= MAKING


def test_whole_tables_are_read_only_to_be_split(released: Released, read: dict[str, set[tuple[str, str]]]) -> None:
    codes = recorded(released.workspace.refer("codes", "codes.parquet", Audience.RESTRICTED))
    assert {step for step, inputs in read.items() if codes <= inputs} == {"split"} | REPORT


def test_everybody_is_in_one_part_and_no_two_parts_share_anybody(
    released: Released, parts: dict[str, Reference]
) -> None:
    domain = released.workspace.spec.domain
    ages = {name: load_codes(part.path, domain)[:, domain.index("age")].tolist() for name, part in parts.items()}
    everybody = [age for each in ages.values() for age in each]
    assert sorted(everybody) == list(range(PEOPLE))
    assert min(map(len, ages.values())) > 300
    assert len({part.digest for part in parts.values()}) == len(PARTS)
