"""Prepares a learner's measurements for display: the budget of each, and how the denoiser changed it.

Everything is public: it is made from `measured.json`, the graph and the public domain. How pictures are drawn does not
belong here (ratio_pictures).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, prod, sqrt
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Attribute, Domain
from deniable.measurements.document import FILE, Measurements
from deniable.measurements.noisy_tables import MeasuredTable
from deniable.models.contrasts import with_contrast
from reports.figures.marginals import Band, DescribedTable, Panel, panels
from reports.figures.value_groups import group_names
from reports.plots.graph_plot import Edge

MEASURED: Final = FILE

_REASONS: Final = {
    "tree": "chosen for the tree",
    "target": "with the target",
    "extra": "large error of the model",
    "values": "values within buckets",
}
Entry = Mapping[str, Any]
"""The entry of one counted table in `measured.json`, in the form of the first version, which has noisy counts."""
_PICTURES = 6
_REACHES: Final = {"gaussian": 1.96, "laplace": 2.12}
"""Standard deviations of noise within which 95 of 100 draws lie."""
_TELLING, _MOST_CELLS = 12, 1_000
"""The smallest number of cells for which a picture is useful, and the largest number that it can show."""
_A_PAIR = 2


@dataclass(frozen=True)
class Noise:
    """The noise of one counted table.

    Attributes:
        share: share of the budget for all counts, in percent.
        deviation: standard deviation of the noise on one count, in records.
        moved: share of the records that the denoiser moved to other cells, in percent.
    """

    share: float
    deviation: float
    moved: float


@dataclass(frozen=True)
class SingleLine:
    """A single attribute.

    Attributes:
        name: its name.
        values: number of its values.
        buckets: number of buckets used in tables of several attributes.
        reason: why these buckets.
        noise: the noise of its counts; None if it has only one value, which needs no counting.
    """

    name: str
    values: int
    buckets: int
    reason: str
    noise: Noise | None


@dataclass(frozen=True)
class TableLine:
    """A table of several attributes.

    Attributes:
        names: its attributes.
        reason: why it was measured.
        shape: number of buckets, or of values, of each.
        differences: attributes for which only the difference between their two buckets was measured.
        noise: the noise of its counts.
        strength: symmetrical uncertainty of its attributes in [0, 1]; None if it is not an edge of the model.
    """

    names: tuple[str, ...]
    reason: str
    shape: tuple[int, ...]
    differences: tuple[str, ...]
    noise: Noise
    strength: float | None


@dataclass(frozen=True, eq=False)
class Ratios:
    """A table of two attributes, with the ratio of each count to its expected value under independence.

    Attributes:
        line: the description of the table.
        noisy: logarithms to base 2 of the ratios before denoising; minus infinity for a count that is not positive.
        denoised: the same after denoising.
        names: names of its rows and of its columns.
    """

    line: TableLine
    noisy: NDArray[np.float64]
    denoised: NDArray[np.float64]
    names: tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True)
class Measured:
    """Everything that is shown.

    Attributes:
        records: number of records, from noisy counts.
        records_deviation: standard deviation of the noise in the best of these counts, in records.
        order: the attributes in the order in which a record is drawn.
        singles: the attributes, in that order.
        tables: the tables, the strongest first.
        largest_share: the largest share of the budget that a table received, in percent.
        panels: the distribution of every attribute, noisy and denoised.
        ratios: the strongest tables of a size that can be shown.
        bands: by attribute, an interval for the share of each of its values, from the noise on its counts alone.
    """

    records: float
    records_deviation: float
    order: tuple[str, ...]
    singles: tuple[SingleLine, ...]
    tables: tuple[TableLine, ...]
    largest_share: float
    panels: list[Panel]
    ratios: tuple[Ratios, ...]
    bands: Mapping[str, Band]


def read_measured(file: Path, table: DescribedTable, weights: Mapping[Edge, float]) -> Measured | None:
    """Read the measurements.

    Args:
        file: `measured.json`; it does not exist if a different learner was used.
        table: the attributes and their meanings.
        weights: strength of each dependency, by (parent, child).
    """
    if not file.exists():
        return None
    return measured_of(json.loads(file.read_text(encoding="utf-8")), table, weights)


def measured_of(found: Mapping[str, Any], table: DescribedTable, weights: Mapping[Edge, float]) -> Measured:
    """Prepare the measurements.

    Args:
        found: the document that the learner wrote, in the form of this version or of the first.
        table: the attributes and their meanings.
        weights: strength of each dependency, by (parent, child).
    """
    found = _with_noisy_counts(found, table.domain)
    records = found["records"]
    counted = [*found["attributes"].values(), *found["tables"]]
    shares = sum(entry["shares"] for entry in counted)
    strengths = {frozenset(edge): weight for edge, weight in weights.items()}

    def noise(entry: Entry) -> Noise:
        moved = np.abs(_noisy_cells(entry) - np.asarray(entry["denoised"])).sum() / 2 / records
        return Noise(100 * entry["shares"] / shares, entry["deviation"], 100 * float(moved))

    lines = [
        TableLine(
            names=tuple(entry["attributes"]),
            reason=_REASONS.get(entry["reason"], entry["reason"]),
            shape=np.asarray(entry["denoised"]).shape,
            differences=tuple(entry.get("differences", ())),
            noise=noise(entry),
            strength=None if entry["reason"] == "values" else strengths.get(frozenset(entry["attributes"])),
        )
        for entry in found["tables"]
    ]
    falling = sorted(
        zip(lines, found["tables"], strict=True), key=lambda pair: (-(pair[0].strength or 0.0), pair[0].names)
    )
    noises = {name: noise(entry) for name, entry in found["attributes"].items() if entry["shares"]}
    domain = table.domain
    return Measured(
        records=records,
        records_deviation=min(
            (entry["deviation"] * sqrt(len(entry["denoised"])) for entry in found["attributes"].values()), default=0.0
        ),
        order=tuple(found["order"]),
        singles=tuple(
            _single_line(domain.attributes[domain.index(name)], found["buckets"][name], noises.get(name))
            for name in found["order"]
        ),
        tables=tuple(line for line, _ in falling),
        largest_share=max((line.noise.share for line in lines), default=1.0),
        panels=_panels(found, table),
        ratios=tuple(_ratios(line, entry, table, found["buckets"]) for line, entry in _worth_looking_at(falling)),
        bands={name: interval(entry, _law(entry), records) for name, entry in found["attributes"].items()},
    )


def interval(entry: Entry, law: str, records: float) -> Band:
    """Intervals for the shares of counted cells; 95 in 100 contain the true share.

    A released count is the true count plus noise from a known distribution, so the true count lies within 1.96 standard
    deviations of it in 95 of 100 cases if the noise is Gaussian, and within 2.12 (ln 20 / sqrt 2) if it is Laplace
    noise. The sum of several Laplace draws has a lighter tail than one draw. The intervals depend only on published
    integers, the multiplier and the distribution of the noise; the denoiser plays no part.

    Args:
        entry: the counted table, with its noisy counts.
        law: distribution of the noise, `gaussian` or `laplace`.
        records: number of records, from noisy counts.

    Returns:
        Lower and upper ends, in [0, 1].
    """
    noisy = np.asarray(entry["noisy"], np.float64)
    reach = _REACHES[law] * entry["deviation"]
    ends = (np.clip((noisy + side * reach) / max(records, 1.0), 0.0, 1.0) for side in (-1, 1))
    lower, upper = (tuple(end.ravel().tolist()) for end in ends)
    return lower, upper


@dataclass(frozen=True)
class CountedTable:
    """A table that was counted value by value.

    Attributes:
        noisy: its noisy counts, in whole records; the last attribute varies fastest.
        reach: half the width of the interval that contains a true count in 95 of 100 cases, in whole records, rounded
            up.
        records: number of all records that were counted, from noisy counts.
    """

    noisy: tuple[int, ...]
    reach: int
    records: int


def counted_by_value(file: Path, domain: Domain) -> dict[tuple[str, ...], CountedTable]:
    """The attributes and pairs of attributes that were counted value by value, with noise of their own.

    Args:
        file: `measured.json`; if it does not exist, a different learner was used, and there are no tables.
        domain: the attributes.

    Returns:
        The tables, by their attributes; a table is left out if some values were counted together, or only differences.
    """
    if not file.exists():
        return {}
    found = _with_noisy_counts(json.loads(file.read_text(encoding="utf-8")), domain)
    tables: dict[tuple[str, ...], Entry] = {(name,): entry for name, entry in found["attributes"].items()}
    tables |= {tuple(entry["attributes"]): entry for entry in found["tables"] if not entry.get("differences")}
    known = {}
    for names, entry in tables.items():
        noisy = np.asarray(entry["noisy"], np.float64)
        whole = tuple(domain.attributes[domain.index(name)].cardinality for name in names)
        if len(names) <= _A_PAIR and noisy.shape == whole:
            # Rounding to whole records changes a count by at most half a record.
            reach = ceil(_REACHES[_law(entry)] * entry["deviation"] + 0.5)
            known[names] = CountedTable(
                tuple(np.rint(noisy).astype(int).ravel().tolist()), reach, round(found["records"])
            )
    return known


def _law(entry: Entry) -> str:
    """Return the distribution of a table's noise; by default Laplace, whose intervals are wider (first version)."""
    return str(entry.get("law", "laplace"))


def _with_noisy_counts(found: Mapping[str, Any], domain: Domain) -> Mapping[str, Any]:
    """The document with noisy counts computed from its integers, as its first version had them."""
    if "format" not in found:
        return found
    measured = Measurements.from_document(domain.modelled, found)
    names, whole = domain.modelled.names, sum((table.cost for table in measured.tables), Fraction(0))
    alone, together = {}, []
    for table in measured.tables:
        entry = {**_counted(table, measured.cells(table)), "shares": float(table.cost / whole)}
        if len(table.attributes) == 1:
            alone[names[table.attributes[0]]] = entry
        else:
            shown = {"attributes": [names[i] for i in table.attributes], "reason": table.reason}
            together.append({**entry, **shown, "differences": [names[i] for i in table.differences]})
    for table in measured.tables:
        for axis, i in enumerate(table.attributes):
            if i in table.by_values and names[i] not in alone and not table.differences:
                alone[names[i]] = _summed(table, axis)
    return {
        "records": measured.records,
        "order": [names[i] for i in measured.order],
        "buckets": found["buckets"],
        "attributes": alone,
        "tables": together,
    }


def _counted(table: MeasuredTable, cells: tuple[int, ...]) -> dict[str, Any]:
    """Return a table with its noisy counts; if its learner has no estimate, these are shown, truncated at 0."""
    denoised = table.denoised
    if denoised is None:
        denoised = np.maximum(with_contrast(np.zeros(cells), table.values) if table.differences else table.values, 0.0)
    law, deviation = table.releases[0].noise.law, sqrt(table.variance)
    return {"law": law, "deviation": deviation, "noisy": table.values, "denoised": denoised}


def _summed(table: MeasuredTable, axis: int) -> dict[str, Any]:
    """Return the counts of an attribute that was not counted by itself: a table summed over its other attributes."""
    noisy = table.values.sum(axis=tuple(other for other in range(len(table.attributes)) if other != axis))
    deviation = sqrt(table.variance * table.values.size / len(noisy))
    law = table.releases[0].noise.law
    return {"law": law, "deviation": deviation, "noisy": noisy, "denoised": np.maximum(noisy, 0.0), "shares": 0.0}


def _single_line(attribute: Attribute, bucket_of: list[int], noise: Noise | None) -> SingleLine:
    buckets = max(bucket_of) + 1
    if len(bucket_of) == 1:
        reason = "only one value"
    elif buckets == len(bucket_of):
        reason = "one bucket per value"
    elif attribute.is_ordered:
        reason = "neighbouring values merged until they have enough records"
    else:
        reason = "rare values merged"
    return SingleLine(attribute.name, len(bucket_of), buckets, reason, noise)


def _panels(found: Mapping[str, Any], table: DescribedTable) -> list[Panel]:
    """The distributions of the attributes; noisy counts below 0 are drawn as 0."""
    series: list[dict[str, tuple[float, ...]]] = [{}, {}]
    for attribute in table.domain.attributes:
        entry = found["attributes"].get(attribute.name, {"noisy": [1.0], "denoised": [1.0]})
        for shares, kind in zip(series, ("noisy", "denoised"), strict=True):
            counts = np.maximum(np.asarray(entry[kind], np.float64), 0.0)
            shares[attribute.name] = tuple((counts / max(counts.sum(), 1.0)).tolist())
    return panels(table, series)


def _worth_looking_at(falling: Sequence[tuple[TableLine, Entry]]) -> list[tuple[TableLine, Entry]]:
    """The strongest tables of a size that can be shown; very small ones only if there are no others."""
    pairs = [pair for pair in falling if len(pair[0].shape) == _A_PAIR and prod(pair[0].shape) <= _MOST_CELLS]
    return sorted(pairs, key=lambda pair: prod(pair[0].shape) < _TELLING)[:_PICTURES]


def _ratios(line: TableLine, entry: Entry, table: DescribedTable, buckets: Mapping[str, Sequence[int]]) -> Ratios:
    """Ratios of counts to those of independent attributes with the margins of the denoised table."""
    denoised = np.asarray(entry["denoised"], np.float64)
    total = max(float(denoised.sum()), 1.0)
    expected = np.maximum(denoised.sum(axis=1, keepdims=True) * denoised.sum(axis=0) / total, 1e-9)
    with np.errstate(divide="ignore"):
        noisy, after = (
            np.log2(np.maximum(np.asarray(counts, np.float64), 0.0) / expected)
            for counts in (_noisy_cells(entry), denoised)
        )
    rows, columns = (
        _names_along(table, name, size, buckets[name]) for name, size in zip(line.names, line.shape, strict=True)
    )
    return Ratios(line, noisy, after, (rows, columns))


def _names_along(table: DescribedTable, name: str, size: int, buckets: Sequence[int]) -> tuple[str, ...]:
    """Names along one side of a table: values, or buckets of values."""
    attribute = table.domain.attributes[table.domain.index(name)]
    groups = buckets if size == max(buckets) + 1 else range(attribute.cardinality)
    return group_names(attribute, groups, table.labels.get(name, {}))


def _noisy_cells(entry: Entry) -> NDArray[np.float64]:
    """Noisy counts of all cells; if a difference was released, with the sum of the two from the denoised table."""
    noisy, denoised = (np.asarray(entry[kind], np.float64) for kind in ("noisy", "denoised"))
    return with_contrast(denoised, noisy) if entry.get("differences") else noisy
