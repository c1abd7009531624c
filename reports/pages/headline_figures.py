"""Utility and risk at a glance: the most important figures, their points of comparison, and their thresholds.

Nothing is measured here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from deniable.evaluation.contract import Figure, Kind
from reports.figures.line_scale import Tick, scale_of
from schemas.spec.evaluation import EvaluationFigures, Verdict

Mark = Literal["released", "training", "baseline"]

COMPARED: Final[dict[Kind, tuple[str, str]]] = {
    "utility": ("Real", "Independent"),
    "risk": ("People used", "Not used"),
}
"""What each figure is compared with, as column heads."""

_BESIDE: Final[dict[Kind, tuple[Mark, ...]]] = {"utility": ("training", "baseline"), "risk": ()}
"""The marks on a line of what a figure is compared with, as far as it is on the same scale."""

_WORST: Final = 3
"""Number of attributes that are named beside a figure."""

_SIGMAS: Final = 1.96

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
        worst: the attributes with the worst values, and these, if the figure summarizes attributes.
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
    worst: tuple[tuple[str, float], ...] = ()


def headline_figures(
    found: EvaluationFigures, kind: Kind, declared: Mapping[str, Figure], attributes: Sequence[str]
) -> list[HeadlineFigure]:
    """Select the figures that are described in words, and those that have thresholds.

    Args:
        found: the results of one evaluation.
        kind: the kind of evaluation.
        declared: all figures of the release's evaluation, by name.
        attributes: names of the attributes.

    Returns:
        One row per figure.
    """
    named = [figure.name for figure in declared.values() if figure.words and figure.name in found.figures]
    named += sorted({verdict.figure for verdict in found.verdicts} - set(named))
    return [_row(declared[name], kind, found, attributes) for name in named]


def reach_of(found: EvaluationFigures, name: str) -> float | None:
    """Half the width of the 95% interval around a figure, if its standard error is known."""
    error = found.errors.get(name)
    return None if error is None else _SIGMAS * error


def _row(figure: Figure, kind: Kind, found: EvaluationFigures, attributes: Sequence[str]) -> HeadlineFigure:
    name, figures = figure.name, found.figures
    ground = figures.get(figure.chance, 0.0) if isinstance(figure.chance, str) else figure.chance
    marked = dict(zip(_BESIDE[kind], figure.beside, strict=False))
    values: dict[Mark, float] = {"released": figures[name]}
    values |= {mark: figures[other] for mark, other in marked.items() if other is not None and other in figures}
    about = [verdict for verdict in found.verdicts if verdict.figure == name]
    reach = reach_of(found, name)
    ends = [figures[name] - (reach or 0.0), figures[name] + (reach or 0.0)]
    scale = scale_of([*values.values(), *ends, *(verdict.bound for verdict in about), ground + _ROOM], least=ground)
    return HeadlineFigure(
        figure=name,
        words=figure.words or name,
        value=Estimate(figures[name], reach),
        points=tuple(Point(mark, value, scale.place(value)) for mark, value in values.items()),
        compared=tuple(None if other is None else _estimate(found, other) for other in figure.beside),
        bounds=tuple(Bound(verdict, scale.place(verdict.bound), most=verdict.limit.side == "max") for verdict in about),
        ground=scale.place(ground),
        interval=None if reach is None else (scale.place(ends[0]), scale.place(ends[1])),
        ticks=scale.ticks,
        worst=tuple(_worst(figure, dict(zip(attributes, found.series.get(name, ()), strict=False)))),
    )


def _worst(figure: Figure, values: Mapping[str, float]) -> list[tuple[str, float]]:
    """The attributes with the worst values, the worst first."""
    if figure.each != "attribute" or len(values) <= _WORST:
        return []
    return sorted(values.items(), key=lambda each: (each[1] if figure.better == "high" else -each[1], each[0]))[:_WORST]


def _estimate(found: EvaluationFigures, name: str) -> Estimate | None:
    """A figure with its uncertainty; None if it was not measured."""
    return Estimate(found.figures[name], reach_of(found, name)) if name in found.figures else None
