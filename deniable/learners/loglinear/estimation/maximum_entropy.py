"""From noisy tables to a model: conditional maximum entropy along an order of the attributes.

Each attribute's law given those before it is log-linear in the tables that end in it, fitted by iterative proportional
fitting to a population that grows attribute by attribute. Only released values enter. How the model is written in
integers does not belong here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from deniable.learners.loglinear.estimation.counting import A_PAIR
from deniable.learners.loglinear.estimation.empirical_bayes import denoised, posterior_mean
from deniable.learners.loglinear.estimation.fitting import Factor, Fit, Shape, Sums, draw, raked
from deniable.learners.loglinear.estimation.orders import candidate_orders
from deniable.models.contrasts import completed
from deniable.models.loglinear.flat_tables import Attributes
from deniable.models.noisy_marginals import Cells, NoisyMarginal

Wanted = Literal["model", "measured", "shares", "without"]

TRIAL_RECORDS = 5_000
"""Made-up records that an order is tried with."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that was released, over buckets.

    Attributes:
        shape: what is known of the attributes.
        ones: noisy counts of each attribute by itself.
        tables: what was released of tables of two or three attributes.
        priors: what each of them is expected to be; none where that is independence.
        guides: for some attributes, one that must come before it in the order.
    """

    shape: Shape
    ones: tuple[NoisyMarginal, ...]
    tables: tuple[NoisyMarginal, ...]
    priors: tuple[Cells | None, ...]
    guides: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Estimates:
    """What the released values most likely were.

    Attributes:
        total: number of records.
        margins: counts of each attribute's buckets.
        tables: counts of each table.
    """

    total: float
    margins: tuple[Cells, ...]
    tables: tuple[Cells, ...]


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A model over buckets, and what it expects.

    Attributes:
        total: estimated number of records.
        margins: estimated counts of each attribute's buckets.
        tables: denoised counts of each table, in the order in which the tables were given.
        order: the attributes, each after those that its law depends on.
        factors: the factors of each attribute, by column number.
        shares: shares that the model expects in each measured pair of attributes, or in each pair and each triple with
            the target, attributes rising; empty where they were not asked for.
        without: counts that the model expects of each table with its own factor left out; empty as well.
    """

    total: float
    margins: tuple[Cells, ...]
    tables: tuple[Cells, ...]
    order: tuple[int, ...]
    factors: tuple[tuple[Factor, ...], ...]
    shares: dict[Attributes, Cells]
    without: tuple[Cells, ...]

    def expected(self, attributes: Attributes) -> Cells:
        """Counts that the model expects of a pair of attributes, or of a triple with the target."""
        return np.asarray(self.total * self.shares[attributes])


def simplex(values: Cells, total: float) -> Cells:
    """The nearest non-negative values with a given sum (Duchi et al. 2008)."""
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    last = int(np.flatnonzero(falling - excess > 0)[-1])
    return np.asarray(np.maximum(values - excess[last], 0.0))


def estimate_total(tables: Sequence[NoisyMarginal]) -> float:
    """Number of records by the sums of tables of counts, each with the weight of its precision; at least 1."""
    variances = [np.broadcast_to(table.deviation**2, table.values.shape).sum() for table in tables]
    precision = 1 / np.asarray(variances)
    sums = np.asarray([table.values.sum() for table in tables])
    return max(1.0, float((precision * sums).sum() / precision.sum()))


def estimate_margins(tables: Sequence[NoisyMarginal], sizes: Sequence[int], total: float) -> tuple[Cells, ...]:
    """Counts of each attribute's buckets by all tables that have it, each with the weight of its precision.

    Of a table in which one attribute is a difference, the sum says how that attribute divides the records; where
    several are, it says nothing of any one of them.
    """
    sums = [np.zeros(size) for size in sizes]
    precision = [np.zeros(size) for size in sizes]
    for table in tables:
        differences = table.differences(sizes)
        if differences:
            if len(differences) == 1:
                (attribute,) = differences
                # Half of the difference; the total is known far better.
                weight = 4 / (table.values.size * table.deviation**2)
                difference = table.values.sum()
                sums[attribute] += weight * np.asarray([total - difference, total + difference]) / 2
                precision[attribute] += weight
            continue
        for axis, attribute in enumerate(table.attributes):
            others = tuple(other for other in range(table.values.ndim) if other != axis)
            cells = table.values.size / table.values.shape[axis]
            weight = 1 / (cells * table.deviation**2)
            sums[attribute] += weight * table.values.sum(axis=others)
            precision[attribute] += weight
    return tuple(
        _margin(added / weight, weight**-0.5, total) if weight.all() else np.full(size, total / size)
        for size, added, weight in zip(sizes, sums, precision, strict=True)
    )


def _margin(noisy: Cells, deviation: Cells, total: float) -> Cells:
    """An attribute's most likely counts: those of equally frequent buckets, as far as noise says nothing else."""
    even = np.full(noisy.shape, total / noisy.size)
    return simplex(posterior_mean(noisy, even, deviation, laplace=False), total)


def product(margins: Sequence[Cells], total: float) -> Cells:
    """Counts of a table whose attributes are independent."""
    table = margins[0]
    for margin in margins[1:]:
        table = np.asarray(table[..., None] * (margin / total))
    return table


def distances(tables: Sequence[NoisyMarginal], estimates: "Estimates | FittedModel") -> dict[Attributes, float]:
    """How far each denoised pair is from independence, as a share of the records: 2 at most."""
    margins, total = estimates.margins, estimates.total
    return {
        table.attributes: float(np.abs(counts - product([margins[i] for i in table.attributes], total)).sum()) / total
        for table, counts in zip(tables, estimates.tables, strict=True)
        if len(table.attributes) == A_PAIR
    }


def denoise_tables(evidence: Evidence, margins: Sequence[Cells], total: float) -> tuple[Cells, ...]:
    """All tables' most likely counts, consistent with the margins, and triples with the pairs that were measured."""
    found: dict[Attributes, Cells] = {}
    # Pairs first: they are what is known of triples.
    for table, prior in sorted(
        zip(evidence.tables, evidence.priors, strict=True), key=lambda pair: pair[0].values.ndim
    ):
        attributes = table.attributes
        own: list[Sums] = [((axis,), margins[attribute]) for axis, attribute in enumerate(attributes)]
        own += [
            (axes, found[pair])
            for axes in combinations(range(len(attributes)), 2)
            if (pair := tuple(attributes[axis] for axis in axes)) in found
        ]
        expected = raked(product([margins[i] for i in attributes], total) if prior is None else prior, own)
        noisy, deviation = completed(table.values, expected, float(table.deviation))
        ordered = evidence.shape.ordered[list(attributes)]
        counts = denoised(noisy, expected, deviation, ordered, laplace=evidence.shape.laplace)
        found[attributes] = raked(counts, own)
    return tuple(found[table.attributes] for table in evidence.tables)


def fit_maximum_entropy(
    evidence: Evidence, words: NDArray[np.uint32], wanted: Wanted, order: tuple[int, ...] | None = None
) -> FittedModel:
    """Fit the model along the order, of some, along which the tables contradict each other least.

    Args:
        evidence: all that was released.
        words: uniform words that the made-up population is drawn from, shape (m, records).
        wanted: what to work out beside the model: nothing, `Glued.shares` of what was measured, the same of all pairs
            and of triples with the target, or `Glued.without`.
        order: the order, where it is known already.
    """
    tables, shape = evidence.tables, evidence.shape
    counts = [table for table in tables if not table.differences(shape.sizes)]
    total = estimate_total([*evidence.ones, *counts])
    margins = estimate_margins([*evidence.ones, *tables], shape.sizes, total)
    estimates = Estimates(total, margins, denoise_tables(evidence, margins, total))
    if order is not None:
        return _glue_along(order, evidence, estimates, words, wanted)
    orders = candidate_orders(distances(tables, estimates), shape, evidence.guides)
    best = orders[0]
    if len(orders) > 1:
        trial = words[:, : min(words.shape[1], TRIAL_RECORDS)]
        best = min(
            orders, key=lambda order: _misfit(_glue_along(order, evidence, estimates, trial, "measured"), tables)
        )
    return _glue_along(best, evidence, estimates, words, wanted)


def _misfit(glued: FittedModel, tables: Sequence[NoisyMarginal]) -> float:
    """How far the model is from the denoised tables of pairs, all together."""
    return sum(
        float(np.abs(glued.expected(table.attributes) - count).sum())
        for table, count in zip(tables, glued.tables, strict=True)
        if len(table.attributes) == A_PAIR
    )


def _glue_along(
    order: tuple[int, ...], evidence: Evidence, estimates: Estimates, words: NDArray[np.uint32], wanted: Wanted
) -> FittedModel:
    """Fit the model along one order."""
    tables, shape, margins, total = evidence.tables, evidence.shape, estimates.margins, estimates.total
    place = {attribute: position for position, attribute in enumerate(order)}
    m, records = words.shape
    population = np.zeros((m, records), np.int32)
    factors: list[tuple[Factor, ...]] = [()] * m
    shares: dict[Attributes, Cells] = {}
    without: dict[int, Cells] = {}
    ending: dict[int, list[int]] = {attribute: [] for attribute in order}
    for number, table in enumerate(tables):
        ending[max(table.attributes, key=place.__getitem__)].append(number)
    for position, attribute in enumerate(order):
        own = ending[attribute]
        fit = Fit(attribute, [tables[number].attributes for number in own], shape, population)
        fit.run(margins[attribute] / total, [estimates.tables[number] for number in own])
        factors[attribute] = fit.factors
        if wanted == "shares":
            for other in order[:position]:
                shares |= _expected_shares(fit, attribute, other, shape, population)
        if wanted == "measured":
            for i, j in (tables[number].attributes for number in own if len(tables[number].attributes) == A_PAIR):
                other = i + j - attribute
                expected = fit.expected(population[other], shape.sizes[other])
                shares[i, j] = expected if other < attribute else expected.T
        if wanted == "without":
            without |= {number: total * fit.without(j) for j, number in enumerate(own)}
        draw(fit.group, fit.law, words[position], population[attribute])
    left_out = tuple(without[number] for number in range(len(tables))) if wanted == "without" else ()
    return FittedModel(total, margins, estimates.tables, order, tuple(factors), shares, left_out)


def _expected_shares(
    fit: Fit, attribute: int, other: int, shape: Shape, population: NDArray[np.int32]
) -> dict[Attributes, Cells]:
    """Shares of the records in the table of an attribute and an earlier one, and with the target, which is first."""
    target, sizes = shape.target, shape.sizes
    pair = (min(other, attribute), max(other, attribute))
    if target is None or target in pair:
        expected = fit.expected(population[other], sizes[other])
        return {pair: expected if other < attribute else expected.T}
    codes = population[target] * np.int32(sizes[other]) + population[other]
    expected = fit.expected(codes, sizes[target] * sizes[other]).reshape(sizes[target], sizes[other], sizes[attribute])
    both = expected.sum(axis=0)
    axes = (target, other, attribute)
    rising = np.argsort(axes).tolist()
    return {
        pair: both if other < attribute else both.T,
        tuple(axes[axis] for axis in rising): expected.transpose(rising),
    }
