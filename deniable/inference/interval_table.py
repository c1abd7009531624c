"""`intervals.csv`, with counts, shares and intervals for every cell of every measured table; and its verification.

It is a function of `measured.json`, the public domain and the split, for users of other languages. The estimand is the
confidential table, and each interval has an individual level of 0.95. Estimates lie in their intervals, and counts that
chose buckets are not summed over them; files of earlier releases, for which neither holds, are verified, too. Answers
to questions do not belong here.
"""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from hashlib import sha256
from itertools import zip_longest
from math import prod
from typing import Any, Final, Literal

from deniable.foundation.checks import Check, found
from deniable.foundation.domain import Domain
from deniable.foundation.errors import Refused
from deniable.inference.answers import Answer, Asked
from deniable.inference.estimation import Inference
from deniable.inference.system import NotMeasured
from deniable.inference.tables import table
from deniable.measurements.document import Measurements
from deniable.measurements.estimates import FILE as CONSISTENT
from deniable.measurements.estimates import consistent, probability_of

FILE: Final = "intervals.csv"
MOST_CELLS: Final = 20_000
"""Largest number of cells; larger tables are in `consistent.json`, and can be queried."""

_FOLLOWS = "intervals.csv has the estimates and intervals that follow from measured.json"
_NUMBERS = ("count", "count_low", "count_high", "count_sd", "share", "share_low", "share_high", "share_sd")
Former = Literal["outside", "joint"]
"""A property of files of earlier releases: estimates lie outside their intervals; counts that chose buckets are summed
over these buckets."""
_EARLIER: Final[tuple[frozenset[Former], ...]] = (frozenset({"joint"}), frozenset({"joint", "outside"}))
_TOLERANCE: Final = 1e-6
"""Largest difference of a stated from a recomputed number, relative to its standard deviation or to itself."""


def published_estimates(measured: Measurements, split: Mapping[str, Any]) -> Mapping[str, str]:
    """The texts of the estimates that a release publishes beside its noisy tables, by the names of their files.

    Args:
        measured: what was measured.
        split: the probability of each part of the rows.
    """
    probability = probability_of(measured, split)
    return {
        CONSISTENT: json.dumps(consistent(measured, probability=probability)),
        FILE: interval_table(measured, probability),
    }


def interval_table(measured: Measurements, probability: Fraction | None) -> str:
    """The file's content.

    Args:
        measured: what was measured.
        probability: probability with which a record of the confidential table was measured.

    Returns:
        One line for each cell of each table of at most 20,000 cells; only the header if too few rows were measured.
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(_lines.of(measured, probability))
    return text.getvalue()


class _Latest:
    """The lines of the latest table, cached for the same measurements.

    A release writes them, verifies them, and verifies them again after publication.
    """

    def __init__(self) -> None:
        # Replaced as a whole, so that no thread sees the lines of one table with the key of another.
        self._kept: tuple[object, list[list[str]]] = (None, [])

    def of(
        self, measured: Measurements, probability: Fraction | None, former: frozenset[Former] = frozenset()
    ) -> Iterator[list[str]]:
        """The lines, in order; if there are many, they are not cached, but generated each time.

        Args:
            measured: what was measured.
            probability: probability with which a record of the confidential table was measured.
            former: properties of the files of earlier releases.
        """
        document = json.dumps(measured.document(), sort_keys=True)
        key = (measured.domain, sha256(document.encode()).digest(), probability, former)
        known, kept = self._kept
        if key == known:
            yield from kept
            return
        lines: list[list[str]] = []
        for line in _rows(measured, probability, former):
            if len(lines) <= MOST_CELLS:
                lines.append(line)
            yield line
        if len(lines) <= MOST_CELLS:
            self._kept = key, lines


_lines: Final = _Latest()


def _rows(
    measured: Measurements, probability: Fraction | None, former: frozenset[Former] = frozenset()
) -> Iterator[list[str]]:
    most = max((len(each.attributes) for each in measured.tables), default=1)
    places = [f"{what}_{number}" for number in range(1, most + 1) for what in ("attribute", "values")]
    yield ["table", *places, *_NUMBERS, "level", "of", "grade"]
    try:
        inference = Inference(measured, probability=probability, is_former="joint" in former)
    except (Refused, NotMeasured):
        return
    names, asked = measured.domain.names, Asked()
    alone = [(i,) for i in range(len(names))]
    several = dict.fromkeys(each.attributes for each in measured.tables if len(each.attributes) > 1)
    for attributes in [*alone, *several]:
        system = inference.system
        size = prod(system.sizes[i] for i in attributes)
        if any(system.is_large[i] for i in attributes):
            # Alone, such an attribute is divided by values.
            size = (
                len(system.buckets[attributes[0]])
                if attributes[0] in system.many and len(attributes) == 1
                else MOST_CELLS + 1
            )
        if size > MOST_CELLS or not system.is_measured(attributes):
            continue
        own = [names[i] for i in attributes]
        counts, shares = (table(inference, own, kind, asked, sources=False) for kind in ("count", "share"))
        for cell, count, share in zip(counts.cells, counts.answers, shares.answers, strict=True):
            told = [part for pair in zip(own, cell, strict=True) for part in pair]
            padding = [""] * (2 * most - len(told))
            numbers = [number for each in (count, share) for number in _of(each, former)]
            yield [" x ".join(own), *told, *padding, *numbers, f"{asked.level:g}", count.of_what, count.grade]


def _of(answer: Answer, former: frozenset[Former]) -> list[str]:
    low, high = (0.0, 0.0) if answer.interval is None else (answer.interval.low, answer.interval.high)
    estimate = answer.raw_estimate if "outside" in former else answer.estimate
    return [f"{number + 0.0:.10g}" for number in (estimate, low, high, answer.deviation)]


def check_intervals(
    described: Mapping[str, Any], measured: Mapping[str, Any], content: str, split: Mapping[str, Any] | None
) -> Check:
    """Check the intervals against the measurements.

    Args:
        described: `schema.json`.
        measured: `measured.json`.
        content: `intervals.csv`.
        split: probability of each part of the split, as in a spec.
    """
    try:
        rows = list(csv.reader(io.StringIO(content, newline="")))
    except csv.Error:
        return Check(_FOLLOWS, (f"{FILE} must be a table of comma-separated values, and is not",))

    def faults(former: frozenset[Former] = frozenset()) -> Iterator[str]:
        known = Measurements.from_document(Domain.from_document(described).modelled, measured)
        probability = None if not split else probability_of(known, split)
        for number, (own, right) in enumerate(zip_longest(rows, _lines.of(known, probability, former)), 1):
            if own is None or right is None or len(own) != len(right):
                yield f"{FILE}: line {number} is missing, or is one too many"
                return
            if number == 1 and own != right:
                yield f"{FILE}: its first line must name the columns"
                return
            if number > 1 and not _is_same(own, right):
                yield f"{FILE}: line {number} does not follow from measured.json"

    own = found(faults)
    if own and any(not found(partial(faults, former)) for former in _EARLIER):
        own = ()
    return Check(_FOLLOWS, own, f"{max(len(rows) - 1, 0):,} cells")


def _is_same(own: Sequence[str], right: Sequence[str]) -> bool:
    """Whether two lines agree, up to rounding differences between machines."""
    first = len(right) - len(_NUMBERS) - 3
    last = first + len(_NUMBERS)
    if [*own[:first], *own[last:]] != [*right[:first], *right[last:]]:
        return False
    stated, expected = ([float(each) for each in line[first:last]] for line in (own, right))
    scales = [expected[3]] * 4 + [expected[7]] * 4
    return all(
        abs(one - other) <= _TOLERANCE * (scale + abs(other) + 1e-6)
        for one, other, scale in zip(stated, expected, scales, strict=True)
    )
