"""Each mechanism, with counts so much more and draws so much less, publishes the same bytes: no float passes the noise.

What the log-linear learner's doors give is tested beside its audit; here are the other mechanisms, and the types.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, get_type_hints

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.keys import ReleaseKey
from deniable.foundation.noise import DiscreteGaussian, DiscreteLaplace
from deniable.foundation.tables import FamilyCounts, PairCounts
from deniable.learners.cfs import entropies
from deniable.learners.cfs.entropies import GRID, EntropyRecipe
from deniable.learners.cfs.parameters import ParameterRecipe
from deniable.learners.cfs.structure import learn_graph
from deniable.learners.loglinear.learning import Choice
from deniable.learners.loglinear.measurements import PrivateQueries
from deniable.models.graph import Graph
from deniable.models.noisy_marginals import NoisyMarginal, NoisySums
from deniable.samplers.histogram_seeds.noisy_histogram import HistogramRecipe, PrefixCounts

DOMAIN = Domain(
    (
        Attribute("work", tuple("abcd"), "nominal", (0, 0, 1, 1)),
        Attribute("school", tuple("pqr"), "nominal", (0, 1, 2)),
        Attribute("sex", ("f", "m"), "nominal", (0, 1)),
    )
)
GRAPH = Graph(parents=((), (0,), (0, 1)), order=(0, 1, 2), similarity=((), (0.5,), (0.25, 0.125)))
OPEN = partial(ReleaseKey(bytes(range(32))).stream, step="test", inputs="people")
Shift = Callable[[int], None]


def people() -> Any:
    number = np.arange(997)
    return np.stack([number % 4, number % 7 % 3, number * number % 5 % 2], axis=1).astype(np.uint16)


@pytest.fixture
def shift(monkeypatch: pytest.MonkeyPatch) -> Shift:
    """Makes all draws so much less."""
    honest = {law: law.sample for law in (DiscreteLaplace, DiscreteGaussian)}
    within: list[Any] = []

    def shifted(law: Any, by: int) -> Any:
        def sample(self: Any, *asked: Any) -> Any:
            # Wide laws are drawn by means of narrow ones: what is released is one draw less.
            within.append(law)
            drawn = honest[law](self, *asked)
            within.pop()
            return drawn if within else drawn - by

        return sample

    def less(by: int) -> None:
        for law in honest:
            monkeypatch.setattr(law, "sample", shifted(law, by))

    return less


def network(kind: Any, estimate: Any, more: int) -> str:
    counts = FamilyCounts(DOMAIN, GRAPH.parents)
    counts.add(people())
    for table in counts.tables:
        np.add(table, more, out=table)
    recipe = ParameterRecipe(Fraction(1), Fraction(1, 10**6), kind, Fraction(1), estimate)
    return json.dumps(recipe.calibrate(DOMAIN).run(counts, GRAPH, OPEN).document())


@pytest.mark.parametrize("estimate", ["mean", "map", "sample"])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("more", range(1, 4))
def test_a_network_of_counts(kind: Any, estimate: Any, more: int, shift: Shift) -> None:
    expected = network(kind, estimate, 0)
    shift(more)
    assert network(kind, estimate, more) == expected
    # The control: a count that the draws do not make up for is another network.
    assert network(kind, estimate, more + 1) != expected


@dataclass
class MoreRows:
    """Counts of pairs, whose number of rows is another."""

    counts: PairCounts
    rows: int

    def __getattr__(self, name: str) -> Any:
        return getattr(self.counts, name)


def graph(kind: Any, more: int, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The noisy entropies, the bound on the number of rows, and the published graph."""
    counts = PairCounts(DOMAIN)
    counts.add(people())
    # A unit of 2^-32 is added to what is rounded to such units.
    honest = entropies.entropy
    monkeypatch.setattr(entropies, "entropy", lambda table: (round(honest(table) * GRID) + more) / GRID)
    recipe = EntropyRecipe(epsilon=Fraction(30), delta=Fraction(1, 100), epsilon_rows=Fraction(1, 10), noise=kind)
    found = recipe.calibrate(DOMAIN).run(MoreRows(counts, counts.rows + more), OPEN)  # type: ignore[arg-type]
    monkeypatch.setattr(entropies, "entropy", honest)
    return [*found.bits.items(), found.rows_low, json.dumps(learn_graph(found, 50).document(DOMAIN))]


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("more", range(1, 4))
def test_entropies_and_their_graph(kind: Any, more: int, shift: Shift, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = graph(kind, 0, monkeypatch)
    shift(more)
    assert graph(kind, more, monkeypatch) == expected
    assert graph(kind, more + 1, monkeypatch) != expected


def histogram(more: int) -> str:
    counts = PrefixCounts(DOMAIN, (0, 1, 2), 2)
    counts.add(people())
    counts.counts = counts.counts + more
    counts.rows += more
    recipe = HistogramRecipe(
        epsilon=Fraction(2),
        delta=Fraction(1, 10**5),
        k=5,
        beta=Fraction(1, 1000),
        max_rows=10_000,
        epsilon_rows=Fraction(1, 10),
    )
    return json.dumps(recipe.calibrate().run(counts, OPEN).document())


@pytest.mark.parametrize("more", range(1, 4))
def test_a_histogram_of_prefixes(more: int, shift: Shift) -> None:
    expected = histogram(0)
    shift(more)
    assert histogram(more) == expected
    assert histogram(more + 1) != expected


def test_the_types_of_the_doors_hold_no_float() -> None:
    """What goes through the doors of the log-linear learner are integers, exact fractions, and names."""
    held = [get_type_hints(kind) for kind in (NoisySums, NoisyMarginal, Choice)]
    passed = [get_type_hints(way) for way in (PrivateQueries.measure, PrivateQueries.choose)]
    for hints in (*held, *passed):
        for name, hint in hints.items():
            assert "float" not in str(hint), (name, hint)
    assert "int64" in str(held[0]["sums"])
    assert "int64" in str(passed[0]["counts"])
