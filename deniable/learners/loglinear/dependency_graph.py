"""The dependences between attributes in a log-linear network, and their strength, for display.

They are computed from released values only. Learning the network does not belong here.
"""

import numpy as np

from deniable.learners.cfs.structure import symmetrical_uncertainty
from deniable.learners.loglinear.estimation.counting import A_PAIR
from deniable.learners.loglinear.learning import Learnt
from deniable.measurements.noisy_tables import Cells
from deniable.models.graph import Graph
from deniable.models.loglinear.net import LoglinearNet


def dependences(net: LoglinearNet, learnt: Learnt) -> Graph:
    """The graph of the network, each edge with the symmetrical uncertainty of its denoised table."""
    strength = {
        table.attributes: _uncertainty(counts)
        for table, counts in zip(learnt.tables, learnt.glued.tables, strict=True)
        if counts.ndim == A_PAIR
    }
    parents = tuple(net.edges[i] for i in range(len(net.domain)))
    return Graph(
        parents=parents,
        order=tuple(net.order.tolist()),
        similarity=tuple(
            tuple(strength[min(child, other), max(child, other)] for other in those)
            for child, those in enumerate(parents)
        ),
    )


def _uncertainty(counts: Cells) -> float:
    return symmetrical_uncertainty(_entropy(counts.sum(axis=1)), _entropy(counts.sum(axis=0)), _entropy(counts))


def _entropy(counts: Cells) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())
