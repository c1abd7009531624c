"""Log-linear networks for tests: random ones, and ones with a recoding."""

from dataclasses import replace

import numpy as np

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.learners.loglinear.quantization import within_buckets
from deniable.models.loglinear.factors import LogTable
from deniable.models.loglinear.net import LoglinearNet


def random_net(name: str, m: int, *, largest: int = 9, spread: int = 12_000) -> LoglinearNet:
    """Return a random network with values in buckets, factors of up to two parents, and possibly guides."""
    draw = np.random.default_rng(list(name.encode()))
    sizes = draw.integers(1, largest + 1, size=m)
    buckets = []
    for size in sizes.tolist():
        _, bucket = np.unique(draw.integers(max(1, size - draw.integers(3)), size=size), return_inverse=True)
        buckets.append(bucket.astype(np.uint16))
    domain = Domain(
        tuple(Attribute(f"a{i}", tuple(range(size)), "nominal", (0,) * size) for i, size in enumerate(sizes.tolist()))
    )
    order = draw.permutation(m)
    counts = [int(bucket.max()) + 1 for bucket in buckets]
    factors = []
    for i in range(m):
        before = order[: int(np.flatnonzero(order == i)[0])]
        own = [LogTable((), draw.integers(-spread, spread, size=counts[i]).astype(np.int32))]
        for _ in range(int(draw.integers(0, 5))):
            parents = tuple(sorted(draw.permutation(before)[: draw.integers(1, 3)].tolist()))
            shape = (*(counts[parent] for parent in parents), counts[i])
            own.append(LogTable(parents, draw.integers(-spread, spread, size=shape).astype(np.int32)))
        factors.append(tuple(own))
    guides: list[int | None] = [None] * m
    for position, i in enumerate(order.tolist()):
        if position > 0 and draw.random() < 0.7:
            guides[i] = int(order[draw.integers(position)])
    within = []
    for bucket, guide in zip(buckets, guides, strict=True):
        shape = (1 if guide is None else counts[guide], len(bucket))
        within.append(within_buckets(bucket, draw.random(shape) ** 2 * (draw.random(shape) < 0.9)))
    return LoglinearNet(domain, order.astype(np.int64), tuple(buckets), tuple(guides), tuple(within), tuple(factors))


def guided(*, kinds: int, recoded: Codes, buckets: Codes, factor: LogTable | None = None) -> LoglinearNet:
    """Return a network of an attribute with equally frequent values and its recoding, whose values share buckets.

    Args:
        kinds: values of the first attribute, each a bucket.
        recoded: the recoded value of each, shape (kinds,).
        buckets: bucket of each recoded value.
        factor: the dependence of the second attribute's buckets on the first; None for independence.
    """
    sizes = (kinds, len(buckets))
    domain = Domain(
        tuple(
            Attribute(name, tuple(range(size)), "nominal", (0,) * size) for name, size in zip("uv", sizes, strict=True)
        )
    )
    own = np.arange(kinds, dtype=np.uint16)
    counts = (recoded[:, None] == np.arange(len(buckets))).astype(np.float64)
    alone = tuple(LogTable((), np.zeros(int(bucket.max()) + 1, np.int32)) for bucket in (own, buckets))
    return LoglinearNet(
        domain=domain,
        order=np.arange(2, dtype=np.int64),
        buckets=(own, buckets),
        guides=(None, 0),
        within=(within_buckets(own, np.ones((1, kinds))), within_buckets(buckets, counts)),
        factors=((alone[0],), (alone[1],) if factor is None else (alone[1], factor)),
    )


def blind(net: LoglinearNet) -> LoglinearNet:
    """Return the same network, in which compiled code places every guide in its first bucket: a control."""
    other = replace(net)
    other.__dict__["arrays"] = net.arrays._replace(guide_stride=np.zeros_like(net.arrays.guide_stride))
    return other
