"""The pictures of a table of many hundreds of attributes are as large as a page can be, and still show its errors."""

from itertools import combinations

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Domain
from reports.plots.pairs import PairError, attributes_of_a_square, heatmap_svg, largest, squares_of
from reports.plots.plots import distance_boxes


def domain_of(size: int) -> Domain:
    return Domain(
        tuple(Attribute(name=f"v{i}", kind="nominal", values=("a", "b"), buckets=(0, 1)) for i in range(size))
    )


def errors_of(domain: Domain) -> list[PairError]:
    return [PairError(pair, i % 7 / 7, i % 5 / 10) for i, pair in enumerate(combinations(domain.names, 2))]


def test_each_pair_of_a_table_that_is_not_wide_has_its_square() -> None:
    domain = domain_of(6)
    errors = errors_of(domain)
    squares = squares_of(domain, errors)
    assert attributes_of_a_square(domain) == 1
    assert [(f"v{each.column}", f"v{each.row}") for each in squares] == [error.names for error in errors]
    assert [(each.released, each.real) for each in squares] == [(error.released, error.real) for error in errors]


def test_a_square_of_a_wide_table_is_the_mean_over_its_pairs() -> None:
    domain = domain_of(300)
    errors = errors_of(domain)
    run, squares = attributes_of_a_square(domain), squares_of(domain, errors)
    assert run == 3
    assert {(each.column, each.row) for each in squares} == {(i, j) for i in range(100) for j in range(i, 100)}
    for column, row in ((0, 0), (0, 99), (17, 40)):
        within = [
            error
            for error in errors
            if (domain.index(error.names[0]) // run, domain.index(error.names[1]) // run) == (column, row)
        ]
        [square] = [each for each in squares if (each.column, each.row) == (column, row)]
        assert square.released == pytest.approx(np.mean([error.released for error in within]))
        assert square.real == pytest.approx(np.mean([error.real for error in within]))
    picture = heatmap_svg(domain, errors, squares, {errors[-1].names: "pair-1"})
    assert 'href="#pair-1"' in picture
    assert picture.count("h4.0v4.0") == 2 * len(squares)
    assert largest(squares) <= max(error.released for error in errors)


def test_very_many_distances_are_shown_by_quantiles_from_the_least_to_the_most() -> None:
    values = np.random.default_rng(1).random(60_000).tolist()
    figure = distance_boxes({2: {"released": values, "training": values[:100]}}, {2: ["a and b"] * len(values)})
    many, few = (np.asarray(drawn.get_offsets())[:, 0] for drawn in figure.axes[0].collections[:2])
    assert len(many) == 5000
    assert (many.min(), many.max()) == (min(values), max(values))
    assert np.median(many) == pytest.approx(np.median(values), abs=1e-3)
    assert few.tolist() == values[:100]
