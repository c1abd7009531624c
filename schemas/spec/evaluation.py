"""The results of an evaluation: named figures, the values behind them, and whether they meet the spec's thresholds.

All of them are measured on real data without noise and are internal. Measurement does not belong here.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from pydantic import BaseModel, ConfigDict

_TABLES = ("", "_training", "_baseline")
_DISTANCES = ("tvd_1way", "tvd_2way", "tvd_3way")
_CONTRASTS = ("exact_match", "reproduced", "unique_found")
_SIDES = ("_training", "_holdout", "_excess")


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


class EvaluationFigures(BaseModel):
    """The results of one evaluation.

    Attributes:
        figures: the figures by name.
        series: the values that the figures summarise, by name, for plots.
        verdicts: one for each threshold on one of these figures.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    figures: Mapping[str, float]
    series: Mapping[str, tuple[float, ...]] = {}
    verdicts: tuple[Verdict, ...] = ()

    def error(self, figure: str) -> float | None:
        """Standard error of a figure, if known."""
        held = self.series.get(error_of(figure))
        return held[0] if held else None

    @property
    def met(self) -> bool:
        """Whether every threshold is met."""
        return all(verdict.met for verdict in self.verdicts)


NOT_MEASURED = EvaluationFigures(figures={})
"""The results if no record is held out for measurement."""


def error_of(figure: str) -> str:
    """Name of the series that holds the standard error of a figure."""
    return f"error/{figure}"


def judge(figures: Mapping[str, float], thresholds: Mapping[str, float]) -> tuple[Verdict, ...]:
    """Compare figures with their thresholds; thresholds on other figures belong to another evaluation.

    Args:
        figures: the figures by name.
        thresholds: bounds by the figure's name and `_max` or `_min`.

    Returns:
        The verdicts, in the order of the thresholds.
    """
    verdicts = []
    for threshold, bound in thresholds.items():
        figure, _, side = threshold.rpartition("_")
        if figure in figures:
            value = figures[figure]
            met = value <= bound if side == "max" else value >= bound
            verdicts.append(Verdict(threshold=threshold, bound=float(bound), figure=figure, value=value, met=met))
    return tuple(verdicts)


def inferred(attribute: str) -> str:
    """First part of the names of figures and thresholds on inferring an attribute."""
    return f"inferred_{re.sub('[^a-z0-9]+', '_', attribute.lower()).strip('_')}"


def figure_names(
    classifiers: Iterable[str], sensitive: Iterable[str], *, only_utility: bool = False
) -> tuple[str, ...]:
    """List the figures by which a release is evaluated.

    The name of a figure ends in that of its table, `_training` or `_baseline`, or the figure is of the release. For
    attacks both on people who were used and on people who were not, it ends in `_training`, `_holdout` or `_excess`.

    Args:
        classifiers: names of the classifiers.
        sensitive: names of the attributes that the intruder infers.
        only_utility: whether only utility is measured, on a public table, without comparison with a baseline.

    Returns:
        The names.
    """
    utility = [
        "compared_records",
        *(f"{distance}{worst}{table}" for distance in _DISTANCES for worst in ("", "_worst") for table in _TABLES),
        *(f"distinguished{table}" for table in _TABLES),
        *(f"distinct_share{table}" for table in _TABLES),
        "accuracy_majority",
        *(f"accuracy_{classifier}{table}" for classifier in classifiers for table in _TABLES),
        *(f"agreement_{classifier}{table}" for classifier in classifiers for table in ("", "_baseline")),
        *(f"accuracy_loss_{classifier}" for classifier in classifiers),
    ]
    if only_utility:
        return tuple(name for name in utility if not name.endswith("_baseline"))
    risk = [
        *(f"{contrast}{side}" for contrast in _CONTRASTS for side in _SIDES),
        "nearer_to_training",
        "unique_share",
        "unique_matches_unique_share",
        *(f"{inferred(attribute)}{side}" for attribute in sensitive for side in (*_SIDES, "_marginal")),
        "inferred_excess_worst",
    ]
    return (*utility, *risk)


def unknown_thresholds(thresholds: Iterable[str], figures: Iterable[str]) -> list[str]:
    """Report each threshold without a figure, which would otherwise never be checked.

    Args:
        thresholds: names of thresholds.
        figures: names of all figures.

    Returns:
        One sentence for each threshold that is wrong.
    """
    allowed = [f"{figure}_{side}" for figure in figures for side in ("max", "min")]
    return [
        f"a threshold must be the name of a figure and _max or _min, got {threshold}{_hint(threshold, allowed)}"
        for threshold in thresholds
        if threshold not in allowed
    ]


def _hint(name: str, allowed: Sequence[str]) -> str:
    near = get_close_matches(name, allowed, n=1)
    return f"; did you mean {near[0]}?" if near else "."
