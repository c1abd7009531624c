"""Consistent estimates from measured tables: one number of records, equal marginals, and every variance.

Generalized least squares on the residual components of the tables. A table over S is the sum, over the subsets A of S,
of components that sum to 0 along each attribute of A and are constant along the others. Independent noise of equal
variance makes the components of one table uncorrelated, so that the estimate of a component is the precision-weighted
mean over the tables that contain it. If buckets contain different numbers of individually counted values, the noise of
the buckets is heteroscedastic: components that it correlates are estimated jointly, by a small system of normal
equations. Estimates are linear, unbiased and of minimum variance; none is truncated at 0.

Source: Xiao, He, Zhang, Kifer 2023 (ResidualPlanner) for the components; Aitken 1935 for the estimate. The format of
`consistent.json` does not belong here (estimates).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import combinations, pairwise
from math import prod, sqrt

import numpy as np
from numpy.typing import NDArray

from deniable.measurements.noisy_tables import Cells

Subset = tuple[int, ...]
Functional = Mapping[Subset, Cells]
"""A linear function of components: the coefficients of each component's contrasts, in their shape."""
_FIXED = 1e-9
"""Share of its original variance below which a number counts as fixed by a public total."""


@dataclass(frozen=True, eq=False)
class Observation:
    """A noisy table over buckets.

    Attributes:
        attributes: its attributes, ascending; empty if only records were counted.
        values: its noisy counts, with one axis per attribute.
        variance: noise variance of an entry, up to the factors in `spread`.
        spread: for attributes along which the variance differs, the factor of each bucket; factors multiply.
        differences: attributes of which only the difference of the second bucket minus the first was counted, on an
            axis of length 1; or only contrasts, each times the square root of 2, on an axis shorter by 1.
    """

    attributes: Subset
    values: Cells
    variance: float
    spread: Mapping[int, Cells] = field(default_factory=dict)
    differences: Subset = ()


@dataclass(frozen=True, eq=False)
class Constraint:
    """Public totals that constrain the estimates: of all records, or of each bucket of an attribute.

    Attributes:
        counts: the totals; a single one for all records.
        attribute: the attribute; None for all records.
    """

    counts: Cells
    attribute: int | None = None


@dataclass(frozen=True, eq=False)
class Estimate:
    """The consistent counts of a table.

    Attributes:
        counts: the estimates, with one axis per attribute.
        variances: their variances, of the same shape.
    """

    counts: Cells
    variances: Cells


@cache
def contrasts(size: int) -> Cells:
    """Orthonormal (Helmert) contrasts of an axis, shape (size, size - 1); each column sums to 0."""
    found = np.zeros((size, size - 1))
    for column in range(size - 1):
        found[: column + 1, column] = -1.0
        found[column + 1, column] = column + 1.0
        found[:, column] /= sqrt((column + 1) * (column + 2))
    found.setflags(write=False)
    return found


def _basis(size: int, *, is_difference: bool = False) -> Cells:
    """The basis of an axis: the sum in the first column, contrasts in the others."""
    if is_difference:
        return np.concatenate([np.zeros((size - 1, 1)), sqrt(2.0) * np.eye(size - 1)], axis=1)
    return np.concatenate([np.full((size, 1), 1.0 / size), contrasts(size)], axis=1)


def _along(table: Cells, matrices: Sequence[Cells]) -> Cells:
    """Multiply a table by a matrix along each axis."""
    for axis, matrix in enumerate(matrices):
        table = np.moveaxis(np.einsum("ij,j...->i...", matrix, np.moveaxis(table, axis, 0)), 0, axis)
    return np.array(table, np.float64, order="C")


def _times(one: Cells, other: Cells) -> Cells:
    """The product of two matrices, summed in the same order on every machine, unlike a library's."""
    return np.asarray(np.einsum("ij,jk->ik", one, other), np.float64)


def inverse(matrix: Cells) -> Cells:
    """The inverse of a symmetric positive definite matrix, by Gauss-Jordan elimination in a fixed order."""
    scale = 1 / np.sqrt(np.diag(matrix))
    found = matrix * scale[:, None] * scale
    for k in range(len(found)):
        pivot, column = found[k, k], found[:, k].copy()
        column[k] = 0.0
        found[:, k] = 0.0
        found[k, k] = 1.0
        found[k] /= pivot
        found -= column[:, None] * found[k]
    return np.asarray(found * scale[:, None] * scale, np.float64)


def _product(matrices: Sequence[Cells]) -> Cells:
    """The Kronecker product of matrices."""
    found: Cells = np.ones((1, 1))
    for matrix in matrices:
        found = np.asarray(np.kron(found, matrix), np.float64)
    return found


def spread_of(observation: Observation, weights: Cells) -> float:
    """The variance of a weighted sum of a table's numbers."""
    squared = weights**2 * observation.variance
    for axis, i in enumerate(observation.attributes):
        if i in observation.spread:
            shape = [-1 if other == axis else 1 for other in range(squared.ndim)]
            squared = squared * observation.spread[i].reshape(shape)
    return float(squared.sum())


def _subsets(attributes: Subset) -> Iterator[Subset]:
    for size in range(len(attributes) + 1):
        yield from combinations(attributes, size)


class ConsistentTables:
    """The estimates of all components of a system of noisy tables.

    Components that no noise correlates with others are stored separately; correlated ones are stored jointly, with
    their covariance.
    """

    def __init__(
        self, sizes: Sequence[int], observations: Sequence[Observation], constraints: Sequence[Constraint] = ()
    ) -> None:
        """Compute the estimates.

        Args:
            sizes: number of buckets of each attribute.
            observations: the noisy tables.
            constraints: public totals of all records and of attributes, which must imply the same number of records.
        """
        self._sizes = tuple(sizes)
        self._observations = tuple(observations)
        self._constraints = tuple(constraints)
        self._alone: dict[Subset, float] = {}
        self._values: dict[Subset, Cells] = {}
        self._groups: dict[Subset, _Group] = {}
        self._found: list[_Information] = []
        self._estimate()

    def has(self, attributes: Subset) -> bool:
        """Whether every component of a table was measured."""
        return all(subset in self._values for subset in self._components(attributes))

    def table(self, attributes: Subset) -> Estimate:
        """The consistent counts of a table, by buckets.

        Args:
            attributes: its attributes, ascending; empty for the number of records.

        Raises:
            KeyError: one of its components was not measured.
        """
        sizes = [self._sizes[i] for i in attributes]
        together = np.zeros(sizes)
        variance = 0.0
        groups: dict[int, tuple[_Group, list[Subset]]] = {}
        for subset in self._components(attributes):
            together[self._place(attributes, subset)] = self._values[subset]
            if subset in self._alone:
                inside, outside = self._split(attributes, subset)
                variance += self._alone[subset] * prod(1 - 1 / n for n in inside) / prod(n * n for n in outside)
            else:
                groups.setdefault(id(self._groups[subset]), (self._groups[subset], []))[1].append(subset)
        counts = _along(together, [_basis(size) for size in sizes])
        variances: Cells = np.full(sizes, variance)
        for group, subsets in groups.values():
            shown = np.concatenate([self._shown(attributes, subset) for subset in subsets], axis=1)
            covariance = group.covariance_of(subsets)
            variances = variances + (_times(shown, covariance) * shown).sum(axis=1).reshape(sizes)
        return Estimate(np.asarray(counts), np.asarray(variances))

    @property
    def measured(self) -> frozenset[Subset]:
        """The components that were measured."""
        return frozenset(self._values)

    def value(self, functional: Functional) -> float:
        """The estimate of a linear function of measured components.

        Args:
            functional: its coefficients: for each component, one per contrast.

        Raises:
            KeyError: one of its components was not measured.
        """
        return float(sum((own * self._values[subset]).sum() for subset, own in functional.items()))

    def covariance(self, one: Functional, other: Functional) -> float:
        """The covariance of the estimates of two linear functions; see `value`."""
        found = 0.0
        groups: dict[int, tuple[_Group, tuple[list[Subset], list[Subset]]]] = {}
        for side, functional in enumerate((one, other)):
            for subset in functional:
                if subset in self._groups:
                    group = self._groups[subset]
                    groups.setdefault(id(group), (group, ([], [])))[1][side].append(subset)
        for subset, own in one.items():
            if subset in other and subset in self._alone:
                found += self._alone[subset] * float((own * other[subset]).sum())
        for group, (rows, columns) in groups.values():
            if rows and columns:
                left = np.concatenate([np.ravel(one[subset]) for subset in rows])
                right = np.concatenate([np.ravel(other[subset]) for subset in columns])
                shared = group.covariance_of(rows, columns)
                found += float((left * np.einsum("ij,j->i", shared, right)).sum())
        return found

    def weights(self, functional: Functional) -> list[Cells]:
        """The weight of each entry of each noisy table in the estimate of a linear function; see `value`.

        Returns:
            The weights, in the order and the shapes of the observations. Without public totals, the estimate is the sum
            of the observed values times their weights.
        """
        return list(self.each_weights(functional, range(len(self._found))))

    def each_weights(self, functional: Functional, which: Iterable[int]) -> Iterator[Cells]:
        """`weights` of selected observations by number, computed lazily."""
        effects = self._effects(functional)
        return (self._found[number].weights(effects) for number in which)

    def variance_parts(self, functional: Functional) -> list[float]:
        """The contribution of each noisy table to the variance of the estimate of a linear function.

        Returns:
            The parts, in the order of the observations; without public totals, their sum is the variance.
        """
        effects = self._effects(functional)
        squares = {subset: float((own * own).sum()) for subset, own in effects.items()}
        found = []
        for information, observation in zip(self._found, self._observations, strict=True):
            if information.uneven:
                found.append(spread_of(observation, information.weights(effects)))
                continue
            # Projections of homoscedastic noise on different components are uncorrelated.
            parts = information.precisions.items()
            found.append(sum(precision * squares[subset] for subset, precision in parts if subset in squares))
        return found

    def _effects(self, functional: Functional) -> dict[Subset, Cells]:
        """The coefficients of a linear function on each projected component."""
        effects: dict[Subset, Cells] = {}
        groups: dict[int, tuple[_Group, list[Subset]]] = {}
        for subset, own in functional.items():
            if subset in self._alone:
                effects[subset] = self._alone[subset] * own
            else:
                groups.setdefault(id(self._groups[subset]), (self._groups[subset], []))[1].append(subset)
        for group, subsets in groups.values():
            effects |= group.effects({subset: functional[subset] for subset in subsets})
        return effects

    def shared_with_records(self, attributes: Subset) -> Cells:
        """The covariance of each estimate of a table with the estimated number of records; see `table`."""
        sizes = [self._sizes[i] for i in attributes]
        if () in self._alone:
            return np.full(sizes, self._alone[()] / prod(sizes))
        group = self._groups[()]
        subsets = [subset for subset in self._components(attributes) if self._groups.get(subset) is group]
        shown = np.concatenate([self._shown(attributes, subset) for subset in subsets], axis=1)
        return np.asarray(_times(shown, group.covariance_of(subsets, [()]))[:, 0].reshape(sizes))

    def _components(self, attributes: Subset) -> Iterator[Subset]:
        """The components of a table; an attribute of one bucket has no contrasts."""
        return _subsets(tuple(i for i in attributes if self._sizes[i] > 1))

    def _split(self, attributes: Subset, subset: Subset) -> tuple[list[int], list[int]]:
        """Sizes of the attributes in a subset, and of the others."""
        return [self._sizes[i] for i in subset], [self._sizes[i] for i in attributes if i not in subset]

    def _place(self, attributes: Subset, subset: Subset) -> tuple[slice | int, ...]:
        """The index of a component in a table whose axes begin with the sum."""
        return tuple(slice(1, None) if i in subset else 0 for i in attributes)

    def _shown(self, attributes: Subset, subset: Subset) -> Cells:
        """The design matrix of a component in a table, shape (cells, numbers of the component)."""
        parts = [contrasts(n) if i in subset else np.full((n, 1), 1 / n) for i in attributes for n in [self._sizes[i]]]
        return _product(parts)

    def _estimate(self) -> None:
        found = self._found = [_Information(self._sizes, each) for each in self._observations]
        members = _correlated([(each.components, each.uneven) for each in found], self._constraints)
        sums: dict[Subset, Cells] = {}
        precisions: dict[Subset, float] = {}
        for information in found:
            for subset in information.components:
                own = information.projected[self._place(information.attributes, subset)]
                sums[subset] = sums[subset] + own if subset in sums else own
                if subset not in members:
                    precisions[subset] = precisions.get(subset, 0.0) + information.precision(subset)
        for subset, precision in precisions.items():
            self._alone[subset] = 1 / precision
            self._values[subset] = sums[subset] / precision
        for subsets in {id(group): group for group in members.values()}.values():
            group = _Group(self._sizes, subsets, [each for each in found if set(each.components) & set(subsets)], sums)
            for constraint in self._constraints:
                group.require(self._sizes, constraint)
            for subset in subsets:
                self._groups[subset] = group
                self._values[subset] = group.values(subset)


def solvable(
    sizes: Sequence[int], observations: Sequence[Observation], constraints: Sequence[Constraint], most: int
) -> list[Observation]:
    """Select usable noisy tables: all but those with heteroscedastic noise that would make systems too large.

    Args:
        sizes: number of buckets of each attribute.
        observations: the noisy tables.
        constraints: public totals.
        most: largest number of jointly estimated numbers.

    Returns:
        The tables, in order; the largest multi-way tables with heteroscedastic noise are omitted first.
    """
    used = list(observations)
    while True:
        several = [each for each in used if len(each.attributes) > 1 and each.spread]
        if not several or largest_system(sizes, used, constraints) <= most:
            return used
        largest = max(several, key=lambda each: each.values.size)
        used = [each for each in used if each is not largest]


def largest_system(
    sizes: Sequence[int], observations: Sequence[Observation], constraints: Sequence[Constraint] = ()
) -> int:
    """Largest number of jointly estimated numbers; the work is cubic in it. See `ConsistentTables`."""
    groups = _correlated([_components(sizes, each) for each in observations], constraints)
    return max((sum(prod(sizes[i] - 1 for i in subset) for subset in group) for group in groups.values()), default=0)


def _components(sizes: Sequence[int], observation: Observation) -> tuple[list[Subset], Subset]:
    """The components that a table informs, and the attributes along which its noise variance differs."""
    fixed = set(observation.differences)
    free = tuple(i for i in observation.attributes if sizes[i] > 1 and i not in fixed)
    uneven = tuple(i for i in observation.attributes if i in observation.spread and sizes[i] > 1)
    return [tuple(sorted(fixed | set(subset))) for subset in _subsets(free)], uneven


def _correlated(
    tables: Sequence[tuple[Sequence[Subset], Subset]], constraints: Sequence[Constraint]
) -> dict[Subset, list[Subset]]:
    """Components that noise or a constraint correlates with others, each with its group."""
    groups: dict[Subset, list[Subset]] = {}

    def join(one: Subset, other: Subset) -> None:
        first, second = groups.setdefault(one, [one]), groups.setdefault(other, [other])
        if first is not second:
            first.extend(second)
            groups.update(dict.fromkeys(second, first))

    for components, uneven in tables:
        for subset in components:
            for i in uneven:
                join(subset, tuple(sorted(set(subset) ^ {i})))
    measured = {subset for components, _ in tables for subset in components}
    for constraint in constraints:
        if () in measured:
            own = () if constraint.attribute is None else (constraint.attribute,)
            join((), own if own in measured else ())
    return groups


class _Information:
    """The information of a noisy table about its components.

    Attributes:
        attributes: the table's attributes.
        components: the components that it informs.
        uneven: attributes along which its noise variance differs.
        projected: its weighted projections, with the axes of the table, each beginning with the sum.
    """

    def __init__(self, sizes: Sequence[int], observation: Observation) -> None:
        self.attributes = observation.attributes
        self.components, self.uneven = _components(sizes, observation)
        self._variance = observation.variance
        self._gram: dict[int, Cells] = {}
        weighted: list[Cells] = []
        self._weighted = weighted
        for i in observation.attributes:
            basis = _basis(sizes[i], is_difference=i in observation.differences)
            inverse = basis.T / observation.spread[i] if i in observation.spread else basis.T
            self._gram[i] = _times(inverse, basis)
            weighted.append(inverse)
        self.projected = _along(np.asarray(observation.values, np.float64), weighted) / observation.variance

    def weights(self, effects: Mapping[Subset, Cells]) -> Cells:
        """The weights of the table's entries, from the effects of its components; missing effects are 0.

        An axis along which no component varies keeps only its sum, so that a single column of its matrix is used: the
        others would be multiplied by 0.
        """
        own = [subset for subset in self.components if subset in effects]
        varied = {i for subset in own for i in subset}
        shapes = [len(each) if i in varied else 1 for i, each in zip(self.attributes, self._weighted, strict=True)]
        together = np.zeros(shapes)
        for subset in own:
            together[tuple(slice(1, None) if i in subset else 0 for i in self.attributes)] = effects[subset]
        matrices = [
            matrix.T if i in varied else matrix.T[:, :1]
            for i, matrix in zip(self.attributes, self._weighted, strict=True)
        ]
        return _along(together, matrices) / self._variance

    @cached_property
    def precisions(self) -> dict[Subset, float]:
        """Precisions of all components, if the noise is homoscedastic."""
        return {subset: self.precision(subset) for subset in self.components}

    def precision(self, subset: Subset) -> float:
        """Precision of each number of a component, along whose attributes the noise variance is constant."""
        found = 1 / self._variance
        for i in self.attributes:
            found *= float(self._gram[i][1, 1] if i in subset else self._gram[i][0, 0])
        return found

    def block(self, rows: Subset, columns: Subset) -> Cells | None:
        """The information block of two components; None if it is zero."""
        if not set(rows) ^ set(columns) <= set(self.uneven):
            return None
        parts = []
        for i in self.attributes:
            gram = self._gram[i]
            side = [slice(1, None) if i in subset else slice(0, 1) for subset in (rows, columns)]
            parts.append(gram[side[0], side[1]])
        return _product(parts) / self._variance


class _Group:
    """Components that are estimated jointly, by normal equations."""

    def __init__(
        self,
        sizes: Sequence[int],
        subsets: Sequence[Subset],
        found: Sequence[_Information],
        sums: Mapping[Subset, Cells],
    ) -> None:
        starts = np.cumsum([0, *(prod(sizes[i] - 1 for i in subset) for subset in subsets)]).tolist()
        self._at = {subset: slice(*ends) for subset, ends in zip(subsets, pairwise(starts), strict=True)}
        self._shapes = {subset: [sizes[i] - 1 for i in subset] for subset in subsets}
        normal = np.zeros((starts[-1], starts[-1]))
        for information in found:
            own = [subset for subset in information.components if subset in self._at]
            for row in own:
                for column in own:
                    block = information.block(row, column)
                    if block is not None:
                        normal[self._at[row], self._at[column]] += block
        inverted = inverse(normal)
        self.covariance: Cells = (inverted + inverted.T) / 2
        self._before = np.diag(self.covariance).copy()
        right = np.concatenate([np.ravel(sums[subset]) for subset in subsets])
        self._numbers: Cells = _times(self.covariance, right[:, None])[:, 0]

    def values(self, subset: Subset) -> Cells:
        """The estimate of a component."""
        return self._numbers[self._at[subset]].reshape(self._shapes[subset])

    def covariance_of(self, subsets: Sequence[Subset], others: Sequence[Subset] | None = None) -> Cells:
        """The covariance of some components with others; among themselves by default."""
        rows = self._places(subsets)
        found: Cells = self.covariance[np.ix_(rows, rows if others is None else self._places(others))]
        return found

    def effects(self, functional: Functional) -> dict[Subset, Cells]:
        """The weight of each of the group's projections in the estimate of a linear function of its components."""
        own = np.concatenate([np.ravel(each) for each in functional.values()])
        places = self._places(list(functional))
        found = np.einsum("ij,j->i", self.covariance[:, places], own)
        return {subset: found[at].reshape(self._shapes[subset]) for subset, at in self._at.items()}

    def _places(self, subsets: Sequence[Subset]) -> NDArray[np.intp]:
        return np.concatenate([np.arange(self._at[subset].start, self._at[subset].stop) for subset in subsets])

    def require(self, sizes: Sequence[int], constraint: Constraint) -> None:
        """Condition the estimates on public totals that concern components of the group."""
        i = constraint.attribute
        if () not in self._at or (i is not None and sizes[i] > 1 and (i,) not in self._at):
            return
        wanted = np.zeros((1, len(self._numbers)))
        wanted[0, self._at[()]] = 1.0
        right = np.array([constraint.counts.sum()])
        if i is not None and sizes[i] > 1:
            own = np.zeros((sizes[i] - 1, len(self._numbers)))
            own[:, self._at[(i,)]] = np.eye(sizes[i] - 1)
            wanted = np.concatenate([wanted, own])
            right = np.concatenate([right, _times(contrasts(sizes[i]).T, constraint.counts[:, None])[:, 0]])
        shared = _times(self.covariance, wanted.T)
        spread = _times(wanted, shared)
        # A total that an earlier one has already fixed has no variance left.
        free = np.diag(spread) > _FIXED * _times(wanted**2, self._before[:, None])[:, 0]
        if not free.any():
            return
        shared, spread = shared[:, free], spread[np.ix_(free, free)]
        gain = _times(shared, inverse(spread))
        gap = right[free] - _times(wanted[free], self._numbers[:, None])[:, 0]
        self._numbers = self._numbers + _times(gain, gap[:, None])[:, 0]
        self.covariance = self.covariance - _times(gain, np.ascontiguousarray(shared.T))
