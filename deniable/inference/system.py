"""Joint estimates from the noisy tables of a release: every linear query, with its variance and its sources.

An attribute counted by values in one table and by buckets in another is split in two: its buckets, and contrasts of
values within buckets. A table by values is informative about both, with uncorrelated noise: bucket effects are
constant within each bucket, and contrasts sum to 0 there. All are estimated by generalized least squares, in
`deniable.measurements.consistency`. Intervals do not belong here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from itertools import chain, combinations, groupby, product
from math import inf, sqrt
from operator import add

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.errors import InvalidInput
from deniable.inference.many_values import ManyValues, TailedValues
from deniable.inference.queries import Product, Query
from deniable.measurements.chosen_buckets import choosing_tables
from deniable.measurements.consistency import (
    ConsistentTables,
    Estimate,
    Functional,
    Observation,
    Subset,
    contrasts,
    solvable,
)
from deniable.measurements.document import Measurements
from deniable.measurements.estimates import LARGEST_SYSTEM, added_up, public_observations
from deniable.measurements.noisy_tables import Cells, MeasuredTable

PUBLIC_TOTALS = ("public totals",)
"""The source named for estimates based on public totals."""
_ALL = Query.product({})
_MOST_DIVIDED = 6
"""Largest number of a table's attributes, counted by values here and by buckets elsewhere, with all contrasts used."""
_MOST_ATTRIBUTES = 10
_MOST_VALUES = 2_000
"""Attributes with more values are summed over in tables with others, because contrast matrices would have the square
of that number of entries. Alone, they are divided (many_values)."""
_TAILED_FROM = 257
"""Number of values from which questions about a number alone are answered by its growing bins, too (many_values)."""
_NOTHING = 1e-12
"""Relative size of a component of a function below which it counts as rounding error."""


class NotMeasured(InvalidInput):
    """A query needs a quantity that no table measured.

    Attributes:
        split: column numbers of attributes whose buckets the query divides.
        relation: column numbers of the attributes that were not counted together, if any.
        offer: conditions that divide no buckets, in words; empty if none is known.
    """

    def __init__(self, sentence: str, split: Subset = (), relation: Subset = (), offer: str = "") -> None:
        super().__init__(sentence)
        self.split = split
        self.relation = relation
        self.offer = offer


@dataclass(frozen=True, eq=False)
class _Source:
    """An observation and its table; None for public totals."""

    observation: Observation
    table: MeasuredTable | None = None
    within: Subset = ()


class MeasuredSystem:
    """The joint estimates from all noisy tables.

    Attributes:
        measured: what was measured.
        buckets: bucket of each value of each attribute, at the resolution at which relations of attributes are known.
        sizes: number of these buckets of each attribute.
        is_large: whether an attribute has so many values that it is divided only alone, not in tables with others.
        apart: attributes whose own counts chose their buckets; in questions about one of them alone, its values are
            estimated from these counts, not from buckets.
        many: the estimates for the values of both, by column number.
        tailed: estimates for numbers with growing bins, for questions about one of them alone, by column number.

    Args:
        measured: what was measured.
        probability: probability with which a record of the whole table was measured; if given, the domain's public
            totals are used.
        is_former: whether counts that chose buckets are summed over these buckets, as they were in earlier releases.
    """

    def __init__(self, measured: Measurements, probability: Fraction | None = None, *, is_former: bool = False) -> None:
        self.measured = measured
        self.buckets = tuple(_partition(measured, i) for i in range(len(measured.domain)))
        self.sizes = tuple(int(own.max()) + 1 for own in self.buckets)
        self._values_in = tuple(np.bincount(own).astype(np.float64) for own in self.buckets)
        self.is_large = tuple(len(own) > _MOST_VALUES for own in self.buckets)
        every = range(0 if is_former else len(measured.domain))
        chosen = {i: tables for i in every if (tables := choosing_tables(measured, i))}
        self._choosing = {id(table) for tables in chosen.values() for table in tables}
        self._inner = tuple(
            np.zeros((len(own), 0)) if is_large else _contrasts_within(own)
            for own, is_large in zip(self.buckets, self.is_large, strict=True)
        )
        sizes = (*self.sizes, *(inner.shape[1] + 1 for inner in self._inner))
        found = [each for table in measured.tables for each in self._sources_in(table)]
        if probability is not None:
            found += map(_Source, public_observations(measured.domain, self.buckets, probability))
        used = set(map(id, solvable(sizes, [each.observation for each in found], (), LARGEST_SYSTEM)))
        self._sources = [each for each in found if id(each.observation) in used]
        self._tables = ConsistentTables(sizes, [each.observation for each in self._sources])
        large = {i: measured.tables for i, is_large in enumerate(self.is_large) if is_large}
        # Public totals of an attribute are by buckets, so its values are then estimated by buckets, too.
        known = set() if probability is None else {each.attribute for each in measured.domain.totals}
        apart = {i: own for i, own in chosen.items() if measured.domain.names[i] not in known}
        self.apart = frozenset(apart) - large.keys()
        divided = (ManyValues.of(tables, i) for i, tables in {**apart, **large}.items())
        self.many = {each.attribute: each for each in divided if each is not None}
        long = (
            TailedValues.of(table, measured.domain.attributes[table.attributes[0]])
            for table in measured.ones
            if table.shape[0] >= _TAILED_FROM and measured.domain.names[table.attributes[0]] not in known
        )
        self.tailed = {each.attribute: each for each in long if each is not None}

    @cached_property
    def records(self) -> float:
        """The estimated number of measured rows.

        Raises:
            NotMeasured: no table determines it.
        """
        return self.value(self.functional(_ALL))

    def is_measured(self, attributes: Sequence[int]) -> bool:
        """Whether the table of some attributes, by buckets, can be estimated."""
        return self._tables.has(tuple(sorted(attributes)))

    def table(self, attributes: Sequence[int]) -> Estimate:
        """The estimated counts of a table by buckets, attributes ascending, and their variances."""
        return self._tables.table(tuple(attributes))

    def shared_with_records(self, attributes: Sequence[int]) -> Cells:
        """The covariance of each estimate of a table with the estimated number of records."""
        return self._tables.shared_with_records(tuple(attributes))

    def require_divided(self, i: int) -> None:
        """Refuse to divide tables by an attribute that is summed over in tables with others.

        Raises:
            InvalidInput: it has too many values.
        """
        if self.is_large[i]:
            name, most = self.measured.domain.names[i], f"{_MOST_VALUES:,}"
            raise InvalidInput(
                f"groups and tables must be of attributes of at most {most} values, got {name} with "
                f"{len(self.buckets[i]):,}; ask for its counts, shares, mean or quantiles by itself."
            )

    def functional(self, query: Query, *beside: Query) -> Functional:
        """Express a query as a linear function of the measurements.

        Args:
            query: the query.
            beside: queries with whose estimates its own is combined, as the denominator of a ratio; all of them are
                then estimated from the same tables.

        Raises:
            NotMeasured: a part of it was not measured.
            InvalidInput: it depends on more than ten attributes.
        """
        named = {i for each in (query, *beside) for i in each.attributes}
        is_alone = len(named) == 1
        found: dict[Subset, Cells] = {}
        for term in query.terms:
            if len(term.of) > _MOST_ATTRIBUTES:
                raise InvalidInput(f"a question may name at most {_MOST_ATTRIBUTES} attributes, got {len(term.of)}.")
            for subset, own in self._components(term, is_alone=is_alone):
                found[subset] = found[subset] + own if subset in found else own
        scale = max((float(np.abs(own).max()) for own in found.values()), default=0.0)
        kept = {subset: own for subset, own in found.items() if float(np.abs(own).max()) > _NOTHING * scale}
        missing = kept.keys() - self._tables.measured - self._of_values.keys()
        if missing:
            raise self._not_measured(min(missing, key=lambda subset: (len(subset), subset)))
        return kept

    def value(self, functional: Functional) -> float:
        """The estimate of a linear function."""
        rest, many = self._divided(functional)
        return self._tables.value(rest) + sum(each.value(own) for each, own in many)

    def variance(self, functional: Functional) -> float:
        """The noise variance of the estimate of a linear function."""
        return max(self.covariance(functional, functional), 0.0)

    def covariance(self, one: Functional, other: Functional) -> float:
        """The covariance of the estimates of two linear functions."""
        found = self._tables.covariance(self._divided(one)[0], self._divided(other)[0])
        several = ((each, key) for key, each in self._of_values.items() if key in one and key in other)
        return found + sum(each.covariance(one[key], other[key]) for each, key in several)

    def weights(self, functional: Functional) -> list[tuple[MeasuredTable, Cells]]:
        """The weight of each released entry of each table in an estimate, in the shape of `MeasuredTable.values`.

        Without public totals, the estimate is the sum of all entries times their weights.
        """
        found: dict[int, tuple[MeasuredTable, Cells]] = {}
        rest, many = self._divided(functional)
        weighted = self._entries_of(range(len(self._sources)), iter(self._tables.weights(rest)))
        for table, back in chain(weighted, *(each.weights(coefficients) for each, coefficients in many)):
            found[id(table)] = (table, found[id(table)][1] + back if id(table) in found else back)
        return list(found.values())

    def each_weights(self, functional: Functional) -> Iterator[tuple[MeasuredTable, Cells]]:
        """`weights`, computed lazily; tables with most components of the function come first."""
        rest, many = self._divided(functional)
        divided: dict[int, list[tuple[MeasuredTable, Cells]]] = {}
        for table, back in chain.from_iterable(each.weights(own) for each, own in many):
            divided.setdefault(id(table), []).append((table, back))
        most: dict[int, float] = dict.fromkeys(divided, inf)
        for source, attributes in zip(self._sources, self._attributes_of_sources, strict=True):
            shared = sum(map(attributes.issuperset, rest))
            most[id(source.table)] = max(shared, most.get(id(source.table), 0))
        order = sorted(range(len(self._sources)), key=lambda place: -most[id(self._sources[place].table)])
        for table, own in self._entries_of(order, self._tables.each_weights(rest, order)):
            yield table, reduce(add, (back for _, back in divided.pop(id(table), ())), own)
        for parts in divided.values():
            yield parts[0][0], reduce(add, (back for _, back in parts))

    def _entries_of(self, order: Iterable[int], weights: Iterator[Cells]) -> Iterator[tuple[MeasuredTable, Cells]]:
        """The weights of each table's entries, from those of its consecutive observations."""
        for places in [list(own) for _, own in groupby(order, key=lambda place: id(self._sources[place].table))]:
            table = self._sources[places[0]].table
            parts = [(self._sources[place], next(weights)) for place in places]
            if table is not None:
                yield table, reduce(add, (self._of_entries(source, table, own) for source, own in parts))

    @cached_property
    def _attributes_of_sources(self) -> tuple[frozenset[int], ...]:
        return tuple(frozenset(source.observation.attributes) for source in self._sources)

    @cached_property
    def _names_of_sources(self) -> tuple[tuple[str, ...], ...]:
        """The names of each source's attributes."""
        names = self.measured.domain.names
        return tuple(
            PUBLIC_TOTALS if source.table is None else tuple(names[i] for i in source.table.attributes)
            for source in self._sources
        )

    def variance_of_public_totals(self, functional: Functional) -> float:
        """The part of an estimate's variance due to public totals that include rows not measured."""
        if all(source.table is not None for source in self._sources):
            return 0.0
        parts = self._tables.variance_parts(self._divided(functional)[0])
        return sum(part for source, part in zip(self._sources, parts, strict=True) if source.table is None)

    def sources(self, functional: Functional) -> dict[tuple[str, ...], float]:
        """The tables that an estimate is computed from, by attribute names, with their shares of its variance.

        Returns:
            The shares, largest first, which sum to 1; empty if there is no variance.
        """
        names = self.measured.domain.names
        parts: dict[tuple[str, ...], float] = {}
        rest, many = self._divided(functional)
        for key, part in zip(self._names_of_sources, self._tables.variance_parts(rest), strict=True):
            parts[key] = parts.get(key, 0.0) + part
        for each, coefficients in many:
            for table, weights in each.weights(coefficients):
                key = tuple(names[i] for i in table.attributes)
                parts[key] = parts.get(key, 0.0) + table.variance * float((weights**2).sum())
        total = sum(parts.values())
        kept = {key: part / total for key, part in parts.items() if part > _NOTHING * total}
        return dict(sorted(kept.items(), key=lambda each: (-each[1], each[0])))

    def _many_key(self, i: int) -> Subset:
        """The component of an attribute whose values are estimated by themselves."""
        return (i + 2 * len(self.sizes),)

    def _tailed_key(self, i: int) -> Subset:
        """The component of a number whose values are estimated from growing bins, too."""
        return (i + 3 * len(self.sizes),)

    @cached_property
    def _of_values(self) -> Mapping[Subset, ManyValues | TailedValues]:
        """What estimates the values of single attributes by themselves, by component."""
        many = {self._many_key(i): each for i, each in self.many.items()}
        return many | {self._tailed_key(i): each for i, each in self.tailed.items()}

    def _divided(self, functional: Functional) -> tuple[Functional, list[tuple[ManyValues | TailedValues, Cells]]]:
        """Split a linear function into parts in the system of equations and in values of single attributes."""
        if self._of_values.keys().isdisjoint(functional):
            return functional, []
        rest = {subset: own for subset, own in functional.items() if subset not in self._of_values}
        return rest, [(each, functional[key]) for key, each in self._of_values.items() if key in functional]

    def _components(self, term: Product, *, is_alone: bool) -> Iterator[tuple[Subset, Cells]]:
        """The coefficients of a product: for each component, one for each of its contrasts."""
        levels = [self._levels(i, values, is_alone=is_alone) for i, values in sorted(term.of.items())]
        for chosen in product(*levels):
            factor, parts = term.factor, []
            for key, own in chosen:
                if key is None:
                    factor *= float(own[0])
                else:
                    parts.append((key, own))
            found: Cells = np.asarray(factor)
            for _, own in sorted(parts, key=lambda part: part[0]):
                found = found[..., np.newaxis] * own
            yield tuple(sorted(key for key, _ in parts)), found

    def _levels(self, i: int, values: Cells, *, is_alone: bool) -> list[tuple[int | None, Cells]]:
        """A function of an attribute as its mean, contrasts of buckets, and contrasts within buckets.

        If its values are estimated by themselves, there are contrasts of values instead of the last two.
        """
        if len(values) != len(self.buckets[i]):
            name = self.measured.domain.names[i]
            raise InvalidInput(f"a function of {name} must have {len(self.buckets[i])} values, got {len(values)}.")
        parts: list[tuple[int | None, Cells]]
        if is_alone and i in self.tailed:
            parts = [(None, np.asarray([values.mean()])), (*self._tailed_key(i), values - values.mean())]
        elif (is_alone and i in self.apart) or self.is_large[i]:
            parts = [(None, np.asarray([values.mean()])), (*self._many_key(i), values - values.mean())]
        else:
            means = np.bincount(self.buckets[i], weights=values) / self._values_in[i]
            parts = [
                (None, np.asarray([means.mean()])),
                (i, np.einsum("ij,i->j", contrasts(self.sizes[i]), means)),
                (i + len(self.sizes), np.einsum("ij,i->j", self._inner[i], values)),
            ]
        least = _NOTHING * float(np.abs(values).max())
        return [(key, own) for key, own in parts if own.size and float(np.abs(own).max()) > least] or parts[:1]

    def _sources_in(self, table: MeasuredTable) -> Iterator[_Source]:
        """The observations that a table provides of buckets, and of contrasts within buckets."""
        if any(self.is_large[i] and (i in table.differences or i not in table.by_values) for i in table.attributes):
            return
        if id(table) in self._choosing:
            # Its sums over the buckets that it chose are biased; the sum of all its counts is not.
            total = np.asarray(table.values.sum())
            yield _Source(Observation((), total, table.variance * table.values.size), table)
            if all(self._inner[i].shape[1] for i in table.attributes):
                yield self._source(table, table.attributes)
            return
        divided = [i for i in table.attributes if i in table.by_values and self._inner[i].shape[1]]
        if len(divided) > _MOST_DIVIDED:
            # There are too many contrasts; only sums over buckets are used.
            if not set(table.differences) & set(divided):
                yield self._source(table, ())
            return
        for size in range(len(divided) + 1):
            for inner in combinations(divided, size):
                if set(table.differences) & set(divided) <= set(inner):
                    yield self._source(table, inner)

    def _source(self, table: MeasuredTable, inner: Subset) -> _Source:
        counts, variance = table.values, table.variance
        spread: dict[int, Cells] = {}
        for axis, i in enumerate(table.attributes):
            if i in table.differences or i not in table.by_values or not self._is_divided(i):
                # Includes the difference between two values in one bucket, their only contrast.
                continue
            if i in inner:
                # Orthonormal contrasts times the square root of 2, like a difference between two values.
                counts = _along(counts, sqrt(2.0) * self._inner[i].T, axis)
                variance *= 2.0
            else:
                counts = added_up(counts, self.buckets[i], axis)
                if np.ptp(self._values_in[i]) == 0:
                    variance *= float(self._values_in[i][0])
                else:
                    spread[i] = self._values_in[i]
        keys = self._keys(table, inner)
        order = np.argsort(keys)
        contrasted = tuple(sorted(self._key(i, inner) for i in {*table.differences, *inner}))
        observation = Observation(
            tuple(sorted(keys)), np.ascontiguousarray(counts.transpose(order)), variance, spread, contrasted
        )
        return _Source(observation, table, inner)

    def _is_divided(self, i: int) -> bool:
        """Whether an attribute that a table counts by values has buckets in the system."""
        return self.is_large[i] or self._inner[i].shape[1] > 0

    def _of_entries(self, source: _Source, table: MeasuredTable, own: Cells) -> Cells:
        """Weights of a table's entries, from those of an observation derived from it."""
        if not source.observation.attributes:
            return np.full(table.shape, float(own))
        back = own.transpose(np.argsort(np.argsort(self._keys(table, source.within))))
        for axis, i in enumerate(table.attributes):
            if i in table.differences or i not in table.by_values or not self._is_divided(i):
                continue
            if i in source.within:
                back = _along(back, sqrt(2.0) * self._inner[i], axis)
            else:
                back = np.take(back, self.buckets[i], axis=axis)
        return back

    def _key(self, i: int, inner: Subset) -> int:
        return i + len(self.sizes) if i in inner else i

    def _keys(self, table: MeasuredTable, inner: Subset) -> list[int]:
        return [self._key(i, inner) for i in table.attributes]

    def _not_measured(self, subset: Subset) -> NotMeasured:
        """The error for a missing measurement, naming the smallest missing component."""
        names, several = self.measured.domain.names, len(self.sizes)
        base = tuple(sorted({key % several for key in subset}))
        split = tuple(key % several for key in subset if key >= several)
        said = " and ".join(names[i] for i in base) if base else "the number of records"
        if split and self.is_measured(base):
            named = " and ".join(names[i] for i in split)
            return NotMeasured(f"{named} must be divided as it was counted with others, in buckets.", split)
        together = " together" if len(base) > 1 else ""
        return NotMeasured(f"{said} must have been measured{together}, and was not.", split, base)


def _partition(measured: Measurements, i: int) -> NDArray[np.integer]:
    """Buckets of an attribute's values; the values themselves if every table with the attribute is by values."""
    own = measured.buckets[i]
    if len(own) > _MOST_VALUES:
        return np.zeros_like(own)
    tables = [table for table in measured.tables if i in table.attributes]
    if tables and all(i in table.by_values for table in tables):
        return np.arange(len(own))
    return own


def _contrasts_within(buckets: NDArray[np.integer]) -> Cells:
    """Orthonormal contrasts of values within buckets, shape (values, values - buckets)."""
    found = np.zeros((len(buckets), len(buckets) - int(buckets.max()) - 1))
    column = 0
    for bucket in range(int(buckets.max()) + 1):
        [own] = np.nonzero(buckets == bucket)
        found[own, column : column + len(own) - 1] = contrasts(len(own))
        column += len(own) - 1
    return found


def _along(table: Cells, matrix: Cells, axis: int) -> Cells:
    """Multiply a table by a matrix along an axis."""
    moved = np.einsum("ij,j...->i...", matrix, np.moveaxis(table, axis, 0))
    return np.asarray(np.moveaxis(moved, 0, axis), np.float64)
