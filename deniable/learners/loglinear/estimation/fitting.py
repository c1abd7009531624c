"""The conditional distribution of one attribute given earlier ones: log-linear in the tables that end in it.

It is fitted by iterative proportional fitting to a population whose earlier attributes are already simulated. Which
tables there are, and the order of the attributes, do not belong here.
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numba
import numpy as np
from numpy.typing import NDArray

from deniable.learners.loglinear.estimation.structural_zeros import StructuralZeros
from deniable.measurements.noisy_tables import Cells
from deniable.models.loglinear.flat_tables import Attributes, strides_of

PASSES = 6
PASSES_WITHOUT = 2
"""Passes after one table is left out: the others are nearly fitted already."""
LARGEST_FACTOR = 6.0
"""Factors stay between e^-6 and e^6: under a functional dependency, those of unseen configurations would diverge."""
FLOOR = 5e-4
"""Smallest share of its margin that a cell of a target has."""
_RAKING = 20
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Shape:
    """The attributes, as fitting needs them.

    Attributes:
        sizes: number of buckets of each attribute.
        ordered: whether the buckets have an order that carries meaning.
        target: the attribute that comes first, if any.
        laplace: whether the noise is Laplace.
        zeros: what rules say of pairs of attributes.
        known: for some attributes, the shares of their buckets that are publicly known.
    """

    sizes: tuple[int, ...]
    ordered: NDArray[np.bool_]
    target: int | None
    laplace: bool
    zeros: StructuralZeros = field(default_factory=StructuralZeros)
    known: Mapping[int, Cells] = field(default_factory=dict)

    def permitted(self, attributes: Attributes) -> Cells | None:
        """Share of each cell of a table that rules of its pairs permit; None if they permit everything."""
        found: Cells | None = None
        for axes in combinations(range(len(attributes)), 2):
            share = self.zeros.shares((attributes[axes[0]], attributes[axes[1]]))
            if share is not None:
                shape = [size if axis in axes else 1 for axis, size in enumerate(self.sizes[i] for i in attributes)]
                own = np.broadcast_to(share.reshape(shape), [self.sizes[i] for i in attributes])
                found = own if found is None else found * own
        return found


@dataclass(frozen=True, eq=False)
class Factor:
    """A table's contribution to the logarithm of an attribute's odds.

    Attributes:
        parents: the table's other attributes, which come earlier in the order.
        weights: natural logarithms, shape (configurations of the parents, buckets of the attribute).
    """

    parents: Attributes
    weights: Cells


Sums = tuple[tuple[int, ...], Cells]
"""A marginal that a table must have: its axes, in ascending order, and the counts."""


def raked(table: Cells, wanted: Sequence[Sums]) -> Cells:
    """A table raked to the given marginals by iterative proportional fitting."""
    table = np.ascontiguousarray(table + _TINY)
    if [axes for axes, _ in wanted] == [(0,), (1,)]:
        _rake_pair(table, wanted[0][1], wanted[1][1], _RAKING)
        return table
    every = range(table.ndim)
    scaled = [
        (
            tuple(axis for axis in every if axis not in axes),
            counts.reshape([table.shape[axis] if axis in axes else 1 for axis in every]),
        )
        for axes, counts in wanted
    ]
    for _ in range(_RAKING):
        for others, counts in scaled:
            table *= counts / np.maximum(table.sum(axis=others, keepdims=True), _TINY)
    return table


class Fit:
    """The fit of one attribute's conditional distribution given earlier attributes.

    Attributes:
        group: group of each record; the attribute's tables do not distinguish records of a group; shape (records,).
        law: each group's distribution, shape (groups, buckets).
        factors: the attribute's factors.
    """

    def __init__(
        self,
        attribute: int,
        tables: Sequence[Attributes],
        shape: Shape,
        population: NDArray[np.int32],
        before: Sequence[int] = (),
    ) -> None:
        self._attribute, self._tables, self._size = attribute, tables, shape.sizes[attribute]
        self._shape = shape
        self._records = population.shape[1]
        self._parents = [tuple(other for other in attributes if other != attribute) for attributes in tables]
        self._shapes = [tuple(shape.sizes[other] for other in those) for those in self._parents]
        partners = shape.zeros.partners(attribute, before)
        if partners:
            # The margin is fitted too, which a distribution restricted by rules does not have by itself.
            tables = self._tables = [*tables, (attribute,)]
            self._parents.append(())
            self._shapes.append(())
        codes = np.zeros((len(tables), self._records), np.int64)
        for j, (those, sizes) in enumerate(zip(self._parents, self._shapes, strict=True)):
            if those:
                codes[j] = strides_of(sizes) @ population[list(those)]
        self.group, first = _grouped(np.concatenate([codes, population[partners]]) if partners else codes)
        self._permitted = shape.zeros.given(attribute, partners, population[partners][:, first]) if partners else None
        self._codes = np.ascontiguousarray(codes[:, first])
        self._weights = np.bincount(self.group, minlength=len(first)) / self._records
        self.law = np.empty((0, 0))
        self.factors: tuple[Factor, ...] = ()

    def run(self, share: Cells, counts: Sequence[Cells]) -> None:
        """Fit to the tables' counts and to the share of the records in each bucket."""
        margin = np.maximum(share, _TINY)
        self._margin = margin / margin.sum()
        self.law = np.tile(self._margin, (len(self._weights), 1))
        if not self._tables:
            return
        if self._permitted is not None:
            self.law *= self._permitted
            self.law /= self.law.sum(axis=1, keepdims=True)
            counts = [*counts, self._margin]
        self._targets = [self._target(j, count) for j, count in enumerate(counts)]
        fitted = [np.zeros_like(target) for target in self._targets]
        self._scale(self.law, range(len(self._tables)), fitted, PASSES)
        self.factors = tuple(Factor(those, weights) for those, weights in zip(self._parents, fitted, strict=True))

    def expected(self, others: NDArray[np.int32], size: int) -> Cells:
        """Shares of the records by an earlier attribute's bucket and this one's, shape (size, buckets)."""
        found = np.zeros((size, self._size))
        _expect(others, self.group, self.law, found)
        return np.asarray(found / self._records)

    def without(self, j: int) -> Cells:
        """Shares of the records in the cells of the j-th table, by a distribution that was not fitted to that table.

        Tables that include its attributes and more are left out too: they were raked to its counts.
        """
        holding = [k for k, attributes in enumerate(self._tables) if {*self._tables[j]} <= {*attributes}]
        law = self.law * np.exp(-sum(self.factors[k].weights[self._codes[k]] for k in holding))
        law /= law.sum(axis=1, keepdims=True)
        others = [other for other in range(len(self._tables)) if other not in holding]
        if others:
            self._scale(law, others, [self.factors[other].weights.copy() for other in others], PASSES_WITHOUT)
        found = np.zeros_like(self._targets[j])
        _expect(self._codes[j], np.arange(len(law), dtype=np.int32), law * self._weights[:, None], found)
        place = self._tables[j].index(self._attribute)
        return np.asarray(np.moveaxis(found.reshape(*self._shapes[j], self._size), -1, place))

    def _target(self, j: int, count: Cells) -> Cells:
        """Target shares, consistent with the parents' configurations in the population and with the margin."""
        table = np.moveaxis(count, self._tables[j].index(self._attribute), -1).reshape(-1, self._size)
        table = table / table.sum()
        table = np.maximum(table, FLOOR * table.sum(axis=1, keepdims=True) * self._margin)
        permitted = self._shape.permitted(self._tables[j])
        if permitted is not None:
            share = np.moveaxis(permitted, self._tables[j].index(self._attribute), -1)
            table = table * (share > 0).reshape(table.shape)
        seen = np.bincount(self._codes[j], weights=self._weights, minlength=len(table)).astype(np.float64)
        return raked(table, [((0,), seen), ((1,), self._margin)])

    def _scale(self, law: Cells, tables: Sequence[int], fitted: Sequence[Cells], passes: int) -> None:
        """Fit a distribution to some of the tables; the logarithms of the scales are added to `fitted`."""
        chosen = [self._targets[j] for j in tables]
        offsets = np.cumsum([0, *(target.size for target in chosen)]).astype(np.int64)
        flat = np.concatenate([logs.ravel() for logs in fitted])
        targets = np.concatenate([target.ravel() for target in chosen])
        _fit(self._weights, self._codes[list(tables)], offsets, targets, flat, law, passes, LARGEST_FACTOR)
        for logs, start, end in zip(fitted, offsets, offsets[1:], strict=False):
            logs[...] = flat[start:end].reshape(logs.shape)


@numba.njit(nogil=True, cache=True)
def _rake_pair(table, rows, columns, passes):
    """Scale a two-way table to its row sums and its column sums in turn."""
    for _ in range(passes):
        for i in range(table.shape[0]):
            scale = rows[i] / max(table[i].sum(), _TINY)
            for j in range(table.shape[1]):
                table[i, j] *= scale
        sums = np.zeros(table.shape[1])
        for i in range(table.shape[0]):
            for j in range(table.shape[1]):
                sums[j] += table[i, j]
        for j in range(table.shape[1]):
            sums[j] = columns[j] / max(sums[j], _TINY)
        for i in range(table.shape[0]):
            for j in range(table.shape[1]):
                table[i, j] *= sums[j]


def _grouped(codes: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Number the distinct columns of some codes: each column's number, and the first position of each number."""
    group = np.zeros(codes.shape[1], np.int32)
    first = np.zeros(1, np.int64)
    for row in codes:
        made = np.zeros(len(group), np.int64)
        count = _refine(group, row, made)
        first = made[:count]
    return group, first


@numba.njit(nogil=True, cache=True)
def _refine(group, codes, first):
    """Split groups by one more code, with an open-addressing hash table; returns the number of groups."""
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
def _fit(weights, codes, offsets, targets, factors, law, passes, largest):  # noqa: C901, PLR0912 - one kernel
    """Scale the distributions by one table after the other towards the targets; the scales' logarithms accumulate.

    Args:
        weights: share of each group, shape (groups,).
        codes: parent configuration of each group in each table, shape (tables, groups).
        offsets: where each table begins in `targets`, shape (tables + 1,).
        targets: shares of all tables' cells, in rows of the width of `law`.
        factors: logarithms of the scales, in the shape of `targets`; filled.
        law: each group's distribution, shape (groups, buckets); changed.
        passes: number of passes over the tables.
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
    """Add each record's distribution to the row of its bucket of another attribute."""
    for r in range(len(group)):
        for x in range(law.shape[1]):
            expected[others[r], x] += law[group[r], x]


@numba.njit(nogil=True, cache=True)
def draw(group, law, words, drawn):
    """Draw a bucket for each record from the distribution of its group."""
    for r in range(len(group)):
        uniform = words[r] / 4294967296.0
        x = 0
        running = law[group[r], 0]
        while running <= uniform and x < law.shape[1] - 1:
            x += 1
            running += law[group[r], x]
        drawn[r] = x
