"""Every output law of the noisy histogram on small tables keeps to Theorem B; laws of wrong mechanisms do not."""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise, product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.keys import ReleaseKey
from deniable.foundation.noise import DiscreteLaplace
from deniable.samplers.histogram_seeds.noisy_histogram import HistogramMechanism, HistogramRecipe, PrefixCounts

Law = NDArray[np.float64]

FALSE_ALARM = 1e-9
ROUNDING = 1e-14
BUDGETS = [
    (Fraction(1), Fraction(1, 10**6)),
    (Fraction(1, 2), Fraction(1, 10**4)),
    (Fraction(1, 4), Fraction(1, 100)),
    (Fraction(3), Fraction(1, 1000)),
]


@dataclass(frozen=True)
class Variant:
    """What is done to one cell: the mechanism, or the mechanism with a mistake.

    Attributes:
        threshold: smallest noisy count that is kept.
        noise: the law of the noise; none if the count is published as it is.
    """

    threshold: int
    noise: DiscreteLaplace | None

    @classmethod
    def of(cls, mechanism: HistogramMechanism) -> "Variant":
        (event,) = mechanism.events
        return cls(mechanism.threshold, DiscreteLaplace(event.scale))  # type: ignore[attr-defined]

    def law(self, count: int, reach: int) -> Law:
        """Probability of the cell being absent, of each noisy count below `reach`, and of all from there on."""
        values = range(self.threshold, reach)
        if count == 0:
            return np.array([1.0, *(0.0 for _ in values), 0.0])
        if self.noise is None:
            shown = [float(count == value) for value in values]
            return np.array([float(count < self.threshold), *shown, float(count >= reach)])
        kept = [self.noise.probability(value - count) for value in values]
        return np.array([1 - self.noise.tail(self.threshold - count), *kept, self.noise.tail(reach - count)])


def hockey_stick(epsilon: float, first: Law, second: Law) -> float:
    return float(np.maximum(first - np.exp(epsilon) * second, 0).sum())


def both_ways(epsilon: float, first: Law, second: Law) -> float:
    return max(hockey_stick(epsilon, first, second), hockey_stick(epsilon, second, first))


def worst(variant: Variant, epsilon: Fraction) -> tuple[float, float]:
    """Largest delta at epsilon when a record is added to an empty cell, and to one of any count, or removed from it."""
    width = int(40 / epsilon)
    reach = variant.threshold + 2 * width
    laws = [variant.law(count, reach) for count in range(variant.threshold + width)]
    excess = [both_ways(float(epsilon), fewer, more) for fewer, more in pairwise(laws)]
    return excess[0], max(excess[1:])


@pytest.mark.parametrize(
    ("epsilon", "delta", "met"),
    [(*BUDGETS[0], 6.079e-7), (*BUDGETS[1], 7.682e-5), (*BUDGETS[2], None), (*BUDGETS[3], None)],
)
def test_a_record_added_or_removed_costs_epsilon_in_a_cell_of_others_and_delta_in_its_own(
    epsilon: Fraction, delta: Fraction, met: float | None
) -> None:
    mechanism = HistogramRecipe(epsilon=epsilon, delta=delta).calibrate()
    empty, existing = worst(Variant.of(mechanism), epsilon)
    assert existing <= ROUNDING
    assert empty == pytest.approx(mechanism.guarantee.delta, rel=1e-9)
    assert empty <= delta
    if met is not None:
        assert empty == pytest.approx(met, rel=1e-3)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_mistakes_cost_more(epsilon: Fraction, delta: Fraction) -> None:
    right = Variant.of(HistogramRecipe(epsilon=epsilon, delta=delta).calibrate())
    lower = Variant(right.threshold - 1, right.noise)
    narrower = Variant(right.threshold, DiscreteLaplace(Fraction(9, 10) / epsilon))
    plain = Variant(right.threshold, None)
    assert worst(lower, epsilon)[0] > delta
    assert worst(narrower, epsilon)[1] > delta
    assert worst(plain, epsilon)[1] == 1


def tables(cells: int, most: int) -> list[tuple[int, ...]]:
    """All histograms of a few cells."""
    return list(product(range(most + 1), repeat=cells))


def joint(*laws: Law) -> Law:
    """The law of independent cells."""
    outcome = laws[0]
    for law in laws[1:]:
        outcome = np.multiply.outer(outcome, law)
    return outcome


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS[2:])
def test_theorem_b_bounds_the_law_of_all_cells_together(epsilon: Fraction, delta: Fraction) -> None:
    variant = Variant.of(HistogramRecipe(epsilon=epsilon, delta=delta).calibrate())
    reach = variant.threshold + int(40 / epsilon)
    most = 3
    laws = [variant.law(count, reach) for count in range(most + 2)]
    found = []
    for counts in tables(2, most):
        law = joint(*(laws[count] for count in counts))
        for cell in range(2):
            more = joint(*(laws[count + (cell == place)] for place, count in enumerate(counts)))
            found.append(both_ways(float(epsilon), law, more))
    assert 0.99 * variant_delta(variant) < max(found) <= delta


def variant_delta(variant: Variant) -> float:
    assert variant.noise is not None
    return variant.noise.tail(variant.threshold - 1)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS[2:])
def test_a_record_replaced_costs_twice_epsilon_and_one_delta(epsilon: Fraction, delta: Fraction) -> None:
    variant = Variant.of(HistogramRecipe(epsilon=epsilon, delta=delta).calibrate())
    reach = variant.threshold + int(40 / epsilon)
    # counts around the threshold too, where both the kept and the dropped move
    levels = [0, 1, 2, variant.threshold - 1, variant.threshold, variant.threshold + 3]
    found = {}
    for x, y in product(levels, repeat=2):
        before = joint(variant.law(x + 1, reach), variant.law(y, reach))
        after = joint(variant.law(x, reach), variant.law(y + 1, reach))
        found[x, y] = [both_ways(factor * float(epsilon), before, after) for factor in (1, 2)]
    assert max(twice for _, twice in found.values()) <= delta
    # what the proof says of each case
    shifts = [twice for (x, y), (_, twice) in found.items() if x and y]
    appearances = [once for (x, y), (once, _) in found.items() if not (x and y)]
    assert max(shifts) <= ROUNDING
    assert max(appearances) <= delta
    # epsilon alone is not enough where both cells are those of others
    assert max(once for once, _ in found.values()) > 5 * delta


def test_the_number_of_records_and_the_histogram_together_keep_to_the_epsilon_of_both() -> None:
    recipe = HistogramRecipe(epsilon=Fraction(1), delta=Fraction(1, 1000), epsilon_rows=Fraction(1, 4))
    mechanism = recipe.calibrate()
    cells, rows = mechanism.events
    variant = Variant(mechanism.threshold, DiscreteLaplace(cells.scale))  # type: ignore[attr-defined]
    noise = DiscreteLaplace(rows.scale)  # type: ignore[attr-defined]
    reach = mechanism.threshold + 60
    numbers = range(-160, 161)

    def law(count: int) -> Law:
        """The cell, and the number of records, which are all of this cell."""
        return joint(variant.law(count, reach), np.array([noise.probability(number - count) for number in numbers]))

    found = [both_ways(1.0, law(count), law(count + 1)) for count in range(30)]
    assert max(found) <= recipe.delta
    assert max(both_ways(0.9, law(count), law(count + 1)) for count in range(30)) > 10 * recipe.delta


COUNT = 9
CELLS = 60_000


def observed(mechanism: HistogramMechanism) -> NDArray[np.int64]:
    """Noisy counts of very many cells of the same true count, in one run."""
    domain = Domain((Attribute("x", tuple(range(CELLS)), "nominal", (0,) * CELLS),))
    counts = PrefixCounts(domain, (0,), 1)
    for _ in range(COUNT):
        counts.add(np.arange(CELLS, dtype=np.uint16)[:, None])
    open_stream = partial(ReleaseKey(bytes(range(32))).stream, step="test", inputs="theorem b")
    return mechanism.run(counts, open_stream).counts


def p_value(counts: NDArray[np.int64], variant: Variant) -> float:
    """How probable noisy counts of this law are that lie as far from it."""
    values = np.arange(COUNT - 3, COUNT + 12)
    below = max(0, variant.threshold - int(values[0]))
    law = variant.law(COUNT, int(values[-1]) + 1)
    expected = np.concatenate([law[:1], np.zeros(below), law[1 + max(0, int(values[0]) - variant.threshold) :]])
    found = np.array([CELLS - len(counts), *(counts == values[:, None]).sum(axis=1), (counts > values[-1]).sum()])
    if found[expected == 0].any():
        return 0.0
    possible = expected > 0
    return float(stats.chisquare(found[possible], CELLS * expected[possible]).pvalue)


def test_the_mechanism_has_the_law_that_was_enumerated() -> None:
    mechanism = HistogramRecipe(epsilon=Fraction(1, 2), delta=Fraction(1, 100)).calibrate()
    right = Variant.of(mechanism)
    counts = observed(mechanism)
    assert abs(right.threshold - COUNT) < 3
    assert p_value(counts, right) > FALSE_ALARM
    for wrong in (
        Variant(right.threshold + 1, right.noise),
        Variant(right.threshold - 1, right.noise),
        Variant(right.threshold, DiscreteLaplace(Fraction(18, 10))),
        Variant(right.threshold, DiscreteLaplace(Fraction(22, 10))),
    ):
        assert p_value(counts, wrong) < FALSE_ALARM
