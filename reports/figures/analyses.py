"""Prepares the comparison of analyses for display: each with its verdict, and its estimates by both tables.

Nothing is estimated here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from deniable.evaluation.analyses.declared import Analysis
from deniable.evaluation.contract import Value
from deniable.evaluation.metrics import analyses as metric
from deniable.evaluation.uses import ANALYSES, Grade
from reports.figures.decimal_places import digits_of
from reports.figures.marginals import DescribedTable
from reports.figures.numbers import within
from reports.figures.value_groups import label_of
from schemas.spec.evaluation import EvaluationFigures, beside_of

_SIGMAS: Final = 1.96
_SHOWN: Final = 24


@dataclass(frozen=True)
class Inferred:
    """What noisy counts say about the estimates of an analysis, to any data user.

    Attributes:
        intervals: estimate, and ends of its 95% interval, by the name of the estimate.
        reason: why there are none; empty if there are.
    """

    intervals: Mapping[str, tuple[float, float, float]]
    reason: str = ""


@dataclass(frozen=True)
class ComparedEstimate:
    """An estimate by the holdout and by the release.

    Attributes:
        name: the coefficient or the group.
        real: the holdout's, with half of its interval, in words.
        released: the release's; empty if it gives none.
        inferred: the ends of the interval by noisy counts; empty if there is none.
        overlap: overlap of the intervals of holdout and release, from 0 to 1.
        difference: the difference in standard errors of the holdout's.
        is_kept: whether sign and significance are kept; None for a mean or a quantile.
    """

    name: str
    real: str
    released: str
    inferred: str
    overlap: float
    difference: float
    is_kept: bool | None


@dataclass(frozen=True)
class ComparedAnalysis:
    """An analysis on real and on released records.

    Attributes:
        words: the analysis.
        grade: the grade by the rule of the use; None if the interval does not decide.
        gap: the mean gap of its estimates beyond chance, and half of its interval, in standard deviations.
        reach: half of the interval.
        overlap: mean overlap of intervals.
        estimates: its estimates, those furthest off first, as far as they are shown.
        compared: the number of its estimates that were compared.
        kept: the number of coefficients that keep sign and significance; None for means and quantiles.
        reason: why a data user gets no interval from noisy counts; empty if they do, or if nothing was measured.
    """

    words: str
    grade: Grade | None
    gap: float
    reach: float
    overlap: float
    estimates: tuple[ComparedEstimate, ...]
    compared: int
    kept: int | None
    reason: str

    @property
    def title(self) -> str:
        """The analysis, as the beginning of a sentence."""
        return self.words[0].upper() + self.words[1:]

    @property
    def has_inferred(self) -> bool:
        """Whether an interval by noisy counts is shown."""
        return any(each.inferred for each in self.estimates)


def compared_analyses(
    found: EvaluationFigures, analyses: Sequence[Analysis], table: DescribedTable, inferred: Sequence[Inferred] = ()
) -> list[ComparedAnalysis]:
    """The analyses that were compared, in the order of the spec.

    Args:
        found: the results of the utility evaluation.
        analyses: the analyses of the release.
        table: the release's table, with the labels of values.
        inferred: what noisy counts say about each; empty if there are none.
    """
    series = found.series
    if metric.WORST not in series:
        return []
    columns = {
        name: series[name]
        for name in (
            *(beside_of(metric.WORST, each) for each in (metric.REAL, metric.RELEASED)),
            *(beside_of(metric.WORST, each) for each in (metric.REAL_ERRORS, metric.RELEASED_ERRORS)),
            metric.OVERLAP,
            metric.DIFFERENCE,
            metric.KEPT,
            metric.JUDGED,
        )
        if name in series
    }
    gaps, errors = series[beside_of(metric.WORST, metric.GAPS)], series[beside_of(metric.WORST, metric.GAP_ERRORS)]
    shown, begin = [], 0
    for place, analysis in enumerate(analyses):
        names = analysis.estimates(table.domain)
        own = {name: values[begin : begin + len(names)] for name, values in columns.items()}
        begin += len(names)
        if not any(own[metric.JUDGED]):
            continue
        told = inferred[place] if inferred else Inferred({})
        estimates = _estimates(analysis, names, own, told, table.labels)
        kept = None if analysis.kind != "regression" else sum(each.is_kept is True for each in estimates)
        shown.append(
            ComparedAnalysis(
                words=analysis.words,
                grade=ANALYSES.grade(Value(gaps[place], errors[place])),
                gap=gaps[place],
                reach=_SIGMAS * errors[place],
                overlap=sum(each.overlap for each in estimates) / len(estimates),
                estimates=tuple(sorted(estimates, key=lambda each: each.overlap)[:_SHOWN]),
                compared=len(estimates),
                kept=kept,
                reason=told.reason,
            )
        )
    return shown


def _estimates(
    analysis: Analysis,
    names: Sequence[str],
    own: Mapping[str, Sequence[float]],
    told: Inferred,
    labels: Mapping[str, Mapping[str, str]],
) -> list[ComparedEstimate]:
    real, released = (own[beside_of(metric.WORST, each)] for each in (metric.REAL, metric.RELEASED))
    errors = [own[beside_of(metric.WORST, each)] for each in (metric.REAL_ERRORS, metric.RELEASED_ERRORS)]
    found = []
    for place, name in enumerate(names):
        if not own[metric.JUDGED][place]:
            continue
        is_given = own[metric.DIFFERENCE][place] < metric.MOST_DIFFERENCE
        ends = told.intervals.get(name)
        found.append(
            ComparedEstimate(
                name=_named(analysis, name, labels),
                real=_within(real[place], _SIGMAS * errors[0][place]),
                released=_within(released[place], _SIGMAS * errors[1][place]) if is_given else "",
                inferred="" if ends is None else _between(*ends),
                overlap=own[metric.OVERLAP][place],
                difference=own[metric.DIFFERENCE][place],
                is_kept=bool(own[metric.KEPT][place]) if analysis.kind == "regression" else None,
            )
        )
    return found


def _named(analysis: Analysis, name: str, labels: Mapping[str, Mapping[str, str]]) -> str:
    """A group, or the indicator of a value, by its label."""
    if analysis.by is not None:
        return label_of(name, labels.get(analysis.by, {}))
    attribute, sign, value = name.partition("=")
    return f"{attribute} {label_of(value, labels.get(attribute, {}))}" if sign else name


def _within(value: float, reach: float) -> str:
    """An estimate with half of its interval; large numbers have separators."""
    return f"{value:,.0f} ± {reach:,.0f}" if reach >= 10 else within(value, reach)


def _between(estimate: float, low: float, high: float) -> str:
    """An estimate with the ends of its interval, to the precision of that."""
    reach = (high - low) / 2
    if reach >= 10:
        return f"{estimate:,.0f} ({low:,.0f} to {high:,.0f})"
    digits = digits_of(reach) if reach else 3
    # A rounded number that is added to 0 is not -0.
    shown = [f"{round(number, digits) + 0.0:.{digits}f}" for number in (estimate, low, high)]
    return f"{shown[0]} ({shown[1]} to {shown[2]})"
