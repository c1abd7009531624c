"""From noisy tables to a model: conditional maximum entropy along an order of the attributes.

Each attribute's law given those before it is log-linear in the tables that end in it, fitted by iterative proportional
fitting to a population that grows attribute by attribute. Only released values enter. How the model is written in
integers does not belong here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from deniable.loglinear.counting import Attributes
from deniable.loglinear.denoising import denoised, posterior_mean
from deniable.loglinear.fitting import Factor, Fit, Shape, draw, raked
from deniable.loglinear.orders import candidate_orders
from deniable.loglinear.releases import Cells, NoisyTable

Wanted = Literal["model", "pairs", "without"]

TRIAL_RECORDS = 10_000
"""Made-up records that an order is tried with."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that was released, over buckets.

    Attributes:
        shape: what is known of the attributes.
        ones: noisy counts of each attribute by itself.
        tables: noisy tables of two or more attributes.
        priors: what each of them is expected to be; none where that is independence.
    """

    shape: Shape
    ones: tuple[NoisyTable, ...]
    tables: tuple[NoisyTable, ...]
    priors: tuple[Cells | None, ...]


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
class Glued:
    """A model over buckets, and what it expects.

    Attributes:
        total: estimated number of records.
        margins: estimated counts of each attribute's buckets.
        tables: denoised counts of each table, in the order in which the tables were given.
        order: the attributes, each after those that its law depends on.
        factors: the factors of each attribute, by column number.
        pairs: shares that the model expects in each pair i < j of attributes; empty where they were not asked for.
        without: counts that the model expects of each table with its own factor left out; empty as well.
    """

    total: float
    margins: tuple[Cells, ...]
    tables: tuple[Cells, ...]
    order: tuple[int, ...]
    factors: tuple[tuple[Factor, ...], ...]
    pairs: dict[Attributes, Cells]
    without: tuple[Cells, ...]

    def expected(self, attributes: Attributes) -> Cells:
        """Counts that the model expects of a pair of attributes."""
        return np.asarray(self.total * self.pairs[attributes])


def simplex(values: Cells, total: float) -> Cells:
    """The nearest non-negative values with a given sum (Duchi et al. 2008)."""
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    last = int(np.flatnonzero(falling - excess > 0)[-1])
    return np.asarray(np.maximum(values - excess[last], 0.0))


def estimate_total(tables: Sequence[NoisyTable]) -> float:
    """Number of records by all tables' sums, each with the weight of its precision; at least 1."""
    variances = [np.broadcast_to(table.deviation**2, table.values.shape).sum() for table in tables]
    precision = 1 / np.asarray(variances)
    sums = np.asarray([table.values.sum() for table in tables])
    return max(1.0, float(precision @ sums / precision.sum()))


def estimate_margins(tables: Sequence[NoisyTable], sizes: Sequence[int], total: float) -> tuple[Cells, ...]:
    """Counts of each attribute's buckets by all tables that have it, each with the weight of its precision."""
    sums = [np.zeros(size) for size in sizes]
    precision = [np.zeros(size) for size in sizes]
    for table in tables:
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


def denoise_tables(evidence: Evidence, margins: Sequence[Cells], total: float) -> tuple[Cells, ...]:
    """All tables' most likely counts, consistent with the margins."""
    found = []
    for table, prior in zip(evidence.tables, evidence.priors, strict=True):
        own = [margins[attribute] for attribute in table.attributes]
        expected = product(own, total) if prior is None else raked(prior, own)
        ordered = evidence.shape.ordered[list(table.attributes)]
        counts = denoised(table.values, expected, float(table.deviation), ordered, laplace=evidence.shape.laplace)
        found.append(raked(counts, own))
    return tuple(found)


def glue(evidence: Evidence, words: NDArray[np.uint32], wanted: Wanted, order: tuple[int, ...] | None = None) -> Glued:
    """Fit the model along the order, of some, along which the tables contradict each other least.

    Args:
        evidence: all that was released.
        words: uniform words that the made-up population is drawn from, shape (m, records).
        wanted: what to work out beside the model: nothing, `Glued.pairs`, or `Glued.without`.
        order: the order, where it is known already.
    """
    tables, shape = evidence.tables, evidence.shape
    total = estimate_total([*evidence.ones, *tables])
    margins = estimate_margins([*evidence.ones, *tables], shape.sizes, total)
    estimates = Estimates(total, margins, denoise_tables(evidence, margins, total))
    if order is not None:
        return _glue_along(order, evidence, estimates, words, wanted)
    distances = [
        float(np.abs(count - product([margins[i] for i in table.attributes], total)).sum()) / total
        for table, count in zip(tables, estimates.tables, strict=True)
    ]
    orders = candidate_orders([table.attributes for table in tables], distances, shape.sizes, shape.target)
    best = orders[0]
    if len(orders) > 1:
        trial = words[:, : min(words.shape[1], TRIAL_RECORDS)]
        best = min(orders, key=lambda order: _misfit(_glue_along(order, evidence, estimates, trial, "pairs"), tables))
    return _glue_along(best, evidence, estimates, words, wanted)


def _misfit(glued: Glued, tables: Sequence[NoisyTable]) -> float:
    """How far the model is from the denoised tables, all together."""
    return sum(
        float(np.abs(glued.expected(table.attributes) - count).sum())
        for table, count in zip(tables, glued.tables, strict=True)
    )


def _glue_along(
    order: tuple[int, ...], evidence: Evidence, estimates: Estimates, words: NDArray[np.uint32], wanted: Wanted
) -> Glued:
    """Fit the model along one order."""
    tables, shape, margins, total = evidence.tables, evidence.shape, estimates.margins, estimates.total
    place = {attribute: position for position, attribute in enumerate(order)}
    m, records = words.shape
    population = np.zeros((m, records), np.int32)
    factors: list[tuple[Factor, ...]] = [()] * m
    pairs: dict[Attributes, Cells] = {}
    without: dict[int, Cells] = {}
    for position, attribute in enumerate(order):
        own = [
            number
            for number, table in enumerate(tables)
            if max(place[other] for other in table.attributes) == place[attribute]
        ]
        fit = Fit(attribute, [tables[number].attributes for number in own], shape, population)
        fit.run(margins[attribute] / total, [estimates.tables[number] for number in own])
        factors[attribute] = fit.factors
        if wanted == "pairs":
            for other in order[:position]:
                expected = fit.expected(population[other], shape.sizes[other])
                pairs[min(other, attribute), max(other, attribute)] = expected if other < attribute else expected.T
        if wanted == "without":
            without |= {number: total * fit.without(j) for j, number in enumerate(own)}
        draw(fit.group, fit.law, words[position], population[attribute])
    left_out = tuple(without[number] for number in range(len(tables))) if wanted == "without" else ()
    return Glued(total, margins, estimates.tables, order, tuple(factors), pairs, left_out)
