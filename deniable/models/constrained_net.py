"""Networks whose records satisfy a table's rules: any network, restricted value by value to permitted values.

Each value is drawn from those with which the record can be completed (foundation.rule_components), in proportion to
the network's own probabilities. Hence every record satisfies every rule, no draw is rejected, and the density is
exactly the sampler's: a product of multiples of 2^-32. Attributes that others determine are not part of the network;
they come last, and are computed. The rules are public, so this has no privacy cost.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.rules import Relation
from deniable.models.bayes_net import BayesNet
from deniable.models.constrained_kernels import ConstrainedArrays, RuleArrays, sample
from deniable.models.document_formats import CONSTRAINED
from deniable.models.graphical.junction_tree_net import JunctionTreeNet
from deniable.models.loglinear.kernels import LoglinearArrays
from deniable.models.loglinear.net import LoglinearNet
from deniable.models.loglinear.stratified_sampling import Strata, no_strata
from deniable.models.sequential_model import SequentialModel, require_format, starts


@dataclass(frozen=True, eq=False)
class ConstrainedNet(SequentialModel):
    """A network of the modelled attributes, and the rules of the whole table.

    Attributes:
        domain: the table's domain, m attributes, with its rules.
        base: the network of the modelled attributes.
    """

    domain: Domain
    base: BayesNet | LoglinearNet | JunctionTreeNet

    def __post_init__(self) -> None:
        """Refuse a network over other attributes."""
        if self.base.domain.names != self.domain.modelled.names:
            raise InvalidInput("a network must have the attributes that are modelled, got others; learn it again.")

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Column number of the attribute at each position; computed attributes come last."""
        names = [self.base.domain.names[column] for column in self.base.order.tolist()]
        names += [rule.column for rule in self.domain.rules_of_computed]
        return np.asarray(self.domain.subset(names), np.int64)

    @cached_property
    def relations(self) -> tuple[tuple[Relation, ...], ...]:
        """At each position, the relations with earlier attributes that restrict its attribute."""
        order = self.order.tolist()
        of = {column: component for component in self.domain.components for column in component.columns}
        return tuple(
            of[column].restrictions(order[:position], column) if column in of else ()
            for position, column in enumerate(order)
        )

    @cached_property
    def arrays(self) -> ConstrainedArrays:
        """The network and the relations as flat arrays."""
        order = self.order.tolist()
        sizes = [self.domain.cardinalities[column] for column in order]
        of = {column: component for component in self.domain.components for column in component.columns}
        classes = [
            of[column].classes_of(column) if column in of else np.zeros(size, np.int64)
            for column, size in zip(order, sizes, strict=True)
        ]
        flat = [relation for those in self.relations for relation in those]
        rows = [relation.allowed.reshape(-1, relation.allowed.shape[-1]) for relation in flat]
        parents = [[order.index(column) for column in relation.columns[:-1]] for relation in flat]
        rules = RuleArrays(
            cardinality=np.asarray(sizes, np.int64),
            class_start=starts(sizes),
            class_of=np.concatenate(classes).astype(np.int32),
            class_count=np.asarray([int(own.max()) + 1 for own in classes], np.int64),
            group_start=starts([len(those) for those in self.relations], closed=True),
            parent_start=starts([len(those) for those in parents], closed=True),
            parent=np.asarray([each for those in parents for each in those], np.int64),
            stride=np.asarray([stride for relation in flat for stride in _strides(relation.allowed.shape)], np.int64),
            row_start=starts([own.size for own in rows]),
            allowed=_joined([own.ravel() for own in rows]),
            free_start=starts([len(own) for own in rows]),
            free=_joined([np.asarray(own.all(axis=1)) for own in rows]),
        )
        return ConstrainedArrays(base=self.base.arrays, modelled=len(self.base.domain), rules=rules)

    def fill(self, words: NDArray[np.uint32], records: Codes) -> None:
        """Fill records, positions in order, from one word per value."""
        self._fill(no_strata(), words, records)

    def sample_evenly(self, words: NDArray[np.uint32]) -> Codes:
        """Draw records that vary less than independent ones, if the network can; see `SequentialModel`."""
        if isinstance(self.base, BayesNet):
            return self.sample(words)
        records = np.empty((len(words) // len(self.domain), len(self.domain)), np.uint16)
        self._fill(self.base.strata, words, records)
        return self.in_columns(records)

    def _fill(self, strata: Strata, words: NDArray[np.uint32], records: Codes) -> None:
        base = self.base.arrays
        # A junction tree conditions on the values of parents, which are its buckets.
        begins = base.value_start if isinstance(base, LoglinearArrays) else base.bucket_start
        sample(self.arrays, strata, begins, base.bucket.astype(np.int32, copy=False), words, records)

    def document(self) -> dict[str, Any]:
        """The network in names and integers, and the rules, ready for JSON."""
        return constrained_document(self.domain, self.base.document())


def constrained_document(domain: Domain, base: Mapping[str, Any]) -> dict[str, Any]:
    """The document of a network constrained by a domain's rules, given the document of the network."""
    return {"format": CONSTRAINED, "rules": [rule.document() for rule in domain.rules], "network": dict(base)}


def network_in(domain: Domain, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The document of the network within that of a constrained network.

    Raises:
        InvalidInput: the format is different, or the rules are not those of the domain.
    """
    require_format(document, CONSTRAINED)
    if document["rules"] != [rule.document() for rule in domain.rules]:
        raise InvalidInput("a model must have the rules of the table's schema, got others; learn it again.")
    network: Mapping[str, Any] = document["network"]
    return network


def _strides(shape: tuple[int, ...]) -> list[int]:
    """Strides of all axes but the last in a row number."""
    return [prod(shape[axis + 1 : -1]) for axis in range(len(shape) - 1)]


def _joined(parts: "list[NDArray[np.bool_]]") -> NDArray[np.uint8]:
    return np.concatenate([*parts, np.zeros(0, bool)]).astype(np.uint8)
