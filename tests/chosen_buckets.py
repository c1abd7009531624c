"""Small releases whose buckets were chosen by noisy counts: a wide nominal attribute and a number with a heavy tail.

Made as learners make them, at small cost: single attributes are counted by values, their buckets follow from these
counts, and all pairs are counted by buckets. No table is chosen and no model is fitted.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import pi, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Attribute, Domain
from deniable.learners.loglinear.estimation.buckets import bucketed
from deniable.learners.mst.pooling import pooled
from deniable.measurements.document import Measurements, Universe
from deniable.measurements.noisy_tables import Cells, MeasuredTable, NoiseLaw, Release
from deniable.models.noisy_marginals import NoisyMarginal, NoisySums
from tests.inferred import noise

Rows = NDArray[np.int64]
Rule = Literal["loglinear", "mst"]

JOBS, AMOUNTS, AGES = 300, 120, 80
STEPS = 10 ** np.linspace(0, 5, AMOUNTS - 1)
JOB = Attribute("job", tuple(f"j{code}" for code in range(JOBS)), "nominal", tuple(range(JOBS)))
SEX = Attribute("sex", ("f", "m"), "nominal", (0, 1))
REGION = Attribute("region", ("n", "e", "s", "w"), "nominal", (0, 1, 2, 3))
AMOUNT = Attribute("amount", (0, *(round(float(step), 3) for step in STEPS)), "numeric", tuple(range(AMOUNTS)))
AGE = Attribute("age", tuple(range(AGES)), "numeric", tuple(range(AGES)))
PEOPLE = Domain((JOB, SEX, REGION, AMOUNT, AGE))
FEWER = 150
WORKERS = Domain((Attribute("job", JOB.values[:FEWER], "nominal", tuple(range(FEWER))), SEX))


@dataclass(frozen=True, eq=False)
class Chosen:
    """A release with chosen buckets.

    Attributes:
        rows: the records that were counted, as codes.
        measured: what was measured.
    """

    rows: Rows
    measured: Measurements


def people(seed: int, rows: int = 12_000) -> Rows:
    """Return made-up records: jobs by a power law, and amounts with a heavy tail that depend on age and sex."""
    draw = np.random.default_rng([21, seed])
    weights = 1 / (np.arange(JOBS) + 3.0)
    job = np.random.default_rng(20).permutation(JOBS)[draw.choice(JOBS, rows, p=weights / weights.sum())]
    age = np.clip(draw.normal(38, 17, rows), 0, AGES - 1).astype(int)
    sex = (draw.random(rows) < 0.4 + 0.002 * age).astype(int)
    region = (draw.random(rows) * 4 * (0.7 + 0.3 * draw.random(rows))).astype(int)
    size = np.exp(draw.normal(5.5 + 0.01 * age + 0.3 * sex, 1.4)) * (draw.random(rows) < 0.8)
    amount = np.searchsorted(STEPS, np.minimum(size, STEPS[-1]), side="right")
    return np.stack([job, sex, region, amount, age], axis=1)


def workers(seed: int, rows: int = 15_000) -> Rows:
    """Return made-up records whose jobs are about as frequent as the limit below which they are pooled."""
    draw = np.random.default_rng([23, seed])
    weights = np.linspace(0.6, 1.4, FEWER)
    job = np.random.default_rng(20).permutation(FEWER)[draw.choice(FEWER, rows, p=weights / weights.sum())]
    return np.stack([job, (draw.random(rows) < 0.5).astype(int)], axis=1)


def released(
    rows: Rows, seed: int, domain: Domain = PEOPLE, rule: Rule = "loglinear", sds: tuple[int, int] = (15, 40)
) -> Chosen:
    """Return a release.

    Args:
        rows: the records, as codes.
        seed: determines the noise.
        domain: their domain.
        rule: the learner by whose rule buckets are chosen.
        sds: standard deviations of the noise of single attributes and of pairs.
    """
    draw = np.random.default_rng([22, seed])
    one, pair = (NoiseLaw("gaussian", Fraction(sd**2)) for sd in sds)
    sums = [
        np.bincount(rows[:, i], minlength=each.cardinality) + noise(one, (each.cardinality,), draw)
        for i, each in enumerate(domain.attributes)
    ]
    total = float(sums[1].sum())
    chosen = [
        _chosen(each, own, i, one, total, sds[1], rule)
        for i, (each, own) in enumerate(zip(domain.attributes, sums, strict=True))
    ]
    tables = [
        MeasuredTable((i,), (Release(own, one, i + 1),), (i,), (), "one-way", denoised)
        for i, (own, (_, denoised)) in enumerate(zip(sums, chosen, strict=True))
    ]
    for turn, both in enumerate(combinations(range(len(domain)), 2), len(domain) + 1):
        shape = tuple(int(chosen[i][0].max()) + 1 for i in both)
        exact = np.zeros(shape, np.int64)
        np.add.at(exact, tuple(chosen[i][0][rows[:, i]] for i in both), 1)
        tables.append(MeasuredTable(both, (Release(exact + noise(pair, shape, draw), pair, turn),), (), (), "tree"))
    buckets = tuple(of_value for of_value, _ in chosen)
    return Chosen(
        rows,
        Measurements(
            domain, rule, Universe("parameters"), buckets, tuple(tables), (), total, tuple(range(len(domain)))
        ),
    )


def _chosen(
    attribute: Attribute, sums: Rows, i: int, law: NoiseLaw, total: float, sd: int, rule: Rule
) -> tuple[Rows, Cells]:
    """Return buckets and denoised counts of an attribute's values."""
    if rule == "mst":
        return pooled(sums, law.amount, "noisy").bucket_of.astype(np.int64), np.maximum(sums, 0).astype(np.float64)
    # The mean absolute noise of a pair: twice that is barely distinguishable from it.
    typical = sd * sqrt(2 / pi)
    own = NoisyMarginal((i,), (NoisySums(sums, 1, 1, i + 1),), "gaussian", law.amount)
    made = bucketed(attribute, own, total, 2 * typical, total / typical)
    return made.of_value.astype(np.int64), made.counts
