"""How a release describes small groups: the distance of the other attributes' shares within a group, beyond chance.

A group has one value of one attribute. Within it, the mean total variation distance of the other attributes from the
holdout's people of the group is compared with that of real training records. Errors are by resampling of records.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from deniable.evaluation.contract import Figure, Metric, Scope, Table, Value
from deniable.evaluation.uses import GROUPS
from deniable.evaluation.utility import ERROR_RECORDS, SIGMAS, certainly_above, widened
from deniable.foundation.domain import Codes, Domain

if TYPE_CHECKING:
    from deniable.evaluation.evidence import UtilityEvidence
    from deniable.evaluation.utility import MarginalCounts

WORST: Final = "group_gap_worst"
"""The largest gap of a group; its error is widened, so that an interval of 95% covers the gaps of all groups."""
JUDGED: Final = "groups_judged"
"""The number of groups that are large enough to be judged."""
FAILED: Final = "groups_failed"
"""The number of groups that are certainly further away than is usable."""
GOOD_FROM: Final = "group_size_good"
"""The size in real records, in the tables that are compared, from which on all groups are well described."""

FEWEST: Final = 30
"""The smallest number of held-out, and of training, records of a group that is judged."""

MOST_VALUES, MOST_ATTRIBUTES = 12, 10
"""An attribute with more values defines no groups, and no more attributes do, unless the spec names them."""

_FEWEST_DRAWN: Final = 10
_PAIRS: Final = 2
_TABLES: Final[tuple[Table, ...]] = ("released", "training", "holdout")
_DOUBT: Final = 0.05


def group_attributes(domain: Domain) -> tuple[str, ...]:
    """The attributes whose values are groups if the spec names none: the first without order that have few values."""
    chosen = [
        attribute.name
        for attribute in domain.attributes
        if attribute.kind == "nominal" and 1 < attribute.cardinality <= MOST_VALUES
    ]
    return tuple(chosen[:MOST_ATTRIBUTES])


def groups_of(domain: Domain, attributes: tuple[str, ...]) -> list[tuple[str, str]]:
    """All groups, by attribute and value, in the order in which they are measured."""
    chosen = [domain.attributes[domain.index(name)] for name in attributes]
    return [(attribute.name, str(value)) for attribute in chosen for value in attribute.values]


def _figures(_: Scope) -> Iterator[Figure]:
    yield Figure(name=WORST, better="low", words="distance within groups beyond chance, the worst group")
    yield Figure(name=JUDGED, better="neither", is_count=True, has_error=False)
    yield Figure(name=FAILED, better="low", is_count=True, has_error=False)
    yield Figure(name=GOOD_FROM, better="low", is_count=True, has_error=False)


def _measure(evidence: "UtilityEvidence") -> dict[str, Value]:
    sizes, gaps, errors = _gaps(evidence)
    # As many training records are compared as released ones: a group that has few is small in the release by chance.
    used = [_rows(evidence, "training", group) for group in evidence.groups]
    judged = np.isfinite(gaps) & (np.minimum(sizes, np.concatenate([np.zeros(0, np.int64), *used])) >= FEWEST)
    counted = Value(float(judged.sum()), None, tuple(map(float, sizes)))
    if not judged.any():
        return {JUDGED: counted}
    failed = _fail(gaps, errors, judged)
    worst = int(np.argmax(np.where(judged, gaps, -np.inf)))
    shown = tuple(float(gap) if each else 0.0 for gap, each in zip(gaps, judged, strict=True))
    known = tuple(float(error) if each else 0.0 for error, each in zip(errors, judged, strict=True))
    values = {
        WORST: Value(float(gaps[worst]), float(errors[worst]) * widened(int(judged.sum())), shown, known),
        JUDGED: counted,
        FAILED: Value(float(failed.sum()), None, tuple(map(float, failed))),
    }
    good = _good_from(sizes[judged], (gaps + SIGMAS * errors)[judged] <= GROUPS.good)
    return values if good is None else {**values, GOOD_FROM: Value(float(good))}


def _fail(gaps: NDArray[np.float64], errors: NDArray[np.float64], judged: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Groups whose gap is certainly more than is usable, by one-sided tests with Holm's correction."""
    failed = np.zeros(len(gaps), bool)
    chosen = np.flatnonzero(judged)
    failed[chosen] = certainly_above(
        gaps[chosen].tolist(), errors[chosen].tolist(), [GROUPS.usable] * len(chosen), _DOUBT
    )
    return failed


def _good_from(sizes: NDArray[np.int64], good: NDArray[np.bool_]) -> int | None:
    """The size of the smallest group of which all that are as large are good; None if the largest is not."""
    bad = int(sizes[~good].max(initial=0))
    larger = sizes[sizes > bad]
    return int(larger.min()) if len(larger) else None


def _gaps(evidence: "UtilityEvidence") -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Sizes of all groups in the holdout, their distances beyond chance, and the standard errors of these.

    A group that the release does not have is at a distance of 1.
    """
    begun = {name: evidence.counts(_PAIRS, name) for name in _TABLES} if _PAIRS in evidence.marginals else {}
    counts = {name: counted.result() for name, counted in begun.items()}
    sizes, gaps, errors = [np.zeros(0, np.int64)], [np.zeros(0)], [np.zeros(0)]
    for group in evidence.groups:
        released, training = (_distances(evidence, counts, name, group) for name in ("released", "training"))
        sizes.append(_rows(evidence, "holdout", group))
        lost = _rows(evidence, "released", group) == 0
        gaps.append(np.where(lost, 1.0, released[0]) - training[0])
        errors.append(np.hypot(np.where(lost, 0.0, released[1]), training[1]))
    return np.concatenate(sizes), np.concatenate(gaps), np.concatenate(errors)


def _rows(evidence: "UtilityEvidence", name: Table, group: int) -> NDArray[np.int64]:
    """Records of each group in a table."""
    return np.bincount(evidence.table(name)[:, group], minlength=evidence.domain.cardinalities[group])


def _distances(
    evidence: "UtilityEvidence", counts: Mapping[Table, "MarginalCounts"], name: Table, group: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean distance of the other attributes' shares within each group from the holdout's, and its standard error.

    Returns:
        Both, shape (groups,); NaN where a table has no record of the group, or no other attribute is compared.
    """
    tables: tuple[Table, ...] = (name, "holdout")
    rows = {each: _rows(evidence, each, group) for each in tables}
    first = {each: evidence.table(each)[:ERROR_RECORDS] for each in tables}
    pulls = {each: np.zeros(len(first[each])) for each in tables}
    pairs = [pair for pair in evidence.marginals.get(_PAIRS, ()) if group in pair]
    distances = np.zeros(len(rows[name]))
    for pair in pairs:
        other = pair[1] if pair[0] == group else pair[0]
        shares = {each: _within(counts[each].table(pair), rows[each], pair.index(group)) for each in tables}
        differ = shares[name] - shares["holdout"]
        distances += np.abs(differ).sum(axis=1) / 2
        for each in tables:
            pulls[each] += np.sign(differ)[first[each][:, group], first[each][:, other]] / 2
    variance = sum(_variance(first[each][:, group], pulls[each], rows[each], len(pairs)) for each in tables)
    empty = (rows[name] == 0) | (rows["holdout"] == 0)
    amount = max(len(pairs), 1)
    missing = empty if pairs else np.ones_like(empty)
    return np.where(missing, np.nan, distances / amount), np.where(missing, np.nan, np.sqrt(variance) / amount)


def _within(table: NDArray[np.int64], rows: NDArray[np.int64], axis: int) -> NDArray[np.float64]:
    """Shares of another attribute's values within each group, shape (groups, values)."""
    return np.moveaxis(table, axis, 0) / np.maximum(rows, 1)[:, None]


def _variance(groups: Codes, pulls: NDArray[np.float64], rows: NDArray[np.int64], pairs: int) -> NDArray[np.float64]:
    """Variance of the mean of pulls within each group, estimated from some of its records; if few, the largest.

    A pull is between -1/2 and 1/2 for each pair.
    """
    drawn = np.bincount(groups, minlength=len(rows))
    means, squares = (np.bincount(groups, values, len(rows)) / np.maximum(drawn, 1) for values in (pulls, pulls**2))
    spread = np.where(drawn < _FEWEST_DRAWN, pairs**2 / 4, np.maximum(squares - means**2, 0.0))
    return spread / np.maximum(rows, 1)


METRIC: Final = Metric(figures=_figures, measure=_measure, needs=frozenset({"released", "training", "holdout"}))
