"""Draws Charest's figures in the style of all pictures of the project."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

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

_COLOURS = {1: TRAINING, 2: RELEASED, 5: BASELINE, 10: TARGET}
_MARKERS = {1: "s", 2: "o", 5: "^", 10: "D"}
_LEVEL = 0.95


def draw_coverage(epsilons: Sequence[int], covered: Mapping[float, Mapping[int, Sequence[float]]]) -> Figure:
    """Draw coverage against epsilon, a panel for each share and a line for each number of sets.

    Args:
        epsilons: total epsilons.
        covered: coverage by share and number of sets, for each epsilon.
    """
    figure = make_figure(9.6, 3.6)
    panels = figure.subplots(1, len(covered), sharey=True, squeeze=False)[0]
    for axes, (share, curves) in zip(panels, covered.items(), strict=True):
        plain_axes(axes, grid="y")
        set_title(axes, f"share p = {share:g}")
        axes.axhline(_LEVEL, color=MUTED, linewidth=1.1, linestyle=(0, (3, 3)), label="level, 95 %")
        for sets, values in curves.items():
            colour, marker = _COLOURS[sets], _MARKERS[sets]
            axes.plot(
                epsilons, values, color=colour, marker=marker, markersize=4.5, linewidth=1.6, label=f"{sets} sets"
            )
        axes.set(xlabel="total epsilon", ylim=(0.25, 1.02), xticks=list(epsilons))
    panels[0].set_ylabel("share of intervals that cover p")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9, labelcolor=INK)
    return figure


def draw_posteriors(
    shares: NDArray[np.float64],
    densities: Mapping[float, Mapping[str, NDArray[np.float64]]],
) -> Figure:
    """Draw densities of the share, a panel for each true share.

    Args:
        shares: places on the axis, shape (places,).
        densities: by true share and curve, the density there; curves end with their number of sets, if they have one.
    """
    figure = make_figure(9.6, 3.8)
    panels = figure.subplots(1, len(densities), sharey=True, squeeze=False)[0]
    for axes, (share, curves) in zip(panels, densities.items(), strict=True):
        plain_axes(axes, grid="y")
        set_title(axes, f"share p = {share:g}")
        axes.axvline(share, color=MUTED, linewidth=1.1, linestyle=(0, (3, 3)), label="p")
        for curve, values in curves.items():
            last = curve.rpartition(" ")[2]
            colour = INK if curve.startswith("real") else HOLDOUT if not last.isdigit() else _COLOURS[int(last)]
            style = "--" if curve.startswith("one") else "-"
            axes.plot(shares, values, style, color=colour, linewidth=1.7, label=curve)
        axes.set(xlabel="share of the first category", xlim=(0, 1), ylim=(0, None))
    panels[0].set_ylabel("posterior density")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9, labelcolor=INK)
    return figure
