"""From noisy tables to a model: conditional maximum entropy along an order of the attributes.

Each attribute's conditional distribution given earlier ones is log-linear in the tables that end in it. It is fitted
by iterative proportional fitting to a population simulated attribute by attribute. Only released values are used.
Rounding the model to integers does not belong here.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from deniable.learners.loglinear.estimation.compiled_mixtures import posterior_means
from deniable.learners.loglinear.estimation.counting import A_PAIR
from deniable.learners.loglinear.estimation.detected_zeros import occupied
from deniable.learners.loglinear.estimation.empirical_bayes import Uncertain, denoised, nearest_with_total
from deniable.learners.loglinear.estimation.fitting import PASSES, Factor, Fit, Shape, Sums, draw, raked
from deniable.learners.loglinear.estimation.orders import candidate_orders
from deniable.measurements.noisy_tables import Cells
from deniable.models.contrasts import completed
from deniable.models.loglinear.flat_tables import Attributes
from deniable.models.noisy_marginals import EstimatedMarginal, NoisyMarginal

TRIAL_RECORDS = 2_500
"""Number of simulated records for trying an order."""
TRIAL_PASSES = 3
"""Number of passes over the tables for trying an order."""
_ROUNDING = 1e-9
_LEAST_VARIANCE = 1e-6
"""Smallest share of a count's variance that remains once the sum of all counts is known."""
_MISSED_SUMS = 5.0
"""Permitted error of marginals where zeros were inferred, in noise deviations of a cell."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """All released values, over buckets.

    Attributes:
        shape: the attributes.
        ones: noisy one-way marginals.
        tables: noisy tables of two or three attributes.
        priors: expected counts of each table; empty for independence.
        guides: for some attributes, another that must precede it in the order.
    """

    shape: Shape
    ones: tuple[NoisyMarginal | EstimatedMarginal, ...]
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
        order: the attributes, each after those on which its distribution depends.
        factors: the factors of each attribute, by column number.
        shares: expected shares in the requested pairs of attributes and triples with the target, attributes ascending.
        without: expected counts of each table under the model without its own factor; empty unless requested.
    """

    total: float
    margins: tuple[Cells, ...]
    tables: tuple[Cells, ...]
    order: tuple[int, ...]
    factors: tuple[tuple[Factor, ...], ...]
    shares: dict[Attributes, Cells]
    without: tuple[Cells, ...]

    def expected(self, attributes: Attributes) -> Cells:
        """Expected counts of a requested pair of attributes, or of a requested triple with the target."""
        return np.asarray(self.total * self.shares[attributes])


def estimate_total(tables: Sequence[NoisyMarginal | EstimatedMarginal]) -> float:
    """Number of records, at least 1: the precision-weighted mean of the sums of tables of counts; 1 without tables."""
    if not tables:
        return 1.0
    precision = 1 / np.asarray([table.variance_of_sum for table in tables])
    sums = np.asarray([table.values.sum() for table in tables])
    return max(1.0, float((precision * sums).sum() / precision.sum()))


def estimate_margins(
    tables: Sequence[NoisyMarginal | EstimatedMarginal], sizes: Sequence[int], total: float
) -> tuple[Cells, ...]:
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
            cells = table.values.size / table.values.shape[axis]
            weight = 1 / (cells * table.deviation**2)
            sums[attribute] += weight * table.sums_along[axis]
            precision[attribute] += weight
    known = [i for i, weight in enumerate(precision) if weight.all()]
    found = dict(
        zip(
            known,
            _margins([sums[i] / precision[i] for i in known], [1 / precision[i] for i in known], total),
            strict=True,
        )
    )
    return tuple(found[i] if i in found else np.full(size, total / size) for i, size in enumerate(sizes))


def with_known(margins: Sequence[Cells], total: float, shape: Shape) -> tuple[Cells, ...]:
    """Counts of each attribute's buckets, with publicly known ones in place of estimates."""
    return tuple(total * shape.known[i] if i in shape.known else margin for i, margin in enumerate(margins))


def _margins(noisy: Sequence[Cells], variances: Sequence[Cells], total: float) -> list[Cells]:
    """Estimated counts of several attributes, shrunk towards uniform as far as the noise suggests."""
    nearest = [nearest_with_total(*each, total) for each in zip(noisy, variances, strict=True)]
    even = [np.full(own.shape, total / own.size) for own in noisy]
    left = [np.sqrt(own * np.maximum(1 - own / own.sum(), _LEAST_VARIANCE)) for own in variances]
    counts = posterior_means(nearest, even, left, laplace=False)
    return [nearest_with_total(*each, total) for each in zip(counts, variances, strict=True)]


def product(margins: Sequence[Cells], total: float) -> Cells:
    """Counts of a table whose attributes are independent."""
    table = margins[0]
    for margin in margins[1:]:
        table = np.asarray(table[..., None] * (margin / total))
    return table


def distances(tables: Sequence[NoisyMarginal], estimates: Estimates) -> dict[Attributes, float]:
    """L1 distance of each denoised pair from independence, as a share of the records: 2 at most."""
    margins, total = estimates.margins, estimates.total
    return {
        table.attributes: float(np.abs(counts - product([margins[i] for i in table.attributes], total)).sum()) / total
        for table, counts in zip(tables, estimates.tables, strict=True)
        if len(table.attributes) == A_PAIR
    }


def expected_by_rules(attributes: Attributes, margins: Sequence[Cells], total: float, shape: Shape) -> Cells:
    """Counts of a table with attributes independent apart from the rules: maximum entropy given its zeros."""
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
    tables = list(zip(evidence.tables, evidence.priors, strict=True))
    # Pairs come first, because triples are raked to them.
    for axes in sorted({len(table.attributes) for table in evidence.tables}):
        some = [(table, prior) for table, prior in tables if len(table.attributes) == axes]
        found |= _denoised_together(some, found, evidence.shape, margins, total)
    return tuple(found[table.attributes] for table in evidence.tables)


def _denoised_together(
    tables: Sequence[tuple[NoisyMarginal, Cells | None]],
    pairs: Mapping[Attributes, Cells],
    shape: Shape,
    margins: Sequence[Cells],
    total: float,
) -> dict[Attributes, Cells]:
    """Denoised counts of tables of equally many attributes, with which smaller ones agree."""
    uncertain: list[Uncertain] = []
    wanted: list[list[Sums]] = []
    for table, prior in tables:
        attributes = table.attributes
        own: list[Sums] = [((axis,), margins[attribute]) for axis, attribute in enumerate(attributes)]
        own += [
            (axes, pairs[pair])
            for axes in combinations(range(len(attributes)), 2)
            if (pair := tuple(attributes[axis] for axis in axes)) in pairs
        ]
        permitted = shape.permitted(attributes)
        start = product([margins[i] for i in attributes], total) if prior is None else prior
        if permitted is not None:
            start = start * (permitted if prior is None else permitted > 0)
        expected = raked(start, own)
        possible = None if permitted is None else permitted > 0
        noisy, deviation = completed(table.values, expected, float(table.deviation), possible)
        uncertain.append(Uncertain(noisy, expected, deviation, shape.ordered[list(attributes)], possible))
        wanted.append(own)
    counted = denoised(uncertain, laplace=shape.laplace, means=posterior_means)
    found: dict[Attributes, Cells] = {}
    for (table, _), known, own, counts in zip(tables, uncertain, wanted, counted, strict=True):
        attributes = table.attributes
        found[attributes] = raked(counts, own)
        if shape.searched and len(attributes) == A_PAIR:
            held = occupied(known.noisy, known.deviation, *(margins[i] for i in attributes))
            narrowed = raked(counts * held, own)
            if _has_sums(narrowed, own, _MISSED_SUMS * known.deviation):
                found[attributes] = narrowed
    return found


def _has_sums(table: Cells, wanted: Sequence[Sums], tolerance: float) -> bool:
    """Whether a table has the given marginals, which is impossible if it has too many zeros."""
    for axes, counts in wanted:
        others = tuple(other for other in range(table.ndim) if other not in axes)
        if np.abs(table.sum(axis=others) - counts).max() > tolerance:
            return False
    return True


def estimates_from(evidence: Evidence) -> Estimates:
    """Estimates of the true counts from all released values."""
    tables, sizes = evidence.tables, evidence.shape.sizes
    counts = [table for table in tables if not table.differences(sizes)]
    total = estimate_total([*evidence.ones, *counts])
    margins = with_known(estimate_margins([*evidence.ones, *tables], sizes, total), total, evidence.shape)
    return Estimates(total, margins, denoise_tables(evidence, margins, total))


def best_order(evidence: Evidence, estimates: Estimates, words: NDArray[np.uint32]) -> tuple[int, ...]:
    """The candidate order with the smallest misfit to the tables.

    Args:
        evidence: all released values.
        estimates: the estimates from them.
        words: uniform words from which the population is simulated, shape (m, records).
    """
    shape = evidence.shape
    distance = ruled_distances(estimates, shape) | distances(evidence.tables, estimates)
    orders = candidate_orders(distance, shape, evidence.guides)
    if len(orders) == 1:
        return orders[0]
    return OrderTrials(evidence, estimates, words[:, : min(words.shape[1], TRIAL_RECORDS)]).best_of(orders)


@dataclass(frozen=True, eq=False)
class _Tried:
    """One attribute's fit at a position of an order.

    Attributes:
        number: its identifying number.
        drawn: the attribute's bucket of each record, shape (records,).
        misfits: L1 distance of the model from each denoised pair that ends in the attribute, by the pair's number.
    """

    number: int
    drawn: NDArray[np.int32]
    misfits: dict[int, float]


class OrderTrials:
    """Tries orders on a few records, sharing the fits that orders have in common.

    An attribute's fit depends on its position, on the tables that end in it, and on the fits of their other attributes
    and of those with which it has a rule. Orders that agree on these share the fit, digit for digit.

    Args:
        evidence: all released values.
        estimates: the estimates from them.
        words: uniform words from which the population is simulated, shape (m, records).
    """

    def __init__(self, evidence: Evidence, estimates: Estimates, words: NDArray[np.uint32]) -> None:
        self._evidence, self._estimates, self._words = evidence, estimates, words
        self._tried: dict[tuple[object, ...], _Tried] = {}

    def best_of(self, orders: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        """The order with the smallest misfit, summed over pairs; the first in a tie."""
        best, least = orders[0], np.inf
        # The later ones are the best more often, and the sooner the best is tried, the sooner others are abandoned.
        for order in reversed(orders):
            misfit = self._misfit(order, least)
            if misfit <= least:
                best, least = order, misfit
        return best

    def _misfit(self, order: tuple[int, ...], least: float) -> float:
        """L1 distance of the model from the denoised pairs, summed; infinite once it exceeds the smallest."""
        tables = self._evidence.tables
        ending = tables_ending(order, tables)
        population = np.zeros(self._words.shape, np.int32)
        numbers: dict[int, int] = {}
        misfits: dict[int, float] = {}
        for position, attribute in enumerate(order):
            own, before = ending[attribute], order[:position]
            others = sorted({other for number in own for other in tables[number].attributes if other != attribute})
            others += self._evidence.shape.zeros.partners(attribute, before)
            key = (attribute, position, *own, *((other, numbers[other]) for other in others))
            tried = self._tried.get(key)
            if tried is None:
                tried = self._tried[key] = self._try(attribute, own, before, population)
            population[attribute], numbers[attribute] = tried.drawn, tried.number
            misfits |= tried.misfits
            # The rounding error of the sum is far below the tolerance: an abandoned order is not the best.
            if sum(misfits.values()) > least * (1 + _ROUNDING):
                return np.inf
        return sum(misfits[number] for number in sorted(misfits))

    def _try(self, attribute: int, own: Sequence[int], before: Sequence[int], population: NDArray[np.int32]) -> _Tried:
        """Fit one attribute, given the records' buckets of those before it."""
        tables, shape, estimates = self._evidence.tables, self._evidence.shape, self._estimates
        fit = Fit(attribute, [tables[number].attributes for number in own], shape, population, before)
        counts = [estimates.tables[number] for number in own]
        fit.run(estimates.margins[attribute] / estimates.total, counts, TRIAL_PASSES)
        misfits = {
            number: misfit
            for number, misfit in zip(own, fit.misfits(estimates.total), strict=False)
            if len(tables[number].attributes) == A_PAIR
        }
        drawn = np.empty(population.shape[1], np.int32)
        draw(fit.group, fit.law, self._words[len(before)], drawn)
        return _Tried(len(self._tried), drawn, misfits)


def tables_ending(order: Sequence[int], tables: Sequence[NoisyMarginal]) -> dict[int, list[int]]:
    """For each attribute, the numbers of the tables in which it comes last in the order."""
    place = {attribute: position for position, attribute in enumerate(order)}
    ending: dict[int, list[int]] = {attribute: [] for attribute in order}
    for number, table in enumerate(tables):
        ending[max(table.attributes, key=place.__getitem__)].append(number)
    return ending


def fit_along(
    order: tuple[int, ...],
    evidence: Evidence,
    estimates: Estimates,
    words: NDArray[np.uint32],
    *,
    asked: Collection[Attributes] = (),
    without: bool = False,
    start: FittedModel | None = None,
    passes: int = PASSES,
) -> FittedModel:
    """Fit the model along one order.

    Args:
        order: the order.
        evidence: all released values.
        estimates: the estimates from them.
        words: uniform words from which the population is simulated, shape (m, records).
        asked: pairs of attributes, and triples with the target, for which `FittedModel.shares` are computed.
        without: whether `FittedModel.without` is computed.
        start: a model of the same tables along the same order, from whose factors the fit starts.
        passes: number of passes over the tables.
    """
    tables, shape, margins, total = evidence.tables, evidence.shape, estimates.margins, estimates.total
    m, records = words.shape
    population = np.zeros((m, records), np.int32)
    factors: list[tuple[Factor, ...]] = [()] * m
    shares: dict[Attributes, Cells] = {}
    left_out: dict[int, Cells] = {}
    ending = tables_ending(order, tables)
    for position, attribute in enumerate(order):
        own = ending[attribute]
        fit = Fit(attribute, [tables[number].attributes for number in own], shape, population, order[:position])
        counts = [estimates.tables[number] for number in own]
        fit.run(margins[attribute] / total, counts, passes, None if start is None else start.factors[attribute])
        factors[attribute] = fit.factors
        shares |= _expected_shares(fit, attribute, order[:position], shape, population, asked)
        if without:
            left_out |= {number: total * fit.without(j) for j, number in enumerate(own)}
        if position < m - 1:
            draw(fit.group, fit.law, words[position], population[attribute])
    others = tuple(left_out[number] for number in range(len(tables))) if without else ()
    return FittedModel(total, margins, estimates.tables, order, tuple(factors), shares, others)


def _expected_shares(
    fit: Fit,
    attribute: int,
    before: Sequence[int],
    shape: Shape,
    population: NDArray[np.int32],
    asked: Collection[Attributes],
) -> dict[Attributes, Cells]:
    """Requested expected shares of an attribute with each earlier one, and of both with the target, which is first."""
    target = shape.target
    with_target = [target] if target is not None and target in before else []
    pairs = {other: (min(other, attribute), max(other, attribute)) for other in before}
    alone = [pairs[other] for other in (before if target is None else with_target) if pairs[other] in asked]
    shares: dict[Attributes, Cells] = dict(zip(alone, fit.expected_pairs(alone, population), strict=True))
    for first in with_target:
        triples = {other: tuple(sorted((first, other, attribute))) for other in before if other != first}
        others = [other for other, triple in triples.items() if pairs[other] in asked or triple in asked]
        for other, expected in zip(others, fit.expected(others, population, first) if others else (), strict=True):
            both = expected.sum(axis=0)
            shares[pairs[other]] = both if other < attribute else both.T
            shares[triples[other]] = expected.transpose(np.argsort((first, other, attribute)).tolist())
    return shares
