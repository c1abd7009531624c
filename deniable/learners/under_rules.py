"""Adapts any learner to a table with rules: it learns the modelled attributes, and its model is used under the rules.

Publicly known shares of values replace learnt ones in Bayesian networks, for attributes without parents.

Columns that others determine are not counted, so no budget is spent on them. Rules (foundation.rules) and their
enforcement in networks (models.constrained_net) do not belong here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.keys import StreamOpener
from deniable.foundation.tables import Counts, Tally
from deniable.learners.cfs.parameters import integer_weights
from deniable.mechanisms import MODEL, Counter, Made, PlannedStep, Run
from deniable.models.bayes_net import BayesNet
from deniable.models.constrained_net import constrained_document
from deniable.models.document_formats import BAYES_NET

T = TypeVar("T", bound=Tally)


@dataclass
class ModelledTally:
    """A tally of the modelled attributes, counted from rows of all attributes.

    Attributes:
        tally: the tally.
        columns: column numbers of the modelled attributes.
    """

    tally: Tally
    columns: tuple[int, ...]

    @classmethod
    def empty(cls, empty: Callable[[], Tally], columns: tuple[int, ...]) -> "ModelledTally":
        """Make an empty tally, given a factory for tallies of the modelled attributes."""
        return cls(empty(), columns)

    def add(self, codes: Codes) -> None:
        """Count more rows, shape (rows, m)."""
        self.tally.add(np.ascontiguousarray(codes[:, self.columns]))

    def merge(self, other: "ModelledTally") -> None:
        """Add the counts of other rows."""
        self.tally.merge(other.tally)

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """The counts so far, as named arrays to be stored."""
        return self.tally.arrays

    def restore(self, arrays: Mapping[str, Counts]) -> None:
        """Restore the counts from the stored arrays."""
        self.tally.restore(arrays)


@dataclass(frozen=True)
class ModelledCounter:
    """Counts the modelled attributes of the rows; see `deniable.mechanisms.Counter`.

    Attributes:
        counter: counts the rows.
        columns: column numbers of the modelled attributes.
    """

    counter: Counter
    columns: tuple[int, ...]

    def count(self, empty: Callable[[], T], name: str) -> T:
        """Count all rows."""
        counted = self.counter.count(partial(ModelledTally.empty, empty, self.columns), name)
        return counted.tally  # type: ignore[return-value] # it is what `empty` made

    def advance(self, amount: int) -> None:
        """Report progress."""
        self.counter.advance(amount)


def modelled_counter(domain: Domain, counter: Counter) -> ModelledCounter:
    """A counter of the modelled attributes, given one of all attributes."""
    return ModelledCounter(counter, domain.subset(domain.modelled.names))


def under_rules(step: PlannedStep, domain: Domain) -> PlannedStep:
    """A learner's step on the modelled attributes, as a step on the whole table.

    Args:
        step: the step, planned for `domain.modelled`.
        domain: the table's domain.
    """
    if not (domain.rules or domain.public_shares):
        return step
    return replace(step, run=partial(_run, step.run, domain))


def _run(run: Run, domain: Domain, counter: Counter, given: Mapping[str, Any], open_stream: StreamOpener) -> Made:
    if domain.modelled is not domain:
        counter = modelled_counter(domain, counter)
    made = run(counter, given, open_stream)
    if MODEL.name not in made.products:
        return made
    model = with_public_shares(domain.modelled, made.products[MODEL.name])
    if domain.rules:
        model = constrained_document(domain, model)
    return replace(made, products={**made.products, MODEL.name: model})


def with_public_shares(domain: Domain, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The document of a Bayesian network in which attributes without parents have their public shares, if any.

    Models of other kinds are returned unchanged: their learners use public shares themselves.

    Args:
        domain: the modelled attributes.
        document: the model.
    """
    if document["format"] != BAYES_NET or not domain.public_shares:
        return document
    net = BayesNet.from_document(domain, document)
    weights = list(net.weights)
    for i, shares in domain.public_shares.items():
        if not net.graph.parents[i]:
            weights[i] = integer_weights(shares[None, :])
    return replace(net, weights=tuple(weights)).document()
