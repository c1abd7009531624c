"""A useful release comes as near to the holdout as real records do, and a useless one is recognized."""

import numpy as np
import pytest

from deniable.evaluation.registry import figures_of
from deniable.foundation.errors import InvalidInput
from schemas.spec.evaluation import EvaluationFigures
from stores.tracking.client import client_of, tracking_uri
from tasks.evaluation.evaluate_risk import evaluate_risk
from tasks.evaluation.evaluate_utility import evaluate_utility
from tests.evaluated_release import EvaluatedRelease, independent, met, population
from tests.isolation import own_state


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> EvaluatedRelease:
    thresholds = {"tvd_2way_max": 0.25, "distinguished_max": 0.6, "accuracy_forest_min": 0.8}
    return EvaluatedRelease(tmp_path_factory.mktemp("evaluated"), {"thresholds": thresholds})


@pytest.fixture(scope="module")
def good(release: EvaluatedRelease) -> EvaluationFigures:
    """An unrelated sample of the same population: the best release there could be."""
    baseline = release.table("baseline", independent(2000, "baseline"))
    return evaluate_utility(release.workspace, release.released(population(2500, "best")), release.parts, baseline)


@pytest.fixture(scope="module")
def bad(release: EvaluatedRelease, good: EvaluationFigures) -> EvaluationFigures:
    """Records with independent attributes."""
    return evaluate_utility(release.workspace, release.released(independent(2500, "bad")), release.parts)


def test_a_sample_of_the_population_is_as_near_to_the_holdout_as_the_training_records(good: EvaluationFigures) -> None:
    figures = good.figures
    for figure in ("tvd_1way", "tvd_2way", "tvd_3way", "accuracy_tree", "accuracy_forest", "accuracy_adaboost"):
        assert figures[figure] == pytest.approx(figures[f"{figure}_training"], rel=0.15)
    assert abs(figures["distinguished"] - 0.5) < 0.06
    assert abs(figures["distinguished_training"] - 0.5) < 0.06
    assert abs(figures["accuracy_loss_forest"]) < 0.05
    assert good.met


def test_independent_attributes_are_told_by_everything_but_one_way_distances(bad: EvaluationFigures) -> None:
    figures = bad.figures
    assert figures["tvd_1way"] < 1.5 * figures["tvd_1way_training"]
    assert figures["tvd_2way"] > 1.2 * figures["tvd_2way_training"]
    assert figures["distinguished"] > 0.7
    assert figures["accuracy_forest"] < figures["accuracy_forest_training"] - 0.1
    assert figures["agreement_forest"] < 0.8
    assert met(bad) == {"tvd_2way_max": False, "distinguished_max": False, "accuracy_forest_min": False}


def test_the_baseline_stands_beside_the_release(good: EvaluationFigures, bad: EvaluationFigures) -> None:
    assert good.figures["distinguished_baseline"] == pytest.approx(bad.figures["distinguished"], abs=0.06)
    assert len(good.series["tvd_2way_baseline"]) == 10
    assert not any(name.endswith("_baseline") for name in bad.figures)


def test_a_release_that_repeats_itself_has_few_distinct_records(release: EvaluatedRelease) -> None:
    repeated = np.tile(population(100, "few"), (25, 1))
    figures = evaluate_utility(release.workspace, release.released(repeated), release.parts).figures
    assert figures["distinct_share"] <= 100 / figures["compared_records"]
    assert figures["distinct_share_training"] > 0.5


def test_equal_numbers_of_records_are_compared(good: EvaluationFigures) -> None:
    assert good.figures["compared_records"] == 2000


def test_all_figures_have_the_names_that_thresholds_may_use(release: EvaluatedRelease, good: EvaluationFigures) -> None:
    evaluation = release.workspace.spec.evaluation
    risk = evaluate_risk(release.workspace, release.released(population(2500, "best")), release.parts)
    # No value is rare, and so few records decide on no analysis.
    absent = {"rare_values_lost", "use_rare", "use_analyses"}
    assert {*good.figures, *risk.figures} == set(figures_of(evaluation.scope)) - absent


def test_the_same_release_has_the_same_figures(release: EvaluatedRelease, bad: EvaluationFigures) -> None:
    again = evaluate_utility(release.workspace, release.released(independent(2500, "bad")), release.parts)
    assert again == bad


def test_shares_of_every_attribute_sum_to_one(good: EvaluationFigures) -> None:
    for name in ("age", "income", "town", "sex", "sick"):
        assert sum(good.series[f"shares_released/{name}"]) == pytest.approx(1)
        assert sum(good.series[f"shares_holdout/{name}"]) == pytest.approx(1)


def test_figures_document_and_pictures_are_internal_in_mlflow(
    release: EvaluatedRelease, good: EvaluationFigures
) -> None:
    client = client_of(tracking_uri(own_state()))
    parent = client.get_run(release.workspace.mlflow_run_id)
    (run, *_) = client.search_runs(
        [parent.info.experiment_id],
        f"tags.`mlflow.parentRunId` = '{parent.info.run_id}' and tags.step = 'evaluate_utility'",
        order_by=["attributes.start_time ASC"],
    )
    assert run.data.metrics["internal/tvd_2way"] == good.figures["tvd_2way"]
    assert all(name.startswith("internal/") for name in run.data.metrics.keys() - {"epsilon", "delta"})
    assert run.data.metrics["epsilon"] == run.data.metrics["delta"] == 0
    artifacts = {artifact.path for artifact in client.list_artifacts(run.info.run_id, "internal")}
    assert artifacts == {
        f"internal/{name}" for name in ("utility.json", "distances.svg", "learning.svg", "marginals.svg")
    }
    assert [artifact.path for artifact in client.list_artifacts(run.info.run_id)] == ["internal"]


def test_a_part_without_records_is_refused(release: EvaluatedRelease, good: EvaluationFigures) -> None:
    empty = release.table("nobody", np.empty((0, 5), np.uint16))
    with pytest.raises(InvalidInput, match="nobody must hold records"):
        evaluate_utility(
            release.workspace, release.released(population(2500, "best")), {**release.parts, "holdout": empty}
        )


def test_a_learner_without_structure_has_no_such_part(release: EvaluatedRelease, good: EvaluationFigures) -> None:
    parts = {name: part for name, part in release.parts.items() if name != "structure"}
    released = release.released(population(2500, "best"))
    assert evaluate_utility(release.workspace, released, parts).figures["compared_records"] == 2500
