"""Log-linear networks made by chance, for tests."""

import numpy as np

from deniable.domain import Attribute, Domain
from deniable.loglinear.factors import LogTable
from deniable.loglinear.net import LoglinearNet
from deniable.loglinear.rounding import within_buckets


def random_net(name: str, m: int, *, largest: int = 9, spread: int = 12_000) -> LoglinearNet:
    """A network whose attributes have values in buckets, and factors of none to two parents each."""
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
    within = tuple(
        within_buckets(bucket, draw.random(len(bucket)) * (draw.random(len(bucket)) < 0.9)) for bucket in buckets
    )
    return LoglinearNet(domain, order.astype(np.int64), tuple(buckets), within, tuple(factors))
