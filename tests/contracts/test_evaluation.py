"""Thresholds are about figures that exist, and are met or not."""

import pytest
from pydantic import ValidationError

from deniable.evaluation.attacks.inference import name_of
from deniable.evaluation.registry import figures_of
from schemas.spec.evaluation import EvaluationFigures, Verdict, judge, scope_of, unknown_thresholds

SCOPE = scope_of(classifiers=["tree", "forest"], sensitive=["DIS", "marital-status"], on_public_table=False)
FIGURES = figures_of(SCOPE).values()


@pytest.mark.parametrize(
    ("threshold", "bound", "value", "met"),
    [
        ("tvd_2way_max", 0.1, 0.1, True),
        ("tvd_2way_max", 0.1, 0.11, False),
        ("tvd_2way_min", 0.1, 0.1, True),
        ("tvd_2way_min", 0.1, 0.09, False),
    ],
)
def test_a_bound_is_met_up_to_itself(threshold: str, bound: float, value: float, met: bool) -> None:  # noqa: FBT001
    (verdict,) = judge({"tvd_2way": value}, {threshold: bound})
    assert verdict == Verdict(threshold=threshold, bound=bound, figure="tvd_2way", value=value, met=met)


def test_thresholds_about_other_figures_are_left_to_other_evaluations() -> None:
    assert judge({"tvd_2way": 0.1}, {"exact_match_excess_max": 0.01}) == ()


def test_an_evaluation_without_thresholds_meets_all_of_them() -> None:
    assert EvaluationFigures(figures={"tvd_2way": 1.0}).met


def test_an_evaluation_misses_its_thresholds_if_it_misses_one() -> None:
    verdicts = judge({"tvd_1way": 0.1, "tvd_2way": 0.5}, {"tvd_1way_max": 0.2, "tvd_2way_max": 0.2})
    assert not EvaluationFigures(figures={}, verdicts=verdicts).met


def test_the_threshold_of_a_figure_that_there_is_is_known() -> None:
    for threshold in ("tvd_2way_max", "accuracy_forest_min", "inferred_marital_status_excess_max"):
        assert unknown_thresholds([threshold], FIGURES) == []


def test_a_misspelt_threshold_is_refused_with_what_it_might_have_meant() -> None:
    (sentence,) = unknown_thresholds(["tvd_2ways_max", "tvd_1way_max"], FIGURES)
    assert "got tvd_2ways_max; did you mean tvd_2way_max?" in sentence


def test_a_threshold_for_a_classifier_that_is_not_asked_for_is_refused() -> None:
    assert len(unknown_thresholds(["accuracy_adaboost_min"], FIGURES)) == 1


def test_figures_about_an_attribute_have_a_name_that_a_threshold_can_have() -> None:
    assert name_of("DIS") == "inferred_dis"
    assert name_of("marital-status") == "inferred_marital_status"


def test_on_a_public_table_there_is_neither_risk_nor_a_baseline() -> None:
    public = figures_of(scope_of(classifiers=["tree"], sensitive=["DIS"], on_public_table=True))
    assert {"tvd_2way", "tvd_2way_training", "agreement_tree"} <= public.keys()
    assert not {"tvd_2way_baseline", "agreement_tree_baseline", "exact_match_excess", "inferred_dis_excess"} & set(
        public
    )


def test_an_evaluation_cannot_be_changed_or_added_to() -> None:
    evaluation = EvaluationFigures(figures={"tvd_2way": 0.1})
    with pytest.raises(ValidationError):
        evaluation.figures = {}
    with pytest.raises(ValidationError):
        EvaluationFigures(figures={}, verdict=())
