"""From a fitted model to an integer network.

It only rounds: learning the model and drawing records do not belong here.
"""

from math import log

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes, Domain
from deniable.learners.loglinear.estimation.counting import A_PAIR
from deniable.learners.loglinear.learning import Learnt
from deniable.measurements.noisy_tables import Cells
from deniable.models.loglinear.factors import STEPS, WITHIN, Logs, LogTable
from deniable.models.loglinear.matching import WHOLE, PairTable
from deniable.models.loglinear.net import LARGEST_LOG, LoglinearNet

_LEAST_SHARE = 1e-12


def to_network(domain: Domain, learnt: Learnt) -> LoglinearNet:
    """Round a model's logarithms to multiples of 2^-12 bit, and the values' shares of their buckets to 2^-30."""
    glued = learnt.glued
    factors = []
    for attribute, own in enumerate(glued.factors):
        size = len(glued.margins[attribute])
        share = np.maximum(glued.margins[attribute] / glued.total, _LEAST_SHARE)
        tables = [LogTable((), _logs(np.log(share)))]
        for factor in own:
            shape = (*(len(glued.margins[parent]) for parent in factor.parents), size)
            tables.append(LogTable(factor.parents, _logs(factor.weights).reshape(shape)))
        factors.append(tuple(tables))
    counts = [own.counts[None, :] for own in learnt.attributes]
    guides: list[int | None] = [None] * len(domain)
    for guide in learnt.guides:
        guides[guide.attribute], counts[guide.attribute] = guide.guide, guide.counts
    buckets = tuple(own.of_value for own in learnt.attributes)
    return LoglinearNet(
        domain=domain,
        order=np.asarray(glued.order, np.int64),
        buckets=buckets,
        guides=tuple(guides),
        within=tuple(within_buckets(bucket, own) for bucket, own in zip(buckets, counts, strict=True)),
        factors=tuple(factors),
        tables=tuple(
            PairTable(table.attributes, np.rint(counts * (WHOLE / counts.sum())).astype(np.int64))
            for table, counts in zip(learnt.tables, glued.tables, strict=True)
            if counts.ndim == A_PAIR
        ),
    )


def _logs(natural: Cells) -> Logs:
    steps = np.rint(natural * (STEPS / log(2)))
    return np.clip(steps, -LARGEST_LOG, LARGEST_LOG).astype(np.int32)


def within_buckets(bucket: Codes, counts: Cells) -> NDArray[np.int64]:
    """Shares of the values in their bucket, as integers that sum to 2^30, by rounding running sums.

    Args:
        bucket: bucket of each value, shape (cardinality,).
        counts: counts of the values in each row, shape (rows, cardinality); if a bucket is empty in a row, its values
            get equal shares.

    Returns:
        Weights of the same shape.
    """
    weights = np.zeros(counts.shape, np.int64)
    for own in range(int(bucket.max()) + 1):
        values = np.flatnonzero(bucket == own)
        held = np.maximum(counts[:, values], 0.0)
        held[held.sum(axis=1) <= 0] = 1.0
        running = np.cumsum(held, axis=1)
        ends = np.rint(running / running[:, -1:] * WITHIN).astype(np.int64)
        weights[:, values] = np.diff(ends, axis=1, prepend=0)
    return weights
