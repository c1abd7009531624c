"""`make bench-inference` judges coverage in both directions, names what fails, and its page has what it kept."""

import json
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchmarks import inference
from benchmarks.coverage import (
    COLUMNS,
    CONSERVATIVE,
    DATA,
    LEVEL,
    expected_of_counts,
    expected_of_shares,
    outlying,
    page,
    section,
    verdicts,
)
from benchmarks.inference import ASKED, PAGE, STATISTICS, Population, figures, keep, read_kept
from deniable.inference.intervals import Quadratic, share_interval
from deniable.learners.loglinear.spec import Entry
from deniable.measurements import certificate
from schemas.spec.release_spec import load_spec
from tests.conftest import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """Two small releases of a population in which the trade depends on the hamlet."""
    draw = np.random.default_rng(list(b"coverage"))
    domain = load_spec(ROOT / "examples/village/seedless.yaml").domain
    hidden = draw.integers(3, size=4_000)
    columns = [
        (hidden * (i + 1) + draw.integers(size, size=4_000)) % size for i, size in enumerate(domain.cardinalities)
    ]
    people = Population("example", domain, np.stack(columns, axis=1).astype(np.uint16))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(inference.ROWS, "example", 3_000)
        patch.setattr("deniable.learners.certified.POPULATION", 3_000)
        patch.setattr(certificate, "POPULATION", 3_000)
        entry = Entry.model_validate(ASKED)
        return {str(number): figures(people, number, entry) for number in (1, 2)}


@pytest.fixture
def many(found: dict[str, Any]) -> dict[str, Any]:
    """Two hundred releases as they should be: coverages vary evenly around what is expected."""
    made = {str(number): deepcopy(found["1"]) for number in range(200)}
    noise = stats.norm.ppf((np.arange(200) + 0.5) / 200)
    for number, own in enumerate(made.values()):
        off = 0.002 * (number % 5 - 2)
        for place, sums in own["cells"].items():
            row = dict(zip(COLUMNS, sums[1:], strict=True))
            row |= {"expected": LEVEL * sums[0], "expected_population": LEVEL * sums[0], "naive": 0.7 * sums[0]}
            row |= {"finite": (LEVEL + off) * sums[0], "population": (LEVEL + off) * sums[0]}
            row["naive"] = (0.7 + off) * sums[0]
            own["cells"][place] = [sums[0], *row.values()]
        for each in own["statistics"].values():
            each |= {"covers": [number % 20 > 0] * 2, "naive": number % 5 > 0, "grade": "measured"}
        own["chi_squared"] = [(float(stats.chi2.ppf((number + 0.5) / 200, 20)), 20)]
        own["together"], own["apart"] = [number % 20 > 0], [20, 20 - number % 2, 1.0]
        own["certificate"] |= {"bound": 10.0 + 20 * (number % 20 > 0), "error": 20.0, "expected": LEVEL}
        own["certificate"]["noise"] = float(noise[number])
        own["speed"] = {"tables": 0.01, "question": 5e-4}
    return made


def failing(many: dict[str, Any]) -> set[str]:
    return {what for what, holds in verdicts(many).items() if not holds}


def test_figures_of_a_release_are_of_all_cells_and_statistics(found: dict[str, Any]) -> None:
    for own in found.values():
        cells = dict(zip(("cells", *COLUMNS), np.sum(list(own["cells"].values()), axis=0), strict=True))
        assert own["measured"] <= own["pairs"] == 10
        assert 0.85 < cells["finite"] / cells["cells"] <= 1
        assert 0.9499 < cells["expected"] / cells["cells"] < 0.976
        assert cells["width"] > cells["naive_width"]
        assert set(own["statistics"]) == {each.name for each in STATISTICS["example"]}
        assert {each["grade"] for each in own["statistics"].values()} <= {"measured", "certified", "bounded", "refused"}
        assert own["certificate"]["pairs"] > 0
        assert own["certificate"]["expected"] == pytest.approx(0.955, abs=0.01)
        assert len(own["chi_squared"]) > 0
        assert set(own["speed"]) == {"tables", "question"}
    assert "2 releases" in section("example", found)


def test_what_covers_as_expected_holds(many: dict[str, Any]) -> None:
    assert failing(many) == set()
    assert len(verdicts(many)) > 2 * len(STATISTICS["example"])


@pytest.mark.parametrize("covered", [180, 200])
def test_a_statistic_that_covers_too_seldom_or_too_often_is_named(many: dict[str, Any], covered: int) -> None:
    for number, own in enumerate(many.values()):
        for name in ("mean age", "median age"):
            own["statistics"][name]["covers"] = [number < covered, number % 20 > 0]
    assert failing(many) == {"mean age, finite", *(["median age, finite"] if covered < 190 else [])}, (
        "medians are declared to cover more often"
    )


@pytest.mark.parametrize("off", [-0.003, 0.003])
def test_cells_that_are_covered_too_seldom_or_too_often_are_named(many: dict[str, Any], off: float) -> None:
    place = 1 + COLUMNS.index("finite")
    for own in many.values():
        for sums in own["cells"].values():
            sums[place] += off * sums[0]
    assert failing(many) == {"measured cells, finite", "measured cells of each class, finite"}


def test_one_release_of_many_that_is_wrong_is_named(many: dict[str, Any]) -> None:
    for sums in many["7"]["cells"].values():
        sums[1 + COLUMNS.index("population")] = 0.66 * sums[0]
    assert "measured cells of each release, population" in failing(many)
    assert max(outlying([0.0, 0.1, -0.1, 0.0, 5.0])) > 50


@pytest.mark.parametrize("value", [1e-12, 200.0])
def test_errors_of_a_table_that_are_too_small_or_too_large_are_named(many: dict[str, Any], value: float) -> None:
    many["3"]["chi_squared"] = [(value, 20)]
    assert "each table by chi-squared" in failing(many)


@pytest.mark.parametrize("factor", [0.7, 1.4])
def test_certificates_whose_noise_has_another_spread_are_named(many: dict[str, Any], factor: float) -> None:
    for own in many.values():
        own["certificate"]["noise"] *= factor
    assert failing(many) == {"noise of certificates by chi-squared"}
    for own in many.values():
        own["certificate"]["bound"] = 30.0
    assert "certificates" in failing(many), "a bound that always holds is wider than it says"


@pytest.mark.parametrize("level", [0.9, 0.99])
def test_certificates_of_another_level_than_they_state_are_named(many: dict[str, Any], level: float) -> None:
    """What is expected of a bound follows from its own margin: it must be the stated level, too."""
    for number, own in enumerate(many.values()):
        own["certificate"] |= {"bound": 10.0 + 20 * (number % 100 < 100 * level), "expected": level}
    assert failing(many) == {"certificates"}


def test_what_is_declared_conservative_must_still_cover(many: dict[str, Any]) -> None:
    assert set(CONSERVATIVE) > {"medians", "answers of the grade bounded"}
    for own in many.values():
        own["together"], own["apart"] = [True], [20, 20, 1.0]
        own["statistics"]["mean age of owners of land"] |= {"grade": "bounded", "covers": [True, True]}
    assert failing(many) == set()
    for number, own in enumerate(many.values()):
        own["together"], own["apart"] = [number % 3 > 0], [20, 15 + number % 2, 1.0]
        own["statistics"]["mean age of owners of land"]["covers"] = [number % 3 > 0, True]
    assert failing(many) == {
        "all cells of a table together",
        "cells that were not measured",
        "mean age of owners of land, finite (bounded in 200 releases)",
    }


def test_naive_intervals_that_cover_are_named(many: dict[str, Any]) -> None:
    place = 1 + COLUMNS.index("naive")
    for own in many.values():
        for sums in own["cells"].values():
            sums[place] = 0.96 * sums[0]
        for each in own["statistics"].values():
            each["naive"] = True
    assert failing(many) == {"naive intervals of cells fail", "naive intervals of named statistics fail"}


def test_goals_that_are_missed_are_named(many: dict[str, Any]) -> None:
    for own in many.values():
        own["speed"] = {"tables": 1.5, "question": 2e-3}
    assert len(failing(many)) == 2


@pytest.mark.parametrize("share", [0.0, 0.0002, 0.002, 0.01])
def test_the_expected_coverage_of_a_share_is_that_of_its_interval(share: float) -> None:
    """A million draws of a count with noise, against the probability that is expected; counts of 0 alone have 0.975."""
    n, noise, z, draws = 10_000, 400.0, float(stats.norm.ppf(0.975)), 200_000
    draw = np.random.default_rng([23, int(1e4 * share)])
    seen = draw.binomial(n, share, draws) + draw.normal(0, noise**0.5, draws)
    ends = {}
    places = np.round(seen, 1)
    for count in np.unique(places).tolist():
        ends[count] = share_interval(count, n, Quadratic(noise, n, -n), z)
    rate = np.mean([ends[count].low <= share <= ends[count].high for count in places.tolist()])
    expected = float(expected_of_shares(np.asarray([share]), n, np.asarray([noise]), z)[0])
    assert rate == pytest.approx(expected, abs=6 * (0.05 / draws) ** 0.5 + 0.001)
    assert expected_of_counts(np.asarray([0.0, 3.0])).tolist() == [0.975, 0.95]


def test_what_other_code_made_is_made_anew(
    found: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(inference, "KEPT", tmp_path / "inference.json")
    assert read_kept() == {}
    old = {**found["2"], "made_by": {"learner": 2, "figures": 1}}
    keep({"example": {"1": found["1"], "2": old}})
    assert read_kept() == {"example": {"1": json.loads(json.dumps(found["1"]))}}
    assert [each.name for each in tmp_path.iterdir()] == ["inference.json"]


def test_the_command_fails_if_something_that_must_hold_does_not(
    many: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "coverage.md").write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(inference, "KEPT", tmp_path / "inference.json")
    monkeypatch.setattr(inference, "PAGE", tmp_path / "coverage.md")
    monkeypatch.setattr(Population, "read", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["inference", "--data", "example", "--releases", "199"])
    keep({"example": many})
    inference.main()
    for own in many.values():
        own["certificate"]["bound"] = 30.0
    keep({"example": many})
    with pytest.raises(SystemExit, match=r"got otherwise: example, certificates\.$"):
        inference.main()
    assert "- **does not hold**: certificates" in (tmp_path / "coverage.md").read_text(encoding="utf-8")


def test_the_page_has_what_was_kept_and_all_of_it_holds() -> None:
    kept = read_kept()
    text = PAGE.read_text(encoding="utf-8")
    assert page(text, kept) == text
    assert set(kept) == set(DATA)
    assert all(len(own) >= 200 for own in kept.values())
    assert "does not hold" not in text


def near(made: Any, kept: Any) -> bool:
    """Whether figures are the same, but for what other processors make of last digits."""
    if isinstance(kept, dict):
        return bool(set(made) == set(kept)) and all(near(made[name], kept[name]) for name in kept)
    if isinstance(kept, list):
        return len(made) == len(kept) and all(map(near, made, kept))
    if isinstance(kept, str | bool):
        return bool(made == kept)
    return bool(made == pytest.approx(kept, rel=0.005, abs=0.005))


def test_a_release_that_is_made_again_has_the_figures_that_were_kept(tmp_path: Path) -> None:
    """The page is about the code as it is: other intervals, or other releases, have other figures."""
    kept = read_kept()["example"]["1"]
    made = json.loads(json.dumps(figures(Population.read("example", tmp_path), 1, Entry.model_validate(ASKED))))
    for figure in set(kept) - {"seconds", "speed"}:
        assert near(made[figure], kept[figure]), figure
    assert not near({**made, "pairs": 11}, kept)


def test_a_page_without_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match="must have the lines"):
        page("nothing", {})
