"""What the tables of several attributes tell apart: buckets of values that hold enough records to be told from noise.

Only noisy counts enter. What is counted with the buckets does not belong here.
"""

from dataclasses import dataclass
from math import log10

import numpy as np

from deniable.foundation.domain import Attribute, Codes
from deniable.learners.loglinear.estimation.empirical_bayes import posterior_mean
from deniable.models.noisy_marginals import Cells, NoisyMarginal, Sums

FEW_VALUES = 8
"""Values up to which a numeric attribute's neighbours say nothing of each other."""
MOST_NOMINAL = 128
"""Buckets that a nominal attribute may have."""
POOLED_FROM = 64
"""Values of a nominal attribute from which on rare ones share a bucket; below, the denoiser does better with them."""
_BUCKETS_PER_DIGIT = 7


@dataclass(frozen=True, eq=False)
class Bucketed:
    """One attribute's buckets and what is known of the values in them.

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
        """Counts of values, or anything else of them, added up to buckets."""
        return np.bincount(self.of_value, weights=values, minlength=self.size).astype(np.float64)

    def added_up_along(self, counts: Sums, axis: int) -> Sums:
        """A table of counts by this attribute's values along an axis, added up to buckets."""
        found = np.zeros((self.size, *np.delete(counts.shape, axis)), np.int64)
        np.add.at(found, self.of_value, np.moveaxis(counts, axis, 0))
        return np.moveaxis(found, 0, axis)


def bucketed(
    attribute: Attribute, noisy: NoisyMarginal, total: float, few: float, signal: float, *, laplace: bool
) -> Bucketed:
    """Put an attribute's values into buckets.

    Args:
        attribute: the attribute.
        noisy: its noisy counts.
        total: the noisy number of records.
        few: a count that is hardly told from noise in a typical table.
        signal: total over the mean noise of a typical table.
        laplace: whether the noise is Laplace.
    """
    counts = value_counts(attribute, noisy, total, laplace=laplace)
    size = attribute.cardinality
    if size <= 2:
        return Bucketed(np.arange(size, dtype=np.uint16), counts)
    if attribute.kind == "numeric":
        most = max(2, round(_BUCKETS_PER_DIGIT * log10(max(signal, 10.0))))
        return Bucketed(_runs(counts, max(few, total / most)), counts)
    return Bucketed(_pooled(counts, few), counts)


def value_counts(attribute: Attribute, noisy: NoisyMarginal, total: float, *, laplace: bool) -> Cells:
    """Denoised counts of an attribute's values, adding up to the noisy number of records."""
    values = noisy.values
    expected = np.full(values.shape, total / len(values))
    if attribute.kind == "numeric" and len(values) > FEW_VALUES:
        padded = np.pad(values, 2, mode="edge")
        running = np.convolve(padded, np.full(5, 0.2), mode="valid")
        expected = np.maximum(running, total / len(values) / 50)
        expected *= total / expected.sum()
    counts = posterior_mean(values, expected, noisy.deviation, laplace=laplace)
    if counts.sum() <= 0:
        counts = expected
    return np.asarray(counts * (total / counts.sum()))


def _runs(counts: Cells, least: float) -> Codes:
    """Neighbouring values together until they hold enough; a value that alone holds enough stands alone."""
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
    """Each frequent value for itself, all rare ones in one bucket; so are those beyond the most that there may be."""
    rare = (counts < few) & (len(counts) > POOLED_FROM)
    if len(counts) > MOST_NOMINAL:
        rank = np.argsort(np.argsort(-counts, kind="stable"), kind="stable")
        rare |= rank >= MOST_NOMINAL - 1
    if np.count_nonzero(rare) <= 1:
        return np.arange(len(counts), dtype=np.uint16)
    bucket = np.full(len(counts), np.count_nonzero(~rare), np.uint16)
    bucket[~rare] = np.arange(np.count_nonzero(~rare))
    return bucket
