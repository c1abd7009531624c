"""Released tables: noisy integers with a public multiplier, and the estimates of the counts.

No floating-point number is stored: estimates are computed from the integers on demand. A float computed from a count
before release could disclose more about the count than the noisy integer does (Mironov 2012). Counting and the choice
of noise do not belong here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm, sqrt
from typing import TypeAlias

import numpy as np

from deniable.foundation.errors import InvalidInput
from deniable.measurements.noisy_tables import Cells, Law, MeasuredTable, NoiseLaw, Release, Sums

Noise: TypeAlias = Law

_EXACT_AS_FLOATS = 1 << 53


@dataclass(frozen=True, eq=False)
class NoisySums:
    """One release of one table.

    Attributes:
        sums: multiplier times the queried entries, plus integer noise, in the shape of the query.
        multiplier: public number of times that the entries were added into the sums.
        shares: shares of the budget spent on it, a multiple of the multiplier.
        turn: its number among all queries, from 1.

    Raises:
        InvalidInput: the sums are not integers, or a number is below 1.
    """

    sums: Sums
    multiplier: int
    shares: int
    turn: int

    def __post_init__(self) -> None:
        """Refuse floats, and numbers below 1."""
        if not isinstance(self.sums, np.ndarray) or self.sums.dtype != np.int64:
            got = getattr(self.sums, "dtype", type(self.sums).__name__)
            raise InvalidInput(f"the released entries of a table must be 64-bit integers, got {got}; release the sums.")
        if not all(type(number) is int and number >= 1 for number in (self.multiplier, self.shares, self.turn)):
            raise InvalidInput("multiplier, shares and turn of a release must be integers, at least 1.")


@dataclass(frozen=True, eq=False)
class NoisyMarginal:
    """All releases of one table.

    Attributes:
        attributes: the table's attributes.
        releases: its releases, of equal shape, with independent noise.
        noise: the kind of noise.
        amount: variance (Gaussian) or scale (Laplace) of the noise of one share.
        terms: number of released entries that each entry sums, in the table's shape; 1 if not given.
    """

    attributes: tuple[int, ...]
    releases: tuple[NoisySums, ...]
    noise: Noise
    amount: Fraction
    terms: Sums | None = None

    @property
    def shares(self) -> int:
        """Total shares of the budget spent on it."""
        return sum(release.shares for release in self.releases)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the released entries."""
        return self.releases[0].sums.shape

    @cached_property
    def values(self) -> Cells:
        """The precision-weighted mean of the releases: noisy counts, and differences along axes with two buckets.

        With Gaussian noise, the precision of a release is proportional to its shares; if each share was a separate
        release, their sums are added. With Laplace noise, it grows with the square of the shares. Each value is a
        correctly rounded quotient of two integers.
        """
        weights = [
            release.shares // release.multiplier if self.noise == "gaussian" else release.shares**2
            for release in self.releases
        ]
        divisor = sum(weight * release.multiplier for weight, release in zip(weights, self.releases, strict=True))
        return _quotients([release.sums for release in self.releases], weights, divisor)

    @cached_property
    def sums_along(self) -> tuple[Cells, ...]:
        """For each axis, the sums of `values` over all others."""
        axes = range(self.values.ndim)
        return tuple(self.values.sum(axis=tuple(other for other in axes if other != axis)) for axis in axes)

    @property
    def variance_of_sum(self) -> float:
        """Noise variance of the sum of `values`."""
        return float(np.broadcast_to(self.deviation**2, self.values.shape).sum())

    @cached_property
    def deviation(self) -> Cells:
        """Noise standard deviation of `values`: a scalar, or an array in the table's shape if entries are sums."""
        if self.noise == "laplace":
            own = sqrt(2) * float(self.amount) / sqrt(sum(release.shares**2 for release in self.releases))
        else:
            own = sqrt(float(self.amount) / self.shares)
        return np.asarray(own if self.terms is None else own * np.sqrt(self.terms), np.float64)

    def differences(self, sizes: Sequence[int]) -> list[int]:
        """The attributes, given their numbers of buckets, that the table has only as a difference of two buckets."""
        return [i for i, entries in zip(self.attributes, self.shape, strict=True) if entries == 1 < sizes[i]]

    def joined(self, other: "NoisyMarginal") -> "NoisyMarginal":
        """The table with the releases of another appended."""
        return NoisyMarginal(self.attributes, (*self.releases, *other.releases), self.noise, self.amount, self.terms)


@dataclass(frozen=True, eq=False)
class EstimatedMarginal:
    """Unbiased estimates of the counts of one attribute, from several of its tables.

    Attributes:
        attributes: the attribute.
        values: the estimates, shape (buckets,).
        deviation: their standard deviations, same shape.
        variance_of_sum: the variance of the sum of all.
    """

    attributes: tuple[int, ...]
    values: Cells
    deviation: Cells
    variance_of_sum: float

    @property
    def sums_along(self) -> tuple[Cells, ...]:
        """The estimates, as the sums along the only axis."""
        return (self.values,)

    def differences(self, _: Sequence[int]) -> list[int]:
        """No attribute is a difference of two buckets."""
        return []


def measured_table(
    table: NoisyMarginal,
    *,
    by_values: tuple[int, ...] = (),
    sizes: Sequence[int] = (),
    reason: str,
    denoised: Cells | None = None,
    binned: NoisyMarginal | None = None,
) -> MeasuredTable:
    """Convert a table to the form in which all learners publish.

    Args:
        table: the table, with the releases of a step.
        by_values: those of its attributes that are counted by values.
        sizes: number of buckets of each attribute of the domain, if differences may have been released.
        reason: the reason for measuring it.
        denoised: the estimate of its counts.
        binned: counts of the growing bins of the attribute, if it is one that has them.
    """
    differences = tuple(table.differences(sizes)) if sizes else ()
    own = () if binned is None else _releases(binned)
    return MeasuredTable(table.attributes, _releases(table), by_values, differences, reason, denoised, own)


def _releases(table: NoisyMarginal) -> tuple[Release, ...]:
    """The releases, with the law of the noise of each."""
    return tuple(
        Release(
            sums=each.sums,
            noise=NoiseLaw(table.noise, table.amount * each.multiplier / each.shares),
            turn=each.turn,
            multiplier=each.multiplier,
        )
        for each in table.releases
    )


def marginal_of(table: MeasuredTable) -> NoisyMarginal:
    """Convert a published table to the form used for estimation here; all its releases have one kind of noise.

    A share then has the largest amount of noise such that all draws have integer shares.
    """
    costs = [release.noise.cost for release in table.releases]
    amount = 1 / Fraction(gcd(*(cost.numerator for cost in costs)), lcm(*(cost.denominator for cost in costs)))
    releases = tuple(
        NoisySums(each.sums, each.multiplier, int(each.cost * amount), each.turn) for each in table.releases
    )
    return NoisyMarginal(table.attributes, releases, table.releases[0].noise.law, amount)


def _quotients(sums: Sequence[Sums], weights: Sequence[int], divisor: int) -> Cells:
    """The weighted sums divided by the divisor, each rounded once."""
    largest = sum(weight * max(int(np.abs(own).max(initial=0)), 1) for weight, own in zip(weights, sums, strict=True))
    if max(largest, divisor) <= _EXACT_AS_FLOATS:
        added: Sums = sum((weight * own for weight, own in zip(weights, sums, strict=True)), np.zeros_like(sums[0]))
        # In a fixed memory order, whatever that of the counts, so that later sums are rounded in the same order.
        return np.ascontiguousarray(added / divisor, np.float64)
    # Python divides integers of any size with one rounding; numpy would round them first.
    flat = zip(*(own.ravel().tolist() for own in sums), strict=True)
    exact = [sum(weight * one for weight, one in zip(weights, each, strict=True)) / divisor for each in flat]
    return np.asarray(exact, np.float64).reshape(sums[0].shape)
