"""Verification of this learner's `measured.json`: tables, noise, pooled values and choices."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import isclose

import numpy as np

from deniable.learners.mst.pooling import pooled
from deniable.learners.mst.selection import Pair, candidates
from deniable.measurements.document import FILE, Measurements
from deniable.models.graphical.fitting import NoisyTable, fixed_total
from deniable.privacy.loss import DiscreteGaussianEvent, MechanismEvent

_FLOATING = 1e-9


def counted_in(measured: Measurements) -> tuple[int, ...]:
    """The attributes with several values."""
    return tuple(i for i, size in enumerate(measured.domain.cardinalities) if size > 1)


def faults_of_tables(measured: Measurements, _: Sequence[MechanismEvent]) -> Iterator[str]:
    """Faults of form: each single attribute must come once, then tables of pooled values, each released once."""
    if [table.attributes for table in measured.ones] != [(i,) for i in counted_in(measured)]:
        yield f"{FILE} must have each attribute of several values by itself, in the order of the domain"
    for table in measured.tables:
        alone = len(table.attributes) == 1
        if table.by_values != (table.attributes if alone else ()) or table.differences:
            yield f"{FILE}: a table must be of values if it has one attribute, and of pooled values otherwise"
        if len(table.releases) != 1 or any(release.multiplier != 1 for release in table.releases):
            yield f"{FILE}: each table must have been released once"


def faults_of_tree(measured: Measurements, events: Sequence[MechanismEvent]) -> Iterator[str]:
    """Faults of form of a tree: each table must be the chosen pair, among those that join two components."""
    yield from faults_of_tables(measured, events)
    counted, before = counted_in(measured), list[Pair]()
    tables = [table.attributes for table in measured.larger]
    if len(tables) != max(len(counted) - 1, 0):
        yield f"{FILE} must have a tree of {max(len(counted) - 1, 0)} pairs, got {len(tables)}"
    if tables != [choice.attributes for choice in measured.choices]:
        yield f"{FILE}: the pairs must be those that were chosen, in their order"
    for choice in measured.choices:
        those = candidates(counted, before)
        if choice.candidates != len(those) or those[choice.chosen] != choice.attributes:
            yield f"{FILE}: a choice must be one of the {len(those)} pairs that join two parts of the forest"
            return
        before.append(those[choice.chosen])


def faults_of_noise(measured: Measurements, events: Sequence[MechanismEvent]) -> Iterator[str]:
    """Faults where a release does not have the noise of its event."""
    variances = [event.variance for event in events if isinstance(event, DiscreteGaussianEvent)]
    several = variances[len(measured.ones) :]
    if len(several) == 1:
        several *= len(measured.larger)
    for tables, right in ((measured.ones, variances[: len(measured.ones)]), (measured.larger, several)):
        stated = [release.noise.amount for table in tables for release in table.releases]
        if any(table.releases[0].noise.law != "gaussian" for table in tables) or stated != right:
            yield f"{FILE}: the noise of a table is not that of its event"


def faults_of_estimates(measured: Measurements, _: Sequence[MechanismEvent]) -> Iterator[str]:
    """Faults where pooled values, or the number of records, do not follow from the releases."""
    values = dict(zip((table.attributes[0] for table in measured.ones), measured.ones, strict=True))
    tables = []
    for attribute, stated in enumerate(measured.buckets):
        table = values.get(attribute)
        if table is None:
            right, name = np.zeros(len(stated), np.uint16), measured.domain.names[attribute]
        else:
            release, name = table.releases[0], measured.domain.names[attribute]
            own = pooled(release.sums, release.noise.amount, "noisy")
            right = own.bucket_of
            spread = np.sqrt(float(release.noise.amount)) * np.sqrt(own.values)
            tables.append(NoisyTable((attribute,), own.counts.astype(np.float64), spread))
        if stated.tolist() != right.tolist():
            yield f"{FILE}: the pooled values of {name} do not follow from its noisy counts"
    for table in measured.larger:
        deviation = _deviation(table.releases[0].noise.amount)
        tables.append(NoisyTable(table.attributes, table.releases[0].sums.astype(np.float64), deviation))
    right_total = fixed_total(tables)
    if type(measured.records) is not float or not isclose(measured.records, right_total, rel_tol=_FLOATING):
        yield f"{FILE}: records is {measured.records}, but its integers give {right_total}"


def _deviation(variance: Fraction) -> float:
    return float(np.sqrt(float(variance)))
