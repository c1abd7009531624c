"""Draws an R-U confidentiality map: distance against epsilon, per record (lower axis) and per table (upper axis)."""

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from reports.figures.confidentiality_map import DISTANCES, ConfidentialityMap
from reports.plots.theme import (
    BASELINE,
    HOLDOUT,
    INK,
    MUTED,
    RELEASED,
    TARGET,
    TRAINING,
    make_figure,
    plain_axes,
    set_title,
)

_WIDTH_IN, _HEIGHT_IN = 11.0, 7.6
_COLOURS = (RELEASED, TRAINING, TARGET, BASELINE, INK, MUTED)
_MARKERS = "ovs^Dxp"
# One marker more than colours, so that curves beyond the sixth differ from all before them.
_VACUOUS = 5.0


def draw_map(shown: ConfidentialityMap) -> Figure:
    """Draw a panel for each distance.

    Args:
        shown: the map.

    Returns:
        The picture; tables that are paid for as a whole are single points at their total.
    """
    figure = make_figure(_WIDTH_IN, _HEIGHT_IN)
    panels = figure.subplots(2, 2).ravel()
    notes = (
        "mean over attributes of the total variation distance",
        f"the same given {shown.given}",
        f"logistic regression of {shown.targets[0]}, distance of coefficients",
        f"linear regression of {shown.targets[1]}, distance of coefficients",
    )
    for number, (name, note) in enumerate(zip(DISTANCES, notes, strict=True)):
        _draw_panel(plain_axes(panels[number], grid="y"), shown, number)
        set_title(panels[number], name.capitalize(), note)
    handles, labels = panels[0].get_legend_handles_labels()
    engine = figure.get_layout_engine()
    if engine is not None:
        # The second axis hides the labels of the first from the arrangement.
        engine.set(rect=(0.02, 0, 0.97, 1))  # type: ignore[call-arg]
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9, labelcolor=INK)
    return figure


def _times(factor: float) -> Callable[[ArrayLike], ArrayLike]:
    return lambda values: np.multiply(values, factor)


def _draw_panel(axes: Axes, shown: ConfidentialityMap, number: int) -> None:
    records = max((point.records for points in shown.curves.values() for point in points), default=1)
    axes.set_xscale("log")
    for place, (curve, points) in enumerate(shown.curves.items()):
        totals = [point.total or 0.0 for point in points]
        heights = [point.distances[number] for point in points]
        colour, marker = _COLOURS[place % len(_COLOURS)], _MARKERS[place % len(_MARKERS)]
        line = "-" if place < len(_COLOURS) else "--"
        axes.plot(totals, heights, line, color=colour, marker=marker, markersize=4.5, linewidth=1.6, label=curve)
    for place, (curve, points) in enumerate(shown.models.items()):
        totals = [point.total or 0.0 for point in points]
        heights = [point.distances[number] for point in points]
        marker = "P*Xh"[place % 4]
        axes.scatter(totals, heights, marker=marker, s=70, color=_COLOURS[-1 - place % 2], label=curve, zorder=3)
    for place, (curve, points) in enumerate(shown.baselines.items()):
        style = (0, (4, 2 + 2 * place))
        axes.axhline(points[0].distances[number], color=HOLDOUT, linestyle=style, linewidth=1.2, label=curve)
    axes.axvline(_VACUOUS, color=TARGET, linewidth=0.9, linestyle=":")
    axes.annotate("vacuous →", (_VACUOUS, 0.97), xycoords=("data", "axes fraction"), color=TARGET, fontsize=8, va="top")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("ε of the whole table (total)")
    above = axes.secondary_xaxis(-0.26, functions=(_times(1 / records), _times(records)))
    above.tick_params(which="both", length=0, labelsize=8, labelcolor=MUTED)
    axes.tick_params(which="both", length=0)
    above.spines[:].set_visible(False)
    above.set_xlabel("ε of one record, as the paper states it", color=MUTED, fontsize=8.5)
