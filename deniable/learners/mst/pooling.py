"""Pools values with small noisy counts before pairs are counted; each keeps its share of the pool's records.

This is a function of released integers, so it costs nothing.

Source: McKenna, Miklau, Sheldon 2021, section 3.4.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes

Cells = NDArray[np.float64]
Counts = NDArray[np.int64]
Within = Literal["noisy", "uniform"]

DEVIATIONS = 3
"""Values whose noisy counts are below this multiple of the noise's standard deviation are pooled."""


@dataclass(frozen=True, eq=False)
class Pooled:
    """The values of an attribute, some of them pooled.

    Attributes:
        bucket_of: bucket of each value: kept values have one each, in order; the last bucket is the pool, if any.
        counts: noisy counts of the buckets.
        values: number of values in each bucket.
        shares: share of each value in the records of its bucket.
    """

    bucket_of: Codes
    counts: Counts
    values: Counts
    shares: Cells

    @property
    def size(self) -> int:
        """Number of buckets."""
        return len(self.counts)

    @property
    def pool(self) -> int:
        """Number of values in the pool."""
        return int(self.values.max(initial=0)) if self.size < len(self.bucket_of) else 0


def pooled(noisy: Counts, variance: Fraction, within: Within) -> Pooled:
    """Pool the values of an attribute with small noisy counts.

    Args:
        noisy: noisy counts of the values.
        variance: variance of their noise.
        within: the division of the pool's records among its values: equally, or in proportion to positive noisy
            counts, if any.
    """
    # y < 3 sigma, compared in integers.
    small = (noisy < 0) | (noisy.astype(object) ** 2 < DEVIATIONS**2 * variance).astype(bool)
    bucket_of = np.empty(len(noisy), np.uint16)
    kept = int((~small).sum())
    bucket_of[~small] = np.arange(kept)
    bucket_of[small] = kept
    size = kept + bool(small.any())
    counts, values = np.zeros(size, np.int64), np.zeros(size, np.int64)
    np.add.at(counts, bucket_of, noisy)
    np.add.at(values, bucket_of, 1)
    shares = np.ones(len(noisy))
    if small.any():
        weights = np.maximum(noisy[small], 0)
        if within == "uniform" or not weights.any():
            weights = np.ones(len(weights), np.int64)
        shares[small] = weights / int(weights.sum())
    return Pooled(bucket_of, counts, values, shares)


def without_noise(size: int) -> Pooled:
    """The buckets of an attribute with one value, which is not counted."""
    return Pooled(np.zeros(size, np.uint16), np.ones(1, np.int64), np.ones(1, np.int64), np.ones(size))


def sizes_of(pools: Sequence[Pooled]) -> tuple[int, ...]:
    """Number of buckets of each attribute."""
    return tuple(own.size for own in pools)
