"""Small random domains with rules of every kind, for tests."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.rules import Derived, Impossible, Order, Required, Rule, Skip
from deniable.learners.cfs.parameters import integer_weights
from deniable.learners.loglinear.quantization import within_buckets
from deniable.models.bayes_net import BayesNet
from deniable.models.constrained_net import ConstrainedNet
from deniable.models.graph import Graph
from deniable.models.loglinear.factors import LogTable
from deniable.models.loglinear.net import LoglinearNet

BOOK = "codebook, page 3"


def every_record(domain: Domain) -> Codes:
    """Return all records of a domain in lexicographic order."""
    return np.stack(
        np.unravel_index(np.arange(int(np.prod(domain.cardinalities))), domain.cardinalities), axis=1
    ).astype(np.uint16)


def keeps_all(domain: Domain, codes: Codes) -> NDArray[np.bool_]:
    """Return for each record whether it satisfies every rule."""
    return np.logical_and.reduce([np.ones(len(codes), bool), *(rule.holds(domain, codes) for rule in domain.rules)])


def random_domain(draw: np.random.Generator, m: int = 5, largest: int = 4) -> Domain:
    """Return a domain with a few rules that some records satisfy."""
    while True:
        sizes = draw.integers(1, largest + 1, size=m).tolist()
        attributes = tuple(
            Attribute(f"a{i}", tuple(int(value) for value in draw.permutation(size + 3)[:size]), "numeric", (0,) * size)
            for i, size in enumerate(sizes)
        )
        bare = Domain(attributes)
        try:
            domain = replace(bare, rules=tuple(_rule(draw, bare) for _ in range(draw.integers(1, 5))))
            _ = domain.components
        except InvalidInput:
            continue
        return domain


def _rule(draw: np.random.Generator, domain: Domain) -> Rule:
    """Return a random rule."""
    names = [domain.names[i] for i in draw.permutation(len(domain))]

    def some(name: str) -> tuple[int | float | str | bool, ...]:
        values = domain.attributes[domain.index(name)].values
        kept = [value for value in values if draw.random() < 0.5]
        return tuple(kept or values[:1])

    kind = draw.integers(5)
    if kind == 0:
        return Impossible(BOOK, tuple((name, some(name)) for name in names[: draw.integers(1, 4)]))
    if kind == 1:
        return Required(BOOK, ((names[0], some(names[0])),), tuple((name, some(name)) for name in names[1:3]))
    if kind == 2:
        when = ((names[0], some(names[0])),) if draw.random() < 0.5 else ()
        return Skip(BOOK, tuple((name, some(name)) for name in names[1:3]), when)
    if kind == 3:
        unless = ((names[0], some(names[0])),) if draw.random() < 0.3 else ()
        return Order(BOOK, names[0], names[1], bool(draw.random() < 0.3), unless)
    of = tuple(names[1 : draw.integers(2, 4)])
    cells = int(np.prod([domain.attributes[domain.index(name)].cardinality for name in of]))
    column = domain.attributes[domain.index(names[0])].values
    values = tuple(None if draw.random() < 0.1 else column[draw.integers(len(column))] for _ in range(cells))
    return Derived(BOOK, names[0], of, values)


def random_bayes_net(draw: np.random.Generator, domain: Domain) -> BayesNet:
    """Return a network in which each attribute has up to two parents, with some probabilities of 0."""
    m = len(domain)
    order = tuple(draw.permutation(m).tolist())
    parents: list[tuple[int, ...]] = [()] * m
    for position, child in enumerate(order):
        parents[child] = tuple(sorted(draw.permutation(order[:position])[: draw.integers(0, 3)].tolist()))
    weights = []
    for i, attribute in enumerate(domain.attributes):
        rows = int(np.prod([domain.bucket_counts[parent] for parent in parents[i]], dtype=int))
        share = draw.random((rows, attribute.cardinality)) ** 3 * (draw.random((rows, attribute.cardinality)) < 0.7)
        share[share.sum(axis=1) == 0] = 1
        weights.append(integer_weights(share / share.sum(axis=1, keepdims=True)))
    graph = Graph(tuple(parents), order, tuple((0.0,) * len(those) for those in parents))
    return BayesNet(domain, graph, tuple(weights))


def random_loglinear_net(draw: np.random.Generator, domain: Domain) -> LoglinearNet:
    """Return a log-linear network with factors of one parent, values in buckets, and guides."""
    m = len(domain)
    order = draw.permutation(m)
    buckets, factors, guides, within = [], [], [], []
    for size in domain.cardinalities:
        _, bucket = np.unique(draw.integers(max(1, size - 1), size=size), return_inverse=True)
        buckets.append(bucket.astype(np.uint16))
    counts = [int(bucket.max()) + 1 for bucket in buckets]
    for i in range(m):
        before = order[: int(np.flatnonzero(order == i)[0])]
        own = [LogTable((), draw.integers(-9000, 9000, size=counts[i]).astype(np.int32))]
        own += [
            LogTable((int(p),), draw.integers(-9000, 9000, size=(counts[p], counts[i])).astype(np.int32))
            for p in before
            if draw.random() < 0.6
        ]
        factors.append(tuple(own))
        guides.append(int(draw.choice(before)) if len(before) and draw.random() < 0.5 else None)
        rows = 1 if guides[-1] is None else counts[guides[-1]]
        within.append(within_buckets(buckets[i], draw.random((rows, len(buckets[i]))) + 0.01))
    return LoglinearNet(domain, order.astype(np.int64), tuple(buckets), tuple(guides), tuple(within), tuple(factors))


def random_constrained_net(seed: str) -> ConstrainedNet:
    """Return a network of either kind under rules."""
    draw = np.random.default_rng(list(seed.encode()))
    domain = random_domain(draw)
    make = random_loglinear_net if draw.random() < 0.5 else random_bayes_net
    return ConstrainedNet(domain, make(draw, domain.modelled))
