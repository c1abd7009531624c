"""The results of an evaluation: named figures, the values behind them, and whether they meet the spec's thresholds.

The figures are declared by metrics (deniable.evaluation.contract). Measurement does not belong here.
"""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from deniable.evaluation.contract import BESIDE, Figure, Scope
from deniable.evaluation.thresholds import SIDES, Bound, bounds_of


class Verdict(BaseModel):
    """Whether one figure meets one threshold.

    Attributes:
        threshold: the threshold's name in the spec: the figure's name and `_max` or `_min`.
        bound: largest or smallest permitted value of the figure.
        figure: the figure's name.
        value: the figure.
        met: whether it is at most, or at least, the bound.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    threshold: str
    bound: float
    figure: str
    value: float
    met: bool

    @property
    def limit(self) -> Bound:
        """The threshold."""
        [limit] = bounds_of({self.threshold: self.bound})
        return limit


class EvaluationFigures(BaseModel):
    """The results of one evaluation.

    Attributes:
        figures: the figures by name.
        errors: their standard errors, as far as they are known.
        series: the values that the figures summarise, by name, for plots.
        texts: what some of these values are about, by name.
        verdicts: one for each threshold on one of these figures.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    figures: Mapping[str, float]
    errors: Mapping[str, float] = {}
    series: Mapping[str, tuple[float, ...]] = {}
    texts: Mapping[str, tuple[str, ...]] = Field(default={}, exclude_if=lambda texts: not texts)
    verdicts: tuple[Verdict, ...] = ()

    @property
    def met(self) -> bool:
        """Whether every threshold is met."""
        return all(verdict.met for verdict in self.verdicts)


NOT_MEASURED = EvaluationFigures(figures={})
"""The results if no record is held out for measurement."""


def beside_of(figure: str, name: str) -> str:
    """Name of the series that holds further values for those that a figure summarizes."""
    return f"{figure}/{name}"


def errors_of(figure: str) -> str:
    """Name of the series that holds the standard errors of the values that a figure summarizes."""
    return f"{figure}_errors"


def judge(figures: Mapping[str, float], thresholds: Mapping[str, float]) -> tuple[Verdict, ...]:
    """Compare figures with their thresholds; thresholds on other figures belong to another evaluation.

    Args:
        figures: the figures by name.
        thresholds: bounds by the figure's name and `_max` or `_min`.

    Returns:
        The verdicts, in the order of the thresholds.
    """
    return tuple(
        Verdict(
            threshold=bound.name,
            bound=float(bound.value),
            figure=bound.figure,
            value=figures[bound.figure],
            met=bound.is_met(figures[bound.figure]),
        )
        for bound in bounds_of(thresholds)
        if bound.figure in figures
    )


def scope_of(
    *,
    classifiers: Iterable[str],
    sensitive: Iterable[str],
    on_public_table: bool,
    analyses: Iterable[str] = (),
    commutes: bool = False,
) -> Scope:
    """What an evaluation covers.

    Args:
        classifiers: names of the classifiers.
        sensitive: names of the attributes that the intruder infers.
        on_public_table: whether only utility is measured, on a public table, without comparison with a baseline.
        analyses: the declared analyses, in words.
        commutes: whether the spec names places between which commutes are compared.
    """
    declared: dict[str, Any] = {
        "classifiers": tuple(classifiers),
        "analyses": tuple(analyses),
        "commutes": commutes,
    }
    if on_public_table:
        return Scope(**declared, kinds=("utility",), beside=("training",))
    return Scope(**declared, sensitive=tuple(sensitive), beside=BESIDE)


def unknown_thresholds(thresholds: Iterable[str], figures: Iterable[Figure]) -> list[str]:
    """Report each threshold without a figure, which would otherwise never be checked.

    Args:
        thresholds: names of thresholds.
        figures: all figures.

    Returns:
        One sentence for each threshold that is wrong.
    """
    allowed = [Bound(figure.name, side, 0).name for figure in figures if figure.may_be_bounded for side in SIDES]
    return [
        f"a threshold must be the name of a figure and _max or _min, got {threshold}{_hint(threshold, allowed)}"
        for threshold in thresholds
        if threshold not in allowed
    ]


def _hint(name: str, allowed: Sequence[str]) -> str:
    near = get_close_matches(name, allowed, n=1)
    return f"; did you mean {near[0]}?" if near else "."
