"""`consistent.json`, with consistent estimates of the measured tables and their variances; and its verification.

It is a function of `measured.json` and public totals alone, by generalized least squares (consistency). Tables of
several attributes are by buckets; single attributes are by values where values were counted. Estimates are not counts
of records: they can be negative or fractional. Counts that chose the buckets of their attribute would be biased as sums
over these (chosen_buckets): such an attribute alone is estimated from its values, and agrees with its tables with
others on the number of records only. Format 1, of earlier releases, did not make that difference; it is still verified.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.checks import Check, found
from deniable.foundation.domain import Domain
from deniable.measurements.chosen_buckets import choosing_tables
from deniable.measurements.consistency import (
    ConsistentTables,
    Constraint,
    Estimate,
    Observation,
    solvable,
)
from deniable.measurements.document import Measurements
from deniable.measurements.noisy_tables import Cells, MeasuredTable

FILE: Final = "consistent.json"
FORMAT: Final = "deniable/consistent/2"
BEFORE: Final = "deniable/consistent/1"

_FOLLOWS = "consistent.json has the estimates that follow from measured.json, with their variances"
_MEANING = (
    "Estimates by generalized least squares from the noisy tables of measured.json, consistent with each other; "
    "they are not counts of records, and may be negative."
)
_APART = (
    " An attribute in 'apart' has buckets that its own noisy counts chose; alone it is estimated from its values, and "
    "its sums over buckets differ from those of its other tables."
)
_DIGITS = 10
_TOLERANCE: Final = 1e-6
"""Largest difference of a stated from a recomputed figure: for an estimate, relative to its standard deviation plus
its size; for a variance, relative to it. Roots and sums may be rounded differently on two machines."""
_LEAST = 1e-3
"""Added to the variance of a public total as a count of the measured rows."""
LARGEST_SYSTEM = 1_000
"""Largest system of normal equations; tables with heteroscedastic noise are omitted, largest first, to respect it."""


MOST_BUCKETS: Final = 2_000
"""Tables with an attribute of more buckets are omitted: its contrast matrix would be too large."""


@dataclass(frozen=True)
class KnownTotals:
    """Public totals of the rows that were measured.

    Attributes:
        counts: number of rows with each value of the attribute, or of all rows.
        attribute: its column number; None for all rows.
    """

    counts: tuple[int, ...]
    attribute: int | None = None


def consistent(
    measured: Measurements,
    totals: Sequence[KnownTotals] = (),
    probability: Fraction | None = None,
    *,
    is_former: bool = False,
) -> dict[str, Any]:
    """The document, ready for JSON.

    Args:
        measured: what was measured.
        totals: exact public totals of the measured rows, if any.
        probability: probability with which a record of the whole table was measured. If given, the domain's public
            totals of the whole table are used: of N records, about pN were measured, with variance p(1-p)N.
        is_former: whether the document is of format 1.
    """
    every = range(0 if is_former else len(measured.domain))
    choosing = {i: own for i in every if (own := choosing_tables(measured, i))}
    tables, estimated = _solved(measured, totals, probability, choosing)
    public = [] if probability is None else [total.document() for total in measured.domain.totals]
    names = measured.domain.names
    known = {each.attribute for each in totals}
    if probability is not None:
        known |= {measured.domain.index(each.attribute) for each in measured.domain.totals if each.attribute}
    apart = {i: own for i, own in choosing.items() if i not in known}
    documents = [
        _by_itself(measured, estimated, i, apart[i]) if i in apart else _single(measured, estimated, i, totals)
        for i in _counted(measured)
        if estimated.has((i,))
    ]
    shown: set[tuple[int, ...]] = set()
    for table in tables:
        attributes = table.attributes
        if len(attributes) > 1 and attributes not in shown and estimated.has(attributes):
            shown.add(attributes)
            documents.append(_document([names[i] for i in attributes], [], estimated.table(attributes)))
    records = estimated.table(()) if estimated.has(()) else None
    return {
        "format": BEFORE if is_former else FORMAT,
        "meaning": _MEANING + (_APART if apart else ""),
        "records": None if records is None else _rounded(records.counts),
        "records_variance": None if records is None else _rounded(records.variances),
        "buckets": {name: own.tolist() for name, own in zip(names, measured.buckets, strict=True)},
        "totals": [
            {"attribute": None if each.attribute is None else names[each.attribute], "counts": list(each.counts)}
            for each in totals
        ],
        **({"public": {"probability": str(probability), "totals": public}} if public else {}),
        **({} if is_former else {"apart": [names[i] for i in apart]}),
        "tables": documents,
    }


def probability_of(measured: Measurements, split: Mapping[str, Any]) -> Fraction | None:
    """Probability with which each record of the whole table, independently, is among the measured rows.

    None if there may be several records of a person: these are measured together or not at all, and some not used.

    Args:
        measured: what was measured.
        split: probability of each part of the split, or of the part that all steps share.

    Raises:
        KeyError: the split has no such part.
    """
    probability = Fraction(split["shared"] if "shared" in split else split[measured.universe.part])
    return probability if measured.domain.most_records == 1 else None


def check_consistent(
    described: Mapping[str, Any],
    measured: Mapping[str, Any],
    document: Mapping[str, Any],
    totals: Sequence[KnownTotals] = (),
    split: Mapping[str, Any] | None = None,
) -> Check:
    """Check the estimates against the measurements.

    Args:
        described: `schema.json`.
        measured: `measured.json`.
        document: `consistent.json`; empty if it cannot be read.
        totals: public totals of the measured rows.
        split: probability of each part of the split, as in a spec; without it, public totals of the table are unused.
    """

    def faults() -> Iterator[str]:
        if not document:
            yield f"{FILE} is missing, or is not a JSON document"
            return
        known = Measurements.from_document(Domain.from_document(described).modelled, measured)
        probability = None if split is None else probability_of(known, split)
        right = consistent(known, totals, probability, is_former=document.get("format") == BEFORE)
        yield from _differences(document, right)

    listed = document.get("tables")
    return Check(_FOLLOWS, found(faults), f"{len(listed) if isinstance(listed, list) else 0} tables")


def _differences(document: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[str]:
    for entry in ("format", "meaning", "buckets", "totals", "public", "apart"):
        if document.get(entry) != right.get(entry):
            yield f"{FILE}: {entry} is not what follows from measured.json"
    if set(document) != set(right) or len(document["tables"]) != len(right["tables"]):
        yield f"{FILE} must have the tables that were measured, and no other entries"
        return
    yield from _numbers(
        "records",
        (document["records"], document["records_variance"]),
        (right["records"], right["records_variance"]),
    )
    for one, other in zip(document["tables"], right["tables"], strict=True):
        named = f"table of {', '.join(other['attributes'])}"
        if set(one) != set(other) or any(one[entry] != other[entry] for entry in ("attributes", "by_values")):
            yield f"{FILE}: the {named} must come here"
            return
        yield from _numbers(named, *((each["estimates"], each["variances"]) for each in (one, other)))


def _numbers(named: str, said: tuple[Any, Any], right: tuple[Any, Any]) -> Iterator[str]:
    if right[0] is None or said[0] is None:
        if said != right:
            yield f"{FILE}: the {named} must be stated where it was measured, and only there"
        return
    (counts, variances), (expected, spread) = (
        tuple(np.asarray(each, np.float64) for each in pair) for pair in (said, right)
    )
    if counts.shape != expected.shape or variances.shape != spread.shape:
        yield f"{FILE}: the {named} must have the shape {expected.shape}, got {counts.shape}"
    elif not np.all(np.abs(counts - expected) <= _TOLERANCE * (np.sqrt(spread) + np.abs(expected) + 1)):
        yield f"{FILE}: the estimates of the {named} do not follow from measured.json"
    elif not np.all(np.abs(variances - spread) <= _TOLERANCE * (spread + 1)):
        yield f"{FILE}: the variances of the {named} do not follow from measured.json"


def _document(names: list[str], by_values: list[str], estimate: Estimate) -> dict[str, Any]:
    return {
        "attributes": names,
        "by_values": by_values,
        "estimates": _rounded(estimate.counts),
        "variances": _rounded(estimate.variances),
    }


def _rounded(table: Cells) -> Any:
    """The numbers with ten digits, as nested lists; further digits are rounding."""
    flat = [float(f"{number:.{_DIGITS}g}") + 0.0 for number in np.ravel(table).tolist()]
    return np.reshape(flat, np.shape(table)).tolist()


def _counted(measured: Measurements) -> list[int]:
    return sorted({i for table in measured.tables for i in table.attributes})


def public_observations(
    domain: Domain, buckets: Sequence[NDArray[np.integer]], probability: Fraction
) -> Iterator[Observation]:
    """Public totals of the whole table as information about the measured rows: a binomial number of each.

    Args:
        domain: the public domain.
        buckets: bucket of each value of each attribute.
        probability: probability with which a record of the whole table was measured.
    """
    share = float(probability)
    for total in domain.totals:
        counts = np.asarray(total.counts, np.float64)
        # A count of 0 has no variance; a minimum variance keeps the equations solvable.
        if total.attribute is None:
            yield Observation((), np.asarray(share * counts[0]), share * (1 - share) * float(counts[0]) + _LEAST)
            continue
        i = domain.index(total.attribute)
        held = added_up(counts, buckets[i], 0)
        spread = {i: share * (1 - share) * held + _LEAST}
        yield Observation((i,), share * held, 1.0, spread)


def _solved(
    measured: Measurements,
    totals: Sequence[KnownTotals],
    probability: Fraction | None,
    choosing: Mapping[int, Sequence[MeasuredTable]],
) -> tuple[list[MeasuredTable], ConsistentTables]:
    """The tables used, and the estimates from them; of tables that chose buckets, the sum of all counts."""
    only_summed = {id(table) for own in choosing.values() for table in own}
    of_tables = [
        (table, observation)
        for table in measured.tables
        if (observation := _summed(table) if id(table) in only_summed else _observation(measured, table))
        and _is_small(measured, observation)
    ]
    constraints = [_constraint(measured, each) for each in totals]
    public = [] if probability is None else public_observations(measured.domain, measured.buckets, probability)
    observations = [
        *(observation for _, observation in of_tables),
        *(observation for observation in public if _is_small(measured, observation)),
    ]
    used = solvable(measured.sizes, observations, constraints, LARGEST_SYSTEM)
    kept = set(map(id, used))
    tables = [table for table, observation in of_tables if id(observation) in kept]
    return tables, ConsistentTables(measured.sizes, used, constraints)


def _is_small(measured: Measurements, observation: Observation) -> bool:
    return all(measured.sizes[i] <= MOST_BUCKETS for i in observation.attributes)


def _observation(measured: Measurements, table: MeasuredTable) -> Observation | None:
    """Sum a table over buckets, and its noise variances with it."""
    counts, variance, spread = table.values, table.variance, {}
    for axis, i in enumerate(table.attributes):
        if i not in table.by_values:
            continue
        if i in table.differences:
            if measured.sizes[i] == 1:
                return None
            continue
        values_in = np.bincount(measured.buckets[i]).astype(np.float64)
        counts = added_up(counts, measured.buckets[i], axis)
        if np.ptp(values_in) == 0:
            variance *= float(values_in[0])
        else:
            spread[i] = values_in
    return Observation(table.attributes, counts, variance, spread, table.differences)


def _summed(table: MeasuredTable) -> Observation:
    """The sum of all counts of a table."""
    return Observation((), np.asarray(table.values.sum()), table.variance * table.values.size)


def added_up(counts: Cells, buckets: NDArray[np.integer], axis: int) -> Cells:
    """Sum counts by values to counts by buckets along an axis."""
    moved = np.moveaxis(counts, axis, 0)
    coarse = np.zeros((int(np.max(buckets)) + 1, *moved.shape[1:]))
    np.add.at(coarse, buckets, moved)
    return np.moveaxis(coarse, 0, axis)


def _constraint(measured: Measurements, totals: KnownTotals) -> Constraint:
    counts = np.asarray(totals.counts, np.float64)
    if totals.attribute is None:
        return Constraint(counts)
    return Constraint(added_up(counts, measured.buckets[totals.attribute], 0), totals.attribute)


def _by_itself(
    measured: Measurements, estimated: ConsistentTables, i: int, tables: Sequence[MeasuredTable]
) -> dict[str, Any]:
    """A single attribute by values, from its own counts and the number of records."""
    name, records = measured.domain.names[i], estimated.table(())
    precision = sum(1 / table.variance for table in tables)
    noisy = np.asarray(sum(table.values / table.variance for table in tables) / precision, np.float64)
    size = len(noisy)
    counts = noisy - noisy.mean() + float(records.counts) / size
    variance = (1 - 1 / size) / precision + float(records.variances) / size**2
    return _document([name], [name], Estimate(counts, np.full(size, variance)))


def _single(
    measured: Measurements, estimated: ConsistentTables, i: int, totals: Sequence[KnownTotals]
) -> dict[str, Any]:
    """A single attribute: by values if these were counted, otherwise by buckets."""
    name, buckets = measured.domain.names[i], measured.buckets[i]
    whole = estimated.table((i,))
    values_in = np.bincount(buckets).astype(np.float64)
    known = next((np.asarray(each.counts, np.float64) for each in totals if each.attribute == i), None)
    if known is not None:
        return _document([name], [name], Estimate(known, np.zeros(len(known))))
    added, precision = np.zeros(len(buckets)), 0.0
    for table in measured.tables:
        if i in table.by_values and not table.differences:
            axis = table.attributes.index(i)
            others = tuple(each for each in range(len(table.attributes)) if each != axis)
            own = 1 / (table.variance * prod(table.values.shape[each] for each in others))
            added, precision = added + own * table.values.sum(axis=others), precision + own
    if not precision:
        return _document([name], [], whole)
    noisy = added / precision
    within = noisy - (added_up(noisy, buckets, 0) / values_in)[buckets]
    share = 1 / values_in[buckets]
    counts = whole.counts[buckets] * share + within
    variances = whole.variances[buckets] * share**2 + (1 - share) / precision
    return _document([name], [name], Estimate(counts, variances))
