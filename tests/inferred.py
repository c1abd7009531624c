"""Hand-made measurements of a joint table: noisy tables with noise from a fixed seed, and the inference from them."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Attribute, Domain
from deniable.measurements.document import Measurements, Sampling, Universe
from deniable.measurements.noisy_tables import Law, MeasuredTable, NoiseLaw, Release

Query = tuple[tuple[int, ...], tuple[int, ...]]
"""Attributes of a table, and those of them that are counted by values."""

DOMAIN = Domain(
    (
        Attribute("age", (18, 19, 20, 21, 22, 23), "numeric", (0, 0, 1, 1, 2, 2)),
        Attribute("sex", ("f", "m"), "nominal", (0, 1)),
        Attribute("income", ("low", "<=50K", ">50K"), "nominal", (0, 1, 2)),
    )
)
EVERYTHING: tuple[Query, ...] = (((0,), (0,)), ((1,), (1,)), ((2,), (2,)), ((0, 1), ()), ((0, 2), ()), ((1, 2), ()))
"""All single attributes by values, and all pairs by buckets."""


def people(seed: int, rows: int, domain: Domain = DOMAIN) -> NDArray[np.int64]:
    """Return codes of made-up records, in which income increases with age and differs by sex."""
    draw = np.random.default_rng([11, seed])
    age = draw.choice(6, rows, p=[0.3, 0.1, 0.2, 0.15, 0.15, 0.1])
    sex = (draw.random(rows) < 0.4 + 0.03 * age).astype(int)
    income = np.minimum((draw.random(rows) * (1.2 + 0.2 * age + 0.6 * sex)).astype(int), 2)
    return np.stack([age, sex, income], axis=1)


def counted(codes: NDArray[np.int64], query: Query, domain: Domain = DOMAIN) -> NDArray[np.int64]:
    """Return the exact counts of a table."""
    attributes, by_values = query
    columns, shape = [], []
    for i in attributes:
        buckets = np.arange(domain.cardinalities[i]) if i in by_values else domain.attributes[i].bucket_of.astype(int)
        columns.append(buckets[codes[:, i]])
        shape.append(int(buckets.max()) + 1)
    found = np.zeros(shape, np.int64)
    np.add.at(found, tuple(columns), 1)
    return found


def noise(law: NoiseLaw, shape: Sequence[int], draw: np.random.Generator) -> NDArray[np.int64]:
    """Return integer noise of a distribution."""
    if law.law == "gaussian":
        return np.rint(draw.normal(0.0, float(law.amount) ** 0.5, shape)).astype(np.int64)
    p = 1 - np.exp(-1 / float(law.amount))
    return (draw.geometric(p, shape) - draw.geometric(p, shape)).astype(np.int64)


def measured(
    codes: NDArray[np.int64],
    queries: Sequence[Query] = EVERYTHING,
    *,
    law: Law = "gaussian",
    amount: Fraction = Fraction(100),
    seed: int = 1,
    sampling: Sampling = "unknown",
    domain: Domain = DOMAIN,
) -> Measurements:
    """Return what would be measured on records."""
    draw = np.random.default_rng([12, seed])
    tables = []
    for turn, query in enumerate(queries, 1):
        exact = counted(codes, query, domain)
        own = NoiseLaw(law, amount)
        release = Release(exact + noise(own, exact.shape, draw), own, turn)
        tables.append(MeasuredTable(query[0], (release,), query[1], (), "made up"))
    return Measurements(
        domain=domain,
        learner="made up",
        universe=Universe("parameters", sampling),
        buckets=tuple(attribute.bucket_of for attribute in domain.attributes),
        tables=tuple(tables),
        choices=(),
        records=float(len(codes)),
        order=tuple(range(len(domain))),
    )


def total(codes: NDArray[np.int64], of: dict[int, Any]) -> float:
    """Return the exact sum over records of a product of functions of attributes."""
    found = np.ones(len(codes))
    for i, values in of.items():
        found *= np.asarray(values, float)[codes[:, i]]
    return float(found.sum())
