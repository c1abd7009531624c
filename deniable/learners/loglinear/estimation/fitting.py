"""Fits the conditional distribution of an attribute given earlier ones: log-linear in the tables that end in it.

Iterative proportional fitting is applied to a population whose earlier attributes are already simulated. The choice of
tables and the order of the attributes do not belong here.
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations, pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from deniable.kernels import inner_kernel, kernel
from deniable.learners.loglinear.estimation.compiled_mixtures import added_up
from deniable.learners.loglinear.estimation.rows import LANES, add_row, multiply_and_add, padded, scale_four
from deniable.learners.loglinear.estimation.structural_zeros import StructuralZeros
from deniable.measurements.noisy_tables import Cells
from deniable.models.loglinear.flat_tables import Attributes, strides_of

PASSES = 6
PASSES_WITHOUT = 2
"""Number of passes after one table is left out, when the others are already nearly fitted."""
LARGEST_FACTOR = 6.0
"""Factors stay between e^-6 and e^6: under a functional dependency, those of unseen configurations would diverge."""
FLOOR = 5e-4
"""Smallest share of its margin that a cell of a target has."""
_RAKING = 20
_REMEMBERED = 4096
_MOST_CODES = 1 << 62
_DIRECT = 4
"""Largest number of possible codes per record whose numbers are looked up by code."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Shape:
    """The properties of the attributes that fitting needs.

    Attributes:
        sizes: number of buckets of each attribute.
        ordered: whether the buckets have an order that carries meaning.
        target: the attribute that comes first, if any.
        laplace: whether the noise is Laplace.
        zeros: zeros of pairs of attributes implied by rules.
        known: for some attributes, the publicly known shares of their buckets.
        searched: whether pairs are searched for undeclared structural zeros.
    """

    sizes: tuple[int, ...]
    ordered: NDArray[np.bool_]
    target: int | None
    laplace: bool
    zeros: StructuralZeros = field(default_factory=StructuralZeros)
    known: Mapping[int, Cells] = field(default_factory=dict)
    searched: bool = False

    def permitted(self, attributes: Attributes) -> Cells | None:
        """Share of each cell of a table that the rules on its pairs permit; None if they permit everything."""
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
    """A table's contribution to an attribute's log-odds.

    Attributes:
        parents: the table's other attributes, which come earlier in the order.
        weights: natural logarithms, shape (configurations of the parents, buckets of the attribute).
    """

    parents: Attributes
    weights: Cells


Sums = tuple[tuple[int, ...], Cells]
"""A required marginal of a table: its axes, in ascending order, and the counts."""


def raked(table: Cells, wanted: Sequence[Sums]) -> Cells:
    """Rake a table to given marginals by iterative proportional fitting."""
    table = np.ascontiguousarray(table + _TINY)
    if [axes for axes, _ in wanted] == [(0,), (1,)]:
        _rake_pair(table, wanted[0][1], wanted[1][1], _RAKING)
        return table
    places = _places(table.shape, tuple(axes for axes, _ in wanted))
    counts = np.concatenate([counts.ravel() for _, counts in wanted])
    starts = np.cumsum([0, *(counts.size for _, counts in wanted)])
    _rake(table.ravel(), places, starts, counts, _RAKING)
    return table


def rake_several_marginals() -> None:
    """Rake a small table to overlapping marginals, which only some models need."""
    raked(np.ones((2, 2, 2)), [((0, 1), np.ones((2, 2))), ((1, 2), np.ones((2, 2)))])


@lru_cache(_REMEMBERED)
def _places(shape: tuple[int, ...], marginals: tuple[tuple[int, ...], ...]) -> NDArray[np.int64]:
    """The cell of each marginal to which each cell of a table belongs, both in C order, shape (marginals, cells)."""
    sizes = [[size if axis in axes else 1 for axis, size in enumerate(shape)] for axes in marginals]
    return np.stack([np.broadcast_to(np.arange(prod(own)).reshape(own), shape).ravel() for own in sizes])


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
            # The margin is fitted too, because a distribution restricted by rules need not have it.
            tables = self._tables = [*tables, (attribute,)]
            self._parents.append(())
            self._shapes.append(())
        joint = sorted({*partners, *(other for those in self._parents for other in those)})
        first = np.empty(self._records, np.int64)
        self.group = np.empty(self._records, np.int32)
        sizes = np.asarray([shape.sizes[other] for other in joint], np.int64)
        first = first[: _group(population, np.asarray(joint, np.int64), sizes, self.group, first)]
        self._permitted = shape.zeros.given(attribute, partners, population[partners][:, first]) if partners else None
        self._codes, self._weights = np.zeros((len(tables), len(first)), np.int64), np.empty(len(first))
        _describe(
            population,
            self.group,
            first,
            np.asarray([other for those in self._parents for other in those], np.int64),
            np.asarray([stride for sizes in self._shapes for stride in _strides_within(sizes)], np.int64),
            np.asarray([len(those) for those in self._parents], np.int64),
            self._codes,
            self._weights,
        )
        self.law = np.empty((0, 0))
        self.factors: tuple[Factor, ...] = ()

    def run(
        self, share: Cells, counts: Sequence[Cells], passes: int = PASSES, start: Sequence[Factor] | None = None
    ) -> None:
        """Fit to the tables' counts and to the share of the records in each bucket.

        Args:
            share: the shares of the buckets.
            counts: the tables' counts.
            passes: number of passes over the tables.
            start: factors of a fit to similar counts, from which this one starts.
        """
        margin = np.maximum(share, _TINY)
        self._margin = margin / margin.sum()
        self.law = np.tile(self._margin, (len(self._weights), 1))
        if not self._tables:
            return
        if self._permitted is not None:
            self.law *= self._permitted
            self.law /= self.law.sum(axis=1, keepdims=True)
            counts = [*counts, self._margin]
        # In C order even if a single table is a transposed view, so that flat views of what follows have its entries.
        self._counts = np.ascontiguousarray(np.concatenate([self._in_rows(j, own) for j, own in enumerate(counts)]))
        self._rows = np.cumsum([0, *(prod(sizes) for sizes in self._shapes)])
        self._all_targets = np.empty_like(self._counts)
        _set_targets(self._counts, self._rows, self._margin, self._codes, self._weights, self._all_targets)
        self._targets = self._by_table(self._all_targets)
        self._restrict_targets()
        self._logarithms = np.zeros_like(self._all_targets)
        if start is not None:
            self._logarithms[...] = np.concatenate([factor.weights for factor in start])
            _scale_by_all(self.law, self._codes, self._rows, np.exp(self._logarithms))
        self._scale(self.law, np.arange(len(self._tables)), self._logarithms, passes)
        weights = self._by_table(self._logarithms)
        self.factors = tuple(Factor(*each) for each in zip(self._parents, weights, strict=True))

    def expected(self, others: Sequence[int], population: NDArray[np.int32], first: int | None = None) -> list[Cells]:
        """Shares of the records by an earlier attribute's bucket and this one's, shape (size, buckets).

        Args:
            others: the earlier attributes, with a table for each.
            population: buckets of the records, shape (m, records).
            first: an attribute whose bucket is a further axis of all tables, the first.
        """
        sizes = self._shape.sizes
        shapes = [(*(() if first is None else (sizes[first],)), sizes[other], self._size) for other in others]
        wide = padded(self._size)
        law = self.law
        if wide > self._size:
            law = np.zeros((len(self.law), wide))
            law[:, : self._size] = self.law
        rows = np.cumsum([0, *(prod(shape[:-1]) for shape in shapes)]).astype(np.int64)
        found = np.zeros((rows[-1], wide))
        _expect_all(
            population,
            -1 if first is None else first,
            np.asarray(others, np.int64),
            np.asarray([sizes[other] for other in others], np.int64),
            rows,
            self.group,
            law.ravel(),
            found.ravel(),
            wide,
        )
        found = np.ascontiguousarray(found[:, : self._size]) / self._records
        return [found[begin:end].reshape(shape) for begin, end, shape in zip(rows, rows[1:], shapes, strict=False)]

    def expected_pairs(self, pairs: Sequence[Attributes], population: NDArray[np.int32]) -> list[Cells]:
        """Shares of the records in tables of this attribute and an earlier one, attributes ascending."""
        others = [i + j - self._attribute for i, j in pairs]
        found = self.expected(others, population) if others else []
        return [own if other < self._attribute else own.T for other, own in zip(others, found, strict=True)]

    def misfits(self, total: float) -> list[float]:
        """L1 distance of the model from the counts of each table.

        Args:
            total: number of records.
        """
        if not self._tables:
            return []
        expected = np.zeros_like(self._counts)
        for codes, found in zip(self._codes, self._by_table(expected), strict=True):
            _expect(codes, self.law, self._weights, found)
        return [float(own.sum()) for own in self._by_table(np.abs(total * expected - self._counts))]

    def without(self, j: int) -> Cells:
        """Shares of the records in the cells of the j-th table, by a distribution fitted without that table.

        Tables that include all its attributes are also left out, because they were raked to its counts.
        """
        holding = [k for k, attributes in enumerate(self._tables) if {*self._tables[j]} <= {*attributes}]
        if len(holding) == 1:
            # The exponentials of a table's cells, of which there are far fewer than of groups.
            scales, codes = np.exp(-self.factors[j].weights), self._codes[j]
        else:
            scales = np.exp(-sum(self.factors[k].weights[self._codes[k]] for k in holding))
            codes = np.arange(len(self.law))
        law = np.empty_like(self.law)
        _scale_rows(self.law, codes, scales, law)
        others = [other for other in range(len(self._tables)) if other not in holding]
        if others:
            self._scale(law, np.asarray(others), self._logarithms.copy(), PASSES_WITHOUT)
        return self._shares(j, law)

    def _shares(self, j: int, law: Cells) -> Cells:
        """Shares of the records in the cells of the j-th table, by a distribution of each group."""
        found = np.zeros_like(self._targets[j])
        _expect(self._codes[j], law, self._weights, found)
        place = self._tables[j].index(self._attribute)
        return _from_last(found.reshape(*self._shapes[j], self._size), place)

    def _in_rows(self, j: int, table: Cells) -> Cells:
        """The j-th table, or one of its shape, in rows: shape (configurations of the parents, buckets)."""
        return _to_last(table, self._tables[j].index(self._attribute)).reshape(-1, self._size)

    def _restrict_targets(self) -> None:
        """Set target shares again where rules permit some of a table's cells only in part, or not at all."""
        for j, (counts, target) in enumerate(zip(self._by_table(self._counts), self._targets, strict=True)):
            permitted = self._shape.permitted(self._tables[j])
            if permitted is not None:
                table = counts / counts.sum()
                table = np.maximum(table, FLOOR * table.sum(axis=1, keepdims=True) * self._margin)
                table = table * (self._in_rows(j, permitted) > 0)
                seen = np.bincount(self._codes[j], weights=self._weights, minlength=len(table)).astype(np.float64)
                target[...] = raked(table, [((0,), seen), ((1,), self._margin)])

    def _by_table(self, rows: Cells) -> list[Cells]:
        """Views of the rows of each table."""
        return [rows[begin:end] for begin, end in pairwise(self._rows.tolist())]

    def _scale(self, law: Cells, tables: NDArray[np.int64], factors: Cells, passes: int) -> None:
        """Fit a distribution to some of the tables; the scales' logarithms are added to their rows of `factors`."""
        targets = self._all_targets
        _fit(
            self._weights,
            self._codes,
            tables,
            self._rows,
            targets.ravel(),
            factors.ravel(),
            law,
            passes,
            LARGEST_FACTOR,
        )


def _to_last(table: Cells, axis: int) -> Cells:
    """A view of a table with an axis moved to the end."""
    axes = range(table.ndim)
    return table.transpose([*(other for other in axes if other != axis), axis])


def _from_last(table: Cells, axis: int) -> Cells:
    """A view of a table with the last axis moved to a place."""
    axes = range(table.ndim - 1)
    return table.transpose([*axes[:axis], len(axes), *axes[axis:]])


@kernel
def _set_targets(counts, offsets, margin, codes, weights, targets):
    """Set the target shares of all tables.

    They are consistent with the parents' configurations in the population and with the margin.

    Args:
        counts: counts of all tables' cells, shape (configurations of the parents, buckets).
        offsets: first row of each table, shape (tables + 1,).
        margin: shares of the buckets.
        codes: configuration of each group in each table, shape (tables, groups).
        weights: share of each group.
        targets: filled, of the shape of `counts`.
    """
    size = counts.shape[1]
    for t in range(len(codes)):
        own, target = counts[offsets[t] : offsets[t + 1]], targets[offsets[t] : offsets[t + 1]]
        seen = np.zeros(len(own))
        for g in range(len(weights)):
            seen[codes[t, g]] += weights[g]
        total = own.sum()
        for i in range(len(own)):
            added = 0.0
            for x in range(size):
                added += own[i, x]
            least = FLOOR * (added / total)
            for x in range(size):
                target[i, x] = max(own[i, x] / total, least * margin[x]) + _TINY
        _rake_pair(target, seen, margin, _RAKING)


@kernel
def _rake_pair(table, rows, columns, passes):
    """Scale a two-way table alternately to its row sums and column sums."""
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


@kernel
def _rake(table, places, starts, counts, passes):
    """Scale a table to each of several marginals in turn.

    Args:
        table: the table, flat; changed.
        places: cell of each marginal to which each cell of the table belongs, shape (marginals, cells).
        starts: start of each marginal in `counts`, shape (marginals + 1,).
        counts: the marginals, flat.
        passes: number of passes over the marginals.
    """
    sums = np.empty(len(counts))
    for _ in range(passes):
        for each in range(len(places)):
            own, wanted = sums[starts[each] : starts[each + 1]], counts[starts[each] : starts[each + 1]]
            own[:] = 0.0
            for cell in range(len(table)):
                own[places[each, cell]] += table[cell]
            for at in range(len(own)):
                own[at] = wanted[at] / max(own[at], _TINY)
            for cell in range(len(table)):
                table[cell] *= own[places[each, cell]]


@lru_cache(_REMEMBERED)
def _strides_within(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of the axes of a flat table; none for a table without axes."""
    return tuple(strides_of(sizes).tolist()) if sizes else ()


@kernel
def _group(population, attributes, sizes, group, first):
    """Number the distinct joint buckets of several attributes by first appearance; return how many there are.

    Args:
        population: buckets of the records, shape (m, records).
        attributes: the attributes.
        sizes: their numbers of buckets.
        group: number of each record's joint bucket; filled.
        first: the first record of each number, shape (records,); filled.
    """
    codes = np.empty(len(group), np.int64)
    group[:] = 0
    first[0] = 0
    made, begin = 1, 0
    while begin < len(attributes):
        # As many attributes at once as one code distinguishes.
        cells, end = made * sizes[begin], begin + 1
        while end < len(attributes) and cells <= _MOST_CODES // sizes[end]:
            cells *= sizes[end]
            end += 1
        for r in range(len(group)):
            codes[r] = group[r]
        for i in range(begin, end):
            for r in range(len(group)):
                codes[r] = codes[r] * sizes[i] + population[attributes[i], r]
        made = _number(codes, cells, group, first)
        begin = end
    return made


@inner_kernel
def _number(codes, cells, group, first):
    """Number distinct codes by first appearance; see `_group`.

    A number is looked up by its code if few are possible, and otherwise in an open-addressing hash table.

    Args:
        codes: code of each record, at least 0.
        cells: number of possible codes.
        group: number of each record's code; filled.
        first: the first record of each number; filled.
    """
    made = 0
    if cells <= _DIRECT * len(codes):
        number = np.full(cells, -1, np.int32)
        for r in range(len(codes)):
            if number[codes[r]] == -1:
                number[codes[r]] = made
                first[made] = r
                made += 1
            group[r] = number[codes[r]]
        return made
    shift = 62
    while 1 << (64 - shift) < 2 * len(codes):
        shift -= 1
    mask = (1 << (64 - shift)) - 1
    keys = np.empty(mask + 1, np.int64)
    number = np.full(mask + 1, -1, np.int32)
    for r in range(len(codes)):
        code = codes[r]
        # Fibonacci hashing.
        slot = np.int64((np.uint64(code) * _GOLDEN) >> np.uint64(shift))
        while number[slot] != -1 and keys[slot] != code:
            slot = (slot + 1) & mask
        if number[slot] == -1:
            keys[slot] = code
            number[slot] = made
            first[made] = r
            made += 1
        group[r] = number[slot]
    return made


@kernel
def _describe(population, group, first, parents, strides, axes, codes, weights):
    """Set the share of each group, and its parent configuration in each table, which is that of its first record.

    Args:
        population: buckets of the records, shape (m, records).
        group: group of each record.
        first: first record of each group.
        parents: the parents of all tables.
        strides: the stride of each.
        axes: number of parents of each table.
        codes: the configurations, shape (tables, groups), at first 0; filled.
        weights: the shares, shape (groups,); filled.
    """
    weights[:] = 0.0
    for r in range(len(group)):
        weights[group[r]] += 1.0
    weights /= len(group)
    begin = 0
    for t in range(len(axes)):
        for p in range(begin, begin + axes[t]):
            for g in range(len(first)):
                codes[t, g] += strides[p] * population[parents[p], first[g]]
        begin += axes[t]


@kernel
def _fit(weights, codes, chosen, offsets, targets, factors, law, passes, largest):  # noqa: C901 - one kernel
    """Scale the distributions by each table in turn towards the targets, accumulating the scales' logarithms.

    Args:
        weights: share of each group, shape (groups,).
        codes: parent configuration of each group in each table, shape (tables, groups).
        chosen: the tables that are fitted.
        offsets: first row of each table in `targets`, shape (tables + 1,).
        targets: shares of all tables' cells, flat, in rows of the width of `law`.
        factors: logarithms of the scales, in the shape of `targets`; filled.
        law: each group's distribution, shape (groups, buckets); changed.
        passes: number of passes over the tables.
        largest: bound on the logarithms.
    """
    tables, groups = len(chosen), codes.shape[1]
    size = law.shape[1]
    width = padded(size)
    own = np.zeros(padded(groups) * width)
    rows = np.zeros((tables, padded(groups)), np.int64)
    for g in range(groups):
        for x in range(size):
            own[g * width + x] = law[g, x]
    for t in range(tables):
        for g in range(groups):
            rows[t, g] = (offsets[chosen[t]] + codes[chosen[t], g]) * width
    model = np.zeros(len(targets) // size * width)
    scale = np.ones(len(model))
    total = np.empty(LANES)
    for turn in range(passes * tables + 1):
        # Nothing is scaled at first: all scales are 1.
        before, now = rows[(turn - 1) % tables], rows[turn % tables]
        last = turn == passes * tables
        table = chosen[turn % tables]
        begin, end = offsets[table], offsets[table + 1]
        if not last:
            model[begin * width : end * width] = 0.0
        for block in range(0, groups, LANES):
            scale_four(own, block * width, width, scale, before, block, total)
            for g in range(block, min(block + LANES, groups)):
                part = 1.0 / total[g - block]
                if last:
                    for x in range(size):
                        law[g, x] = own[g * width + x] * part
                else:
                    multiply_and_add(own, g * width, width, part, weights[g], model, now[g])
        if not last:
            _set_scales(begin, end, size, targets, model, factors, scale, largest)


@inner_kernel
def _set_scales(begin, end, size, targets, model, factors, scale, largest):
    """Set the scales of a table's rows to target over model, and add their logarithms, within the bound, to factors."""
    width = padded(size)
    for row in range(begin, end):
        for x in range(size):
            i, k = row * size + x, row * width + x
            moved = factors[i]
            if model[k] > 0.0:
                moved = np.log(targets[i] / model[k]) + factors[i]
                moved = min(max(moved, -largest), largest)
            scale[k] = np.exp(moved - factors[i])
            factors[i] = moved


@kernel
def _scale_rows(law, rows, scales, scaled):
    """Multiply each group's distribution by its row of scales, and divide it by its sum."""
    for g in range(len(law)):
        for x in range(law.shape[1]):
            scaled[g, x] = law[g, x] * scales[rows[g], x]
        total = added_up(scaled[g])
        for x in range(law.shape[1]):
            scaled[g, x] /= total


@kernel
def _scale_by_all(law, codes, offsets, scales):
    """Multiply each group's distribution by its row of scales in each table, and divide it by its sum."""
    tables, groups = codes.shape
    size = law.shape[1]
    for g in range(groups):
        for t in range(tables):
            row = offsets[t] + codes[t, g]
            for x in range(size):
                law[g, x] *= scales[row, x]
        total = 0.0
        for x in range(size):
            total += law[g, x]
        for x in range(size):
            law[g, x] /= total


@kernel
def _expect(rows, law, weights, expected):
    """Add each group's distribution, times its weight, to its row."""
    for g in range(len(law)):
        for x in range(law.shape[1]):
            expected[rows[g], x] += law[g, x] * weights[g]


@kernel
def _expect_all(population, first, others, sizes, begin, group, law, expected, wide):
    """Add each record's distribution to the rows of its buckets of several attributes, record by record.

    Args:
        population: buckets of the records, shape (m, records).
        first: an attribute whose bucket divides the rows of every table; -1 if none does.
        others: the other attributes.
        sizes: their numbers of buckets.
        begin: the first row of each one's table.
        group: group of each record.
        law: the groups' distributions, flat, in rows of a multiple of four entries.
        expected: the tables, flat, in such rows; filled.
        wide: length of a row.
    """
    for some in range(0, len(others), 16):
        for r in range(len(group)):
            for j in range(some, min(some + 16, len(others))):
                row = begin[j] + population[others[j], r]
                if first >= 0:
                    row += population[first, r] * sizes[j]
                add_row(law, group[r] * wide, wide, expected, row * wide)


@kernel
def draw(group, law, words, drawn):
    """Draw a bucket for each record from the distribution of its group."""
    last = law.shape[1] - 1
    sums = np.empty((len(law), last))
    for g in range(len(law)):
        running = 0.0
        for x in range(last):
            running += law[g, x]
            sums[g, x] = running
    for r in range(len(group)):
        uniform = words[r] / 4294967296.0
        own = group[r]
        # Running sums are non-decreasing, so those that are no larger come first.
        x = 0
        for i in range(last):
            x += sums[own, i] <= uniform
        drawn[r] = x
