"""For which uses a release can be good, by its public noisy counts alone, and which single attributes are off.

Noise of known law is added to counts. What it alone is expected to do to shares, means, quantiles, correlations and
analyses follows from its variance, the cells of the tables and the estimated number of records, all of which are
public; so is the difference of released records from the noisy counts. Publication may therefore depend on it. What
real records would say does not belong here (deniable.evaluation.uses).

A learner that joins tables errs less than one of them. Half of the noise is therefore expected to be left, and a use
is given up only if this errs by more than is usable.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import pi, sqrt
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from deniable.evaluation.analyses.declared import Analysis
from deniable.evaluation.uses import USES
from deniable.measurements.document import Measurements
from deniable.measurements.noisy_tables import Cells, MeasuredTable

_HALF: Final = 2
_PAIR: Final = 2
_RARE: Final = 0.01
_FEW_VALUES: Final = 5
_SIGMAS: Final = 4.0
_ABSOLUTE: Final = sqrt(2 / pi)
"""Mean absolute value of a standard normal."""

LEFT: Final = 0.5
"""The part of the noise that is expected to be left when tables are joined."""

LARGEST_GAP: Final = next(use.usable for use in USES if use.name == "shares")
"""A single attribute is off if its distance from the noisy counts exceeds chance by more than this."""


@dataclass(frozen=True)
class ForeseenUse:
    """A use, and what noise does to it.

    Attributes:
        name: the name of the use.
        words: the use in words.
        error: the error that noise alone is expected to make, in the unit of the use; infinite if nothing was measured
            from which the use would follow.
        usable: the largest error of a usable release.
    """

    name: str
    words: str
    error: float
    usable: float

    @property
    def can_be_good(self) -> bool:
        """Whether noise leaves the use possible."""
        return self.error <= self.usable


@dataclass(frozen=True)
class Foreseen:
    """What public figures say about a release.

    Attributes:
        uses: the uses of which noisy counts say something.
        off: names of attributes whose released shares are off by more than chance, the worst first.
    """

    uses: tuple[ForeseenUse, ...]
    off: tuple[str, ...] = ()

    @property
    def good(self) -> int:
        """The number of uses for which the release can be good."""
        return sum(use.can_be_good for use in self.uses)

    @property
    def is_too_low(self) -> bool:
        """Whether it can be good for fewer than half of the uses."""
        return _HALF * self.good < len(self.uses)

    def reasons(self) -> tuple[str, ...]:
        """Why a person must decide, as ends of sentences; empty if none must."""
        found = []
        if self.is_too_low:
            lost = ", ".join(use.words for use in self.uses if not use.can_be_good)
            found.append(
                f"by its noisy counts alone it can be good for {self.good} of {len(self.uses)} uses, and not for "
                f"{lost} (raise epsilon, bring more records, or describe fewer attributes and values)"
            )
        if self.off:
            found.append(
                f"the shares of {', '.join(self.off)} in its records are off from its own noisy counts by more than "
                "chance (choose another guarantee, or seeds that more records pass)"
            )
        return tuple(found)


def foreseen(
    measured: Measurements, analyses: Sequence[Analysis] = (), released: Sequence[NDArray[np.int64]] | None = None
) -> Foreseen:
    """Say for which uses a release can be good, and which single attributes are off.

    Args:
        measured: what a learner measured.
        analyses: the analyses of the release.
        released: counts of the values of each attribute of the domain in released records; None to leave them out.

    Returns:
        The uses, in the order of reports; none if no attribute has more than one value.
    """
    errors = dict(_errors(measured, analyses))
    uses = tuple(ForeseenUse(use.name, use.words, errors[use.name], use.usable) for use in USES if use.name in errors)
    return Foreseen(uses, () if released is None else tuple(_off(measured, released)))


def _errors(measured: Measurements, analyses: Sequence[Analysis]) -> Iterator[tuple[str, float]]:
    """The error of each use by noise alone."""
    domain, records = measured.domain, max(measured.records, 1.0)
    several = [i for i, size in enumerate(domain.cardinalities) if size > 1]
    alone = {i: found for i in several if (found := _least_noise(measured, i)) is not None}
    if not several:
        return
    pairs = _pairs(measured)
    # An attribute that was not counted is as far away as can be.
    yield "shares", float(np.mean([min(_distance(*alone[i], records), 1.0) if i in alone else 1.0 for i in several]))
    if len(several) > 1:
        distances = [min(_distance(cells, deviation, records), 1.0) for cells, deviation in pairs.values()]
        yield "tables", float(np.mean(distances)) if distances else float("inf")
    numbers = [i for i in several if domain.attributes[i].kind == "numeric"]
    if numbers:
        known = [alone.get(i, (1, float("inf"))) for i in numbers]
        yield "means", max(sqrt(cells) * deviation / records for cells, deviation in known)
        yield "quantiles", max(sqrt(cells) * deviation / 2 / records for cells, deviation in known)
    if len(numbers) > 1:
        own = [found for pair, found in pairs.items() if pair <= {*numbers}]
        yield "correlations", max((_association(*found, records) for found in own), default=float("inf"))
    if analyses:
        yield "analyses", max(_of_analysis(each, measured, alone, pairs) for each in analyses)
    many = [i for i in several if domain.attributes[i].cardinality > _FEW_VALUES]
    if many:
        lost = [alone[i][1] if i in alone else float("inf") for i in many]
        yield "rare", float(np.mean([_lost(deviation, records) for deviation in lost]))


def _least_noise(measured: Measurements, attribute: int) -> tuple[int, float] | None:
    """Number of cells, and deviation of the noise left, of the table that says most of an attribute."""
    found = []
    for table in measured.tables:
        if attribute not in table.attributes or (table.differences and len(table.attributes) > 1):
            continue
        for own in (table, table.of_bins):
            if own is not None:
                counts, variance = marginal(own, attribute)
                found.append((counts.size, LEFT * sqrt(variance)))
    return min(found, key=lambda each: each[0] * each[1], default=None)


def marginal(table: MeasuredTable, attribute: int) -> tuple[Cells, float]:
    """The counts of one attribute in a table, and the noise variance of each."""
    axis = table.attributes.index(attribute)
    counts = table.values.sum(axis=tuple(i for i in range(len(table.attributes)) if i != axis))
    return counts, table.variance * table.values.size / counts.size


def _pairs(measured: Measurements) -> Mapping[frozenset[int], tuple[int, float]]:
    """Number of cells and deviation of the noise left in each pair of attributes that was counted together."""
    found: dict[frozenset[int], tuple[int, float]] = {}
    for table in measured.tables:
        if len(table.attributes) < _PAIR:
            continue
        shape = [2 if i in table.differences else size for i, size in zip(table.attributes, table.shape, strict=True)]
        every = int(np.prod(shape))
        for a in range(len(shape)):
            for b in range(a):
                pair = frozenset((table.attributes[a], table.attributes[b]))
                cells = shape[a] * shape[b]
                own = cells, LEFT * sqrt(table.variance * every / cells)
                found[pair] = min(found.get(pair, own), own, key=lambda each: each[0] * each[1])
    return found


def _distance(cells: int, deviation: float, records: float) -> float:
    """Mean total variation distance by noise alone: half the sum of mean absolute noise over the cells."""
    return cells * deviation * _ABSOLUTE / 2 / records


def _association(cells: int, deviation: float, records: float) -> float:
    """Standard error of a correlation by noise alone, if records are spread evenly over the cells.

    It is that of sum z w n / records for standardized z and w, whose squares add up to the number of cells.
    """
    return sqrt(cells) * deviation / records


def _of_analysis(
    analysis: Analysis,
    measured: Measurements,
    alone: Mapping[int, tuple[int, float]],
    pairs: Mapping[frozenset[int], tuple[int, float]],
) -> float:
    """The mean error of an analysis' estimates by noise alone, in standard deviations of its outcome.

    Only what was counted together with the outcome is considered; if nothing was, the analysis is by the model alone.
    """
    domain, records = measured.domain, max(measured.records, 1.0)
    if any(name not in domain.names for name in analysis.attributes):
        return 0.0  # a column that is computed from others, which are judged by themselves
    outcome, *others = (domain.index(name) for name in analysis.attributes)
    if not others:
        cells, deviation = alone.get(outcome, (1, float("inf")))
        return sqrt(cells) * deviation / records
    own = [pairs[pair] for other in others if (pair := frozenset((outcome, other))) in pairs]
    return float(np.mean([_association(*each, records) for each in own])) if own else float("inf")


def _lost(deviation: float, records: float) -> float:
    """The share of the values that one record in a hundred has that noise makes half as frequent."""
    return NormalDist().cdf(-_RARE * records / 2 / deviation) if deviation > 0 else 0.0


def _off(measured: Measurements, released: Sequence[NDArray[np.int64]]) -> Iterator[str]:
    """Attributes whose released shares are certainly further from the noisy counts than chance and what is usable.

    With noise of variance v, N measured and R released records, a difference of shares has the variance v / N^2 +
    p (1 - p) (1 / R + 1 / N); absolute values of independent normals have the mean and the variance of half-normals.
    """
    gaps = {}
    for i, own in enumerate(released):
        tables = [
            each
            for each in measured.tables
            if i in each.attributes and not (each.differences and len(each.attributes) > 1)
        ]
        if not tables or measured.domain.cardinalities[i] < _PAIR:
            continue
        table = min(tables, key=lambda each: marginal(each, i)[1])
        counts, variance = marginal(table, i)
        by_bucket = np.bincount(measured.buckets[i], weights=own, minlength=counts.size).astype(np.int64)
        drawn = own if i in table.by_values else by_bucket
        total, rows = float(counts.sum()), float(drawn.sum())
        if counts.size != drawn.size or total <= 0 or rows <= 0:
            continue
        shares = drawn / rows
        deviations = np.sqrt(variance / total**2 + shares * (1 - shares) * (1 / rows + 1 / total))
        distance = float(np.abs(shares - counts / total).sum()) / 2
        by_chance = float(deviations.sum()) * _ABSOLUTE / 2
        spread = sqrt(float((deviations**2).sum()) * (1 - 2 / pi)) / 2
        gaps[measured.domain.names[i]] = distance - by_chance - _SIGMAS * spread
    yield from (name for name in sorted(gaps, key=lambda each: -gaps[each]) if gaps[name] > LARGEST_GAP)
