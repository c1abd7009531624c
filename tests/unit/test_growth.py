"""`make bench-growth` states growth as powers of the size, marks what it computed, and gives reasons."""

import json

import pytest

from benchmarks import growth
from benchmarks.growth import AXES, GROWTHS, KEPT, REASONS, SIZES, WORK, beyond, powers, tables, without_reason

pytestmark = pytest.mark.slow


def figures(**cpu: float) -> dict[str, dict[str, float]]:
    return {size.removeprefix("n"): {"cpu": one, "clock": 2 * one, "mib": 300.0} for size, one in cpu.items()}


def test_a_power_is_that_of_the_size_between_neighbours() -> None:
    assert powers(figures(n10=1.0, n20=2.0, n40=8.0)) == pytest.approx({20: 1.0, 40: 2.0})


def test_sizes_beyond_those_that_were_run_lie_on_a_straight_line() -> None:
    assert beyond(figures(n10=1.0, n20=3.0, n40=4.0), 100) == pytest.approx(7.0)


def test_growth_that_is_more_than_proportional_needs_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    steep = {"records": {"draw": figures(n100000=1.0, n1000000=20.0)}}
    assert without_reason(steep) == ["draw by records, up to 1,000,000"]
    with pytest.raises(ValueError, match="must have a reason"):
        tables(steep)
    monkeypatch.setitem(REASONS, ("records", "draw"), "it is so")
    assert "- draw: it is so" in tables(steep)


def test_every_reason_is_of_growth_that_was_measured_to_be_more_than_proportional() -> None:
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    for axis, what in REASONS:
        assert max(powers(kept[axis][what]).values()) > growth.LINEAR


def test_what_is_computed_is_marked_and_what_is_not_measured_says_so() -> None:
    shown = tables({"rows": {"fit": figures(n10000=0.1, n100000=0.2, n1000000=1.0, n10000000=2.0)}})
    assert "| 1,000,000 | whole release | not measured |" in shown
    assert "| 100,000,000 | fit | 12.0 |  |  | by arithmetic |" in shown


def test_all_that_is_measured_within_a_process_or_as_a_release_can_be() -> None:
    assert {one.axis for one in GROWTHS} == set(AXES)
    for one in GROWTHS:
        released = one.what == "whole release" and one.axis in {*SIZES, "workers"}
        assert released or (one.axis, one.what) in WORK


def test_an_attribute_has_as_many_values_as_are_asked_for() -> None:
    domain, codes = growth.codes_of(40_000, 5_000)
    assert domain.cardinalities[0] == 40_000
    assert codes.shape == (5_000, len(domain))
    assert 30_000 < codes[:, 0].max() < 40_000


def test_a_small_fit_is_metered() -> None:
    found = growth.of_work("attributes", "fit", 3)
    assert found["cpu"] > 0
    assert found["mib"] > 50
