"""`make bench-inference` judges coverage, names what fails, and its page has the figures that it kept."""

from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from benchmarks import inference
from benchmarks.inference import ASKED, DATA, PAGE, STATISTICS, Population, figures, page, read_kept, section, verdicts
from deniable.learners.loglinear.spec import Entry
from deniable.measurements import certificate
from schemas.spec.release_spec import load_spec
from tests.conftest import ROOT


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


def test_figures_of_a_release_are_of_all_cells_and_statistics(found: dict[str, Any]) -> None:
    for own in found.values():
        cells = np.sum(list(own["cells"].values()), axis=0)
        assert own["measured"] <= own["pairs"] == 10
        assert 0.85 < cells[1] / cells[0] <= 1
        assert cells[4] > cells[5], "half-widths are larger than naive ones"
        assert set(own["statistics"]) == {each.name for each in STATISTICS["example"]}
        assert own["certificate"]["pairs"] > 0
        assert len(own["chi_squared"]) > 0
    assert "2 releases" in section("example", found)


def test_what_does_not_cover_is_named(found: dict[str, Any]) -> None:
    many = {str(number): deepcopy(found["1"]) for number in range(100)}
    for own in many.values():
        for each in own["statistics"].values():
            each["covers"] = [True, True]
    said = verdicts(many)
    assert said["mean age, finite"]
    assert said["certificates"] == (found["1"]["certificate"]["error"] <= found["1"]["certificate"]["bound"])
    for number in range(15):
        many[str(number)]["statistics"]["mean age"]["covers"] = [False, True]
    assert not verdicts(many)["mean age, finite"]
    assert verdicts(many)["mean age, population"]
    for own in many.values():
        own["cells"] = {place: [sums[0], sums[0] * 0.9, *sums[2:]] for place, sums in own["cells"].items()}
        own["chi_squared"] = [(200.0, 20)]
    said = verdicts(many)
    assert not said["measured cells, finite"]
    assert not said["each table by chi-squared"]
    assert not said["all tables together by chi-squared"]


def test_naive_intervals_that_cover_are_named(found: dict[str, Any]) -> None:
    many = {str(number): deepcopy(found["1"]) for number in range(50)}
    for own in many.values():
        own["cells"] = {place: [sums[0], *([sums[0]] * 3), *sums[4:]] for place, sums in own["cells"].items()}
        for each in own["statistics"].values():
            each["naive"] = True
    said = verdicts(many)
    assert not said["naive intervals of cells fail"]
    assert not said["naive intervals of named statistics fail"]


def test_the_page_has_what_was_kept_and_all_of_it_holds() -> None:
    kept = read_kept()
    text = PAGE.read_text(encoding="utf-8")
    assert page(text, kept) == text
    assert set(kept) == set(DATA)
    assert all(len(own) >= 200 for own in kept.values())
    assert "does not hold" not in text.replace("three standard deviations does not hold", "")


def test_a_page_without_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match="must have the lines"):
        page("nothing", {})
