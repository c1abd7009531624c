"""A release of the training records is flagged by every measure of risk, and one of strangers by none."""

import pytest

from schemas.spec.evaluation import EvaluationFigures
from tasks.evaluation.evaluate_risk import evaluate_risk
from tests.evaluated_release import EvaluatedRelease, met, population

EXCESSES = ("exact_match_excess", "reproduced_excess", "unique_found_excess", "inferred_sick_excess")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> EvaluatedRelease:
    thresholds = {f"{name}_max": 0.05 for name in (*EXCESSES, "inferred_excess_worst")}
    changes = {"thresholds": {**thresholds, "nearer_to_training_max": 0.55}}
    return EvaluatedRelease(tmp_path_factory.mktemp("attacked"), changes)


@pytest.fixture(scope="module")
def copied(release: EvaluatedRelease) -> EvaluationFigures:
    return evaluate_risk(release.workspace, release.released(release.training), release.parts)


@pytest.fixture(scope="module")
def harmless(release: EvaluatedRelease) -> EvaluationFigures:
    return evaluate_risk(release.workspace, release.released(population(3200, "strangers")), release.parts)


@pytest.mark.parametrize("excess", EXCESSES)
def test_a_copy_of_the_training_records_is_flagged_by(excess: str, copied: EvaluationFigures) -> None:
    assert copied.figures[excess] > 0.15


def test_a_copy_of_the_training_records_is_nearer_to_them(copied: EvaluationFigures) -> None:
    assert copied.figures["nearer_to_training"] > 0.7


def test_a_copy_of_the_training_records_misses_every_threshold(copied: EvaluationFigures) -> None:
    assert len(met(copied)) == 6
    assert not any(met(copied).values())


@pytest.mark.parametrize("excess", EXCESSES)
def test_strangers_of_the_same_population_are_not_flagged_by(excess: str, harmless: EvaluationFigures) -> None:
    assert abs(harmless.figures[excess]) < 0.05


def test_copies_of_few_people_match_them_but_do_not_reproduce_the_others(release: EvaluatedRelease) -> None:
    few = release.training[: len(release.training) // 16]
    figures = evaluate_risk(release.workspace, release.released(few), release.parts).figures
    assert figures["reproduced_training"] < 0.1
    assert figures["exact_match_training"] > 0.5


def test_strangers_meet_every_threshold(harmless: EvaluationFigures) -> None:
    assert abs(harmless.figures["nearer_to_training"] - 0.5) < 0.05
    assert harmless.met


def test_an_intruder_who_cannot_know_does_no_better_than_guessing(harmless: EvaluationFigures) -> None:
    assert harmless.figures["inferred_sick_holdout"] == pytest.approx(
        harmless.figures["inferred_sick_marginal"], abs=0.06
    )


def test_the_same_release_has_the_same_figures(release: EvaluatedRelease, copied: EvaluationFigures) -> None:
    assert evaluate_risk(release.workspace, release.released(release.training), release.parts) == copied
