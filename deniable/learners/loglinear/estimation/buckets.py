"""Buckets of the tables of several attributes: groups of values with enough records to stand out from the noise.

Only noisy counts are used. The choice of tables does not belong here.
"""

from dataclasses import dataclass
from math import log10, sqrt

import numpy as np

from deniable.foundation.domain import Attribute, Codes
from deniable.learners.loglinear.estimation.empirical_bayes import nearest_with_total, posterior_mean
from deniable.learners.loglinear.estimation.sparse_counts import sparse_counts
from deniable.learners.loglinear.estimation.tailed_counts import BinnedCounts, tailed_counts
from deniable.measurements.noisy_tables import Cells, Sums
from deniable.models.noisy_marginals import NoisyMarginal

FEW_VALUES = 8
"""Largest number of values of a numeric attribute that is not smoothed."""
MOST_NOMINAL = 128
"""Largest number of buckets of a nominal attribute."""
POOLED_FROM = 64
"""Number of values of a nominal attribute above which rare values share a bucket; below it, denoising them is better.
From this number on, counts have a separate prior (`sparse_counts`), because few values may hold most records."""
_BUCKETS_PER_DIGIT = 7


@dataclass(frozen=True, eq=False)
class Bucketed:
    """One attribute's buckets, and the denoised counts of the values in them.

    Attributes:
        of_value: bucket of each code, shape (cardinality,).
        counts: denoised counts of the values, shape (cardinality,).
    """

    of_value: Codes
    counts: Cells

    @property
    def size(self) -> int:
        """Number of buckets."""
        return int(self.of_value.max()) + 1

    def added_up(self, values: Cells) -> Cells:
        """Sum counts of values, or other figures for values, to buckets."""
        return np.bincount(self.of_value, weights=values, minlength=self.size).astype(np.float64)

    def added_up_along(self, counts: Sums, axis: int) -> Sums:
        """Sum a table of counts by this attribute's values along an axis to buckets."""
        found = np.zeros((self.size, *np.delete(counts.shape, axis)), np.int64)
        np.add.at(found, self.of_value, np.moveaxis(counts, axis, 0))
        return np.moveaxis(found, 0, axis)


def bucketed(
    attribute: Attribute,
    noisy: NoisyMarginal | BinnedCounts,
    total: float,
    few: float,
    signal: float,
    *,
    equally: bool = False,
) -> Bucketed:
    """Put an attribute's values into buckets.

    Args:
        attribute: the attribute.
        noisy: its noisy counts, also of growing bins if it has these.
        total: the noisy number of records.
        few: a count that is barely distinguishable from the noise of a typical table.
        signal: total divided by the mean noise of a typical table.
        equally: see `smooth_value_counts`.
    """
    if isinstance(noisy, BinnedCounts):
        counts = tailed_counts(noisy, total)
    else:
        counts = value_counts(attribute, noisy, total, equally=equally)
    size = attribute.cardinality
    if size <= 2:
        return Bucketed(np.arange(size, dtype=np.uint16), counts)
    if attribute.is_ordered:
        most = max(2, round(_BUCKETS_PER_DIGIT * log10(max(signal, 10.0))))
        return Bucketed(_runs(counts, max(few, total / most)), counts)
    return Bucketed(_pooled(counts, few), counts)


def value_counts(attribute: Attribute, noisy: NoisyMarginal, total: float, *, equally: bool = False) -> Cells:
    """Denoised counts of an attribute's values, which sum to the noisy number of records."""
    if attribute.kind == "numeric" or attribute.cardinality < POOLED_FROM:
        return smooth_value_counts(attribute, noisy, total, equally=equally)
    return sparse_counts(noisy.values, float(noisy.deviation), total, laplace=noisy.noise == "laplace")


def smooth_value_counts(attribute: Attribute, noisy: NoisyMarginal, total: float, *, equally: bool = False) -> Cells:
    """The same by a distribution of lifts over uniform counts, or over those of the neighbours of a numeric value.

    Args:
        attribute: the attribute.
        noisy: its noisy counts.
        total: the noisy number of records.
        equally: whether the excess of the counts over the total is subtracted equally, before and after denoising,
            instead of in proportion to the counts.
    """
    values = noisy.values
    expected = np.full(values.shape, total / len(values))
    if attribute.is_ordered and len(values) > FEW_VALUES:
        padded = np.pad(values, 2, mode="edge")
        running = np.convolve(padded, np.full(5, 0.2), mode="valid")
        expected = np.maximum(running, total / len(values) / 50)
        expected *= total / expected.sum()
    if equally:
        known, even = values + (total - values.sum()) / len(values), np.ones(len(values))
        left = float(noisy.deviation) * sqrt(1 - 1 / len(values))
        counts = posterior_mean(known, expected, left, laplace=noisy.noise == "laplace")
        return nearest_with_total(counts, even, total)
    counts = posterior_mean(values, expected, noisy.deviation, laplace=noisy.noise == "laplace")
    if counts.sum() <= 0:
        counts = expected
    return np.asarray(counts * (total / counts.sum()))


def _runs(counts: Cells, least: float) -> Codes:
    """Merge neighbouring values until each bucket has enough records; a value with enough has its own bucket."""
    bucket = np.zeros(len(counts), np.uint16)
    current, held, begun = 0, 0.0, False
    for value, count in enumerate(counts.tolist()):
        if count >= least and begun and held >= least / 3:
            current, held = current + 1, 0.0
        bucket[value] = current
        begun = True
        held += count
        if held >= least:
            current, held, begun = current + 1, 0.0, False
    if begun and held < least / 3 and current > 0:
        bucket[bucket == current] = current - 1
    return bucket


def _pooled(counts: Cells, few: float) -> Codes:
    """One bucket per frequent value, up to the largest number of buckets, and one for all other values."""
    rare = (counts < few) & (len(counts) > POOLED_FROM)
    if len(counts) > MOST_NOMINAL:
        rank = np.argsort(np.argsort(-counts, kind="stable"), kind="stable")
        rare |= rank >= MOST_NOMINAL - 1
    if np.count_nonzero(rare) <= 1:
        return np.arange(len(counts), dtype=np.uint16)
    bucket = np.full(len(counts), np.count_nonzero(~rare), np.uint16)
    bucket[~rare] = np.arange(np.count_nonzero(~rare))
    return bucket
