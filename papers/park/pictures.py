"""Draws histograms and coefficients in the style of all pictures of the project; maps are drawn by the product."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure

from papers.chance import Floats
from reports.plots.theme import HOLDOUT, INK, MUTED, RELEASED, TARGET, TRAINING, make_figure, plain_axes, set_title

_COLOURS: Final = (HOLDOUT, RELEASED, TARGET, TRAINING)
_MARKERS: Final = "ovs"
_MOST_TICKS: Final = 9


def draw_histograms(found: Mapping[str, Mapping[str, Floats]], values: Mapping[str, Sequence[Any]]) -> Figure:
    """Draw the shares of values, a panel for each attribute: those of the first table as bars, of others as steps.

    Args:
        found: by attribute and table, the share of each value.
        values: the values of each attribute, in their order.
    """
    figure = make_figure(9.0, 5.6)
    grid = figure.subplots(2, -(-len(found) // 2), squeeze=False).ravel()
    for axes, (name, tables) in zip(grid, found.items(), strict=True):
        plain_axes(axes, grid="y")
        set_title(axes, name)
        for colour, (table, own) in zip(_COLOURS, tables.items(), strict=False):
            places = np.arange(len(own) + 1) - 0.5
            if colour == _COLOURS[0]:
                axes.stairs(own, places, fill=True, color=colour, alpha=0.5, label=table)
            else:
                axes.stairs(own, places, color=colour, linewidth=1.5, label=table)
        every = -(-len(values[name]) // _MOST_TICKS)
        shown = range(0, len(values[name]), every)
        axes.set_xticks(list(shown), [str(values[name][place]) for place in shown])
        axes.set(xlim=(-0.5, len(values[name]) - 0.5), ylim=(0, None))
    grid[0].set_ylabel("share of records")
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9, labelcolor=INK)
    return figure


def draw_coefficients(found: Mapping[str, tuple[Floats, Mapping[str, Floats]]]) -> Figure:
    """Draw slopes against those on real records, a panel for each regression, and state the intercepts in it.

    Args:
        found: by regression, the real coefficients, and those of each table.
    """
    figure = make_figure(9.0, 4.6)
    grid = figure.subplots(1, len(found), squeeze=False).ravel()
    for axes, (name, (right, tables)) in zip(grid, found.items(), strict=True):
        plain_axes(axes, grid="y")
        set_title(axes, name.capitalize())
        intercepts = [f"{right[0]:.2f} on real records", *(f"{own[0]:.2f} by {table}" for table, own in tables.items())]
        axes.annotate(
            "intercept\n" + "\n".join(intercepts),
            (0.03, 0.97),
            xycoords="axes fraction",
            color=MUTED,
            fontsize=8.5,
            va="top",
            linespacing=1.4,
        )
        ends = [float(right[1:].min()), float(right[1:].max())]
        axes.plot(ends, ends, color=MUTED, linewidth=1.0, linestyle=(0, (4, 3)), label="as on real records")
        for colour, marker, (table, own) in zip(_COLOURS[1:], _MARKERS, tables.items(), strict=False):
            axes.plot(right[1:], own[1:], marker, color=colour, markersize=4, alpha=0.6, label=table)
        axes.set(xlabel="slope on real records", ylabel="slope on synthetic records")
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9, labelcolor=INK)
    return figure
