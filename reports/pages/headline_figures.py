"""Utility and risk at a glance: the figures that matter most, what to compare them with, and what was allowed.

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
"""What each figure is compared with, as the heads of columns."""

_TABLES: Final[dict[Mark, str]] = {"released": "", "training": "_training", "baseline": "_baseline"}
_EXCESS, _SIDES = "_excess", ("_training", "_holdout")
CLASSIFIERS: Final = {"tree": "decision tree", "forest": "random forest", "adaboost": "AdaBoost"}
_UTILITY: Final = {
    "tvd_1way": "distance of single attributes",
    "tvd_2way": "distance of pairs of attributes",
    "tvd_3way": "distance of triples of attributes",
    "distinguished": "records told from real ones",
    **{f"accuracy_{name}": f"accuracy, {words}" for name, words in CLASSIFIERS.items()},
}
_RISK: Final = {
    "exact_match_excess": "copies of people used, beyond those of people not used",
    "reproduced_excess": "people reproduced, beyond those not used",
    "unique_found_excess": "unique people found, beyond those not used",
    "inferred_excess_worst": "inferred about people used, beyond others",
    "nearer_to_training": "records nearer to people used than to others",
}
WORDS: Final = {**_UTILITY, **_RISK}
"""The figures that matter most, in words."""

_AT_ONE_HALF: Final = frozenset({"distinguished", "nearer_to_training"})
"""Figures for which one half is what chance gives."""

_SIGMAS: Final = 1.96
_BOTH_SIDES: Final = 4

_ROOM: Final = 0.05
"""What is worth seeing on a line: a twentieth; less is near the ground."""


@dataclass(frozen=True)
class Estimate:
    """A figure and how far chance may have moved it.

    Attributes:
        value: the figure.
        reach: half of its 95 % interval; None where it is not known.
    """

    value: float
    reach: float | None = None


@dataclass(frozen=True)
class Point:
    """A figure as a point on a line.

    Attributes:
        mark: which table it is about.
        value: the figure.
        place: where it lies, in percent of the line.
    """

    mark: Mark
    value: float
    place: float


@dataclass(frozen=True)
class Bound:
    """A threshold as a place on the line.

    Attributes:
        verdict: the threshold, and whether it is met.
        place: where it lies, in percent of the line.
        most: whether the figure may be at most this, or must be at least this.
    """

    verdict: Verdict
    place: float
    most: bool


@dataclass(frozen=True)
class HeadlineFigure:
    """One figure.

    Attributes:
        figure: its name, as thresholds use it.
        words: what it is.
        value: the figure of the release.
        points: the release, and for utility real training records and independent ones, on a line.
        compared: what to compare the figure with, as far as that is known.
        bounds: its thresholds.
        ground: where the line has what chance or nothing gives, in percent.
        interval: where the ends of the 95 % interval of the release lie, in percent, where it is known.
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
    """Pick the figures that matter, and those that have thresholds.

    Args:
        found: what one evaluation found.
        kind: which evaluation it is.

    Returns:
        A row a figure.
    """
    words = _UTILITY if kind == "utility" else _RISK
    named = [name for name in words if name in found.figures]
    named += sorted({verdict.figure for verdict in found.verdicts} - set(named))
    return [_row(name, words.get(name, name), found) for name in named]


def _ground(name: str, figures: Mapping[str, float]) -> float:
    """What a figure would be without any skill."""
    if name.startswith("accuracy_") and not name.startswith("accuracy_loss"):
        return figures.get("accuracy_majority", 0.0)
    return 0.5 if name in _AT_ONE_HALF else 0.0


def reach_of(found: EvaluationFigures, name: str) -> float | None:
    """Half of the 95 % interval around a figure, where its standard error is known."""
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
    """Half of the interval around what a figure is compared with; an attack's series has both standard errors."""
    contrast = found.series.get(attack)
    if side in _SIDES and contrast is not None and len(contrast) == _BOTH_SIDES:
        return _SIGMAS * contrast[1 + 2 * _SIDES.index(side)]
    return reach_of(found, attack + side)
