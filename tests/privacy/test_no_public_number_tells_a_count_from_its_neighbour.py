"""The attack on floating point, in small: it finds nothing that is published, and finds what once was at once."""

import json
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from benchmarks.attack_floats import (
    as_before,
    as_integers,
    as_means,
    attack_measured,
    attack_network,
    measured_of_many,
    telling,
)
from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.keys import ReleaseKey
from deniable.foundation.tables import FamilyCounts
from deniable.learners.cfs.parameters import ParameterRecipe
from deniable.learners.loglinear import learning
from deniable.models.graph import Graph
from deniable.models.noisy_marginals import NoisyMarginal, NoisySums

KEY = ReleaseKey(bytes(range(32)))


@pytest.fixture(autouse=True)
def small_populations(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DRAFT_RECORDS", "OTHERS_RECORDS", "FINAL_RECORDS", "FEWEST_RECORDS"):
        monkeypatch.setattr(learning, name, 400)


def test_nothing_is_found_in_integers_and_much_in_means() -> None:
    document, codes, domain = measured_of_many(KEY, values=2_000, people=20_000)
    found, before = (
        attack_measured(document, codes, domain),
        attack_measured(as_before(document, codes, domain), codes, domain),
    )
    assert found.numbers >= before.numbers > 8_000
    assert found.telling == 0
    assert before.telling > before.numbers / 50


@pytest.mark.parametrize(("shares", "tells"), [(1, False), (2, False), (16, False), (3, True), (7, True), (31, True)])
def test_means_tell_where_their_shares_are_no_power_of_two(shares: int, tells: bool) -> None:  # noqa: FBT001
    """As residuals of rounding have it: 2 to 8 % of the values of empty cells are impossible with one person more."""
    counts = np.zeros(20_000, np.int64)
    words = KEY.stream(step="test", inputs="", mechanism="noise", parameters={}).take(counts.size)
    noise = np.rint((words / 2**32 - 0.5) * 900 * shares**0.5).astype(np.int64)
    found = telling(counts + noise / shares, counts, partial(as_means, shares=shares))
    assert (found.telling > 0.01 * found.numbers) == tells
    assert (found.telling > 0) == tells
    assert telling(shares * counts + noise, counts, partial(as_integers, multiplier=shares)).telling == 0
    # Were the same integers' sums made of rounded means, the attack would see it in what is written as a sum, too.
    assert (
        telling((counts + noise / shares) * shares, counts, partial(as_integers, multiplier=shares)).telling > 0
    ) == tells


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_no_number_of_a_network_of_counts_tells(noise: Any) -> None:
    domain = Domain(
        (
            Attribute("work", tuple("abcd"), "nominal", (0, 1, 2, 3)),
            Attribute("school", tuple("pqr"), "nominal", (0, 1, 2)),
        )
    )
    graph = Graph(parents=((), (0,)), order=(0, 1), similarity=((), (0.5,)))
    number = np.arange(600)
    codes = np.stack([number % 4, number % 7 % 3], axis=1).astype(np.uint16)
    counts = FamilyCounts(domain, graph.parents)
    counts.add(codes)
    recipe = ParameterRecipe(Fraction(1), Fraction(1, 10**6), noise, Fraction(1), "mean")
    net = recipe.calibrate(domain).run(counts, graph, partial(KEY.stream, step="test", inputs=""))
    document = json.loads(json.dumps(net.document()))
    found = attack_network(document, Fraction(1))
    assert (found.numbers, found.telling) == (4 + 12, 0)
    document["weights"]["school"][0][0] += 1 << 20
    document["weights"]["school"][0][1] -= 1 << 20
    assert attack_network(document, Fraction(1)).telling == 1


@pytest.mark.parametrize("shares", [1, 3, 7, 12, 31, 615])
def test_a_value_is_the_correctly_rounded_quotient_of_its_integers(shares: int) -> None:
    words = KEY.stream(step="test", inputs="", mechanism="sums", parameters={}).take(2_000).astype(np.int64)
    for sums in (words - 2**31, words * 2**20 - 2**51, words * 2**30 - 2**61):
        one, other = NoisySums(sums, shares, shares, 1), NoisySums(sums[::-1].copy(), 5, 5, 2)
        table = NoisyMarginal((0,), (one,), "gaussian", Fraction(9))
        assert table.values.tolist() == [float(Fraction(each, shares)) for each in sums.tolist()]
        joined = table.joined(NoisyMarginal((0,), (other,), "gaussian", Fraction(9))).values.tolist()
        both = zip(sums.tolist(), sums[::-1].tolist(), strict=True)
        assert joined == [float(Fraction(first + second, shares + 5)) for first, second in both]
        laplace = NoisyMarginal(
            (0,), (NoisySums(sums, 1, shares, 1), NoisySums(sums[::-1].copy(), 1, 5, 2)), "laplace", Fraction(9)
        )
        both = zip(sums.tolist(), sums[::-1].tolist(), strict=True)
        assert laplace.values.tolist() == [
            float(Fraction(shares**2 * first + 25 * second, shares**2 + 25)) for first, second in both
        ]
