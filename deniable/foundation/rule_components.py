"""The rules of a table combined: which prefixes of a record can be completed to one that satisfies all rules.

Attributes that rules connect form a component. For each order of its attributes, relations of each attribute with
earlier ones are derived such that every prefix that satisfies them can be completed: no draw along the order ever
reaches a dead end or is rejected. There are two methods, both exact for every order. If a component has few
combinations of classes, all of them are enumerated, and a relation is a projection of the permitted ones. Otherwise,
if all its relations are of two attributes, implied relations are added until nothing changes (path consistency). This
suffices if each relation is closed under medians, because medians are a majority operation: Jeavons, Cohen, Cooper
1998, Constraints, consistency and closure, theorem 3.5. This holds for orders, and for all rules that put attributes
into two classes. Rules that are too large for the first method and unsuitable for the second are refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.errors import InvalidInput
from deniable.foundation.rules import Flags, Relation

MOST_CELLS = 1 << 22
"""Largest number of combinations of a component's classes that are enumerated, and of cells of one relation."""
_PAIR = 2


@dataclass(frozen=True, eq=False)
class Component:
    """A set of attributes that rules connect.

    Attributes:
        columns: their column numbers, ascending.
        classes: for each, the class of each value, such that no rule distinguishes the values of a class.
        joint: the permitted combinations of classes, if they are enumerated.
        pairs: for each pair of attributes, by position in `columns`, the permitted combinations, if they are not.
    """

    columns: tuple[int, ...]
    classes: tuple[NDArray[np.int64], ...]
    joint: Flags | None
    pairs: dict[tuple[int, int], Flags]

    def classes_of(self, column: int) -> NDArray[np.int64]:
        """Class of each value of one of the attributes."""
        return self.classes[self.columns.index(column)]

    def restrictions(self, before: Sequence[int], column: int) -> tuple[Relation, ...]:
        """The values that some attributes permit for another, such that the record can be completed.

        Args:
            before: the known attributes, whose values satisfy all rules among them.
            column: the next attribute.

        Returns:
            Relations whose last attribute is the next one; none if it is unrestricted.
        """
        known = [each for each in before if each in self.columns]
        if self.joint is not None:
            found = [self._projected(self.joint, [*known, column])]
        elif known:
            found = [self._pair(each, column) for each in known]
        else:
            alone = self._alone(self.columns.index(column))
            found = [Relation((column,), (self.classes_of(column),), alone)]
        return tuple(relation for relation in found if not relation.allowed.all())

    def allowed(self, columns: Sequence[int]) -> Flags:
        """The permitted combinations of classes of some of the attributes: those that occur in a permitted record.

        Raises:
            ValueError: there are more than `MOST_CELLS` combinations.
        """
        sizes = [self._size(column) for column in columns]
        if prod(sizes) > MOST_CELLS:
            raise ValueError(f"a table of {prod(sizes):,} combinations is too large; ask for fewer attributes.")
        if self.joint is not None:
            return self._projected(self.joint, columns).allowed
        found = np.ones(sizes, bool)
        for axis, column in enumerate(columns):
            alone = self._alone(self.columns.index(column))
            found &= alone.reshape([-1 if other == axis else 1 for other in range(len(columns))])
        for first, second in combinations(range(len(columns)), _PAIR):
            pair = self._pair(columns[first], columns[second]).allowed
            found &= pair.reshape([size if axis in (first, second) else 1 for axis, size in enumerate(sizes)])
        return found

    def _size(self, column: int) -> int:
        return int(self.classes_of(column).max()) + 1

    def _projected(self, joint: Flags, columns: Sequence[int]) -> Relation:
        places = [self.columns.index(column) for column in columns]
        left = np.asarray(joint.any(axis=tuple(place for place in range(len(self.columns)) if place not in places)))
        rising = sorted(places)
        allowed = left.transpose([rising.index(place) for place in places])
        return Relation(tuple(columns), tuple(self.classes[place] for place in places), allowed)

    def _pair(self, first: int, second: int) -> Relation:
        i, j = self.columns.index(first), self.columns.index(second)
        allowed = self.pairs[i, j] if i < j else self.pairs[j, i].T
        return Relation((first, second), (self.classes[i], self.classes[j]), allowed)

    def _alone(self, place: int) -> Flags:
        """The permitted classes of one attribute."""
        other = 0 if place else 1
        pair = self.pairs[min(place, other), max(place, other)]
        return np.asarray(pair.any(axis=1 if place < other else 0))

    @cached_property
    def cells(self) -> int:
        """Number of combinations of classes."""
        return prod(int(own.max()) + 1 for own in self.classes)


def components(relations: Sequence[Relation], names: Sequence[str]) -> tuple[Component, ...]:
    """Combine the relations of a table's rules.

    Args:
        relations: the relations.
        names: names of all attributes, for messages.

    Raises:
        InvalidInput: no record satisfies all of them, or they are too many to be enforced exactly.
    """
    of: dict[int, int] = {}
    for relation in relations:
        joined = {of.get(column, column) for column in relation.columns}
        least = min(joined)
        of |= dict.fromkeys(relation.columns, least)
        of = {column: least if own in joined else own for column, own in of.items()}
    found = []
    for own in sorted(set(of.values())):
        columns = tuple(sorted(column for column, component in of.items() if component == own))
        found.append(_component(columns, [each for each in relations if each.columns[0] in columns], names))
    return tuple(found)


def _component(columns: tuple[int, ...], relations: Sequence[Relation], names: Sequence[str]) -> Component:
    classes = {column: _common(column, relations) for column in columns}
    own, sizes = tuple(classes.values()), {column: int(of.max()) + 1 for column, of in classes.items()}
    cells, about = prod(sizes.values()), " and ".join(names[column] for column in columns)
    joint: Flags | None = None
    pairs: dict[tuple[int, int], Flags] = {}
    if cells <= MOST_CELLS:
        joint = np.ones([sizes[column] for column in columns], bool)
        for relation in relations:
            joint &= _spread(_refined(relation, classes), columns, sizes)
    elif all(len(relation.columns) <= _PAIR for relation in relations) and _pairs_fit(sizes):
        pairs = _path_consistent(columns, [_refined(relation, classes) for relation in relations], sizes)
    if joint is None and not (pairs and all(_is_median_closed(pair) for pair in pairs.values())):
        raise InvalidInput(
            f"the rules that connect {about} must leave at most {MOST_CELLS:,} combinations of classes of values to be "
            f"compared, or be thresholds of two attributes each, got {cells:,}; state fewer rules, or coarser values."
        )
    if not all(each.any() for each in ([joint] if joint is not None else pairs.values())):
        raise InvalidInput(f"rules must leave some records possible, got none for {about}; correct the rules.")
    return Component(columns, own, joint, pairs)


def _pairs_fit(sizes: dict[int, int]) -> bool:
    """Whether the relations of all pairs of attributes are small enough."""
    largest = sorted(sizes.values())[-_PAIR:]
    return prod(largest) <= MOST_CELLS


def _common(column: int, relations: Sequence[Relation]) -> NDArray[np.int64]:
    """The coarsest partition of an attribute's values that refines every relation's classes, by first appearance."""
    own = [relation.classes[relation.columns.index(column)] for relation in relations if column in relation.columns]
    _, first, same = np.unique(np.stack(own), axis=1, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[same.ravel()]


def _refined(relation: Relation, classes: dict[int, NDArray[np.int64]]) -> Relation:
    """A relation expressed in the classes of its component."""
    allowed = relation.allowed
    for axis, (column, own) in enumerate(zip(relation.columns, relation.classes, strict=True)):
        _, first = np.unique(classes[column], return_index=True)
        allowed = allowed.take(own[first], axis)
    return Relation(relation.columns, tuple(classes[column] for column in relation.columns), allowed)


def _spread(relation: Relation, columns: Sequence[int], sizes: dict[int, int]) -> Flags:
    """A relation as an array over all attributes of its component, of length 1 for those it does not restrict."""
    rising = np.argsort([columns.index(column) for column in relation.columns]).tolist()
    shape = [sizes[column] if column in relation.columns else 1 for column in columns]
    return relation.allowed.transpose(rising).reshape(shape)


def _path_consistent(
    columns: Sequence[int], relations: Sequence[Relation], sizes: dict[int, int]
) -> dict[tuple[int, int], Flags]:
    """For each pair of attributes, by position, the combinations that all binary relations together permit."""
    count = len(columns)
    pairs = {
        (i, j): np.ones((sizes[columns[i]], sizes[columns[j]]), bool)
        for i in range(count)
        for j in range(count)
        if i != j
    }
    for relation in relations:
        places = [columns.index(column) for column in relation.columns]
        if len(places) == 1:
            for other in range(count):
                if other != places[0]:
                    pairs[places[0], other] &= relation.allowed[:, None]
                    pairs[other, places[0]] &= relation.allowed
            continue
        i, j = places
        pairs[i, j] &= relation.allowed
        pairs[j, i] &= relation.allowed.T
    changed = True
    while changed:
        changed = False
        for k in range(count):
            for i, j in combinations([each for each in range(count) if each != k], _PAIR):
                # With bit-packed rows: a matrix product would either use BLAS or be slow.
                through = _composed(pairs[i, k], pairs[k, j])
                if (pairs[i, j] & ~through).any():
                    pairs[i, j] &= through
                    pairs[j, i] = pairs[i, j].T.copy()
                    changed = True
    return {pair: allowed for pair, allowed in pairs.items() if pair[0] < pair[1]}


def _composed(first: Flags, second: Flags) -> Flags:
    """Whether some class of the attribute in between is permitted by both relations."""
    packed = np.packbits(second, axis=1)
    found = np.zeros((len(first), packed.shape[1]), np.uint8)
    for row, through in enumerate(first):
        if through.any():
            found[row] = np.bitwise_or.reduce(packed[through], axis=0)
    return np.unpackbits(found, axis=1, count=second.shape[1]).astype(bool)


def _is_median_closed(pair: Flags) -> bool:
    """Whether a relation of two attributes is closed under component-wise medians of three.

    It is if and only if, among the classes that occur in it, every forbidden combination lies in a corner of the table
    where all are forbidden.
    """
    left = pair[pair.any(axis=1)][:, pair.any(axis=0)]
    covered = np.zeros(left.shape, bool)
    for down in (slice(None), slice(None, None, -1)):
        for along in (slice(None), slice(None, None, -1)):
            turned = left[down, along]
            some = np.logical_or.accumulate(np.logical_or.accumulate(turned, axis=0), axis=1)
            covered |= ~some[down, along]
    return bool((covered | left).all())
