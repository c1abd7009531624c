"""`make bench-buckets` judges bias and coverage in both directions, and its page has what it kept."""

import json
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import chosen_buckets
from benchmarks.chosen_buckets import ASKED, DATA, KINDS, PAGE, Population, figures, is_biased_before, page, verdicts
from benchmarks.measuring import kept_figures
from deniable.learners.loglinear.spec import Entry

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """A small release of the made-up purchases."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chosen_buckets, "ROWS", 4_000)
        patch.setattr(chosen_buckets, "_PEOPLE", 8_000)
        people = Population.read("purchases", Path(), Path())
        return figures(people, 1, Entry.model_validate(ASKED))


@pytest.fixture
def many(found: dict[str, Any]) -> dict[str, Any]:
    """Forty releases as they should be: two answers of each kind, one in twenty of them outside, and no bias now."""
    made = {}
    for number in range(40):
        own = {kind: dict.fromkeys(found["total"], 0.0) for kind in KINDS}
        for sums in own.values():
            sums |= {"answers": 2.0, "covered": 2.0 - (number % 10 == 0), "before": 1.0}
            sums |= {"error": float(np.sin(number)), "bias": 2.0 + float(np.cos(number))}
        made[str(number)] = own
    return made


def test_a_release_is_asked_questions_of_all_kinds(found: dict[str, Any]) -> None:
    assert set(found) == set(KINDS)
    assert found["total"]["answers"] == 1
    assert found["subtotals"]["answers"] == 8
    assert found["single values"]["answers"] == 10
    assert found["means"]["answers"] == 3
    assert found["quantiles"]["answers"] == 9
    assert found["slopes"]["answers"] + found["slopes"]["refused"] == 6
    assert found["slopes"]["refused"] >= 2, "of the amount, whose tail its last bucket hides"
    assert all(own["covered"] <= own["answers"] for own in found.values())


def test_bias_and_coverage_are_judged_in_both_directions(many: dict[str, Any]) -> None:
    assert all(verdicts(many).values())
    assert is_biased_before(many)
    for kind in KINDS:
        for covered, is_fault in ((1.5, True), (2.0, kind not in chosen_buckets.CONSERVATIVE)):
            off = deepcopy(many)
            for own in off.values():
                own[kind]["covered"] = covered
            assert [what for what, holds in verdicts(off).items() if not holds] == ([kind] if is_fault else [])
    for own in many.values():
        own["total"] |= {"error": own["total"]["error"] + 1, "bias": own["total"]["error"]}
    assert [what for what, holds in verdicts(many).items() if not holds] == ["the total is unbiased"]
    assert not is_biased_before(many)


def test_the_command_fails_if_something_that_must_hold_does_not(
    many: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "coverage.md").write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(chosen_buckets, "KEPT", tmp_path / "chosen_buckets.json")
    monkeypatch.setattr(chosen_buckets, "PAGE", tmp_path / "coverage.md")
    monkeypatch.setattr(Population, "read", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["chosen_buckets", "--data", "purchases", "--releases", "39"])
    (tmp_path / "chosen_buckets.json").write_text(json.dumps({"purchases": many}))
    chosen_buckets.main()
    for own in many.values():
        own["total"]["bias"] = own["total"]["error"]
    (tmp_path / "chosen_buckets.json").write_text(json.dumps({"purchases": many}))
    with pytest.raises(SystemExit, match=r"the total of earlier versions is biased in one of the tables\.$"):
        chosen_buckets.main()


def test_the_page_has_what_was_kept_and_all_of_it_holds() -> None:
    kept = kept_figures(chosen_buckets.KEPT)
    text = PAGE.read_text(encoding="utf-8")
    assert page(text, kept) == text
    assert set(kept) == set(DATA)
    assert all(len(own) >= 60 for own in kept.values())
    assert all(all(verdicts(own).values()) for own in kept.values())
    assert any(is_biased_before(own) for own in kept.values())
