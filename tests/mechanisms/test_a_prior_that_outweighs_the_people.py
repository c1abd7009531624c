"""Where the prior of synthetic sets outweighs the people, the plan says so and a person decides on publication."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from deniable.learners.multinomial_sets.plan import SetsPlan, caution_of_prior
from deniable.privacy.urn_costs import UNIT
from flows.cli.planning import show_plan
from schemas.spec.decision import PUBLISH, Outcome
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from tasks.evaluation.decide import decide, held_by_plan
from tests.mechanisms.table import LEARNERS
from tests.small_release import write_small_release
from tests.whole_release import drawn_release

ASKED: dict[str, Any] = LEARNERS["multinomial_sets"].asked
PEOPLE = 3000


def with_entry(**changes: Any) -> dict[str, Any]:
    return {**ASKED, "learner": {"kind": "multinomial_sets", "epsilon": 1, "people": PEOPLE, **changes}}


def test_the_weight_of_the_prior_is_that_of_its_cells() -> None:
    plan = SetsPlan(cells=240, sets=2, size=200, epsilon=Fraction(1))
    assert plan.prior_records == pytest.approx(240 * plan.prior / UNIT, abs=0.5)
    # Each of two urns has half of epsilon, and 200 draws: 200 / (e^(1/2) - 1) records in each cell.
    assert plan.prior_records == pytest.approx(240 * 200 / 0.6487213, rel=1e-4)
    shared = SetsPlan(cells=240, sets=2, size=200, epsilon=Fraction(1), shared=True)
    assert shared.prior_records == pytest.approx(240 * 400 / 1.7182818, rel=1e-4)


def test_two_million_prior_records_outweigh_39_074_people() -> None:
    """As in a table of 240 cells of which a set has as many records as there are people, at epsilon 1.75."""
    plan = SetsPlan(cells=240, sets=1, size=39_074, epsilon=Fraction(7, 4))
    words = caution_of_prior(plan, 39_074)
    assert f"{plan.prior_records:,} records, more than the 39,074 people" in words
    assert 1_900_000 < plan.prior_records < 2_100_000
    assert caution_of_prior(plan, plan.prior_records) == ""
    assert caution_of_prior(plan, plan.prior_records - 1)
    assert caution_of_prior(SetsPlan(cells=1, sets=1, size=9, epsilon=Fraction(1)), 1) == ""


def test_the_plan_says_so_and_the_gate_holds_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = load_spec(write_small_release(tmp_path / "spec", **with_entry()))
    show_plan(spec, tmp_path / "state")
    said = " ".join(capsys.readouterr().out.split())
    assert "more than the 3,000 people, so that the sets show mostly the prior" in said
    assert "a person must decide on its publication" in said
    outcome = held_by_plan(PUBLISH, plan_release(spec))
    assert outcome.action == "hold"
    assert "more than the 3,000 people" in outcome.reasons[0]
    refused = Outcome(action="refuse", reasons=("no",))
    assert held_by_plan(refused, plan_release(spec)).action == "refuse"


@pytest.mark.parametrize(
    ("changes", "times"), [({"epsilon": 6}, 0), ({"people": None}, 1), ({"people": None, "epsilon": 6}, 0)]
)
def test_what_the_people_outweigh_or_nobody_counted_publishes_by_itself(
    tmp_path: Path, changes: dict[str, Any], times: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a public number of people, the prior is compared with the records drawn, and only the plan says it."""
    spec = load_spec(write_small_release(tmp_path / "spec", **with_entry(**changes)))
    assert held_by_plan(PUBLISH, plan_release(spec)) == PUBLISH
    show_plan(spec, tmp_path / "state")
    said = " ".join(capsys.readouterr().out.split())
    assert said.count("show mostly the prior") == times
    assert "a person must decide on its publication" not in said


def test_a_release_that_would_publish_by_itself_waits(tmp_path: Path) -> None:
    drawn = drawn_release(tmp_path, **with_entry())
    outcome = decide(drawn.workspace, *drawn.figures).outcome
    assert outcome.action == "hold"
    assert "more than the 3,000 people" in outcome.reasons[0]
