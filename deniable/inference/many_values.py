"""The counts of an attribute with very many values, as deviations from their mean.

Contrast matrices would have the square of that number of entries. They are not needed: a table's noise has the same
variance for all values, so that its information about differences between values is uncorrelated with that about their
sum, and exchangeable. Several tables are averaged by precision. This covers the attribute alone; in tables with other
attributes it is summed over. Sums do not belong here (system).

Counts of growing bins determine a total of amounts far better than those of values do, because a sum of many values has
the noise of all of them. Both tables of a number are unbiased, and its bins are public; again the number alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from deniable.foundation.domain import Attribute
from deniable.measurements.growing_bins import GrowingBins, growing_bins
from deniable.measurements.noisy_tables import Cells, MeasuredTable


@dataclass(frozen=True, eq=False)
class ManyValues:
    """The counts of an attribute's values, minus their mean.

    Attributes:
        attribute: its column number.
        counts: the estimated counts minus their mean, shape (values,).
        variance: a linear function whose coefficients sum to 0 has this variance times the sum of their squares.
        tables: the tables that the estimates are computed from, with the weight of each.
    """

    attribute: int
    counts: Cells
    variance: float
    tables: tuple[tuple[MeasuredTable, float], ...]

    @classmethod
    def of(cls, tables: Sequence[MeasuredTable], attribute: int) -> "ManyValues | None":
        """The estimates for an attribute's values; None if no table has individual values.

        Args:
            tables: all tables.
            attribute: column number of the attribute.
        """
        own = [table for table in tables if attribute in table.by_values and not table.differences]
        if not own:
            return None
        found, precisions = [], []
        for table in own:
            others = tuple(axis for axis, i in enumerate(table.attributes) if i != attribute)
            counts = table.values.sum(axis=others)
            found.append(counts - counts.mean())
            precisions.append(1 / (table.variance * prod(table.values.shape[axis] for axis in others)))
        shares = [precision / sum(precisions) for precision in precisions]
        together = np.asarray(sum(share * counts for share, counts in zip(shares, found, strict=True)))
        return cls(attribute, together, 1 / sum(precisions), tuple(zip(own, shares, strict=True)))

    def value(self, own: Cells) -> float:
        """The estimate of a linear function whose coefficients sum to 0."""
        return float((own * self.counts).sum())

    def covariance(self, one: Cells, other: Cells) -> float:
        """The covariance of the estimates of two such functions."""
        return self.variance * float((one * other).sum())

    def weights(self, own: Cells) -> Iterator[tuple[MeasuredTable, Cells]]:
        """The weight of each entry of each table in the estimate of such a function."""
        for table, share in self.tables:
            axis = table.attributes.index(self.attribute)
            shape = [-1 if each == axis else 1 for each in range(len(table.attributes))]
            yield table, np.broadcast_to(share * own.reshape(shape), table.values.shape)

    @property
    def sums(self) -> tuple[Cells, Cells]:
        """Cumulative counts of the first 1, 2 ... values, minus multiples of the mean: estimates and variances."""
        size = len(self.counts)
        numbers = np.arange(1, size + 1)
        return np.cumsum(self.counts), self.variance * numbers * (1 - numbers / size)


@dataclass(frozen=True, eq=False)
class TailedValues:
    """Estimates from the two tables of a number.

    Attributes:
        attribute: its column number.
        bins: its growing bins.
        by_values: the table of its values.
        by_bins: the table of its bins.
    """

    attribute: int
    bins: GrowingBins
    by_values: MeasuredTable
    by_bins: MeasuredTable

    @classmethod
    def of(cls, table: MeasuredTable, attribute: Attribute) -> "TailedValues | None":
        """The estimates for a single attribute; None if its bins were not counted.

        Args:
            table: its table by values.
            attribute: the attribute.
        """
        by_bins, bins = table.of_bins, growing_bins(attribute)
        if by_bins is None or bins is None:
            return None
        return cls(table.attributes[0], bins, table, by_bins)

    def value(self, own: Cells) -> float:
        """The estimate of a linear function whose coefficients sum to 0."""
        return float(sum((weights * table.values).sum() for table, weights in self.weights(own)))

    def covariance(self, one: Cells, other: Cells) -> float:
        """The covariance of the estimates of two such functions."""
        pairs = zip(self.weights(one), self.weights(other), strict=True)
        return float(sum(table.variance * (first * second).sum() for (table, first), (_, second) in pairs))

    def weights(self, own: Cells) -> Iterator[tuple[MeasuredTable, Cells]]:
        """The weight of each entry of each table in the estimate of such a function.

        A bin's counts by themselves and the sum of its values have variances u and w a; its estimate weighs them by
        their precisions, and the mean coefficient of its values is moved from them to it.
        """
        bins, a, u = self.bins, self.by_values.variance, self.by_bins.variance
        share = bins.sizes * a / (bins.sizes * a + u)
        moved = bins.added_up(own) / bins.sizes * share
        yield self.by_values, own - moved[bins.of_value]
        yield self.by_bins, moved
