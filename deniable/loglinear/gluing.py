"""From noisy tables to a model: conditional maximum entropy along an order of the attributes.

Each attribute's law given those before it is log-linear in the tables that end in it, fitted by iterative proportional
fitting to a population that grows attribute by attribute. Only released values enter. How the model is written in
integers does not belong here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numba
import numpy as np
from numpy.typing import NDArray

from deniable.loglinear.counting import Attributes, strides_of
from deniable.loglinear.denoising import denoised
from deniable.loglinear.releases import Cells, NoisyTable

PASSES = 6
PASSES_WITHOUT = 2
"""Passes after one table was left out: the others are nearly fitted already."""
LARGEST_FACTOR = 6.0
"""No factor is above e^6 or below e^-6: with a functional dependency they would run away from unseen configurations."""
FLOOR = 5e-4
"""Share of its margin that each cell of a target has at least."""
_RAKING = 20
_RECODING_BONUS = 8.0
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Shape:
    """What is known of the attributes, for gluing.

    Attributes:
        sizes: number of buckets of each attribute.
        ordered: whether the buckets have an order that carries meaning.
        target: the attribute that comes first, if any.
        laplace: whether the noise is Laplace.
    """

    sizes: tuple[int, ...]
    ordered: NDArray[np.bool_]
    target: int | None
    laplace: bool


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
class Factor:
    """A table's contribution to the logarithm of an attribute's odds.

    Attributes:
        parents: the table's other attributes, which stand before.
        weights: natural logarithms, shape (configurations of the parents, buckets of the attribute).
    """

    parents: Attributes
    weights: Cells


@dataclass(frozen=True, eq=False)
class Glued:
    """A model over buckets, and what it expects.

    Attributes:
        total: estimated number of records.
        margins: estimated counts of each attribute's buckets.
        tables: denoised counts of each table, in the order in which the tables were given.
        order: the attributes, each after those that its law depends on.
        factors: the factors of each attribute, by column number.
        population: bucket codes of made-up records, shape (m, records).
        pairs: shares that the model expects in each pair i < j of attributes; empty where they were not asked for.
        without: counts that the model expects of each table with its own factor left out; empty as well.
    """

    total: float
    margins: tuple[Cells, ...]
    tables: tuple[Cells, ...]
    order: tuple[int, ...]
    factors: tuple[tuple[Factor, ...], ...]
    population: NDArray[np.int32]
    pairs: dict[Attributes, Cells]
    without: tuple[Cells, ...]

    def expected(self, attributes: Attributes) -> Cells:
        """Counts that the model expects of a table."""
        if len(attributes) == 2:
            return self.total * self.pairs[attributes]
        sizes = [len(self.margins[attribute]) for attribute in attributes]
        cell = np.zeros(self.population.shape[1], np.int64)
        for attribute, stride in zip(attributes, strides_of(sizes), strict=True):
            cell += self.population[attribute] * stride
        counts = np.bincount(cell, minlength=int(np.prod(sizes))).reshape(sizes)
        return counts * (self.total / self.population.shape[1])


def simplex(values: Cells, total: float) -> Cells:
    """The nearest non-negative values with a given sum (Duchi et al. 2008)."""
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    last = int(np.flatnonzero(falling - excess > 0)[-1])
    return np.maximum(values - excess[last], 0.0)


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
        simplex(added / weight, total) if weight.any() else np.full(size, total / size)
        for size, added, weight in zip(sizes, sums, precision, strict=True)
    )


def raked(table: Cells, margins: Sequence[Cells]) -> Cells:
    """A table scaled along each axis in turn until its sums are the margins."""
    table = table + _TINY  # noqa: PLR6104 - the argument is not to be changed
    for _ in range(_RAKING):
        for axis, margin in enumerate(margins):
            others = tuple(other for other in range(table.ndim) if other != axis)
            sums = table.sum(axis=others)
            shape = [-1 if other == axis else 1 for other in range(table.ndim)]
            table = table * (margin / np.maximum(sums, _TINY)).reshape(shape)
    return table


def product(margins: Sequence[Cells], total: float) -> Cells:
    """Counts of a table whose attributes are independent."""
    table = margins[0]
    for margin in margins[1:]:
        table = table[..., None] * (margin / total)
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


def attribute_order(
    tables: Sequence[NoisyTable], counts: Sequence[Cells], margins: Sequence[Cells], total: float, shape: Shape
) -> tuple[int, ...]:
    """The target, the attribute of most cells, and then always the one that is tied most to those placed.

    A recoding comes next to what it recodes: a pair counts more the further it is from independence.
    """
    m = len(shape.sizes)
    cells = np.zeros(m)
    strength = []
    for table, count in zip(tables, counts, strict=True):
        for attribute in table.attributes:
            cells[attribute] += count.size
        tie = 1.0
        if count.ndim == 2:
            own = [margins[attribute] for attribute in table.attributes]
            tie += _RECODING_BONUS * max(0.0, float(np.abs(count - product(own, total)).sum()) / total - 1)
        strength.append(tie)
    order = [] if shape.target is None else [shape.target]
    while len(order) < m:
        left = [attribute for attribute in range(m) if attribute not in order]
        ties = dict.fromkeys(left, 0.0)
        for table, tie in zip(tables, strength, strict=True):
            missing = [attribute for attribute in table.attributes if attribute not in order]
            if len(missing) == 1:
                ties[missing[0]] += tie
        if len(order) == (shape.target is not None):
            ties = dict.fromkeys(left, 0.0)
        order.append(max(left, key=lambda attribute: (ties[attribute], cells[attribute], -attribute)))
    return tuple(order)


def glue(evidence: Evidence, words: NDArray[np.uint32], wanted: Literal["model", "pairs", "without"]) -> Glued:
    """Fit the model.

    Args:
        evidence: all that was released.
        words: uniform words that the made-up population is drawn from, shape (m, records).
        wanted: what to work out beside the model: nothing, `Glued.pairs`, or `Glued.without`.
    """
    tables, shape = evidence.tables, evidence.shape
    total = estimate_total([*evidence.ones, *tables])
    margins = estimate_margins([*evidence.ones, *tables], shape.sizes, total)
    counts = denoise_tables(evidence, margins, total)
    order = attribute_order(tables, counts, margins, total, shape)
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
        fit = _Fit(attribute, [tables[number].attributes for number in own], shape, population)
        fit.run(margins[attribute] / total, [counts[number] for number in own])
        factors[attribute] = fit.factors
        if wanted == "pairs":
            for other in order[:position]:
                expected = fit.expected(population[other], shape.sizes[other])
                pairs[min(other, attribute), max(other, attribute)] = expected if other < attribute else expected.T
        if wanted == "without":
            without |= {number: total * fit.without(j) for j, number in enumerate(own)}
        _draw(fit.group, fit.law, words[position], population[attribute])
    left_out = tuple(without[number] for number in range(len(tables))) if wanted == "without" else ()
    return Glued(total, margins, counts, order, tuple(factors), population, pairs, left_out)


class _Fit:
    """The fit of one attribute's law given those before it.

    Attributes:
        group: number of the group of each record, those that the attribute's tables do not tell apart, shape (records,).
        law: each group's law, shape (groups, buckets).
        factors: the attribute's factors.
    """

    def __init__(
        self, attribute: int, tables: Sequence[Attributes], shape: Shape, population: NDArray[np.int32]
    ) -> None:
        self._attribute, self._tables, self._size = attribute, tables, shape.sizes[attribute]
        self._records = population.shape[1]
        self._parents = [tuple(other for other in attributes if other != attribute) for attributes in tables]
        self._shapes = [tuple(shape.sizes[other] for other in those) for those in self._parents]
        codes = np.zeros((len(tables), self._records), np.int64)
        for row, those, sizes in zip(codes, self._parents, self._shapes, strict=True):
            for other, stride in zip(those, strides_of(sizes), strict=True):
                row += population[other] * stride
        self.group, first = _grouped(codes)
        self._codes = np.ascontiguousarray(codes[:, first])
        self._weights = np.bincount(self.group, minlength=len(first)) / self._records
        self.law = np.empty((0, 0))
        self.factors: tuple[Factor, ...] = ()

    def run(self, share: Cells, counts: Sequence[Cells]) -> None:
        """Fit to the tables' counts, with a share of the records in each bucket."""
        margin = np.maximum(share, _TINY)
        self._margin = margin / margin.sum()
        self.law = np.tile(self._margin, (len(self._weights), 1))
        if not self._tables:
            return
        self._targets = [self._target(j, count) for j, count in enumerate(counts)]
        fitted = [np.zeros_like(target) for target in self._targets]
        self._scale(self.law, range(len(self._tables)), fitted, PASSES)
        self.factors = tuple(Factor(those, weights) for those, weights in zip(self._parents, fitted, strict=True))

    def expected(self, others: NDArray[np.int32], size: int) -> Cells:
        """Shares of the records by an earlier attribute's bucket and this one's, shape (size, buckets)."""
        found = np.zeros((size, self._size))
        _expect(others, self.group, self.law, found)
        return found / self._records

    def without(self, j: int) -> Cells:
        """Shares of the records in the cells of the j-th table, by a law that was not fitted to that table."""
        law = self.law * np.exp(-self.factors[j].weights)[self._codes[j]]
        law /= law.sum(axis=1, keepdims=True)
        others = [other for other in range(len(self._tables)) if other != j]
        if others:
            self._scale(law, others, [self.factors[other].weights.copy() for other in others], PASSES_WITHOUT)
        found = np.zeros_like(self._targets[j])
        _expect(self._codes[j], np.arange(len(law), dtype=np.int32), law * self._weights[:, None], found)
        place = self._tables[j].index(self._attribute)
        return np.moveaxis(found.reshape(*self._shapes[j], self._size), -1, place)

    def _target(self, j: int, count: Cells) -> Cells:
        """Shares that the law is to have by the parents' configurations in the population and by its margin."""
        table = np.moveaxis(count, self._tables[j].index(self._attribute), -1).reshape(-1, self._size)
        table = table / table.sum()
        table = np.maximum(table, FLOOR * table.sum(axis=1, keepdims=True) * self._margin)
        seen = np.bincount(self._codes[j], weights=self._weights, minlength=len(table))
        return raked(table, [seen, self._margin])

    def _scale(self, law: Cells, tables: Sequence[int], fitted: Sequence[Cells], passes: int) -> None:
        """Fit a law to some of the tables; the logarithms of the scales are added to `fitted`."""
        chosen = [self._targets[j] for j in tables]
        offsets = np.cumsum([0, *(target.size for target in chosen)]).astype(np.int64)
        flat = np.concatenate([logs.ravel() for logs in fitted])
        targets = np.concatenate([target.ravel() for target in chosen])
        _fit(self._weights, self._codes[list(tables)], offsets, targets, flat, law, passes, LARGEST_FACTOR)
        for logs, start, end in zip(fitted, offsets, offsets[1:], strict=False):
            logs[...] = flat[start:end].reshape(logs.shape)


def _grouped(codes: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Number the distinct columns of some codes; each column's number, and where each was first seen."""
    group = np.zeros(codes.shape[1], np.int32)
    first = np.zeros(1, np.int64)
    for row in codes:
        made = np.zeros(len(group), np.int64)
        count = _refine(group, row, made)
        first = made[:count]
    return group, first


@numba.njit(nogil=True, cache=True)
def _refine(group, codes, first):
    """Split groups by one more code, by an open hash table; the number of groups."""
    size = 1
    while size < 2 * len(group):
        size *= 2
    mask = size - 1
    keys = np.full(size, -1, np.int64)
    number = np.zeros(size, np.int32)
    made = 0
    for r in range(len(group)):
        key = (np.int64(group[r]) << 32) | np.int64(codes[r])
        slot = ((key * 0x9E3779B97F4A7C1) ^ (key >> 29)) & mask
        while keys[slot] != -1 and keys[slot] != key:
            slot = (slot + 1) & mask
        if keys[slot] == -1:
            keys[slot] = key
            number[slot] = made
            first[made] = r
            made += 1
        group[r] = number[slot]
    return made


@numba.njit(nogil=True, cache=True)
def _fit(weights, codes, offsets, targets, factors, law, passes, largest):
    """Scale the law by one table after the other until its sums are the targets; the scales' logarithms add up.

    Args:
        weights: share of each group, shape (groups,).
        codes: parent configuration of each group in each table, shape (tables, groups).
        offsets: where each table begins in `targets`, shape (tables + 1,).
        targets: shares of all tables' cells, rows of `law`'s width.
        factors: logarithms of the scales, in the shape of `targets`; filled.
        law: each group's law, shape (groups, buckets); changed.
        passes: how often each table's turn comes.
        largest: bound on the logarithms.
    """
    tables, groups = codes.shape
    size = law.shape[1]
    model = np.zeros(len(targets))
    scale = np.ones(len(targets))
    for turn in range(passes * tables + 1):
        now = turn % tables
        before = (turn - 1) % tables
        last = turn == passes * tables
        if not last:
            for i in range(offsets[now], offsets[now + 1]):
                model[i] = 0.0
        for g in range(groups):
            total = 0.0
            if turn > 0:
                row = offsets[before] + codes[before, g] * size
                for x in range(size):
                    law[g, x] *= scale[row + x]
                    total += law[g, x]
            else:
                for x in range(size):
                    total += law[g, x]
            part = 1.0 / total
            if last:
                for x in range(size):
                    law[g, x] *= part
            else:
                row = offsets[now] + codes[now, g] * size
                for x in range(size):
                    law[g, x] *= part
                    model[row + x] += weights[g] * law[g, x]
        if not last:
            for i in range(offsets[now], offsets[now + 1]):
                moved = factors[i]
                if model[i] > 0.0:
                    moved = np.log(targets[i] / model[i]) + factors[i]
                    moved = min(max(moved, -largest), largest)
                scale[i] = np.exp(moved - factors[i])
                factors[i] = moved


@numba.njit(nogil=True, cache=True)
def _expect(others, group, law, expected):
    """Add each record's law to the row of another attribute's bucket."""
    for r in range(len(group)):
        for x in range(law.shape[1]):
            expected[others[r], x] += law[group[r], x]


@numba.njit(nogil=True, cache=True)
def _draw(group, law, words, drawn):
    """Give each record a bucket by the law of its group."""
    for r in range(len(group)):
        uniform = words[r] / 4294967296.0
        x = 0
        running = law[group[r], 0]
        while running <= uniform and x < law.shape[1] - 1:
            x += 1
            running += law[group[r], x]
        drawn[r] = x
