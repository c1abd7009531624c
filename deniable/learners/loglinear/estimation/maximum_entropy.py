"""From noisy tables to a model: conditional maximum entropy along an order of the attributes.

Each attribute's conditional distribution given earlier ones is log-linear in the tables that end in it. It is fitted by
iterative proportional fitting to a population that is simulated attribute by attribute. Only released values are used.
Rounding the model to integers does not belong here.
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
from deniable.measurements.noisy_tables import Cells
from deniable.models.contrasts import completed
from deniable.models.loglinear.flat_tables import Attributes
from deniable.models.noisy_marginals import NoisyMarginal

Wanted = Literal["model", "measured", "shares", "without"]

TRIAL_RECORDS = 5_000
"""Number of simulated records with which an order is tried."""
_LEAST_VARIANCE = 1e-6
"""Least share of a count's variance that is left once the sum of all counts is known."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """All released values, over buckets.

    Attributes:
        shape: the attributes.
        ones: noisy one-way marginals.
        tables: noisy tables of two or three attributes.
        priors: expected counts of each of them; none for independence.
        guides: for some attributes, another that must precede it in the order.
    """

    shape: Shape
    ones: tuple[NoisyMarginal, ...]
    tables: tuple[NoisyMarginal, ...]
    priors: tuple[Cells | None, ...]
    guides: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates of the true counts from the released values.

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
    """A model over buckets, and its expected counts.

    Attributes:
        total: estimated number of records.
        margins: estimated counts of each attribute's buckets.
        tables: denoised counts of each table, in the order in which the tables were given.
        order: the attributes, each after those that its distribution depends on.
        factors: the factors of each attribute, by column number.
        shares: expected shares in each measured pair of attributes, or in each pair and each triple with the target,
            attributes ascending; empty unless requested.
        without: expected counts of each table with its own factor left out; empty unless requested.
    """

    total: float
    margins: tuple[Cells, ...]
    tables: tuple[Cells, ...]
    order: tuple[int, ...]
    factors: tuple[tuple[Factor, ...], ...]
    shares: dict[Attributes, Cells]
    without: tuple[Cells, ...]

    def expected(self, attributes: Attributes) -> Cells:
        """Expected counts of a pair of attributes, or of a triple with the target."""
        return np.asarray(self.total * self.shares[attributes])


def nearest_with_total(values: Cells, variances: Cells, total: float) -> Cells:
    """The non-negative counts with a given sum that are nearest in squared deviations, each over its variance.

    The excess of the sum is divided in proportion to the variances; counts below 0 are set to 0, and the rest is
    divided anew. With equal variances it is the projection onto the simplex (Duchi et al. 2008; Michelot 1986).

    Args:
        values: noisy counts, shape (cells,).
        variances: variances of their noise, above 0, same shape.
        total: the sum, above 0.
    """
    left = np.ones(values.shape, np.bool_)
    while True:
        moved = values + variances * ((total - values[left].sum()) / variances[left].sum())
        if bool((moved[left] >= 0).all()):
            return np.asarray(np.where(left, moved, 0.0))
        left &= moved >= 0


def estimate_total(tables: Sequence[NoisyMarginal]) -> float:
    """Number of records: the precision-weighted mean of the sums of tables of counts; at least 1."""
    variances = [np.broadcast_to(table.deviation**2, table.values.shape).sum() for table in tables]
    precision = 1 / np.asarray(variances)
    sums = np.asarray([table.values.sum() for table in tables])
    return max(1.0, float((precision * sums).sum() / precision.sum()))


def estimate_margins(tables: Sequence[NoisyMarginal], sizes: Sequence[int], total: float) -> tuple[Cells, ...]:
    """Counts of each attribute's buckets: the precision-weighted mean over all tables that include it.

    If one attribute of a table enters as a difference, the table's sum estimates how that attribute divides the
    records; if several do, it carries no information on any one of them.
    """
    sums = [np.zeros(size) for size in sizes]
    precision = [np.zeros(size) for size in sizes]
    for table in tables:
        differences = table.differences(sizes)
        if differences:
            if len(differences) == 1:
                (attribute,) = differences
                # Half of the difference; the total is known much more precisely.
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
        _margin(added / weight, 1 / weight, total) if weight.all() else np.full(size, total / size)
        for size, added, weight in zip(sizes, sums, precision, strict=True)
    )


def with_known(margins: Sequence[Cells], total: float, shape: Shape) -> tuple[Cells, ...]:
    """Counts of each attribute's buckets, the publicly known ones in place of estimates."""
    return tuple(total * shape.known[i] if i in shape.known else margin for i, margin in enumerate(margins))


def _margin(noisy: Cells, variances: Cells, total: float) -> Cells:
    """Estimated counts of an attribute, shrunk towards equally frequent buckets as far as the noise suggests."""
    even = np.full(noisy.shape, total / noisy.size)
    left = np.sqrt(variances * np.maximum(1 - variances / variances.sum(), _LEAST_VARIANCE))
    counts = posterior_mean(nearest_with_total(noisy, variances, total), even, left, laplace=False)
    return nearest_with_total(counts, variances, total)


def product(margins: Sequence[Cells], total: float) -> Cells:
    """Counts of a table whose attributes are independent."""
    table = margins[0]
    for margin in margins[1:]:
        table = np.asarray(table[..., None] * (margin / total))
    return table


def distances(tables: Sequence[NoisyMarginal], estimates: "Estimates | FittedModel") -> dict[Attributes, float]:
    """L1 distance of each denoised pair from independence, as a share of the records: 2 at most."""
    margins, total = estimates.margins, estimates.total
    return {
        table.attributes: float(np.abs(counts - product([margins[i] for i in table.attributes], total)).sum()) / total
        for table, counts in zip(tables, estimates.tables, strict=True)
        if len(table.attributes) == A_PAIR
    }


def expected_by_rules(attributes: Attributes, margins: Sequence[Cells], total: float, shape: Shape) -> Cells:
    """Counts of a table whose attributes are independent but for the rules: the maximum entropy under its zeros."""
    table = product([margins[i] for i in attributes], total)
    permitted = shape.permitted(attributes)
    if permitted is None:
        return table
    return raked(table * permitted, [((axis,), margins[i]) for axis, i in enumerate(attributes)])


def ruled_distances(estimates: Estimates, shape: Shape) -> dict[Attributes, float]:
    """L1 distance from independence that rules alone imply for pairs that they restrict, as a share of the records."""
    margins, total = estimates.margins, estimates.total
    return {
        pair: float(
            np.abs(expected_by_rules(pair, margins, total, shape) - product([margins[i] for i in pair], total)).sum()
        )
        / total
        for pair in shape.zeros.pairs
    }


def denoise_tables(evidence: Evidence, margins: Sequence[Cells], total: float) -> tuple[Cells, ...]:
    """Denoised counts of all tables, consistent with the margins; triples are also consistent with measured pairs."""
    found: dict[Attributes, Cells] = {}
    # Pairs first: triples are raked to them.
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
        permitted = evidence.shape.permitted(attributes)
        start = product([margins[i] for i in attributes], total) if prior is None else prior
        if permitted is not None:
            start = start * (permitted if prior is None else permitted > 0)
        expected = raked(start, own)
        possible = None if permitted is None else permitted > 0
        noisy, deviation = completed(table.values, expected, float(table.deviation), possible)
        ordered = evidence.shape.ordered[list(attributes)]
        counts = denoised(noisy, expected, deviation, ordered, laplace=evidence.shape.laplace, possible=possible)
        found[attributes] = raked(counts, own)
    return tuple(found[table.attributes] for table in evidence.tables)


def fit_maximum_entropy(
    evidence: Evidence, words: NDArray[np.uint32], wanted: Wanted, order: tuple[int, ...] | None = None
) -> FittedModel:
    """Fit the model along the candidate order with the smallest misfit to the tables.

    Args:
        evidence: all released values.
        words: uniform words from which the population is simulated, shape (m, records).
        wanted: what to compute besides the model: nothing, `FittedModel.shares` of the measured pairs, of all pairs and
            of triples with the target, or `FittedModel.without`.
        order: the order, if it is known already.
    """
    tables, shape = evidence.tables, evidence.shape
    counts = [table for table in tables if not table.differences(shape.sizes)]
    total = estimate_total([*evidence.ones, *counts])
    margins = with_known(estimate_margins([*evidence.ones, *tables], shape.sizes, total), total, shape)
    estimates = Estimates(total, margins, denoise_tables(evidence, margins, total))
    if order is not None:
        return _glue_along(order, evidence, estimates, words, wanted)
    orders = candidate_orders(ruled_distances(estimates, shape) | distances(tables, estimates), shape, evidence.guides)
    best = orders[0]
    if len(orders) > 1:
        trial = words[:, : min(words.shape[1], TRIAL_RECORDS)]
        best = min(
            orders, key=lambda order: _misfit(_glue_along(order, evidence, estimates, trial, "measured"), tables)
        )
    return _glue_along(best, evidence, estimates, words, wanted)


def _misfit(glued: FittedModel, tables: Sequence[NoisyMarginal]) -> float:
    """L1 distance of the model from the denoised pairs, summed over pairs."""
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
        fit = Fit(attribute, [tables[number].attributes for number in own], shape, population, order[:position])
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
    """Expected shares of an attribute with an earlier one, and of both with the target, which is first."""
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
