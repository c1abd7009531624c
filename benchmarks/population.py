"""A large artificial population with the eleven attributes of the plausible-deniability paper, to measure speed.

Speed depends on the sizes of domains and tables and on the number of records that share a prefix, not on the records
themselves.
"""

from hashlib import sha256

import numpy as np

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.keys import ReleaseKey, WordStream
from deniable.learners.cfs.parameters import integer_weights
from deniable.models.bayes_net import BayesNet
from deniable.models.graph import Graph, topological_order

# name, values, width of a bucket: the paper's, section 5
_ATTRIBUTES = (
    ("age", 79, 10),
    ("workclass", 8, 1),
    ("education", 24, 4),
    ("marital", 5, 1),
    ("occupation", 25, 1),
    ("relationship", 18, 1),
    ("race", 5, 1),
    ("sex", 2, 1),
    ("hours", 99, 15),
    ("birthplace", 8, 1),
    ("income", 2, 1),
)
_PARENTS = ((), (0,), (0,), (0,), (2, 7), (3, 0), (9,), (1,), (1, 7), (), (4, 8))

DOMAIN = Domain(
    tuple(
        Attribute(name, tuple(range(values)), "numeric", tuple(value // width for value in range(values)))
        for name, values, width in _ATTRIBUTES
    ),
    target="income",
)


def stream(name: str) -> WordStream:
    """Return a stream of words that is the same in every run."""
    return ReleaseKey(sha256(b"benchmarks").digest()).stream(step="benchmark", mechanism=name, inputs="", parameters={})


def network() -> BayesNet:
    """Return a network with tables as skewed as in real populations: few values have most of each row's probability."""
    graph = Graph(_PARENTS, topological_order(DOMAIN, _PARENTS), tuple((0.0,) * len(those) for those in _PARENTS))
    words = stream("tables")
    weights = []
    for (_, values, _), parents in zip(_ATTRIBUTES, _PARENTS, strict=True):
        rows = int(np.prod([DOMAIN.bucket_counts[parent] for parent in parents], dtype=int))
        skewed = (words.take(rows * values).reshape(rows, values) / 2**32) ** 4 + 1e-4
        weights.append(integer_weights(skewed / skewed.sum(axis=1, keepdims=True)))
    return BayesNet(DOMAIN, graph, tuple(weights))


def people(rows: int) -> Codes:
    """Return codes of artificial people, shape (rows, 11)."""
    return network().sample(stream("people").take(rows * len(DOMAIN)))
