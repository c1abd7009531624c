"""Zeros that a table's rules imply in tables over buckets: cells that are empty, and cells permitted in part.

Rules concern values. A pair of buckets whose values are all forbidden together is a structural zero; of other pairs
the rules permit a share, according to the denoised counts of the values in each bucket. Only estimates depend on these
shares: enforcing rules by value does not belong here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Domain
from deniable.learners.loglinear.estimation.buckets import Bucketed
from deniable.measurements.noisy_tables import Cells
from deniable.models.loglinear.flat_tables import Attributes

_EVEN = 0.01
_AT_A_TIME = 4096


@dataclass(frozen=True, eq=False)
class StructuralZeros:
    """The rules between pairs of attributes, over their buckets.

    Attributes:
        members: for each attribute in a rule, the share of each class of values in each bucket, shape (classes,
            buckets).
        permitted: for each ordered pair of attributes with a rule, the share of the first attribute's bucket with
            which each class of the second is permitted, shape (buckets, classes).
    """

    members: Mapping[int, Cells] = field(default_factory=dict)
    permitted: Mapping[tuple[int, int], Cells] = field(default_factory=dict)

    @property
    def pairs(self) -> list[Attributes]:
        """The pairs of attributes with a rule, ascending."""
        return sorted(pair for pair in self.permitted if pair[0] < pair[1])

    def shares(self, pair: Attributes) -> Cells | None:
        """Share of each pair of buckets that the rules permit; None if they permit all."""
        first, second = pair
        if (first, second) not in self.permitted:
            return None
        # Not by `@`: the order of summation in BLAS depends on the processor.
        found = np.einsum("bk,kc->bc", self.permitted[first, second], self.members[second])
        return np.asarray(np.minimum(found, 1.0))

    def partners(self, attribute: int, others: Sequence[int]) -> list[int]:
        """Those of given attributes with which an attribute has a rule."""
        return [other for other in others if (other, attribute) in self.permitted]

    def given(self, attribute: int, others: Sequence[int], buckets: NDArray[np.int32]) -> Cells:
        """Share of each bucket of an attribute that the rules permit, given buckets of several others.

        Args:
            attribute: the attribute.
            others: its partners.
            buckets: their buckets in each of some groups, shape (partners, groups).

        Returns:
            Shape (groups, buckets); all 1 for a group in which rules with several attributes permit nothing, which can
            happen for buckets, though not for values.
        """
        found = np.empty((buckets.shape[1], self.members[attribute].shape[1]))
        for start in range(0, len(found), _AT_A_TIME):
            own = buckets[:, start : start + _AT_A_TIME]
            classes = np.prod(
                [self.permitted[other, attribute][at] for other, at in zip(others, own, strict=True)], axis=0
            )
            found[start : start + _AT_A_TIME] = np.einsum("gk,kc->gc", classes, self.members[attribute])
        found[found.sum(axis=1) <= 0] = 1.0
        return found


def structural_zeros(domain: Domain, buckets: Sequence[Bucketed]) -> StructuralZeros:
    """The rules of a domain over buckets.

    Args:
        domain: the public domain of the attributes.
        buckets: the buckets of each attribute, and the counts of its values.
    """
    members: dict[int, Cells] = {}
    permitted: dict[tuple[int, int], Cells] = {}
    for (first, second), relation in domain.restricted_pairs.items():
        for i, own in zip((first, second), relation.classes, strict=True):
            if i not in members:
                members[i] = _members(own, buckets[i])
        allowed = relation.allowed.astype(np.float64)
        permitted[first, second] = np.einsum("ub,uv->bv", members[first], allowed)
        permitted[second, first] = np.einsum("vb,uv->bu", members[second], allowed)
    return StructuralZeros(members, permitted)


def _members(classes: NDArray[np.int64], own: Bucketed) -> Cells:
    """Share of each class of values in each bucket, shape (classes, buckets); each bucket's shares sum to 1."""
    members = np.bincount(own.of_value, minlength=own.size)
    held = own.added_up(own.counts)
    even = 1 / members[own.of_value]
    # A small weight of equal shares, so that every value in a rule has some weight.
    counted = own.counts / np.maximum(held, 1e-12)[own.of_value]
    shares = np.where(held[own.of_value] > 0, (1 - _EVEN) * counted + _EVEN * even, even)
    found = np.zeros((int(classes.max()) + 1, own.size))
    np.add.at(found, (classes, own.of_value), shares)
    return found
