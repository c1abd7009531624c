"""How analyses that people do come out on released records: regressions, means by group and quantiles.

Each estimate is compared with that of the holdout: by the overlap of both 95% intervals, by the difference in standard
errors of the holdout's estimate, and by whether a coefficient keeps its sign and its significance. Training records
show what two samples give by chance.

An analysis is judged by the mean gap of its estimates beyond chance, in standard deviations of the outcome: a
coefficient counts by the standard deviation of its column, and a group by its share of the records. Standard errors of
coefficients are added up, since they depend on each other; groups are independent. An estimate that the release cannot
give is a whole standard deviation off.

Source of the overlap: Karr et al. 2006, A framework for evaluating the utility of data altered to protect
confidentiality, section 3; intervals that do not meet overlap by 0.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from deniable.evaluation.analyses.declared import Analysis
from deniable.evaluation.analyses.estimates import Estimates, estimated
from deniable.evaluation.contract import Figure, Metric, Scope, Table, Value, name_for
from deniable.evaluation.uses import ANALYSES

if TYPE_CHECKING:
    from deniable.evaluation.evidence import UtilityEvidence

Numbers = NDArray[np.float64]

WORST: Final = "analysis_gap_worst"
"""The gap of the analysis that is certainly not usable, or else whose interval reaches furthest; its error is widened,
so that an interval of 95% covers the gaps of all analyses."""
OVERLAP: Final = "analysis_overlap"
"""The mean overlap of intervals over all estimates."""
OVERLAP_WORST: Final = "analysis_overlap_worst"
"""The smallest overlap of the intervals of an estimate."""
DIFFERENCE: Final = "analysis_difference_worst"
"""The largest difference from the holdout's estimate, in standard errors of that."""
KEPT: Final = "analysis_kept"
"""The share of the coefficients whose sign, if it is significant, and whose significance are those of the holdout."""
JUDGED: Final = "estimates_judged"
"""The number of estimates that are compared."""

FEWEST: Final = 30
"""The smallest number of held-out, and of training, records behind an estimate that is compared."""
MOST_ROWS: Final = 200_000
"""The largest number of records of a table from which analyses are estimated."""

REAL, RELEASED, REAL_ERRORS, RELEASED_ERRORS = "real", "released", "real_errors", "released_errors"
"""Names of the estimates and of their standard errors, beside the gaps; 0 where there is none."""

GAPS, GAP_ERRORS = "gaps", "gap_errors"
"""Names of the gaps of whole analyses, and of their standard errors; 0 where none of the estimates is compared."""

MOST_DIFFERENCE: Final = 1000.0
"""The largest difference that is shown, in standard errors; that of an estimate that the release cannot give."""

_DOUBT: Final = 0.05
_SIGMAS: Final = 1.96
_LOST: Final = 1.0
_TABLES: Final[tuple[Table, ...]] = ("released", "training", "holdout")


def gap_of(place: int) -> str:
    """Name of the gap of a declared analysis.

    Args:
        place: its place in the spec, from 0.
    """
    return f"analysis_{place + 1}_gap"


def overlap_of(place: int) -> str:
    """Name of the mean overlap of the intervals of a declared analysis, by its place in the spec, from 0."""
    return f"analysis_{place + 1}_overlap"


def _figures(scope: Scope) -> Iterator[Figure]:
    yield Figure(name=WORST, better="low", words="error of an analysis beyond chance, the worst analysis")
    for name in (OVERLAP, OVERLAP_WORST, KEPT):
        yield Figure(name=name, better="high", has_error=False)
    for name in (OVERLAP, KEPT):
        yield Figure(name=name_for("training", name), better="high", has_error=False)
    yield Figure(name=DIFFERENCE, better="low", has_error=False)
    yield Figure(name=JUDGED, better="neither", is_count=True, has_error=False)
    for place, words in enumerate(scope.analyses):
        yield Figure(name=gap_of(place), better="low", words=f"error beyond chance, {words}")
        yield Figure(name=overlap_of(place), better="high", has_error=False)


@dataclass(frozen=True, eq=False)
class _Compared:
    """An analysis on all tables.

    Attributes:
        analysis: the analysis.
        by: its estimates from each table.
        judged: which estimates are compared, shape (estimates,).
        gaps: gaps beyond chance, in standard deviations of the outcome, same shape.
        errors: their standard errors, same shape.
    """

    analysis: Analysis
    by: dict[Table, Estimates]
    judged: NDArray[np.bool_]
    gaps: Numbers
    errors: Numbers

    @property
    def gap(self) -> tuple[float, float]:
        """The gap of the analysis, and its standard error."""
        gaps, errors = self.gaps[self.judged], self.errors[self.judged]
        if self.analysis.kind == "regression":
            return float(gaps.mean()), float(errors.mean())
        shares = self.by["holdout"].records[self.judged]
        shares = shares / shares.sum()
        return float((shares * gaps).sum()), float(np.sqrt((shares**2 * errors**2).sum()))


def _measure(evidence: "UtilityEvidence") -> dict[str, Value]:
    begun = [evidence.submit(_compared, each, evidence) for each in evidence.analyses]
    all_of_them = [each.result() for each in begun]
    known = {place: each for place, each in enumerate(all_of_them) if each.judged.any()}
    if not known:
        return {}
    gaps = {place: each.gap for place, each in known.items()}
    wider = NormalDist().inv_cdf(1 - _DOUBT / (2 * len(gaps))) / _SIGMAS
    worst = max(gaps, key=lambda place: _badness(*gaps[place], wider * _SIGMAS))
    judged = np.concatenate([each.judged for each in all_of_them])
    overlaps, differences, kept = (
        {table: np.concatenate([measure(each.by[table], each) for each in all_of_them]) for table in _TABLES[:2]}
        for measure in (_overlaps, _differences, _kept)
    )
    is_coefficient = np.concatenate([[each.analysis.kind == "regression"] * len(each.judged) for each in all_of_them])
    coefficients = judged & is_coefficient
    own = overlaps["released"]
    values = {
        WORST: Value(
            gaps[worst][0],
            gaps[worst][1] * wider,
            _shown(judged, [each.gaps for each in all_of_them]),
            _shown(judged, [each.errors for each in all_of_them]),
            {
                GAPS: tuple(gaps.get(place, (0.0, 0.0))[0] for place in range(len(all_of_them))),
                GAP_ERRORS: tuple(gaps.get(place, (0.0, 0.0))[1] for place in range(len(all_of_them))),
                REAL: _shown(judged, [each.by["holdout"].values for each in all_of_them]),
                REAL_ERRORS: _shown(judged, [each.by["holdout"].errors for each in all_of_them]),
                RELEASED: _shown(judged, [each.by["released"].values for each in all_of_them]),
                RELEASED_ERRORS: _shown(judged, [each.by["released"].errors for each in all_of_them]),
            },
        ),
        OVERLAP: Value(float(own[judged].mean()), None, _shown(judged, [own])),
        name_for("training", OVERLAP): Value(float(overlaps["training"][judged].mean())),
        OVERLAP_WORST: Value(float(own[judged].min())),
        DIFFERENCE: Value(
            float(differences["released"][judged].max()), None, _shown(judged, [differences["released"]])
        ),
        JUDGED: Value(float(judged.sum()), None, tuple(map(float, judged))),
    }
    if coefficients.any():
        values[KEPT] = Value(
            float(kept["released"][coefficients].mean()), None, _shown(coefficients, [kept["released"]])
        )
        values[name_for("training", KEPT)] = Value(float(kept["training"][coefficients].mean()))
    if evidence.are_declared:
        for place, each in known.items():
            values[gap_of(place)] = Value(*gaps[place])
            values[overlap_of(place)] = Value(float(_overlaps(each.by["released"], each)[each.judged].mean()))
    return values


def _badness(gap: float, error: float, sigmas: float) -> tuple[bool, float]:
    """The order of analyses: those certainly beyond what is usable last, then by the ends of their intervals."""
    return gap - sigmas * error > ANALYSES.usable, gap + sigmas * error


def _compared(analysis: Analysis, evidence: "UtilityEvidence") -> _Compared:
    by = {name: estimated(analysis, evidence.domain, evidence.table(name)[:MOST_ROWS]) for name in _TABLES}
    released, training, holdout = (by[name] for name in _TABLES)
    judged = np.isfinite(holdout.errors) & np.isfinite(training.errors)
    judged &= np.minimum(holdout.records, training.records) >= FEWEST
    judged &= holdout.spread > 0
    scale = holdout.spreads / (holdout.spread or 1.0)
    lost = ~np.isfinite(released.errors)
    off = [np.abs(each.values - holdout.values) * scale for each in (released, training)]
    gaps = np.where(lost, _LOST, off[0]) - off[1]
    squares = [(each.errors * scale) ** 2 for each in (released, training, holdout)]
    errors = np.sqrt(np.where(lost, 0.0, squares[0]) + squares[1] + squares[2])
    return _Compared(analysis, by, judged, gaps, errors)


def _shown(judged: NDArray[np.bool_], parts: Sequence[Numbers]) -> tuple[float, ...]:
    """Numbers of all estimates; 0 for those that are not compared, or that a table does not give."""
    values = np.concatenate(parts)
    return tuple(map(float, np.where(judged & np.isfinite(values), values, 0.0)))


def _overlaps(one: Estimates, compared: _Compared) -> Numbers:
    """Overlap of the 95% intervals of a table and of the holdout, from 0 to 1."""
    other = compared.by["holdout"]
    return interval_overlap(one.values, one.errors, other.values, other.errors)


def interval_overlap(one: Numbers, errors: Numbers, other: Numbers, other_errors: Numbers) -> Numbers:
    """Mean share of each of two 95% intervals that is in both; 0 if they do not meet, or one is missing.

    Args:
        one: estimates, shape (estimates,).
        errors: their standard errors, same shape.
        other: estimates of the same from another table, same shape.
        other_errors: their standard errors, same shape.
    """
    low = np.maximum(one - _SIGMAS * errors, other - _SIGMAS * other_errors)
    high = np.minimum(one + _SIGMAS * errors, other + _SIGMAS * other_errors)
    both = np.maximum(high - low, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        # An interval without a width is in the other one wholly or not at all.
        shares = [np.where(each > 0, both / (2 * _SIGMAS * each), high >= low) for each in (errors, other_errors)]
    return np.asarray(np.where(np.isfinite(one) & np.isfinite(other), (shares[0] + shares[1]) / 2, 0.0))


def _differences(one: Estimates, compared: _Compared) -> Numbers:
    """Differences from the holdout's estimates, in standard errors of these."""
    other = compared.by["holdout"]
    off = np.abs(one.values - other.values)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(off > 0, off / other.errors, 0.0)
    return np.asarray(np.where(np.isfinite(off), np.minimum(ratio, MOST_DIFFERENCE), MOST_DIFFERENCE))


def _kept(one: Estimates, compared: _Compared) -> Numbers:
    """1 if an estimate is significant as the holdout's is, and has its sign if it is."""
    other = compared.by["holdout"]
    with np.errstate(invalid="ignore"):
        is_significant = [np.abs(each.values) > _SIGMAS * each.errors for each in (one, other)]
        has_sign = np.sign(one.values) == np.sign(other.values)
    same = (is_significant[0] == is_significant[1]) & (has_sign | ~is_significant[1])
    return np.asarray(same & np.isfinite(one.values), float)


METRIC: Final = Metric(figures=_figures, measure=_measure, needs=frozenset({"released", "training", "holdout"}))
