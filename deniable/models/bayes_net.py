"""A Bayesian network over codes: resample a seed, score a record, in integers.

Every probability is a multiple of 2^-32, so that sampler and density agree exactly on every machine. Learning the
probabilities and testing candidates do not belong here.

Source: Bindschaedler, Shokri, Gunter 2017, section 3.1 and 3.2 (eq. 2, 3 and 7).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.tables import configuration_count, configuration_strides
from deniable.kernels import inner_kernel, kernel
from deniable.models.document_formats import BAYES_NET
from deniable.models.graph import Graph
from deniable.models.implementations import implements
from deniable.models.sequential_kernels import draw_column, draw_next, factor_of, shares_of
from deniable.models.sequential_model import SequentialModel, places, require_format, starts

UNIT = 2**32
"""Sum of the weights of one configuration."""

Weights = NDArray[np.uint64]

# Largest number of slots in an attribute's guide; a larger one would not stay in the processor's cache.
_MAX_GUIDE = 1 << 17


class NetArrays(NamedTuple):
    """A network as flat arrays for compiled code. Attributes are in topological order, at positions 0..m-1.

    Attributes:
        cardinality: values of the attribute at each position, shape (m,).
        parent_start: start of each position's parents in `parent` and `stride`, shape (m + 1,).
        parent: positions of the parents.
        stride: stride of a parent's bucket in the configuration number.
        bucket_start: start of each position's buckets in `bucket`, shape (m,).
        bucket: bucket of each value.
        table_start: start of each position's table in `cumulative` and `factor`, shape (m,).
        cumulative: running sums of each configuration's weights; the last is 2^32.
        last: the last word of each value's share, one less than its running sum; not read where that is 0.
        factor: the weights as probabilities.
        guide_shift: number of low bits of a word that each position's guide ignores, shape (m,).
        guide_start: start of each position's guide, shape (m,).
        guide: by configuration and leading bits of a word, the first value that such a word may select.
    """

    cardinality: NDArray[np.int64]
    parent_start: NDArray[np.int64]
    parent: NDArray[np.int64]
    stride: NDArray[np.int64]
    bucket_start: NDArray[np.int64]
    bucket: NDArray[np.int64]
    table_start: NDArray[np.int64]
    cumulative: NDArray[np.uint64]
    last: NDArray[np.uint32]
    factor: NDArray[np.float64]
    guide_shift: NDArray[np.int64]
    guide_start: NDArray[np.int64]
    guide: NDArray[np.uint16]


@numba.njit(nogil=True, cache=True, inline="always")
def table_row(net, position, record):
    """Start of an attribute's weights, given the earlier values in `record`."""
    configuration = 0
    for p in range(net.parent_start[position], net.parent_start[position + 1]):
        parent = net.parent[p]
        configuration += net.stride[p] * net.bucket[net.bucket_start[parent] + record[parent]]
    return net.table_start[position] + configuration * net.cardinality[position]


@numba.njit(nogil=True, cache=True, inline="always")
def draw_value(net, position, row, word):
    """The value whose share of [0, 2^32) contains the word: the first whose running sum exceeds it."""
    low = 0
    high = net.cardinality[position] - 1
    while low < high:
        middle = (low + high) >> 1
        if np.uint64(word) < net.cumulative[row + middle]:
            high = middle
        else:
            low = middle + 1
    return low


@implements(draw_next, NetArrays)
@inner_kernel
def _draw_alone(net, position, record, word):
    return draw_value(net, position, table_row(net, position, record), word)


@implements(factor_of, NetArrays)
@inner_kernel
def _factor_alone(net, position, record):
    return net.factor[table_row(net, position, record) + record[position]]


@implements(shares_of, NetArrays)
@inner_kernel
def _shares(net, position, record, shares):
    row = table_row(net, position, record)
    before = np.uint64(0)
    for value in range(net.cardinality[position]):
        shares[value] = np.int64(net.cumulative[row + value] - before)
        before = net.cumulative[row + value]


@implements(draw_column, NetArrays)
@inner_kernel
def _draw_column(net, position, block, words, live, scored):
    """See `draw_column`: `draw_value` for each attempt, starting at the guide's entry for the word's leading bits.

    The arrays are unpacked from the tuples once: otherwise numba counts references to them at every attempt.
    """
    records, factors, copies, ats = block.records, block.factors[position], block.copied, block.at
    values = records[position]
    parents, strides, buckets, bucket_start = net.parent, net.stride, net.bucket, net.bucket_start
    one = np.uint64(1)
    card = np.uint64(net.cardinality[position])
    rows = np.zeros(live, np.uint32)
    for p in range(net.parent_start[position], net.parent_start[position + 1]):
        stride, others = np.uint32(strides[p]), records[parents[p]]
        bucket = buckets[bucket_start[parents[p]] :]
        for i in range(live):
            rows[i] += stride * np.uint32(bucket[np.uint64(others[i])])
    shift = np.uint64(net.guide_shift[position])
    last = net.last[net.table_start[position] :]
    factor = net.factor[net.table_start[position] :]
    guide = net.guide[net.guide_start[position] :]
    bits = np.uint64(32) - shift
    for i in range(live):
        # Attempts that copy the value also have a word, unused, which avoids a branch and its misprediction.
        word = words[np.uint64(max(ats[i] + position, 0))]
        row = np.uint64(rows[i])
        first = row * card
        place = first + np.uint64(guide[(row << bits) + np.uint64(np.uint64(word) >> shift)])
        # Rarely more than one step further; the first step has no branch.
        place += np.uint64(word > last[place])
        while word > last[place]:
            place += one
        drawn = np.uint16(place - first)
        value = values[i] ^ (values[i] ^ drawn) * np.uint16(position >= copies[i])
        values[i] = value
        if scored:
            factors[i] = factor[first + np.uint64(value)]


@kernel
def _sample(net, words, records):
    """Fill records from one word per value, positions in order."""
    rows, m = records.shape
    for r in range(rows):
        record = records[r]
        for position in range(m):
            row = table_row(net, position, record)
            record[position] = draw_value(net, position, row, words[r * m + position])


@dataclass(frozen=True, eq=False)
class BayesNet(SequentialModel):
    """A product of conditional probability tables along a graph: Pr{x} = prod_i Pr{x_i | bkt(x_parents)}.

    Attributes:
        domain: the table's domain, m attributes.
        graph: the dependency graph and its topological order.
        weights: for each attribute the weights out of 2^32, shape (configurations, |x_i|), with row sums of 2^32.
        has_own_buckets: whether the buckets are the network's own, which the document then states, not the schema's.
    """

    domain: Domain
    graph: Graph
    weights: tuple[Weights, ...]
    has_own_buckets: bool = False

    def __post_init__(self) -> None:
        """Refuse an invalid network: children ordered before parents, tables of another shape or sum."""
        place = places(self.graph.order, len(self.domain))
        for child, parents in enumerate(self.graph.parents):
            name = self.domain.names[child]
            if any(place[parent] >= place[child] for parent in parents):
                msg = f"the parents of {name} must come before it in the order, got one after it; order it again."
                raise InvalidInput(msg)
            shape = (configuration_count(self.domain, parents), self.domain.cardinalities[child])
            table = self.weights[child]
            if table.shape != shape or bool((table.sum(axis=1) != UNIT).any()):
                msg = f"the table of {name} must have shape {shape} and rows that add up to 2^32; learn it again."
                raise InvalidInput(msg)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Column number of the attribute at each position, shape (m,)."""
        return np.asarray(self.graph.order, np.int64)

    @cached_property
    def arrays(self) -> NetArrays:
        """The network as flat arrays, positions in topological order."""
        attributes = [self.domain.attributes[i] for i in self.graph.order]
        parents = [self.graph.parents[i] for i in self.graph.order]
        place = places(self.graph.order, len(self.domain))
        strides = [configuration_strides(self.domain, those) for those in parents]
        tables = [self.weights[i] for i in self.graph.order]
        sums = [np.cumsum(table, axis=1, dtype=np.uint64) for table in tables]
        bits = [_guide_bits(table) for table in tables]
        guides = [_guide(running, those) for running, those in zip(sums, bits, strict=True)]
        return NetArrays(
            cardinality=np.asarray([attribute.cardinality for attribute in attributes], np.int64),
            parent_start=starts([len(those) for those in parents], closed=True),
            parent=np.asarray([place[parent] for those in parents for parent in those], np.int64),
            stride=np.asarray([stride for those in strides for stride in those], np.int64),
            bucket_start=starts([attribute.cardinality for attribute in attributes]),
            bucket=np.concatenate([attribute.bucket_of for attribute in attributes]).astype(np.int64),
            table_start=starts([table.size for table in tables]),
            cumulative=np.concatenate([running.ravel() for running in sums]),
            last=np.concatenate([(running.ravel() - np.uint64(1)).astype(np.uint32) for running in sums]),
            factor=np.concatenate([table.ravel() for table in tables]).astype(np.float64) / UNIT,
            guide_shift=np.asarray([32 - those for those in bits], np.int64),
            guide_start=starts([guide.size for guide in guides]),
            guide=np.concatenate([guide.ravel() for guide in guides]),
        )

    def fill(self, words: NDArray[np.uint32], records: Codes) -> None:
        """Fill records, positions in order, from one word per value."""
        _sample(self.arrays, words, records)

    def document(self) -> dict[str, Any]:
        """The network in names and integers, ready for JSON."""
        own = {each.name: list(each.buckets) for each in self.domain.attributes}
        return {
            "format": BAYES_NET,
            "unit": UNIT,
            **({"buckets": own} if self.has_own_buckets else {}),
            "graph": self.graph.document(self.domain),
            "weights": {name: table.tolist() for name, table in zip(self.domain.names, self.weights, strict=True)},
        }

    @classmethod
    def from_document(cls, domain: Domain, document: Mapping[str, Any]) -> "BayesNet":
        """The network that a document describes.

        Raises:
            InvalidInput: it has another format, or does not describe a network over this domain.
        """
        require_format(document, BAYES_NET)
        weights, own = document["weights"], document.get("buckets")
        if own is not None:
            each = (replace(attribute, buckets=tuple(own[attribute.name])) for attribute in domain.attributes)
            domain = replace(domain, attributes=tuple(each))
        return cls(
            has_own_buckets=own is not None,
            domain=domain,
            graph=Graph.from_document(domain, document["graph"]),
            weights=tuple(np.asarray(weights[name], np.uint64) for name in domain.names),
        )


def _guide_bits(table: Weights) -> int:
    """Number of leading bits that index a guide: several slots per value, fewer if there are many rows."""
    rows, values = table.shape
    return max(min(int(values).bit_length() + 2, (_MAX_GUIDE // int(rows)).bit_length() - 1), 0)


@kernel
def _fill_guide(sums, bits, guide):
    """For each row and each leading part of a word, the first value whose running sum exceeds such words."""
    for row in range(len(sums)):
        value = 0
        for leading in range(1 << bits):
            while sums[row, value] <= np.uint64(leading) << np.uint64(32 - bits):
                value += 1
            guide[row, leading] = value


def _guide(sums: Weights, bits: int) -> NDArray[np.uint16]:
    """See `_fill_guide`."""
    guide = np.empty((len(sums), 1 << bits), np.uint16)
    _fill_guide(sums, bits, guide)
    return guide
