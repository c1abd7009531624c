"""Draws an R-U confidentiality map: what was measured against epsilon, of the whole table and of one record.

Records that are charged one by one are curves, models and records from seeds are dotted curves at their totals, and
tables without differential privacy are lines.
"""

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from reports.figures.confidentiality_map import ConfidentialityMap, MapPoint
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

_PANEL_IN, _ALONE_IN = (5.5, 3.6), (8.0, 4.4)
_LEGEND_ROW_IN = 0.22
_COLUMNS = 2
_BELOW_IN = 0.52
"""Distance of the axis of one record below that of the table."""
_ROOM = "\n" * 4
"""Lines below a label, which leave room for that axis and its label."""
_STYLES = ((0, (1, 1.2)), (0, (7, 2)), (0, (7, 2, 1, 2)), (0, (3, 1.5)), (0, (12, 3)))
_COLOURS = (RELEASED, TRAINING, TARGET, BASELINE, INK, MUTED)
_MARKERS = "ovs^Dxp"
# One marker more than colours, so that curves beyond the sixth differ from all before them.
_MODEL_MARKERS = "P*Xhd<>"
_VACUOUS = 5.0
_ABOVE = 1.08
"""Room above the highest line, for the words beside the dotted one."""


def draw_map(shown: ConfidentialityMap) -> Figure:
    """Draw a panel for each measure.

    Args:
        shown: the map.

    Returns:
        The picture; tables that are paid for as a whole have no axis of one record.
    """
    panels = len(shown.measures)
    columns = min(panels, _COLUMNS)
    rows = -(-panels // columns)
    width, height = _ALONE_IN if columns == 1 else _PANEL_IN
    entries = columns + 2
    series = len(shown.curves) + len(shown.models) + len(shown.baselines)
    figure = make_figure(width * columns, height * rows + _LEGEND_ROW_IN * -(-series // entries))
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for number, measure in enumerate(shown.measures):
        _draw_panel(plain_axes(grid[number], grid="y"), shown, number, height)
        set_title(grid[number], measure.title, measure.note)
    for axes in grid[panels:]:
        axes.set_axis_off()
    handles, labels = grid[0].get_legend_handles_labels()
    engine = figure.get_layout_engine()
    if engine is not None:
        # The second axis hides the labels of the first from the arrangement.
        engine.set(rect=(0.02, 0, 0.97, 1))  # type: ignore[call-arg]
    figure.legend(handles, labels, loc="outside lower center", ncols=entries, frameon=False, fontsize=9, labelcolor=INK)
    return figure


def _times(factor: float) -> Callable[[ArrayLike], ArrayLike]:
    return lambda values: np.multiply(values, factor)


def _draw_panel(axes: Axes, shown: ConfidentialityMap, number: int, height: float) -> None:
    records = max((point.records for points in shown.curves.values() for point in points), default=1)
    axes.set_xscale("log")
    for place, (curve, points) in enumerate(shown.curves.items()):
        colour, marker = _COLOURS[place % len(_COLOURS)], _MARKERS[place % len(_MARKERS)]
        line = "-" if place < len(_COLOURS) else "--"
        axes.plot(*_line(points, number), line, color=colour, marker=marker, markersize=4.5, linewidth=1.6, label=curve)
    for place, (curve, points) in enumerate(shown.models.items()):
        colour, marker = _COLOURS[place % len(_COLOURS)], _MODEL_MARKERS[place % len(_MODEL_MARKERS)]
        axes.plot(*_line(points, number), ":", color=colour, marker=marker, markersize=7, linewidth=1.4, label=curve)
    for place, (curve, points) in enumerate(shown.baselines.items()):
        colour, style = (HOLDOUT, MUTED)[place % 2], _STYLES[place % len(_STYLES)]
        axes.axhline(points[0].figures[number], color=colour, linestyle=style, linewidth=1.4, label=curve)
    axes.axvline(_VACUOUS, color=TARGET, linewidth=0.9, linestyle=":")
    axes.annotate("vacuous →", (_VACUOUS, 0.97), xycoords=("data", "axes fraction"), color=TARGET, fontsize=8, va="top")
    axes.set_ylim(0, _ABOVE * axes.get_ylim()[1])
    axes.set_xlabel(f"ε of the whole table (total){_ROOM}")
    above = axes.secondary_xaxis(-_BELOW_IN / (height - 1.4), functions=(_times(1 / records), _times(records)))
    above.tick_params(which="both", length=0, labelsize=8, labelcolor=MUTED)
    axes.tick_params(which="both", length=0)
    above.spines[:].set_visible(False)
    above.set_xlabel(f"ε of one of {records:,} records, as the paper states it", color=MUTED, fontsize=8.5)


def _line(points: Sequence[MapPoint], number: int) -> tuple[list[float], list[float]]:
    """The totals and the figures of a curve."""
    return [point.total or 0.0 for point in points], [point.figures[number] for point in points]
