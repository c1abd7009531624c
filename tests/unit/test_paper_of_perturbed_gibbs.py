"""Document 001, run again: its mathematics on small tables, and its parts on made-up people."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Domain
from papers.bindschaedler.people import People, made_up
from papers.park import choices, coefficients, histograms, intruders, maps, orders, paths
from papers.park.choices import FROM_MARGINALS, PEGS, Sizes, all_ways
from papers.park.mapped import SEEDED, Figures, pictured
from papers.registry import paper_of
from reports.figures.confidentiality_map import ConfidentialityMap, MapPoint, Measure
from reports.plots.confidentiality_map import draw_map

FEW = Sizes(epsilons=(1, 50), totals=(1,), records=200, keys=2, keys_of_models=1, fit_rows=300)


@pytest.fixture(scope="module")
def crowd() -> People:
    """A few made-up people."""
    return made_up(3000)


def test_the_paper_has_its_figures_and_table_3() -> None:
    assert [name for name, _ in paper_of("001").parts] == ["Table 3", *(f"Figure {number}" for number in range(4, 10))]


@pytest.mark.slow
def test_the_path_of_a_record_has_the_probability_of_the_draws(crowd: People) -> None:
    part = paths.paths(crowd)
    assert [check.words for check in part.checks if not check.holds] == []
    assert part.table is not None
    assert [row[1] for row in part.table.rows] == list(crowd.domain.names)
    assert all(0 < float(row[7]) <= 1 for row in part.table.rows)


def test_a_path_is_worked_out_from_the_rows_that_it_visits() -> None:
    domain = Domain(tuple(Attribute(name, (0, 1), "nominal", (0, 1)) for name in "ab"))
    codes = np.array([[0, 0], [0, 1], [1, 1], [1, 1]], np.uint16)
    urns = paths.counted(domain, codes, 2, [[1], [0]], 2)
    first, second = paths.path(urns, (0, 1), (1, 0))
    # Given b = 1, two of three people have a = 1; given the new a = 1, none of two has b = 0.
    assert (first.key, first.people, first.alike) == ({1: 1}, 3, 2)
    assert (second.key, second.people, second.alike) == ({0: 1}, 2, 0)
    records = list(product(range(2), range(2)))
    assert sum(paths.probability(urns, (0, 1), each) for each in records) == Fraction(1)


def test_orders_begin_with_the_most_informative_attribute() -> None:
    domain = Domain(tuple(Attribute(name, (0, 1), "nominal", (0, 1)) for name in "abc"))
    rows = np.arange(64)
    # c is nearly a, and follows b a little.
    codes = np.stack([rows % 2, rows // 2 % 2, (rows % 2) & ~(rows % 16 == 3)], axis=1).astype(np.uint16)
    assert orders.by_information(domain, codes) == {"a": ("c", "b"), "b": ("c", "a"), "c": ("a", "b")}
    assert orders.information(domain, codes, 0, 0) == pytest.approx(np.log(2))
    assert orders.information(domain, codes, 0, 1) == pytest.approx(0)
    assert orders.from_marginals(domain, codes[:1]) == {"a": [1, 1], "b": [1, 1], "c": [1, 1]}


def test_slopes_that_are_halved_shrink_by_a_half() -> None:
    right = np.array([9.0, 2, -4, 1])
    assert coefficients.shrinkage(right, np.array([0.0, 1, -2, 0.5])) == 0.5
    assert coefficients.shrinkage(right, right) == 1


def test_a_histogram_of_one_value_is_the_furthest_from_even() -> None:
    domain = Domain((Attribute("a", (0, 1, 2, 3), "nominal", (0, 1, 2, 3)),))
    even, one = np.array([[0], [1], [2], [3]], np.uint16), np.zeros((4, 1), np.uint16)
    assert histograms.unevenness(domain, even) == 0
    assert histograms.unevenness(domain, one) == 0.75


def test_seeds_from_marginals_are_the_only_difference_of_their_curves(crowd: People) -> None:
    found = {way.curve: way.at(20) for way in all_ways(crowd)}
    plain, like_people = found[PEGS], found[PEGS + FROM_MARGINALS]
    assert like_people.pop("seed_weights") == orders.from_marginals(crowd.domain, crowd.codes)
    assert plain == like_people
    assert found[choices.BLOCKS]["epsilon"] == 200, "a block of ten records has the budget of ten"


@pytest.mark.nightly
def test_maps_and_guesses_of_made_up_people_have_their_curves(crowd: People) -> None:
    parts = (
        maps.marginals(crowd, FEW),
        maps.conditionals(crowd, FEW),
        maps.regressions(crowd, FEW),
        intruders.intruders(crowd, FEW),
        histograms.histograms(crowd, FEW),
        coefficients.coefficients(crowd, FEW),
    )
    assert [part.name for part in parts] == ["Figure 5", "Figure 6", "Figure 7", "Figure 9", "Figure 4", "Figure 8"]
    (marginals, *_) = parts
    assert marginals.table is not None
    curves = {row[0] for row in marginals.table.rows}
    assert {"PeGS", "PMI", "log-linear", "histogram of seeds", "bootstrap", "2-diverse"} <= curves
    assert [part.checks for part in parts] == [()] * 6, "what the figures show is expected of real people alone"
    real = replace(crowd, are_real=True)
    assert any(check.holds and check.words.startswith("PeGS falls") for check in maps.marginals(real, FEW).checks)


def test_figures_are_found_by_their_totals_and_each_line_has_a_look_of_its_own() -> None:
    points = [
        MapPoint("PeGS", total, 10, (figure,), (0.0,), per_record=total / 10)
        for total, figure in ((10.0, 0.3), (50.0, 0.2))
    ]
    models = ("log-linear", "Bayesian network", "marginals", "PeGS with noisy tables", *SEEDED)
    points += [MapPoint(curve, 0.9999, 10, (0.1,), (0.0,)) for curve in models]
    points += [MapPoint("bootstrap", None, 10, (0.05,), (0.0,))]
    found = ConfidentialityMap("made up", [Measure("marginal", "Marginal", "")], 1, points)
    own = Figures(found, "marginal")
    assert own.of("log-linear", 1) == 0.1
    assert own.of("bootstrap") == 0.05
    assert own.least_total("PeGS") == 10
    assert own.total(SEEDED[-1]) == 0.9999
    with pytest.raises(StopIteration):
        own.of("log-linear", 1.1)
    with pytest.raises(StopIteration):
        own.of("log-linear")
    assert {point.curve for point in pictured(found, "marginal").points} == {"PeGS", *models, "bootstrap"} - {
        "marginals"
    }
    lines = [
        line
        for line in draw_map(found).axes[0].get_lines()
        if not line.get_label().startswith("_")  # type: ignore[union-attr]
    ]
    assert len(lines) == 2 + len(models)
    looks = {(line.get_color(), line.get_marker(), str(line.get_linestyle())) for line in lines}
    assert len(looks) == len(lines)
