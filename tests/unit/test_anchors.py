"""What `make bench-anchors` compares: our score as the report has it, and excesses with their intervals."""

from itertools import product

import numpy as np
import pytest

from benchmarks.anchors import agreeing, k_marginal_score
from benchmarks.environments import Environment
from deniable.foundation.domain import Attribute, Domain

DOMAIN = Domain(tuple(Attribute(name, (0, 1), "nominal", (0, 1)) for name in ("a", "b", "c")))


def test_the_score_is_that_of_the_mean_distance_of_pairs() -> None:
    every = np.array([*product((0, 1), repeat=3)], np.uint16)
    assert k_marginal_score(DOMAIN, every, every[::-1]) == 1000
    # All records have a = 0: the pairs with a are half elsewhere, and the pair of b and c is the same.
    assert k_marginal_score(DOMAIN, every, every[:4]) == pytest.approx(1000 * (1 - (0.5 + 0.5 + 0) / 3))


def test_excesses_agree_if_their_intervals_overlap() -> None:
    theirs, ours = {"used": [0.6, 0.03], "unused": [0.5, 0.04]}, {"used": [0.7, 0.0], "unused": [0.56, 0.0]}
    said, agrees = agreeing("mixed", theirs, ours)
    assert said == "inference, mixed, excess: Anonymeter 0.100 ± 0.050, ours 0.140 ± 0.000"
    assert agrees
    assert not agreeing("mixed", theirs, {**ours, "used": [0.72, 0.0]})[1]


@pytest.mark.parametrize(("package", "version"), [("anonymeter", "1."), ("sdnist", "2.4")])
def test_the_programs_are_pinned(package: str, version: str) -> None:
    assert Environment(package).version.startswith(version)
