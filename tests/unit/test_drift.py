import numpy as np
import pytest

from deniable.evaluation.drift import drift
from deniable.foundation.domain import Codes


def table(*rows: tuple[int, int]) -> Codes:
    return np.array(rows, np.uint16)


def test_distances_are_those_of_the_tables_and_the_farthest_pair_comes_first() -> None:
    before = table((0, 0), (0, 1), (1, 0), (1, 1))
    after = table((0, 0), (0, 0), (0, 1), (0, 1))
    found = drift([before], [after], ["a", "b"], [2, 2])
    assert [(item.attributes, item.distance) for item in found.attributes] == [(("a",), 0.5), (("b",), 0.0)]
    assert [(item.attributes, item.distance) for item in found.pairs] == [(("a", "b"), 0.5)]
    assert found.rows == (4, 4)
    assert found.figures == {
        "drift_1way_mean": 0.25,
        "drift_1way_max": 0.5,
        "drift_2way_mean": 0.5,
        "drift_2way_max": 0.5,
    }


def test_chance_is_what_two_samples_of_one_population_are_apart() -> None:
    draw = np.random.default_rng(list(b"drift by chance"))
    shares = [0.5, 0.2, 0.2, 0.1]

    def sample(rows: int) -> Codes:
        return draw.choice(4, size=(rows, 1), p=shares).astype(np.uint16)

    found = [drift([sample(2000)], [sample(500)], ["a"], [4]).attributes[0] for _ in range(400)]
    mean = np.mean([item.distance for item in found])
    assert np.mean([item.by_chance for item in found]) == pytest.approx(mean, rel=0.1)
    # The same check tells a population that has moved.
    moved = drift([sample(2000)], [np.zeros((500, 1), np.uint16)], ["a"], [4]).attributes[0]
    assert moved.distance > 5 * moved.by_chance


def test_a_table_of_one_attribute_has_no_pairs() -> None:
    found = drift([table((0, 0))[:, :1]], [table((1, 0))[:, :1]], ["a"], [2])
    assert found.pairs == ()
    assert set(found.figures) == {"drift_1way_mean", "drift_1way_max"}
