"""A model's conditional distributions from its document, with NumPy alone: anyone who has it can compute them.

Every probability is the multiple of 2^-32 that compiled code draws with (sequential_kernels), and is computed in
integers, so that all machines find the same one. Drawing many records fast does not belong here, nor refusing documents
that describe no model (model_formats): with such a document, an error may be raised or something found without meaning.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil, log2
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.rules import Relation
from deniable.models.document_formats import (
    BAYES_NET,
    CONSTRAINED,
    JUNCTION_TREE,
    LOGLINEAR,
    LOGLINEAR_WITHOUT_TABLES,
)
from deniable.models.graph import Graph
from deniable.models.graphical.clique_tables import cliques_in, weights_of
from deniable.models.loglinear.factors import LEADING, STEPS, running_within

Shares: TypeAlias = NDArray[np.uint64]
"""Probabilities out of 2^32, shape (records, cardinality)."""
Rule: TypeAlias = Callable[[Codes], Shares]
"""The shares of an attribute's values, given records whose earlier attributes are known, positions in order."""

_BITS = np.uint64(32)
_UNIT = 2**32
_STEP_BITS, _STEP_MASK, _MOST_BITS = 12, STEPS - 1, 31
_WITHIN_BITS = 30
# So many shares are computed at a time.
_AT_A_TIME = 1 << 21


@dataclass(frozen=True)
class Conditionals:
    """The conditional distributions of a model along its order.

    Attributes:
        order: column number of the attribute at each position.
        sizes: number of values of the attribute at each position.
        shares: at each position, the distribution of its attribute given the earlier ones.
    """

    order: tuple[int, ...]
    sizes: tuple[int, ...]
    shares: tuple[Rule, ...]

    def prefix_chances(self, words: NDArray[np.uint32]) -> NDArray[np.float64]:
        """Draw the first values of many records, and give the probabilities of their prefixes.

        Args:
            words: uniform words, one for each value, shape (length, records).

        Returns:
            Probability of the first 1, 2 ... values of each record, shape (length, records); products of multiples of
            2^-32, rounded to floats in their order, and so the same on all machines.
        """
        length, count = words.shape
        records = np.zeros((count, len(self.order)), np.uint16)
        chances = np.ones((length, count))
        for position in range(length):
            some = max(1, _AT_A_TIME // self.sizes[position])
            for begun in range(0, count, some):
                block = slice(begun, begun + some)
                shares = self.shares[position](records[block])
                values = (np.cumsum(shares, axis=1) > words[position, block, None]).argmax(axis=1)
                records[block, position] = values
                own = np.take_along_axis(shares, values[:, None], axis=1)[:, 0] / _UNIT
                chances[position, block] = own if position == 0 else chances[position - 1, block] * own
        return chances


def conditionals_of(domain: Domain, document: Mapping[str, Any]) -> Conditionals:
    """The conditional distributions of the model that a document describes.

    Args:
        domain: the table's domain.
        document: the model's document, in any of its formats.

    Raises:
        InvalidInput: the format is unknown, or the model has other rules than the domain.
    """
    if not domain.rules and document.get("format") != CONSTRAINED:
        return _unconstrained(domain, document)
    if document.get("format") != CONSTRAINED or document["rules"] != [rule.document() for rule in domain.rules]:
        raise InvalidInput("a model must have the rules of the table's schema, got others; learn it again.")
    return _constrained(domain, _unconstrained(domain.modelled, document["network"]))


def _unconstrained(domain: Domain, document: Mapping[str, Any]) -> Conditionals:
    readers = {
        BAYES_NET: _bayes_net,
        JUNCTION_TREE: _junction_tree,
        LOGLINEAR: _loglinear,
        LOGLINEAR_WITHOUT_TABLES: _loglinear,
    }
    form = document.get("format")
    if form not in readers:
        raise InvalidInput(f"a model must have one of the formats {', '.join(readers)}, got {form}.")
    order, rules = readers[form](domain, document)
    return Conditionals(order, tuple(domain.cardinalities[i] for i in order), rules)


# ---- a Bayesian network, and a junction tree, which is one with parents' own values as buckets


def _bayes_net(domain: Domain, document: Mapping[str, Any]) -> tuple[tuple[int, ...], tuple[Rule, ...]]:
    graph, own = Graph.from_document(domain, document["graph"]), document.get("buckets")
    buckets = [
        np.asarray(each.buckets if own is None else own[each.name], np.int64).reshape(each.cardinality)
        for each in domain.attributes
    ]
    tables = [np.asarray(document["weights"][name], np.uint64) for name in domain.names]
    place = {attribute: position for position, attribute in enumerate(graph.order)}
    rules = []
    for i in graph.order:
        parents = tuple((place[parent], buckets[parent]) for parent in graph.parents[i])
        rules.append(_of_table(parents, tables[i]))
    return graph.order, tuple(rules)


def _junction_tree(domain: Domain, document: Mapping[str, Any]) -> tuple[tuple[int, ...], tuple[Rule, ...]]:
    cliques = cliques_in(domain, document)
    order = tuple(i for clique in cliques for i in clique.new)
    place = {attribute: position for position, attribute in enumerate(order)}
    rules = []
    for clique in cliques:
        for number in range(len(clique.new)):
            parents = (*clique.separator, *clique.new[:number])
            own = tuple((place[parent], np.arange(domain.cardinalities[parent])) for parent in parents)
            rules.append(_of_table(own, weights_of(clique.of(number))))
    return order, tuple(rules)


def _of_table(parents: tuple[tuple[int, NDArray[np.int64]], ...], table: Shares) -> Rule:
    """The rule of a table with a row for each configuration of the parents' buckets, the last varying fastest."""

    def shares(records: Codes) -> Shares:
        return table[_row(parents, records)]

    return shares


def _row(parents: tuple[tuple[int, NDArray[np.int64]], ...], records: Codes) -> NDArray[np.int64]:
    """Number of each record's configuration of some parents, given by position and bucket of each value."""
    row = np.zeros(len(records), np.int64)
    for position, bucket in parents:
        row = row * (int(bucket.max()) + 1) + bucket[records[:, position]]
    return row


# ---- a log-linear network


def _loglinear(domain: Domain, document: Mapping[str, Any]) -> tuple[tuple[int, ...], tuple[Rule, ...]]:
    order = domain.subset(document["order"])
    place = {attribute: position for position, attribute in enumerate(order)}
    stated = [document["attributes"][name] for name in domain.names]
    buckets = [
        np.asarray(entry["buckets"], np.int64).reshape(size)
        for entry, size in zip(stated, domain.cardinalities, strict=True)
    ]

    def known(names: "list[str]") -> tuple[tuple[int, NDArray[np.int64]], ...]:
        return tuple((place[parent], buckets[parent]) for parent in domain.subset(names))

    rules = []
    for i in order:
        count = int(buckets[i].max()) + 1
        factors = [
            (known(factor["parents"]), np.asarray(factor["logs"], np.int64).reshape(-1, count))
            for factor in stated[i]["factors"]
        ]
        within = np.asarray(stated[i]["within"], np.int64)
        low, high = (own.reshape(within.shape) for own in running_within(buckets[i].astype(np.uint16), within))
        guide = known([] if stated[i]["guide"] is None else [stated[i]["guide"]])
        rules.append(_of_factors(factors, buckets[i], guide, low, high))
    return order, tuple(rules)


def _of_factors(
    factors: "list[tuple[tuple[tuple[int, NDArray[np.int64]], ...], NDArray[np.int64]]]",
    bucket: NDArray[np.int64],
    guide: tuple[tuple[int, NDArray[np.int64]], ...],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
) -> Rule:
    """The rule of tables of logarithms, which determine the bucket, and of weights within it (loglinear.kernels).

    Args:
        factors: the parents of each table and the table, shape (configurations, buckets).
        bucket: bucket of each value.
        guide: the attribute on whose bucket the weights depend; none if they depend on nothing.
        low: sums of the weights of a bucket's values before each value, shape (buckets of the guide, values).
        high: the same, including the value's own weight.
    """
    shift = ceil(log2(int(bucket.max()) + 1))
    leading = LEADING.astype(np.int64)

    def shares(records: Codes) -> Shares:
        sums = np.zeros((len(records), int(bucket.max()) + 1), np.int64)
        for parents, logs in factors:
            sums += logs[_row(parents, records)]
        below = sums.max(axis=1, keepdims=True) - sums
        bits = np.minimum(below >> _STEP_BITS, _MOST_BITS)
        running = np.cumsum(np.maximum(leading[below & _STEP_MASK] >> (bits + shift), 1), axis=1)
        total = running[:, -1:]
        widths = np.diff(((running << 32) + total - 1) // total, axis=1, prepend=0)[:, bucket]
        row = _row(guide, records)
        ends, begins = (high[row] * widths) >> _WITHIN_BITS, (low[row] * widths) >> _WITHIN_BITS
        return np.asarray(ends - begins, np.uint64)

    return shares


# ---- any of them under the rules of a table (constrained_net, constrained_kernels)


def _constrained(domain: Domain, base: Conditionals) -> Conditionals:
    names = [domain.modelled.names[column] for column in base.order]
    order = domain.subset([*names, *(rule.column for rule in domain.rules_of_computed)])
    of = {column: component for component in domain.components for column in component.columns}
    rules = []
    for position, column in enumerate(order):
        relations = of[column].restrictions(order[:position], column) if column in of else ()
        size = domain.cardinalities[column]
        own = base.shares[position] if position < len(base.order) else _equal(size)
        is_whole = position < len(base.order) and not relations
        rules.append(own if is_whole else _restricted(own, relations, order, size))
    return Conditionals(order, tuple(domain.cardinalities[column] for column in order), tuple(rules))


def _equal(size: int) -> Rule:
    def shares(records: Codes) -> Shares:
        return np.ones((len(records), size), np.uint64)

    return shares


def _restricted(base: Rule, relations: tuple[Relation, ...], order: tuple[int, ...], size: int) -> Rule:
    """The rule restricted to the values that relations with earlier attributes permit."""
    checked = []
    for relation in relations:
        *earlier, own = relation.classes
        parents = tuple(
            (order.index(column), np.asarray(classes, np.int64))
            for column, classes in zip(relation.columns[:-1], earlier, strict=True)
        )
        checked.append((parents, relation.allowed.reshape(-1, relation.allowed.shape[-1])[:, own]))

    def shares(records: Codes) -> Shares:
        permitted = np.ones((len(records), size), bool)
        for parents, allowed in checked:
            permitted &= allowed[_row(parents, records)]
        found = base(records) * permitted
        nothing = found.sum(axis=1) == 0
        found[nothing] = permitted[nothing]
        running = np.cumsum(found, axis=1, dtype=np.uint64)
        total = running[:, -1:]
        # The first word whose place among the permitted ones is at least each running sum; 2^32 itself would overflow.
        ends = np.where(total == _UNIT, running, ((running << _BITS) + (total - np.uint64(1))) // np.maximum(total, 1))
        return np.diff(ends, axis=1, prepend=np.uint64(0))

    return shares
