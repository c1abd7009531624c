"""Counts of two conditions whose attributes were not counted together: the model's, with the certified bound.

The error of a count over k cells is at most k times the bound. Sampling error does not belong here (estimation).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deniable.inference.intervals import Interval
from deniable.measurements.certificate import Certificate
from deniable.measurements.noisy_tables import Cells

_PAIR = 2


@dataclass(frozen=True)
class CertifiedCount:
    """A count by the model.

    Attributes:
        estimate: the model's count.
        interval: what the certificate leaves.
    """

    estimate: float
    interval: Interval


class CertifiedCounts:
    """The pairs of attributes in a certificate, whose counts have intervals.

    Args:
        certificate: the certificate.
        buckets: bucket of each value of each attribute, by which the pairs were counted.
    """

    def __init__(self, certificate: Certificate, buckets: Sequence[NDArray[np.integer]]) -> None:
        self._certificate = certificate
        self._buckets = buckets
        self._tables = dict(zip(certificate.workload.pairs, certificate.model, strict=True))

    def count(self, of: Mapping[int, Cells], level: float) -> CertifiedCount | None:
        """The sum over the counted rows of a product of functions of two attributes.

        Args:
            of: by column number, the function's value for each value.
            level: confidence level, simultaneous for all counts.

        Returns:
            None if the certificate does not cover these attributes, or a function varies within a bucket.
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
        return CertifiedCount(value, Interval(value - reach, value + reach))
