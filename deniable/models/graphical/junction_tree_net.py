"""A graphical model in integers, for sampling and scoring: the distribution of each clique given its separator.

The cliques are ordered such that each separator belongs to an earlier clique. The new attributes of a clique are drawn
in sequence, each given the values of the separator and of those before it. The model is thus a product of conditional
tables along an order of the attributes, like a Bayesian network, and supports the same operations: in particular, the
first attributes of a record have a marginal probability.

A clique is stored as integer masses, proportional to expected counts. All conditional probabilities follow from them
in integers, so that sampler and density agree exactly on every machine. Fitting does not belong here.
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.errors import InvalidInput
from deniable.kernels import kernel
from deniable.models.bayes_net import BayesNet, NetArrays, Weights, draw_value, table_row
from deniable.models.document_formats import JUNCTION_TREE
from deniable.models.graph import Graph
from deniable.models.graphical.clique_tables import CliqueTable, cliques_in, weights_of
from deniable.models.graphical.graphical_model import GraphicalModel
from deniable.models.loglinear.stratified_sampling import (
    PLACES,
    TOGETHER,
    Strata,
    spread_words,
)
from deniable.models.sequential_model import SequentialModel, places, require_format, starts

MASS = 2**31
"""Approximate sum of the masses of a clique."""
_MOST_MASS = 2**32
"""Upper bound on the sum of a clique's masses, so that 2^32 times it fits in 64 bits."""
_HALF_MASS_BITS = 31


@dataclass(frozen=True, eq=False)
class JunctionTreeNet(SequentialModel):
    """A joint distribution on a junction tree: Pr{x} = prod over cliques of Pr{new attributes | separator}.

    Attributes:
        domain: the table's domain, m attributes.
        cliques: the cliques, each after those to which its separator belongs.
    """

    domain: Domain
    cliques: tuple[CliqueTable, ...]

    def __post_init__(self) -> None:
        """Refuse an invalid model: a separator not drawn before its clique, or masses of another shape or total 0."""
        places([i for clique in self.cliques for i in clique.new], len(self.domain))
        drawn: set[int] = set()
        for clique in self.cliques:
            names = ", ".join(self.domain.names[i] for i in (*clique.separator, *clique.new))
            if not set(clique.separator) <= drawn or len(set(clique.separator)) < len(clique.separator):
                raise InvalidInput(f"the separator of the clique of {names} must be drawn before it; learn it again.")
            shape = tuple(self.domain.cardinalities[i] for i in (*clique.separator, *clique.new))
            if clique.masses.shape != shape or bool((clique.masses < 0).any()):
                raise InvalidInput(f"the clique of {names} must have masses of shape {shape}, none below 0.")
            # Each mass is below the bound, so that the sum over the largest possible number of cells does not overflow.
            if int(clique.masses.max()) >= _MOST_MASS or not 0 < int(clique.masses.sum()) < _MOST_MASS:
                raise InvalidInput(f"the masses of the clique of {names} must sum to more than 0 and less than 2^32.")
            drawn |= set(clique.new)

    @classmethod
    def of(cls, domain: Domain, model: GraphicalModel) -> "JunctionTreeNet":
        """Round the expected counts of a graphical model to masses; possible cells have a mass of at least 1."""
        sizes = domain.cardinalities
        cliques = []
        for table, own, separator in zip(model.tables, model.tree.cliques, model.tree.separators, strict=True):
            # Attributes with few values come first, because a seed's copied attributes do.
            new = tuple(sorted(set(own) - set(separator), key=lambda i: (sizes[i], i)))
            counts = np.transpose(table, [own.index(i) for i in (*separator, *new)])
            masses = np.rint(counts / model.total * MASS).astype(np.int64)
            cliques.append(CliqueTable(separator, new, np.ascontiguousarray(np.maximum(masses, counts > 0))))
        return cls(domain, tuple(cliques))

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Column number of the attribute at each position, shape (m,)."""
        return np.asarray([i for clique in self.cliques for i in clique.new], np.int64)

    @property
    def parents(self) -> dict[int, tuple[int, ...]]:
        """The attributes, by column number, on which each attribute's conditional distribution depends."""
        return {
            i: (*clique.separator, *clique.new[:place]) for clique in self.cliques for place, i in enumerate(clique.new)
        }

    @cached_property
    def as_network(self) -> BayesNet:
        """The same distribution as a Bayesian network without bucketization of parents."""
        finest = replace(
            self.domain,
            attributes=tuple(replace(each, buckets=tuple(range(each.cardinality))) for each in self.domain.attributes),
        )
        weights: dict[int, Weights] = {
            i: weights_of(clique.of(place)) for clique in self.cliques for place, i in enumerate(clique.new)
        }
        m = len(self.domain)
        graph = Graph(tuple(self.parents[i] for i in range(m)), tuple(self.order.tolist()), ((),) * m)
        return BayesNet(finest, graph, tuple(weights[i] for i in range(m)))

    @property
    def arrays(self) -> NetArrays:
        """The network as flat arrays, positions in its order."""
        return self.as_network.arrays

    def fill(self, words: NDArray[np.uint32], records: Codes) -> None:
        """Fill records, positions in order, from one word per value."""
        self.as_network.fill(words, records)

    def sample_evenly(self, words: NDArray[np.uint32]) -> Codes:
        """Draw stratified records, which vary less than independent ones; see `SequentialModel`."""
        m = len(self.domain)
        records = np.empty((len(words) // m, m), np.uint16)
        _sample_evenly(self.arrays, self.strata, words, records)
        return self.in_columns(records)

    @cached_property
    def strata(self) -> Strata:
        """Strata by as many parents as the places allow, strongest dependence first."""
        sizes, place = self.domain.cardinalities, places(self.order.tolist(), len(self.domain))
        parents: list[list[int]] = []
        strides: list[int] = []
        rooms: list[int] = []
        for clique in self.cliques:
            for number in range(len(clique.new)):
                kept, cells = [], 1
                for parent in _by_dependence(clique, number):
                    if cells * sizes[parent] <= PLACES:
                        kept.append(parent)
                        cells *= sizes[parent]
                rooms.append(PLACES // cells)
                for parent in kept:
                    cells //= sizes[parent]
                    strides.append(rooms[-1] * cells)
                parents.append([place[parent] for parent in kept])
        return Strata(
            room=np.asarray(rooms, np.int64),
            parent_start=starts([len(own) for own in parents], closed=True),
            parent=np.asarray([parent for own in parents for parent in own], np.int64),
            stride=np.asarray(strides, np.int64),
        )

    def document(self) -> dict[str, Any]:
        """The model in names and integers, ready for JSON."""
        names = self.domain.names
        return {
            "format": JUNCTION_TREE,
            "cliques": [
                {
                    "separator": [names[i] for i in clique.separator],
                    "attributes": [names[i] for i in clique.new],
                    "masses": clique.masses.ravel().tolist(),
                }
                for clique in self.cliques
            ],
        }

    @classmethod
    def from_document(cls, domain: Domain, document: Mapping[str, Any]) -> "JunctionTreeNet":
        """The model that a document describes.

        Raises:
            InvalidInput: it has another format, or does not describe a model over this domain.
        """
        require_format(document, JUNCTION_TREE)
        return cls(domain, cliques_in(domain, document))


def _by_dependence(clique: CliqueTable, place: int) -> list[int]:
    """The parents of a new attribute, with the distance of each pair from independence, computed in integers."""
    before = (*clique.separator, *clique.new[:place])
    child = len(before)
    found = []
    for axis, parent in enumerate(before):
        others = tuple(other for other in range(clique.masses.ndim) if other not in (axis, child))
        pair = clique.masses.sum(axis=others)
        independent = pair.sum(axis=1, keepdims=True) * (pair.sum(axis=0) >> 1)
        gap = np.abs(pair * (pair.sum() >> 1) - independent) >> _HALF_MASS_BITS
        found.append((-int(gap.sum()), parent))
    return [parent for _, parent in sorted(found)]


@kernel
def _sample_evenly(net, strata, words, records):
    """Fill records from one word per value; the upper halves of a position's words are scrambled within strata."""
    rows, m = records.shape
    for begin in range(0, rows, TOGETHER):
        some = min(TOGETHER, rows - begin)
        first = np.empty(some, np.int32)
        own, moved = np.empty(some, np.uint32), np.empty(some, np.uint32)
        for position in range(m):
            for r in range(some):
                place = 0
                for p in range(strata.parent_start[position], strata.parent_start[position + 1]):
                    place += strata.stride[p] * records[begin + r, strata.parent[p]]
                first[r] = place
                own[r] = words[(begin + r) * m + position]
            spread_words(first, strata.room[position], own, moved)
            for r in range(some):
                record = records[begin + r]
                record[position] = draw_value(net, position, table_row(net, position, record), moved[r])
