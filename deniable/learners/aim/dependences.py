"""The dependences between attributes in the model, and their strength, for display; from the public model alone."""

from math import fsum, log2

import numpy as np

from deniable.learners.cfs.structure import symmetrical_uncertainty
from deniable.models.graph import Graph
from deniable.models.graphical.clique_tables import Masses
from deniable.models.graphical.junction_tree_net import JunctionTreeNet

_DIGITS = 6


def dependences(net: JunctionTreeNet) -> Graph:
    """The graph of the model, each edge with the symmetrical uncertainty of its pair."""
    strength: dict[tuple[int, int], float] = {}
    for clique in net.cliques:
        own = (*clique.separator, *clique.new)
        for place, child in enumerate(clique.new, len(clique.separator)):
            for axis, parent in enumerate(own[:place]):
                others = tuple(other for other in range(len(own)) if other not in (axis, place))
                strength[child, parent] = _uncertainty(clique.masses.sum(axis=others))
    parents = net.parents
    m = len(net.domain)
    return Graph(
        parents=tuple(parents[i] for i in range(m)),
        order=tuple(net.order.tolist()),
        similarity=tuple(tuple(strength[i, parent] for parent in parents[i]) for i in range(m)),
    )


def _uncertainty(pair: Masses) -> float:
    entropies = (_entropy(each) for each in (pair.sum(axis=0), pair.sum(axis=1), pair))
    # Logarithms on two machines differ in the last digits.
    return round(symmetrical_uncertainty(*entropies), _DIGITS)


def _entropy(masses: Masses) -> float:
    total = int(masses.sum())
    held = np.asarray(masses).ravel()
    return -fsum(mass / total * log2(mass / total) for mass in held[held > 0].tolist())
