"""Noisy tables: integers, the exact law of their noise, and the estimates of the counts.

Only integers and exact fractions are stored. Floating-point numbers are computed from them after release, so that they
cannot disclose more than the integers do (Mironov 2012). The choice of measurements does not belong here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp, fsum
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.errors import InvalidInput
from deniable.foundation.exact_numbers import exact_number

Cells = NDArray[np.float64]
Sums = NDArray[np.int64]
Law = Literal["gaussian", "laplace"]

AMOUNTS = {"gaussian": "variance", "laplace": "scale"}
"""The parameter of each law: Pr[z] is proportional to exp(-z^2 / (2 variance)), or to exp(-|z| / scale)."""
_ONE = 1


@dataclass(frozen=True)
class NoiseLaw:
    """The law of one draw of integer noise.

    Attributes:
        law: discrete Gaussian or discrete Laplace noise.
        amount: its variance parameter (Gaussian) or its scale (Laplace), exact.

    Raises:
        InvalidInput: the law is unknown, or the amount is not above 0.
    """

    law: Law
    amount: Fraction

    def __post_init__(self) -> None:
        """Refuse an unknown law, or an amount that is not positive."""
        if self.law not in AMOUNTS:
            raise InvalidInput(f"the law of noise must be one of {', '.join(AMOUNTS)}, got {self.law}.")
        if not isinstance(self.amount, Fraction) or self.amount <= 0:
            raise InvalidInput(f"the {AMOUNTS[self.law]} of noise must be a fraction above 0, got {self.amount}.")

    @property
    def variance(self) -> float:
        """Variance of one draw; for Gaussian noise the parameter, an upper bound.

        Laplace: 2 p / (1 - p)^2 with p = exp(-1 / scale). The parameter of a discrete Gaussian exceeds its variance by
        less than a millionth if it is at least 1 (Canonne, Kamath, Steinke 2020, Proposition 21).
        """
        if self.law == "gaussian":
            return float(self.amount)
        p = exp(-float(1 / self.amount))
        return 2 * p / (1 - p) ** 2

    @property
    def cost(self) -> Fraction:
        """The cost of one draw at sensitivity 1, in additive units: 2 rho (Gaussian) or epsilon (Laplace)."""
        return 1 / self.amount

    def document(self) -> dict[str, str]:
        """The law, ready for JSON: its name, and its parameter as an exact fraction."""
        return {"law": self.law, AMOUNTS[self.law]: str(self.amount)}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "NoiseLaw":
        """Read a law.

        Raises:
            InvalidInput: it is not a law of noise.
            KeyError: something is missing.
        """
        law = document["law"]
        if law not in AMOUNTS or set(document) != {"law", AMOUNTS[law]} or not isinstance(document[AMOUNTS[law]], str):
            raise InvalidInput(f"noise must state its law and the law's parameter as text, got {dict(document)}.")
        return cls(law, exact_number(document[AMOUNTS[law]]))


@dataclass(frozen=True, eq=False)
class Release:
    """One noisy answer to one query for a table.

    Attributes:
        sums: multiplier times the queried entries, plus the sum of as many independent draws of noise, in the shape of
            the query. One record changes one queried entry by 1, up or down.
        noise: the law of one draw.
        turn: its number among all queries of the step, including choices, from 1.
        multiplier: number of draws of noise that were summed.

    Raises:
        InvalidInput: the sums are not integers, or a number is below 1.
    """

    sums: Sums
    noise: NoiseLaw
    turn: int
    multiplier: int = 1

    def __post_init__(self) -> None:
        """Refuse floats, and numbers below 1."""
        if not isinstance(self.sums, np.ndarray) or self.sums.dtype != np.int64:
            got = getattr(self.sums, "dtype", type(self.sums).__name__)
            raise InvalidInput(f"the released entries of a table must be 64-bit integers, got {got}; release the sums.")
        if not all(type(number) is int and number >= _ONE for number in (self.multiplier, self.turn)):
            raise InvalidInput("multiplier and turn of a release must be integers, at least 1.")

    @property
    def cost(self) -> Fraction:
        """The cost, in the unit of its law (`NoiseLaw.cost`): costs of draws on one query add up."""
        return self.multiplier * self.noise.cost

    def document(self) -> dict[str, Any]:
        """The release, ready for JSON."""
        return {
            "turn": self.turn,
            "noise": self.noise.document(),
            "multiplier": self.multiplier,
            "sums": self.sums.tolist(),
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Release":
        """Read a release.

        Raises:
            InvalidInput: a number is not an integer, or there are other entries.
            KeyError: something is missing.
        """
        sums, noise = np.asarray(document["sums"]), NoiseLaw.from_document(document["noise"])
        if set(document) != {"turn", "noise", "multiplier", "sums"}:
            raise InvalidInput(f"a release must have the entries of its format, got {', '.join(sorted(document))}.")
        return cls(sums, noise, document["turn"], document["multiplier"])


@dataclass(frozen=True, eq=False)
class MeasuredTable:
    """All releases of one table.

    Attributes:
        attributes: column numbers of its attributes, ascending, one per axis.
        releases: its releases, of equal shape and with independent noise.
        by_values: those of its attributes that are counted by values; the others are counted by buckets.
        differences: those of its attributes, of two buckets or values, for which only the difference of the second
            minus the first was released; the axis then has length 1.
        reason: the learner's reason for measuring it, in a word.
        denoised: the learner's estimate of its counts in all cells, if any. It must be a function of the document's
            integers and of random words independent of the data.
        binned: releases of the counts of its attribute's growing bins (`growing_bins`), if it has one attribute and
            these were counted, too. `values` does not include them.
    """

    attributes: tuple[int, ...]
    releases: tuple[Release, ...]
    by_values: tuple[int, ...] = ()
    differences: tuple[int, ...] = ()
    reason: str = ""
    denoised: Cells | None = None
    binned: tuple[Release, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the released entries."""
        return self.releases[0].sums.shape

    @property
    def every_release(self) -> tuple[Release, ...]:
        """All releases, those of growing bins last."""
        return (*self.releases, *self.binned)

    @property
    def of_bins(self) -> "MeasuredTable | None":
        """The table of its attribute's growing bins by itself; None if these were not counted."""
        return MeasuredTable(self.attributes, self.binned) if self.binned else None

    @property
    def cost(self) -> Fraction:
        """The total cost of its releases, in the unit of their law."""
        return sum((release.cost for release in self.every_release), Fraction(0))

    @cached_property
    def values(self) -> Cells:
        """The precision-weighted mean of the releases: noisy counts, and differences where only these were released."""
        precisions = self._precisions
        whole = sum(w * release.multiplier for w, release in zip(precisions, self.releases, strict=True))
        added = np.zeros(self.shape)
        for weight, release in zip(precisions, self.releases, strict=True):
            added = added + weight * release.sums
        return np.asarray(added / whole, np.float64)

    @cached_property
    def variance(self) -> float:
        """Noise variance of each of `values`; the noise of different entries is independent."""
        first = self.releases[0].noise.variance
        return first / sum(w * release.multiplier for w, release in zip(self._precisions, self.releases, strict=True))

    @property
    def _precisions(self) -> list[float]:
        """Weights of the sums: inverse variances of one draw, relative to those of the first release."""
        first = self.releases[0].noise.variance
        return [first / release.noise.variance for release in self.releases]


def cells_of_query(
    attributes: Sequence[int], by_values: Sequence[int], values: Sequence[int], buckets: Sequence[int]
) -> tuple[int, ...]:
    """Number of values or buckets along each axis of a table.

    Args:
        attributes: its attributes.
        by_values: those counted by values.
        values: number of values of each attribute of the domain.
        buckets: number of buckets of each attribute of the domain.
    """
    return tuple(values[i] if i in by_values else buckets[i] for i in attributes)


def estimated_records(tables: Sequence[MeasuredTable]) -> float:
    """The number of records: the precision-weighted mean of the noisy tables' sums over all cells, at least 1.

    Tables of differences are not informative about it. Its variance is the reciprocal of the sum of the precisions.
    """
    summing = [table for table in tables if not table.differences]
    precisions = [1 / (table.variance * table.values.size) for table in summing]
    sums = [float(table.values.sum()) for table in summing]
    if not summing:
        return 1.0
    return max(1.0, fsum(p * s for p, s in zip(precisions, sums, strict=True)) / fsum(precisions))
