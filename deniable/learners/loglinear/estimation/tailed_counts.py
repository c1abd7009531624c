"""Denoising of a number with growing bins, so that noise makes no tail, and a tail is not lost in noise.

The counts of bins, divided by the doublings that they span, are a chain: their logarithm bends little from one bin to
the next, and rarely much, and beyond either end it falls. Posterior means are computed exactly on a grid. Beyond the
last bin that noise alone does not explain, counts fall as those of a power law with a finite variance, until less than
one record is left. The values of a bin divide its count by a power law at first, then by running means of their own
noisy counts, and finally by these themselves. Only noisy values are used.
"""

from dataclasses import dataclass
from math import ceil, log, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Attribute
from deniable.learners.loglinear.estimation.empirical_bayes import posterior_mean
from deniable.measurements.growing_bins import GrowingBins, growing_bins
from deniable.measurements.noisy_tables import Cells
from deniable.models.noisy_marginals import EstimatedMarginal, NoisyMarginal

_RATIO = 1.3
"""Ratio of neighbouring counts on the grid."""
_WIDTH = 1 / 8
"""Standard deviation of each component, relative to its count."""
_LEAST = 1e-3
_OF_NOISE, _OF_RECORDS = 20.0, 1000.0
"""The grid begins at this fraction of the noise deviation, or of the records if that is smaller."""
_UP, _DOWN = 0.12, 0.5
"""Deviations of the bend of the logarithmic counts: up, as where a tail becomes heavier, and down, as where it ends."""
_SUDDEN, _SCALE = 0.02, 2.0
"""Weight and scale of the Cauchy law of sudden bends, as at a value that many have."""
_OUTWARD, _OUTWARD_SPREAD = -1.0, 0.5
"""Mean and deviation of the change of the logarithmic counts from the last bin but one to the last, on either side."""
_OTHER = 0.1
"""Weight of the Cauchy law of other changes there: a number may end at its most frequent value."""
_CERTAIN = 3.5
"""Number of noise deviations above which records are certain."""
_FALL, _FALL_TO_ZERO = 0.25, 0.5
"""Largest ratio of successive counts by doubling beyond the last certain one: away from zero, where a power law with
this ratio is the heaviest with a finite variance, and towards zero, where the density then is even."""
_CUT = 1.0
"""Number of records below which an end of the chain is empty."""
_WINDOWS = (125, 25, 5)
_FEWEST_WINDOWS = 4


@dataclass(frozen=True, eq=False)
class BinnedCounts:
    """Counts of growing bins from the two tables of an attribute.

    Attributes:
        bins: the bins.
        attributes: the attribute's column number.
        values: noisy counts of the values, shape (cardinality,).
        variance: variance of their noise.
        counts: the precision-weighted mean of the counts of bins and of the sums of their values, shape (bins,).
        variances: their variances, same shape.
    """

    bins: GrowingBins
    attributes: tuple[int, ...]
    values: Cells
    variance: float
    counts: Cells
    variances: Cells

    @classmethod
    def of(cls, attribute: Attribute, values: NoisyMarginal, binned: NoisyMarginal) -> "BinnedCounts":
        """Combine both tables.

        Args:
            attribute: the attribute, which has growing bins.
            values: noisy counts of its values.
            binned: noisy counts of its bins.
        """
        bins = growing_bins(attribute)
        assert bins is not None  # noqa: S101 - such an attribute alone has such a table
        variance = float(values.deviation) ** 2
        own, summed = 1 / float(binned.deviation) ** 2, 1 / (bins.sizes * variance)
        variances = 1 / (own + summed)
        counts = (binned.values * own + bins.added_up(values.values) * summed) * variances
        return cls(bins, values.attributes, values.values, variance, counts, variances)

    @property
    def of_bins(self) -> EstimatedMarginal:
        """The counts of the bins."""
        return self.over(self.bins.of_value)

    def over(self, groups: NDArray[np.integer]) -> EstimatedMarginal:
        """Estimated counts of groups of values.

        Args:
            groups: group of each value, numbered from 0, shape (cardinality,).
        """
        counts = np.bincount(groups, weights=self.consistent).astype(np.float64)
        return EstimatedMarginal(self.attributes, counts, np.sqrt(self._variances(groups)), float(self.variances.sum()))

    @property
    def consistent(self) -> Cells:
        """Least-squares estimates of the counts of values: each differs from its noisy count as all of its bin do."""
        bins = self.bins
        missed = (self.counts - bins.added_up(self.values)) / bins.sizes
        return np.asarray(self.values + missed[bins.of_value])

    def _variances(self, groups: NDArray[np.integer]) -> Cells:
        """Variances of sums of `consistent` over groups of values."""
        bins = self.bins
        members = np.zeros((int(groups.max()) + 1, bins.size))
        np.add.at(members, (groups, bins.of_value), 1.0)
        shared = (self.variances - bins.sizes * self.variance) / bins.sizes**2
        return np.asarray((members * self.variance + members**2 * shared).sum(axis=1))


def tailed_counts(known: BinnedCounts, total: float) -> Cells:
    """Estimated counts of an attribute's values, at least 0, which sum to a given total.

    Args:
        known: noisy counts of bins and values.
        total: the number of records, above 0.
    """
    bins = known.bins
    counts = bin_counts(known, total)
    expected = _filled(_power_law(bins, counts), bins, counts)
    numbers = bins.of_value < bins.chain
    for window in _WINDOWS:
        if _FEWEST_WINDOWS * window <= np.count_nonzero(numbers):
            level = _running(expected[numbers], window)
            noisy = _running(known.values[numbers], window)
            found = posterior_mean(noisy, level, sqrt(known.variance / window), laplace=False)
            expected[numbers] *= found / np.maximum(level, _LEAST)
            expected = _filled(expected, bins, counts)
    sizes = bins.sizes[bins.of_value]
    several = sizes > 1
    noisy = known.values + ((counts - bins.added_up(known.values)) / bins.sizes)[bins.of_value]
    deviations = np.sqrt(known.variance * (1 - 1 / sizes[several]))
    expected[several] = posterior_mean(noisy[several], expected[several], deviations, laplace=False)
    return _filled(expected, bins, counts)


def bin_counts(known: BinnedCounts, total: float) -> Cells:
    """Estimated counts of the bins, which sum to a given total; see `tailed_counts`."""
    chain = known.bins.chain
    counts = np.maximum(known.counts, 0.0)
    counts[:chain] = chain_mean(known.counts[:chain], known.variances[:chain], known.bins.spans, total)
    noisy, variances, spans = known.counts[:chain], known.variances[:chain], known.bins.spans
    has_negative = bool((known.bins.places < 0).any())
    _end(counts[:chain], noisy, variances, spans, _FALL)
    fall = _FALL if has_negative else _FALL_TO_ZERO
    _end(counts[:chain][::-1], noisy[::-1], variances[::-1], spans[::-1], fall)
    if chain < len(counts) and known.counts[chain] < sqrt(known.variances[chain]):
        counts[chain] = 0.0
    if counts.sum() <= 0:
        counts[:chain] = 1.0
        return np.asarray(counts * (total / counts.sum()))
    uncertain = known.variances * counts**2 / (counts**2 + known.variances)
    counts = np.maximum(counts + (total - counts.sum()) * uncertain / max(uncertain.sum(), _LEAST), 0.0)
    return np.asarray(counts * (total / counts.sum()))


def chain_mean(noisy: Cells, variances: Cells, spans: Cells, total: float) -> Cells:
    """Posterior means of the counts of a chain of bins; see the module.

    Args:
        noisy: noisy counts, shape (bins,).
        variances: variances of their noise, same shape.
        spans: the doublings that each bin spans, same shape; the chain is one of counts by doubling.
        total: the number of records, above 0.
    """
    least = max(min(sqrt(float(variances.min())) / _OF_NOISE, total / _OF_RECORDS), _LEAST)
    grid = least * _RATIO ** np.arange(max(ceil(log(max(total, least) / least) / log(_RATIO)), 0) + 1)
    within = (grid * _WIDTH) ** 2
    spread = within + variances[:, None]
    scores = -0.5 * (noisy[:, None] - grid) ** 2 / spread - 0.5 * np.log(spread)
    likely = np.exp(scores - scores.max(axis=1, keepdims=True))
    number = np.arange(len(grid))
    bends = number[:, None, None] - 2 * number[None, :, None] + number[None, None, :] + 2 * (len(grid) - 1)
    every = log(_RATIO) * np.arange(-2 * (len(grid) - 1), 2 * (len(grid) - 1) + 1)
    bent = np.diff(np.log(spans), 2)
    held = likely.copy()
    if len(noisy) > 1:
        # Tables of the states of a bin and of the one before it. Not by `@`: the order of summation in BLAS depends on
        # the processor and the number of threads.
        slopes = np.asarray(log(_RATIO) * (number[:, None] - number[None, :]), np.float64)
        begun, ended = (log(float(spans[a] / spans[b])) for a, b in ((0, 1), (-1, -2)))
        forward = [likely[0][:, None] * _law_of_slopes(slopes - begun)]
        for own, bend in zip(likely[1:-1], bent, strict=True):
            after = np.einsum("ij,ijk->jk", forward[-1] * own, _law_of_bends(every - bend)[bends])
            forward.append(after / after.max())
        backward = _law_of_slopes(slopes.T - ended)
        for place in range(len(noisy) - 1, 0, -1):
            joint = forward[place - 1] * likely[place] * backward
            held[place] = joint.sum(axis=0)
            if place > 1:
                moves = _law_of_bends(every - bent[place - 2])[bends]
                backward = np.einsum("jk,ijk->ij", likely[place] * backward, moves)
                backward /= backward.max()
        held[0] = joint.sum(axis=1)
    held /= held.sum(axis=1, keepdims=True)
    means = (noisy[:, None] * within + grid * variances[:, None]) / spread
    return np.asarray(np.maximum((held * means).sum(axis=1), 0.0))


def _end(counts: Cells, noisy: Cells, variances: Cells, spans: Cells, fall: float) -> None:
    """Let the counts fall beyond the last bin in which, or from which on, there are more records than noise explains.

    Args:
        counts: estimated counts, in whose last bins there may be noise alone, shape (bins,); changed.
        noisy: noisy counts, same shape.
        variances: their variances, same shape.
        spans: the doublings that each bin spans, same shape.
        fall: largest ratio of successive counts by doubling beyond that bin.
    """
    beyond = np.cumsum(noisy[::-1])[::-1] / np.sqrt(np.cumsum(variances[::-1])[::-1])
    certain = np.flatnonzero(np.maximum(beyond, noisy / np.sqrt(variances)) >= _CERTAIN)
    if not len(certain):
        return
    for place in range(int(certain[-1]) + 1, len(counts)):
        most = counts[place - 1] * fall ** ((spans[place] + spans[place - 1]) / 2) * spans[place] / spans[place - 1]
        counts[place] = min(counts[place], most)
    counts[np.cumsum(counts[::-1])[::-1] < _CUT] = 0.0


def _law_of_bends(bends: Cells) -> Cells:
    """Density of the bend of the logarithmic counts."""
    deviations = np.where(bends > 0, _UP, _DOWN)
    usual = sqrt(2 / pi) / (_UP + _DOWN) * np.exp(-0.5 * (bends / deviations) ** 2)
    return np.asarray((1 - _SUDDEN) * usual + _SUDDEN * _sudden(bends))


def _sudden(changes: Cells) -> Cells:
    """Density of sudden changes."""
    return np.asarray(1 / (pi * _SCALE * (1 + (changes / _SCALE) ** 2)))


def _law_of_slopes(slopes: Cells) -> Cells:
    """Density of the outward change of the logarithmic counts at an end."""
    usual = np.exp(-0.5 * ((slopes - _OUTWARD) / _OUTWARD_SPREAD) ** 2) / (sqrt(2 * pi) * _OUTWARD_SPREAD)
    return np.asarray((1 - _OTHER) * usual + _OTHER * _sudden(slopes))


def _power_law(bins: GrowingBins, counts: Cells) -> Cells:
    """Counts of values by a density that is a power law between the middles of bins; up to a factor in each bin."""
    distance = np.sign(bins.places) * np.log1p(np.abs(bins.places))
    held = np.flatnonzero(counts[: bins.chain] > 0)
    if len(held) == 0:
        return bins.widths.copy()
    widths = bins.added_up(bins.widths)
    middles = bins.added_up(distance * bins.widths) / np.maximum(widths, _LEAST)
    density = np.interp(distance, middles[held], np.log(counts[held] / widths[held]))
    return np.asarray(np.exp(density - density.max()) * bins.widths)


def _filled(found: Cells, bins: GrowingBins, counts: Cells) -> Cells:
    """Scale estimated counts of values to those of their bins; a bin of nothing is divided evenly."""
    sums = bins.added_up(found)
    even = (1 / bins.sizes)[bins.of_value]
    shares = np.where(sums[bins.of_value] > 0, found / np.where(sums > 0, sums, 1.0)[bins.of_value], even)
    return np.asarray(shares * counts[bins.of_value])


def _running(values: Cells, window: int) -> Cells:
    """Running means, edges repeated."""
    padded = np.pad(values, window // 2, mode="edge")
    running = np.cumsum(np.concatenate(([0.0], padded)))
    return np.asarray((running[window:] - running[:-window]) / window)
