"""Utility and risk at a glance: the most important figures, their points of comparison, and their thresholds.

Nothing is measured here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from reports.figures.line_scale import Tick, scale_of
from schemas.spec.evaluation import EvaluationFigures, Verdict

Mark = Literal["released", "training", "baseline"]
Kind = Literal["utility", "risk"]

COMPARED: Final[dict[Kind, tuple[str, str]]] = {
    "utility": ("Real", "Independent"),
    "risk": ("People used", "Not used"),
}
"""What each figure is compared with, as column heads."""

_TABLES: Final[dict[Mark, str]] = {"released": "", "training": "_training", "baseline": "_baseline"}
_EXCESS, _SIDES = "_excess", ("_training", "_holdout")
CLASSIFIERS: Final = {"tree": "decision tree", "forest": "random forest", "adaboost": "AdaBoost"}
_UTILITY: Final = {
    "tvd_1way": "distance, single attributes",
    "tvd_2way": "distance, pairs of attributes",
    "tvd_3way": "distance, triples of attributes",
    "distinguished": "records distinguished from real ones",
    **{f"accuracy_{name}": f"accuracy, {words}" for name, words in CLASSIFIERS.items()},
}
_RISK: Final = {
    "exact_match_excess": "copies of people used, in excess of copies of people not used",
    "reproduced_excess": "people reproduced, in excess of people not used",
    "unique_found_excess": "unique people found, in excess of people not used",
    "inferred_excess_worst": "sensitive values inferred, in excess of people not used",
    "nearer_to_training": "records nearer to people used than to people not used",
}
WORDS: Final = {**_UTILITY, **_RISK}
"""The most important figures, in words."""

_AT_ONE_HALF: Final = frozenset({"distinguished", "nearer_to_training"})
"""Figures that are one half by chance."""

_SIGMAS: Final = 1.96
_BOTH_SIDES: Final = 4

_ROOM: Final = 0.05
"""The smallest length that a line shows well: one twentieth; less looks like the reference value."""


@dataclass(frozen=True)
class Estimate:
    """A figure and its sampling uncertainty.

    Attributes:
        value: the figure.
        reach: half the width of its 95% interval; None if it is not known.
    """

    value: float
    reach: float | None = None


@dataclass(frozen=True)
class Point:
    """A figure as a point on a line.

    Attributes:
        mark: which table it is about.
        value: the figure.
        place: its position, in percent of the line.
    """

    mark: Mark
    value: float
    place: float


@dataclass(frozen=True)
class Bound:
    """A threshold as a position on the line.

    Attributes:
        verdict: the threshold, and whether it is met.
        place: its position, in percent of the line.
        most: whether the threshold is a maximum rather than a minimum.
    """

    verdict: Verdict
    place: float
    most: bool


@dataclass(frozen=True)
class HeadlineFigure:
    """One figure.

    Attributes:
        figure: its name in thresholds.
        words: its description.
        value: the figure for the release.
        points: the release on a line, and for utility also real training records and independent ones.
        compared: the figures to compare it with, as far as they are known.
        bounds: its thresholds.
        ground: position of the value that chance or no skill gives, in percent.
        interval: positions of the ends of the release's 95% interval, in percent, if it is known.
        ticks: round numbers on the line.
    """

    figure: str
    words: str
    value: Estimate
    points: tuple[Point, ...]
    compared: tuple[Estimate | None, ...]
    bounds: tuple[Bound, ...]
    ground: float
    interval: tuple[float, float] | None
    ticks: tuple[Tick, ...]


def headline_figures(found: EvaluationFigures, kind: Kind) -> list[HeadlineFigure]:
    """Select the important figures and those that have thresholds.

    Args:
        found: the results of one evaluation.
        kind: the kind of evaluation.

    Returns:
        One row per figure.
    """
    words = _UTILITY if kind == "utility" else _RISK
    named = [name for name in words if name in found.figures]
    named += sorted({verdict.figure for verdict in found.verdicts} - set(named))
    return [_row(name, words.get(name, name), found) for name in named]


def _ground(name: str, figures: Mapping[str, float]) -> float:
    """The value of a figure without any skill."""
    if name.startswith("accuracy_") and not name.startswith("accuracy_loss"):
        return figures.get("accuracy_majority", 0.0)
    return 0.5 if name in _AT_ONE_HALF else 0.0


def reach_of(found: EvaluationFigures, name: str) -> float | None:
    """Half the width of the 95% interval around a figure, if its standard error is known."""
    error = found.error(name)
    return None if error is None else _SIGMAS * error


def _row(name: str, words: str, found: EvaluationFigures) -> HeadlineFigure:
    figures = found.figures
    values = {mark: figures[name + suffix] for mark, suffix in _TABLES.items() if name + suffix in figures}
    about = [verdict for verdict in found.verdicts if verdict.figure == name]
    ground, reach = _ground(name, figures), reach_of(found, name)
    ends = [figures[name] - (reach or 0.0), figures[name] + (reach or 0.0)]
    scale = scale_of([*values.values(), *ends, *(verdict.bound for verdict in about), ground + _ROOM], least=ground)
    attack = name.removesuffix(_EXCESS)
    sides = _SIDES if attack != name else (_TABLES["training"], _TABLES["baseline"])
    return HeadlineFigure(
        figure=name,
        words=words,
        value=Estimate(figures[name], reach),
        points=tuple(Point(mark, value, scale.place(value)) for mark, value in values.items()),
        compared=tuple(
            Estimate(figures[attack + side], _side_reach(found, attack, side)) if attack + side in figures else None
            for side in sides
        ),
        bounds=tuple(
            Bound(verdict, scale.place(verdict.bound), most=verdict.threshold.endswith("_max")) for verdict in about
        ),
        ground=scale.place(ground),
        interval=None if reach is None else (scale.place(ends[0]), scale.place(ends[1])),
        ticks=scale.ticks,
    )


def _side_reach(found: EvaluationFigures, attack: str, side: str) -> float | None:
    """Half the width of the interval around a figure of comparison; an attack's series has both standard errors."""
    contrast = found.series.get(attack)
    if side in _SIDES and contrast is not None and len(contrast) == _BOTH_SIDES:
        return _SIGMAS * contrast[1 + 2 * _SIDES.index(side)]
    return reach_of(found, attack + side)
