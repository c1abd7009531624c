"""The points of a map: tables under several keys, what they cost, and the means of what is measured of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from statistics import fmean, pstdev
from typing import Any

from deniable.foundation.domain import Codes
from deniable.foundation.errors import DeniableError
from deniable.learners.mapped import Drawing, Entries, Way
from deniable.samplers.mapped import EPSILON_OF_TESTED, GUARANTEES, planned
from reports.figures.confidentiality_map import MapPoint
from tasks.mapping.measures import RealTable

LeftOut = Callable[[str], None]
"""Receives in words a point that a learner refuses, such as one for which the table is too small."""


def point(real: RealTable, curve: str, made: Callable[[int], Codes], keys: int, *, seen: int, **costs: Any) -> MapPoint:
    """Make a table under each key, and measure it.

    Args:
        real: the real table.
        curve: the name of the curve.
        made: makes a table under the key of a number.
        keys: number of keys.
        seen: number of records that the intruder sees.
        costs: `per_record` and `total`.
    """
    tables = [made(number) for number in range(1, keys + 1)]
    figures = [real.figures(table, seen) for table in tables]
    means, spreads = (tuple(of(column) for column in zip(*figures, strict=True)) for of in (fmean, pstdev))
    return MapPoint(curve, records=len(tables[0]), figures=means, spreads=spreads, **costs)


def points_of_ways(
    real: RealTable,
    drawing: Drawing,
    ways: Sequence[Way],
    epsilons: Sequence[float],
    records: int,
    keys: int,
    left_out: LeftOut | None = None,
) -> Iterator[MapPoint]:
    """Yield the points of records that are charged one by one.

    Args:
        real: the real table.
        drawing: draws from it.
        ways: how to draw.
        epsilons: the epsilons of one record.
        records: number of records of each table.
        keys: number of keys.
        left_out: receives refused points; if None, they raise.
    """
    for way in ways:
        for epsilon in epsilons:
            with _refused(f"{way.curve} at epsilon {epsilon:g} of a record", left_out):
                draw, total = drawing.drawer(way.at(epsilon), records)
                yield point(real, way.curve, draw, keys, seen=records, total=total, per_record=float(epsilon))


def points_of_models(
    real: RealTable,
    drawing: Drawing,
    models: Entries,
    totals: Sequence[float],
    seen: int,
    keys: int,
    left_out: LeftOut | None = None,
) -> Iterator[MapPoint]:
    """Yield the points of models at some totals; each draws as many records as half of the table has.

    Further records cost nothing, and a table of fewer would be further away by chance alone.

    Args:
        real: the real table.
        drawing: learns and draws from it.
        models: the models.
        totals: epsilons of a whole table.
        seen: number of records that the intruder sees.
        keys: number of keys.
        left_out: receives refused points; if None, they raise.
    """
    records = max(len(real.codes) // 2, 1)
    for curve, entry in models.items():
        for total in totals:

            def made(number: int, asked: Mapping[str, Any] = entry(total)) -> Codes:
                return drawing.learnt(asked, number, records)

            with _refused(f"{curve} at a total of {total:g}", left_out):
                yield point(real, curve, made, keys, seen=seen, total=float(total))


def points_of_guarantees(
    real: RealTable, drawing: Drawing, totals: Sequence[float], seen: int, keys: int, left_out: LeftOut | None = None
) -> Iterator[MapPoint]:
    """Yield the points of records that start from seeds; a table of one attribute has none.

    Those whose total may be stated have as many records as half of the table. The others are charged for each
    candidate, so they have as many as records that are charged one by one, and one point.

    Args:
        real: the real table.
        drawing: the domain and the rows.
        totals: epsilons of a whole table.
        seen: number of records that the intruder sees, and of those whose total may not be stated.
        keys: number of keys.
        left_out: receives refused points; if None, they raise.
    """
    if len(drawing.domain) == 1:
        return
    for guarantee in GUARANTEES:
        records = max(len(real.codes) // 2, 1) if guarantee.has_total else seen
        for total in totals if guarantee.has_total else (EPSILON_OF_TESTED,):
            what = f"{guarantee.curve} at a total of {total:g}" if guarantee.has_total else guarantee.curve
            with _refused(what, left_out):
                entries = guarantee.entries(drawing.domain, len(drawing.codes), records, total)
                draw, cost = planned(drawing, *entries, records)
                yield point(real, guarantee.curve, draw, keys, seen=seen, total=cost)


@contextmanager
def _refused(what: str, left_out: LeftOut | None) -> Iterator[None]:
    """Go on without a point that a learner refuses.

    Args:
        what: the point.
        left_out: receives it; if None, the refusal is raised.
    """
    try:
        yield
    except DeniableError as error:
        if left_out is None:
            raise
        left_out(f"{what} is left out: {error}")


def baselines(real: RealTable, drawing: Drawing, records: int, keys: int) -> Iterator[MapPoint]:
    """Yield the points of resampled real records, and of values drawn independently from the exact marginals."""
    for curve, again in (("bootstrap", drawing.bootstrap), ("independent", drawing.independent)):
        yield point(real, curve, partial(again, records=records), keys, seen=records, total=None)


def points_without_privacy(
    real: RealTable, drawing: Drawing, entries: Mapping[str, Mapping[str, Any]], records: int, keys: int
) -> Iterator[MapPoint]:
    """Yield the points of records that are drawn from exact counts without differential privacy.

    Args:
        real: the real table.
        drawing: draws from it.
        entries: by curve, a learner's entry in a spec.
        records: number of records of each table.
        keys: number of keys.
    """
    for curve, entry in entries.items():
        draw, total = drawing.drawer(entry, records)
        yield point(real, curve, draw, keys, seen=records, total=total)
