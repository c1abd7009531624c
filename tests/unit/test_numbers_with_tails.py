"""Growing bins of numbers, what is made of their noisy counts, and what they cost."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp, log2, sqrt
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.foundation.domain import Attribute, Bins, Domain
from deniable.learners.loglinear.estimation import tailed_counts as module
from deniable.learners.loglinear.estimation.buckets import smooth_value_counts
from deniable.learners.loglinear.estimation.tailed_counts import BinnedCounts, bin_counts, chain_mean, tailed_counts
from deniable.learners.loglinear.plan import Layout, LoglinearRecipe
from deniable.learners.loglinear.tails import tails_of
from deniable.learners.loglinear.verification import planned_parameters
from deniable.measurements.growing_bins import growing_bins
from deniable.models.noisy_marginals import NoisyMarginal, NoisySums
from deniable.privacy.loss import DiscreteGaussianEvent, DiscreteLaplaceEvent
from deniable.privacy.step_costs import StepCost

Numbers = NDArray[np.float64]
DELTA = Fraction(1, 10**9)
RECORDS = 20_000


def number(first: int, last: int, step: int = 1, **entries: Any) -> Attribute:
    values = tuple(range(first, last + 1, step))
    return Attribute("x", values, "numeric", tuple(range(len(values))), **entries)


def amounts(*ends: int) -> Attribute:
    """A number in bins whose first numbers are 0 and 1 to 9 times the powers of ten, or minus these."""
    starts = [digit * 10**power for power in range(len(str(max(ends)))) for digit in range(1, 10)]
    above = [start for start in starts if start <= max(ends)]
    below = [-last for last in reversed([start - 1 for start in starts[1:]]) if last < -min(ends)]
    edges = [*([min(ends)] if min(ends) < 0 else []), *below, 0, *above]
    lasts = (*(start - 1 for start in edges[1:]), max(ends))
    return Attribute("x", tuple(edges), "numeric", tuple(range(len(edges))), Bins(lasts, 1))


def test_bins_grow_from_zero_on_either_side() -> None:
    found = growing_bins(number(-20, 40))
    assert found is not None
    members = [np.flatnonzero(found.of_value == own) - 20 for own in range(found.size)]
    ends = [(int(own[0]), int(own[-1])) for own in members]
    assert ends == [
        *((-20, -16), (-15, -8), (-7, -4), (-3, -2), (-1, -1), (0, 0)),
        *((1, 1), (2, 3), (4, 7), (8, 15), (16, 31), (32, 40)),
    ]
    assert found.spans.tolist() == pytest.approx([log2(21 / 16), *[1.0] * 10, log2(41 / 32)])


def test_bins_of_amounts_group_their_bins_by_where_these_begin() -> None:
    found = growing_bins(amounts(0, 999_999))
    assert found is not None
    assert (found.of_value[:11].tolist(), found.chain) == ([0, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4], 21)
    assert found.spans[4] == pytest.approx(log2(20 / 8))
    mirrored = growing_bins(amounts(-999_999, 999_999))
    assert mirrored is not None
    assert mirrored.of_value[::-1].tolist() == (mirrored.chain - 1 - mirrored.of_value).tolist()


def test_the_bin_of_zero_is_that_of_the_nearest_number_and_a_missing_value_is_by_itself() -> None:
    years = growing_bins(number(1950, 2010))
    missing = growing_bins(replace(number(-1, 60), missing=-1))
    assert years is not None
    assert missing is not None
    assert years.of_value[:8].tolist() == [0, 1, 2, 2, 3, 3, 3, 3]
    assert (missing.of_value[0], missing.chain, missing.size) == (missing.chain, missing.size - 1, 8)
    assert missing.of_value[1:5].tolist() == [0, 1, 2, 2]


@pytest.mark.parametrize(
    "attribute",
    [
        number(0, 23),
        replace(number(0, 60), kind="ordered"),
        replace(number(0, 60), values=(*range(1, 61), 0)),
        replace(number(0, 60), values=(*map(str, range(61)),)),
    ],
)
def test_what_is_no_number_of_many_ascending_values_has_no_growing_bins(attribute: Attribute) -> None:
    assert growing_bins(attribute) is None


def test_counts_of_a_chain_are_the_means_over_all_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same by the sum over each combination of counts, on a coarse grid."""
    monkeypatch.setattr(module, "_RATIO", 4.0)
    noisy, variances, spans = np.array([30.0, 12, 3, 1]), np.array([9.0, 4, 4, 4]), np.array([1.0, 0.6, 1.7, 1.0])
    grid = 0.05 * 4.0 ** np.arange(6)
    found, whole = np.zeros(4), 0.0
    for states in product(range(len(grid)), repeat=4):
        counts = grid[list(states)]
        own = (counts / 8) ** 2 + variances
        level = np.log(counts / spans)
        weight = float(np.prod(np.exp(-((noisy - counts) ** 2) / own / 2) / np.sqrt(own)))
        weight *= float(np.prod(module._law_of_bends(np.diff(level, 2))))
        weight *= float(np.prod(module._law_of_slopes(np.array([level[0] - level[1], level[3] - level[2]]))))
        whole += weight
        found += weight * (noisy * (counts / 8) ** 2 + counts * variances) / own
    assert chain_mean(noisy, variances, spans, 50.0) == pytest.approx(found / whole, rel=1e-9)


def noisy_counts(
    attribute: Attribute, counts: Numbers, shares: tuple[int, int], variance: float, draw: np.random.Generator
) -> tuple[NoisyMarginal, NoisyMarginal]:
    """Counts of values and of growing bins with normal noise of so many shares, rounded."""
    bins = growing_bins(attribute)
    assert bins is not None
    found = []
    for true, own in ((counts, shares[0]), (bins.added_up(counts), shares[1])):
        sums = np.rint(true + draw.normal(scale=sqrt(variance / own), size=true.shape)).astype(np.int64)
        found.append(NoisyMarginal((0,), (NoisySums(sums, 1, own, 1),), "gaussian", Fraction(variance)))
    return found[0], found[1]


def test_sums_of_values_are_least_squares_with_the_variance_that_they_state() -> None:
    attribute, draw = number(0, 40), np.random.default_rng(list(b"least squares"))
    values, binned = noisy_counts(attribute, np.full(41, 50.0), (4, 2), 400.0, draw)
    bins = growing_bins(attribute)
    assert bins is not None
    known = BinnedCounts.of(attribute, values, binned)
    design = np.concatenate([np.eye(41), np.eye(bins.size)[:, bins.of_value]])
    precision = np.concatenate([np.full(41, 4 / 400), np.full(bins.size, 2 / 400)])
    inverted = np.linalg.inv(design.T @ (precision[:, None] * design))
    right = inverted @ design.T @ (precision * np.concatenate([values.values, binned.values]))
    assert known.consistent == pytest.approx(right)
    groups = np.arange(41) // 6
    sums = np.eye(7)[:, groups]
    found = known.over(groups)
    assert found.values == pytest.approx(sums @ right)
    assert found.deviation**2 == pytest.approx(np.diag(sums @ inverted @ sums.T))
    assert found.variance_of_sum == pytest.approx(inverted.sum())


def test_counts_are_never_negative_and_have_the_sums_of_their_bins() -> None:
    draw = np.random.default_rng(list(b"sums of bins"))
    for attribute in (number(-30, 200), amounts(-9_999, 99_999), replace(number(-1, 60), missing=-1)):
        counts = draw.integers(30, size=attribute.cardinality).astype(float)
        known = BinnedCounts.of(attribute, *noisy_counts(attribute, counts, (3, 1), 900.0, draw))
        found = tailed_counts(known, counts.sum())
        assert found.min() >= 0
        assert found.sum() == pytest.approx(counts.sum())
        assert known.bins.added_up(found) == pytest.approx(bin_counts(known, counts.sum()))


def test_without_noise_counts_are_what_was_counted() -> None:
    draw = np.random.default_rng(list(b"hardly any noise"))
    attribute = number(0, 300)
    counts = np.rint(2_000 * np.exp(-np.arange(301) / 60)) + 30
    known = BinnedCounts.of(attribute, *noisy_counts(attribute, counts, (3, 1), 1e-3, draw))
    assert tailed_counts(known, counts.sum()) == pytest.approx(counts, rel=0.02)


Shape = tuple[Attribute, Callable[[np.random.Generator], Numbers]]
SHAPES: dict[str, Shape] = {
    "log-normal": (number(0, 49_975, 25), lambda draw: np.exp(6 + 1.2 * draw.standard_normal(RECORDS))),
    "Pareto": (amounts(0, 9_999_999), lambda draw: 100 * draw.random(RECORDS) ** (-1 / 1.7)),
    "mostly zero": (
        number(0, 19_990, 10),
        lambda draw: np.where(draw.random(RECORDS) < 0.9, 0, draw.gamma(0.7, 2_500, RECORDS)),
    ),
    "gains and losses": (
        number(-20_000, 40_000, 40),
        lambda draw: np.exp(7 + 0.9 * draw.standard_normal(RECORDS)) - 1_200,
    ),
}
"""Money of several shapes: its public description, and 20,000 amounts."""
KEYS = 5


def described(shape: str, noise: float = 40.0) -> SimpleNamespace:
    """Mean and upper hundredth of estimates, relative to the truth: mean over keys, with bins, and as it was without.

    Args:
        shape: one of SHAPES.
        noise: deviation of a count with a third of the shares, which is that of a bin.
    """
    attribute, made = SHAPES[shape]
    ends = np.asarray(attribute.values if attribute.bins is None else attribute.bins.last, float)
    middles = (np.asarray(attribute.values, float) + ends) / 2
    amount = np.clip(made(np.random.default_rng(list(shape.encode()))), attribute.values[0], ends[-1])
    codes = np.searchsorted(np.asarray(attribute.values), amount, side="right") - 1
    counts = np.bincount(codes, minlength=attribute.cardinality).astype(float)

    def upper(of: Numbers) -> float:
        return float(ends[np.searchsorted(np.cumsum(of), 0.99 * of.sum())])

    def against(estimates: list[Numbers]) -> tuple[float, float]:
        means = [float((own * middles).sum() / own.sum()) for own in estimates]
        mean = float((counts * middles).sum() / RECORDS)
        return float(np.mean(means)) / mean, float(np.mean([upper(own) for own in estimates])) / upper(counts)

    with_bins, without = [], []
    for key in range(KEYS):
        draw = np.random.default_rng([key, *shape.encode()])
        values, binned = noisy_counts(attribute, counts, (2, 1), noise**2, draw)
        known = BinnedCounts.of(attribute, values, binned)
        with_bins.append(tailed_counts(known, RECORDS))
        alone, _ = noisy_counts(attribute, counts, (3, 1), noise**2, draw)
        without.append(smooth_value_counts(attribute, alone, RECORDS))
    return SimpleNamespace(
        now=against(with_bins),
        before=against(without),
        largest=max(float(ends[np.flatnonzero(own >= 0.5)[-1]]) for own in with_bins) / amount.max(),
    )


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_means_and_tails_of_money_are_those_of_the_records_on_average_over_keys(shape: str) -> None:
    """Within 10 % and 20 %, and without growing bins they are not, although values have the same budget."""
    found = described(shape)
    assert found.now[0] == pytest.approx(1, abs=0.1)
    assert found.now[1] == pytest.approx(1, abs=0.2)
    assert found.largest < 2
    assert abs(found.before[0] - 1) > 0.15


def test_nothing_is_made_where_only_noise_speaks() -> None:
    """All amounts are below 1,000, and the range goes to ten million; a count has noise of 50 records."""
    attribute = amounts(0, 9_999_999)
    counts = np.zeros(attribute.cardinality)
    counts[20:28] = 2_500
    far = np.asarray(attribute.values) >= 50_000
    found, before = [], []
    for key in range(20):
        draw = np.random.default_rng([key, *b"only noise"])
        values, binned = noisy_counts(attribute, counts, (14, 2), 14 * 50.0**2, draw)
        found.append(tailed_counts(BinnedCounts.of(attribute, values, binned), RECORDS)[far].sum())
        before.append(smooth_value_counts(attribute, values, RECORDS)[far].sum())
    assert np.mean(found) < 5
    assert np.median(found) < 1
    assert np.mean(before) > 200


def table(attribute: Attribute) -> Domain:
    others = (Attribute(f"a{i}", tuple(range(4)), "nominal", (0,) * 4) for i in range(6))
    return Domain((*others, attribute))


@pytest.mark.parametrize(("noise", "event"), [("gaussian", DiscreteGaussianEvent), ("laplace", DiscreteLaplaceEvent)])
def test_values_and_bins_together_cost_what_all_shares_of_the_attribute_cost(
    noise: Literal["gaussian", "laplace"], event: type[DiscreteGaussianEvent | DiscreteLaplaceEvent]
) -> None:
    plan = LoglinearRecipe(Fraction(1), DELTA, noise).calibrate(table(number(0, 500)))
    layout = plan.layout
    values, bins = (
        next(each for each in plan.events if each.query == query)
        for query in ("counts of x", "counts of x by growing bins")
    )
    assert isinstance(values, event)
    assert isinstance(bins, event)
    assert 0 < layout.bin_shares[6] < layout.value_shares[6]
    assert layout.value_shares[6] + layout.bin_shares[6] == layout.one_way_shares[6]
    assert layout.bin_shares[:6] == (0,) * 6
    costs = [1 / (each.variance if isinstance(each, DiscreteGaussianEvent) else each.scale) for each in (values, bins)]
    assert sum(costs) == layout.one_way_shares[6] / plan.amount
    assert (values.outputs, bins.outputs, bins.sensitivity) == (1, 1, 1)


@pytest.mark.slow
def test_a_tail_takes_no_more_shares_than_its_bins_are_worth() -> None:
    shares = [Layout.of(table(number(0, size))).one_way_shares[6] for size in (100, 2_500, 10_000)]
    assert shares[0] < shares[1] == pytest.approx(shares[2], rel=0.02)
    assert Layout.of_version_7(table(number(0, 10_000))).one_way_shares[6] > 2 * shares[2]


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_what_version_7_planned_for_a_number_of_many_values_holds(noise: str, monkeypatch: pytest.MonkeyPatch) -> None:
    domain, delta = table(number(0, 500)), Fraction(1, 10**6)
    recipe = LoglinearRecipe(Fraction(1), delta, noise)  # type: ignore[arg-type]
    with monkeypatch.context() as patch:
        patch.setattr(Layout, "of", lambda domain, _="gaussian": Layout.of_version_7(domain))
        earlier = recipe.calibrate(domain)
    present = recipe.calibrate(domain)
    spec = {"learner": {"parameters": {"epsilon": "1", "delta": str(delta)}, "noise": noise}}
    for plan in (earlier, present):
        step = StepCost(
            step="learn_parameters",
            part="parameters",
            probability=Fraction(1),
            events=plan.events,
            guarantee=plan.guarantee,
        )
        found = planned_parameters(spec, domain, step, lambda own: own)
        assert found.events == plan.events
        assert not list(found.amounts())
    assert earlier.events != present.events


def test_money_keeps_its_scale_however_many_values_there_are() -> None:
    """A chain of which nothing is known is about even: no bin is certain, and none is cut off."""
    attribute = number(0, 99)
    draw = np.random.default_rng(list(b"nothing is known"))
    known = BinnedCounts.of(attribute, *noisy_counts(attribute, np.ones(100), (3, 1), 1e6, draw))
    counts = bin_counts(known, 100.0)
    assert counts.sum() == pytest.approx(100)
    assert counts.max() < 100 * (1 - exp(-3))


def test_the_limit_of_a_tail_is_the_noise_of_one_count_in_its_outermost_bin() -> None:
    domain = replace(table(number(-100, 5_000)), target=None)
    plan = LoglinearRecipe(Fraction(1), DELTA, "gaussian").calibrate(domain)
    [tail] = tails_of(plan)
    values, bins = (float(plan.amount) / own[6] for own in (plan.layout.value_shares, plan.layout.bin_shares))
    members = 5_000 - 4_096 + 1
    assert (tail.attribute, tail.begins, tail.step) == ("x", 4_096, 1)
    assert tail.noise == pytest.approx((1 / bins + 1 / (members * values)) ** -0.5)
    # That many records more in this bin move a mean of 20,000 records by a tenth of this.
    assert tail.least_mean(20_000) == pytest.approx(10 * tail.noise * 4_096 / 20_000)
    assert tail.is_noisy(20_000) == (tail.least_mean(20_000) > 64)
    assert tail.is_noisy(100)
    assert not tail.is_noisy(10**7)
    losses = LoglinearRecipe(Fraction(1), DELTA, "gaussian").calibrate(table(number(-5_000, 100)))
    assert tails_of(losses)[0].begins == 4_096
    assert tails_of(LoglinearRecipe(Fraction(1), DELTA).calibrate(table(number(0, 99)))) == ()
