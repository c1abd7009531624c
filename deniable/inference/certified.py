"""Counts of two conditions whose attributes were not counted together, by the model, with the certificate's bound.

A count of k cells is off by no more than k times the bound. Sampling does not belong here (estimation).
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from deniable.inference.bounds import MeasuredCount
from deniable.inference.intervals import Interval
from deniable.measurements.certificate import Certificate
from deniable.measurements.noisy_tables import Cells

_PAIR = 2


class CertifiedCounts:
    """The pairs of a certificate, as counts that have an interval.

    Args:
        certificate: the certificate.
        buckets: bucket of each value of each attribute, by which its pairs were counted.
    """

    def __init__(self, certificate: Certificate, buckets: Sequence[NDArray[np.integer]]) -> None:
        self._certificate = certificate
        self._buckets = buckets
        self._tables = dict(zip(certificate.workload.pairs, certificate.model, strict=True))

    def count(self, of: Mapping[int, Cells], level: float) -> MeasuredCount | None:
        """The number of counted rows for which a product of functions of two attributes is summed.

        Args:
            of: by column number, the function's value for each value.
            level: the probability with which the interval covers, of all counts at once.

        Returns:
            None if the certificate is not about these attributes, or a function divides a bucket.
        """
        pair = tuple(sorted(of))
        if len(pair) != _PAIR or (pair[0], pair[1]) not in self._tables:
            return None
        weights = []
        for i in pair:
            first = np.unique(self._buckets[i], return_index=True)[1]
            own = of[i][first]
            if not np.array_equal(own[self._buckets[i]], of[i]):
                return None
            weights.append(own)
        cells = np.outer(*weights)
        value = float((cells * self._tables[pair[0], pair[1]]).sum())
        reach = float(np.abs(cells).sum()) * self._certificate.bound(level)
        return MeasuredCount(value, Interval(value - reach, value + reach))
