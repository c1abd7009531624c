"""Whole tables of a release: counts or shares of all cells, with individual or simultaneous intervals."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf, prod, sqrt

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.errors import InvalidInput, Refused
from deniable.inference.answers import HIGHEST_LEVEL, Answer, Asked, TableAnswer
from deniable.inference.estimation import Inference
from deniable.inference.intervals import (
    LOUD,
    SMALL,
    Interval,
    Quadratic,
    ratio_interval,
    share_intervals,
    whole_numbers,
)
from deniable.inference.laws import two_sided
from deniable.inference.queries import Query
from deniable.measurements.consistency import Functional
from deniable.measurements.noisy_tables import Cells

MOST_CELLS = 100_000


@dataclass(frozen=True, eq=False)
class CellEstimates:
    """The cells of a table of counts, by buckets.

    Attributes:
        attributes: column numbers, ascending.
        groups: codes of the values of each bucket, attribute by attribute.
        counts: estimated counts of the measured rows, with one axis per attribute.
        variances: their noise variances.
        shared: their covariances with the estimated number of rows.
    """

    attributes: tuple[int, ...]
    groups: tuple[list[NDArray[np.integer]], ...]
    counts: Cells
    variances: Cells
    shared: Cells


def cells(inference: Inference, attributes: Sequence[int]) -> CellEstimates:
    """The estimated cells of a measured table; a single attribute is given by values, if these were counted.

    Raises:
        NotMeasured: the attributes were not counted together.
    """
    own = tuple(sorted(attributes))
    system = inference.system
    if len(own) == 1 and own[0] in system.many:
        return _by_many_values(inference, own[0])
    if not system.is_measured(own):
        system.functional(Query.product({i: (system.buckets[i] == 0).astype(np.float64) for i in own}))
    found = system.table(own)
    groups = tuple(inference.groups(i) for i in own)
    if len(own) == 1 and len(groups[0]) < len(system.buckets[own[0]]):
        values = _by_values(inference, own[0])
        if values is not None:
            return values
    return CellEstimates(own, groups, found.counts, found.variances, system.shared_with_records(own))


def _by_values(inference: Inference, i: int) -> CellEstimates | None:
    """An attribute by values, if these were counted."""
    system, size = inference.system, len(inference.system.buckets[i])
    everything = system.functional(Query.product({}))
    found = []
    for code in range(size):
        row = np.zeros(size)
        row[code] = 1.0
        try:
            functional = system.functional(Query.product({i: row}))
        except InvalidInput:
            return None
        shared = system.covariance(functional, everything)
        found.append((system.value(functional), system.variance(functional), shared))
    counts, variances, shared_with = (np.asarray(each) for each in zip(*found, strict=True))
    return CellEstimates((i,), ([np.asarray([code]) for code in range(size)],), counts, variances, shared_with)


def _by_many_values(inference: Inference, i: int) -> CellEstimates:
    """The cells of a single attribute with very many values, all of the same variance."""
    system, many = inference.system, inference.system.many[i]
    size = len(many.counts)
    whole = system.variance(system.functional(Query.product({})))
    return CellEstimates(
        (i,),
        ([np.asarray([code]) for code in range(size)],),
        many.counts + inference.records / size,
        np.full(size, many.variance * (1 - 1 / size) + whole / size**2),
        np.full(size, whole / size),
    )


def table(
    inference: Inference,
    attributes: Sequence[str],
    kind: str = "count",
    asked: Asked | None = None,
    *,
    simultaneous: bool = False,
    sources: bool = True,
) -> TableAnswer:
    """All cells of a table.

    Args:
        inference: the release.
        attributes: names of its attributes, one or more, in the order of the answer's columns; the last varies fastest.
        kind: `count` of the confidential table, or `share` of all records.
        asked: options of the answer.
        simultaneous: whether the level is that of simultaneous coverage.
        sources: whether answers name the tables that they are computed from.

    Raises:
        InvalidInput: an attribute is unknown or named twice, or the table is too large.
        Refused: the attributes were not counted together, and the grade would be too low.

    Source: simultaneous intervals by Bonferroni; with Gaussian noise, by Sidak 1967, for any correlations.
    """
    asked = asked or Asked()
    words, domain = inference.conditions, inference.measured.domain
    wanted = [words.attribute(name) for name in attributes]
    if not wanted or len(set(wanted)) < len(wanted):
        raise InvalidInput(
            f"a table must have one or more different attributes, got {', '.join(attributes) or 'none'}."
        )
    own = tuple(sorted(wanted))
    size = prod(inference.system.sizes[i] for i in own)
    if size > MOST_CELLS:
        raise InvalidInput(
            f"a table may have at most {MOST_CELLS:,} cells, and this one has {size:,}; take fewer attributes."
        )
    if kind == "count" and asked.estimand == "population":
        raise Refused("counts must be of the confidential table (finite); of the population ask for shares.")
    names = tuple(domain.names[i] for i in wanted)
    several = size if simultaneous else 1
    if len(own) > 1 and not inference.system.is_measured(own):
        return _cell_by_cell(inference, wanted, kind, asked, several)
    found = cells(inference, own)
    several = found.counts.size if simultaneous else 1
    is_normal = all(release.noise.law == "gaussian" for each in inference.measured.tables for release in each.releases)
    level = asked.level ** (1 / several) if is_normal else 1 - (1 - asked.level) / several
    # Cells are computed in the order of the columns of the release, and listed in the order asked for.
    axes = [own.index(i) for i in wanted]
    listed = np.arange(found.counts.size).reshape(found.counts.shape).transpose(axes).ravel().tolist()
    shown = [
        [words.values_named(i, codes) for codes in found.groups[axis]] for i, axis in zip(wanted, axes, strict=True)
    ]
    labels = tuple(product(*shown))
    places = [labels[place] for place in np.argsort(listed).tolist()]
    questions = [f"{kind} of {' & '.join(map('='.join, zip(names, place, strict=True)))}" for place in places]
    make = _shares if kind == "share" else _counts
    answers = list(make(inference, found, questions, asked, level, is_normal=is_normal))
    if sources:
        named = _sources(inference, found)
        answers = [replace(answer, sources=named) for answer in answers]
    return TableAnswer(
        question=f"{kind}s by {', '.join(names)}",
        columns=names,
        cells=labels,
        answers=tuple(answers[place] for place in listed),
        simultaneous=simultaneous,
    )


def _cell(inference: Inference, found: CellEstimates, place: tuple[int, ...]) -> Functional:
    """A cell as a linear function of the measurements."""
    factors = {}
    for i, groups, own in zip(found.attributes, found.groups, place, strict=True):
        factors[i] = np.zeros(len(inference.system.buckets[i]))
        factors[i][groups[own]] = 1.0
    return inference.system.functional(Query.product(factors))


class _Reach:
    """Critical values of cells, in standard deviations; cells of equal variance share one law."""

    def __init__(self, inference: Inference, found: CellEstimates, level: float, *, is_normal: bool) -> None:
        first = _cell(inference, found, tuple(0 for _ in found.counts.shape))
        self._inference, self._found, self._level = inference, found, level
        self._normal = two_sided(level) if is_normal and not inference.has_lattice(first) else 0.0
        self._known: dict[str, float] = {}

    def of(self, place: tuple[int, ...]) -> float:
        """The critical value of a cell."""
        variance = float(self._found.variances[place])
        if self._normal or variance <= 0:
            return self._normal
        key = f"{variance:.9g}"
        if key not in self._known:
            law = self._inference.law(_cell(self._inference, self._found, place))
            self._known[key] = law.reach(self._level) / sqrt(variance)
        return self._known[key]


def _counts(
    inference: Inference, found: CellEstimates, questions: Sequence[str], asked: Asked, level: float, *, is_normal: bool
) -> Iterator[Answer]:
    kept = inference.kept
    reach = _Reach(inference, found, level, is_normal=is_normal)
    for question, place in zip(questions, np.ndindex(found.counts.shape), strict=True):
        value, noise = float(found.counts[place]), float(found.variances[place])
        if kept >= 1:
            interval = whole_numbers(value, reach.of(place) * sqrt(noise))
        elif value <= SMALL and noise < LOUD:
            interval = inference.count_interval(_cell(inference, found, place), level)
        else:
            spread = Quadratic(noise, kept * (1 - kept), 0.0)
            interval = ratio_interval(value, kept, spread, reach.of(place)).cut(0.0, inf)
        yield inference.answer(
            question,
            "count",
            value / kept,
            interval,
            asked,
            None,
            noise=noise / kept**2,
            sampling=max(value, 0.0) * (1 - kept) / kept**2,
        )


def _shares(
    inference: Inference, found: CellEstimates, questions: Sequence[str], asked: Asked, level: float, *, is_normal: bool
) -> Iterator[Answer]:
    records, factor = inference.records, inference.sampling_factor(asked)
    shares = found.counts / records
    whole = inference.system.variance(inference.system.functional(Query.product({})))
    noise = np.maximum(found.variances - 2 * shares * found.shared + shares**2 * whole, 0.0) / records**2
    within = np.clip(shares, 0.0, 1.0)
    sampling = factor * within * (1 - within) / records
    z: Cells | float = two_sided(level)
    if not is_normal:
        reach = _Reach(inference, found, level, is_normal=is_normal)
        least = two_sided(level) if factor else 0.0
        own = [max(reach.of(place), least) for place in np.ndindex(shares.shape)]
        z = np.asarray(own).reshape(shares.shape)
    low, high = share_intervals(found.counts, records, (found.variances, found.shared, whole), factor, z)
    is_small = (found.counts <= SMALL) & (found.variances < LOUD) & (asked.estimand == "population") & (factor == 1)
    for question, place in zip(questions, np.ndindex(shares.shape), strict=True):
        interval = Interval(float(low[place]), float(high[place]))
        if is_small[place]:
            interval = inference.small_share_interval(_cell(inference, found, place), level)
        yield inference.answer(
            question,
            "share",
            float(shares[place]),
            interval,
            asked,
            None,
            noise=float(noise[place]),
            sampling=float(sampling[place]),
        )


def _sources(inference: Inference, found: CellEstimates) -> Mapping[tuple[str, ...], float]:
    """The sources of the first cell; those of others hardly differ."""
    return inference.system.sources(_cell(inference, found, tuple(0 for _ in found.counts.shape)))


def _cell_by_cell(inference: Inference, own: Sequence[int], kind: str, asked: Asked, several: int) -> TableAnswer:
    """A table that was not measured: cell by cell, by bounds or by the model."""
    words, domain = inference.conditions, inference.measured.domain
    each = asked if several == 1 else replace(asked, level=min(1 - (1 - asked.level) / several, HIGHEST_LEVEL))
    if each.level == HIGHEST_LEVEL:
        raise Refused(
            "simultaneous intervals of so many cells that were not counted together would be vacuous; ask for fewer."
        )
    groups = [[words.named(i, codes) for codes in inference.groups(i)] for i in own]
    answers = []
    for place in product(*groups):
        condition = " & ".join(place)
        answer = inference.count(condition, each) if kind == "count" else inference.share(condition, "", each)
        answers.append(replace(answer, level=asked.level))
    labels = [[words.values_named(i, codes) for codes in inference.groups(i)] for i in own]
    names = tuple(domain.names[i] for i in own)
    return TableAnswer(
        question=f"{kind}s by {', '.join(names)}",
        columns=names,
        cells=tuple(product(*labels)),
        answers=tuple(answers),
        simultaneous=several > 1,
    )
