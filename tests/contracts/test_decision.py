"""A release publishes by itself, is held, or is refused, as the policy of its spec says of its figures."""

import math
from pathlib import Path
from typing import Any

import pytest

from deniable.foundation.errors import InvalidInput
from schemas.spec.decision import Outcome, Policy, outcome_of
from schemas.spec.release_spec import load_spec
from stores.record.provenance import spec_document
from stores.releases.resumable_releases import spec_digest
from tests.small_release import write_small_release

WITHIN = {"tvd_2way_max": 0.1, "accuracy_tree_min": 0.6}
BEYOND = {"exact_match_excess_max": 0.2}
DECIDE: dict[str, Any] = {"exact_figures_decide": True}
GOOD = {"tvd_2way": 0.1, "accuracy_tree": 0.6, "exact_match_excess": 0.2}


@pytest.mark.parametrize(
    ("figures", "action"),
    [
        ({}, "publish"),
        ({"tvd_2way": 0.11}, "hold"),
        ({"accuracy_tree": 0.59}, "hold"),
        ({"exact_match_excess": 0.21}, "refuse"),
        ({"exact_match_excess": 0.21, "tvd_2way": 0.11}, "refuse"),
        ({"exact_match_excess": math.nan}, "refuse"),
        ({"tvd_2way": math.nan}, "hold"),
    ],
)
def test_figures_within_publish_figures_beyond_refuse_and_all_between_is_held(
    figures: dict[str, float], action: str
) -> None:
    found = outcome_of(Policy(**DECIDE, publish_within=WITHIN, refuse_beyond=BEYOND), {**GOOD, **figures})
    assert found.action == action
    assert bool(found.reasons) == (action != "publish")


def test_the_reasons_name_figures_and_bounds_and_not_what_was_measured() -> None:
    policy = Policy(**DECIDE, publish_within=WITHIN, refuse_beyond=BEYOND)
    assert outcome_of(policy, {**GOOD, "tvd_2way": 0.3125, "accuracy_tree": 0.4375}).reasons == (
        "tvd_2way must be at most 0.1 to be published without a decision, and is not",
        "accuracy_tree must be at least 0.6 to be published without a decision, and is not",
    )
    (reason,) = outcome_of(policy, {**GOOD, "exact_match_excess": 0.4375}).reasons
    assert reason == "exact_match_excess must be at most 0.2 to be published at all, and is not"


@pytest.mark.parametrize("name", ["tvd_2way", "exact_match_excess"])
def test_a_figure_that_was_not_measured_is_looked_at_by_a_person(name: str) -> None:
    measured = {figure: value for figure, value in GOOD.items() if figure != name}
    found = outcome_of(Policy(**DECIDE, publish_within=WITHIN, refuse_beyond=BEYOND), measured)
    assert found == Outcome(action="hold", reasons=(f"{name} was not measured",))


def test_a_person_is_asked_where_the_spec_always_asks_or_lets_nothing_through_by_itself() -> None:
    assert outcome_of(Policy(**DECIDE, publish_within=WITHIN, always_ask=True), GOOD).action == "hold"
    assert outcome_of(Policy(**DECIDE, refuse_beyond=BEYOND), GOOD).action == "hold"
    assert outcome_of(Policy(), GOOD).action == "hold"
    assert (
        outcome_of(Policy(**DECIDE, refuse_beyond=BEYOND, always_ask=True), {"exact_match_excess": 1.0}).action
        == "refuse"
    )


@pytest.mark.parametrize("approvers", [None, ("ines",)])
@pytest.mark.parametrize("always_ask", [False, True])
@pytest.mark.parametrize("figures", [{}, GOOD, {"tvd_2way": 1.0, "exact_match_excess": 1.0}, {"tvd_2way": math.nan}])
def test_unless_the_spec_says_so_no_figure_decides_anything(
    approvers: tuple[str, ...] | None,
    always_ask: bool,  # noqa: FBT001
    figures: dict[str, float],
) -> None:
    outcome = outcome_of(Policy(approvers=approvers, always_ask=always_ask), figures)
    assert outcome == outcome_of(Policy(approvers=approvers, always_ask=always_ask), GOOD)
    assert outcome.action == "hold"
    assert outcome_of(None, figures).action == "publish"


def test_without_a_policy_everything_publishes_and_nothing_is_written_down_of_one(tmp_path: Path) -> None:
    spec = load_spec(write_small_release(tmp_path, people=[]))
    assert outcome_of(spec.decision, {}) == Outcome(action="publish")
    assert "decision" not in spec_document(spec)
    assert "decision" not in spec.model_dump_json()


def test_a_policy_is_written_down_as_it_was_read_and_begins_no_other_release(tmp_path: Path) -> None:
    policy = {
        "exact_figures_decide": True,
        "publish_within": {"tvd_2way_max": 0.25},
        "approvers": ["ines"],
        "always_ask": True,
    }
    spec = load_spec(write_small_release(tmp_path, people=[], decision=policy))
    assert spec_document(spec)["decision"] == {**policy, "refuse_beyond": {}}
    assert spec_digest(spec) == spec_digest(load_spec(write_small_release(tmp_path, people=[])))


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({**DECIDE, "publish_within": {"tvd_max": 0.1}}, "did you mean"),
        ({**DECIDE, "refuse_beyond": {"exact_match": 0.1}}, "decision.refuse_beyond"),
        (
            {**DECIDE, "publish_within": {"tvd_2way_max": "small"}},
            "decision.publish_within.tvd_2way_max: must be a valid number",
        ),
        ({"publish_within": {"tvd_2way_max": 0.1}}, "publish_within: must come with exact_figures_decide: true"),
        ({"refuse_beyond": {"tvd_2way_max": 0.1}}, "refuse_beyond: must come with exact_figures_decide: true"),
        ({"approvers": []}, "decision.approvers"),
        ({"approvers": [""]}, "decision.approvers"),
        ({"always": True}, "decision.always: is not a key of the spec"),
    ],
)
def test_a_policy_that_is_wrong_is_refused_before_anything_begins(
    tmp_path: Path, policy: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        load_spec(write_small_release(tmp_path, people=[], decision=policy))
    assert said in str(refused.value)
