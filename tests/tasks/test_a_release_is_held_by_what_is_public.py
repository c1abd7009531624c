"""A release waits for a person if its records are off from its own noisy counts, whatever real records would say."""

import json
from fractions import Fraction

import numpy as np
import pytest
from mlflow import MlflowClient

from deniable.foundation.domain import Codes
from deniable.measurements.document import Measurements, Universe
from deniable.measurements.noisy_tables import MeasuredTable, NoiseLaw, Release
from schemas.references import Audience, Reference
from schemas.spec.evaluation import NOT_MEASURED
from tasks.evaluation.decide import decide
from tests.evaluated_release import EvaluatedRelease, population

ROWS = 2500


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> EvaluatedRelease:
    return EvaluatedRelease(tmp_path_factory.mktemp("held"))


def noisy_counts(release: EvaluatedRelease, sigma: int) -> Reference:
    """Counts of all attributes and pairs of the population, with Gaussian noise of a deviation."""
    domain, codes = release.workspace.spec.domain.modelled, population(ROWS, "counted")
    drawn, law = np.random.default_rng(7), NoiseLaw("gaussian", Fraction(sigma) ** 2)
    m = len(domain)
    tables = []
    for turn, columns in enumerate([*((i,) for i in range(m)), *((i, j) for j in range(m) for i in range(j))], 1):
        counts = np.zeros([domain.cardinalities[i] for i in columns], np.int64)
        np.add.at(counts, tuple(codes[:, i] for i in columns), 1)
        noise = np.rint(drawn.normal(0, sigma, counts.shape)).astype(np.int64)
        tables.append(MeasuredTable(columns, (Release(counts + noise, law, turn),), by_values=columns))
    known = Measurements(
        domain=domain,
        learner="loglinear",
        universe=Universe("shared"),
        buckets=tuple(np.arange(size) for size in domain.cardinalities),
        tables=tuple(tables),
        choices=(),
        records=float(ROWS),
        order=tuple(range(m)),
    )
    with release.workspace.writing(f"measured-{sigma}.json", Audience.PUBLIC) as place:
        place.write_text(json.dumps(known.document()))
    return release.workspace.refer("measured", f"measured-{sigma}.json", Audience.PUBLIC)


def reasons(release: EvaluatedRelease, codes: Codes, sigma: int) -> tuple[str, ...]:
    """Why a release of some records is held, if it is."""
    outcome = decide(
        release.workspace, NOT_MEASURED, NOT_MEASURED, noisy_counts(release, sigma), release.released(codes)
    ).outcome
    assert (outcome.action == "hold") == bool(outcome.reasons)
    return outcome.reasons


def test_records_that_agree_with_their_noisy_counts_are_published(release: EvaluatedRelease) -> None:
    assert reasons(release, population(ROWS, "best"), 2) == ()


def test_records_of_other_ages_than_those_counted_wait_for_a_person(release: EvaluatedRelease) -> None:
    """As a release whose mean age was 46, of people whose mean age was 36."""
    old = population(3 * ROWS, "all")
    [reason] = reasons(release, old[old[:, 0] >= 20], 2)
    assert reason.startswith("the shares of ")
    assert "age" in reason.partition(" in its records")[0]
    assert "town" not in reason


def test_records_of_which_noise_leaves_few_uses_wait_for_a_person(release: EvaluatedRelease) -> None:
    reason = reasons(release, population(ROWS, "best"), 1000)[0]
    assert reason.startswith("by its noisy counts alone it can be good for 0 of ")


def test_the_run_of_the_decision_names_what_it_read(release: EvaluatedRelease) -> None:
    counts, records = noisy_counts(release, 5), release.released(population(ROWS, "good"))
    decide(release.workspace, NOT_MEASURED, NOT_MEASURED, counts, records)
    client = MlflowClient()
    experiment = client.get_run(release.workspace.mlflow_run_id).info.experiment_id
    of_release = f"tags.`mlflow.parentRunId` = '{release.workspace.mlflow_run_id}'"
    newest = client.search_runs([experiment], of_release, order_by=["attributes.start_time DESC"])[0]
    assert {each.dataset.name for each in newest.inputs.dataset_inputs} == {"measured", "released"}
