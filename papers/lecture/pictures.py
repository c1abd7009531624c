"""Draws the lecture's examples in the style of all pictures of the project."""

from collections.abc import Mapping, Sequence
from math import sqrt

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

_COLOURS = (RELEASED, TARGET, BASELINE, TRAINING)


def draw_reconstruction(deviations: Sequence[float], shares: Sequence[float], people: int) -> Figure:
    """Draw the share of bits that are right against the noise.

    Args:
        deviations: standard deviations of the noise.
        shares: share of bits that are right at each.
        people: number of bits.
    """
    figure = make_figure(6.4, 3.4)
    axes = plain_axes(figure.subplots(), grid="y")
    axes.plot(deviations, shares, color=RELEASED, marker="o", markersize=5, linewidth=1.7)
    axes.axhline(0.5, color=MUTED, linewidth=1.1, linestyle=(0, (3, 3)))
    axes.annotate(
        "a coin",
        (deviations[-1], 0.5),
        xytext=(0, -11),
        textcoords="offset points",
        color=MUTED,
        fontsize=8.5,
        ha="right",
    )
    axes.axvline(sqrt(people), color=HOLDOUT, linewidth=1.1, linestyle=(0, (3, 3)))
    axes.annotate("√60", (sqrt(people), 1.0), xytext=(4, -2), textcoords="offset points", color=MUTED, fontsize=8.5)
    axes.set(xlabel="standard deviation of the noise on a sum", ylabel="share of bits that are right", ylim=(0.4, 1.03))
    return figure


def draw_curves(
    title: str,
    places: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    labels: tuple[str, str],
    *,
    most: float = 1.03,
) -> Figure:
    """Draw curves over the same places.

    Args:
        title: the title.
        places: places on the horizontal axis.
        curves: by name, the height at each place.
        labels: labels of both axes.
        most: end of the vertical axis.
    """
    figure = make_figure(6.4, 3.6)
    axes = plain_axes(figure.subplots(), grid="y")
    set_title(axes, title)
    for colour, marker, (name, values) in zip(_COLOURS, "oD^s", curves.items(), strict=False):
        axes.plot(places, values, color=colour, marker=marker, markersize=4.5, linewidth=1.7, label=name)
    axes.set(xlabel=labels[0], ylabel=labels[1], ylim=(0, most))
    figure.legend(loc="outside lower center", ncols=len(curves), frameon=False, fontsize=9, labelcolor=INK)
    return figure


def draw_bars(names: Sequence[str], heights: Mapping[str, Sequence[float] | NDArray[np.float64]], label: str) -> Figure:
    """Draw groups of horizontal bars.

    Args:
        names: names of the groups.
        heights: by name of the bar, its length in each group.
        label: label of the horizontal axis.
    """
    figure = make_figure(7.2, 0.9 + 0.34 * len(names))
    axes = plain_axes(figure.subplots(), grid="x")
    thick = 0.8 / len(heights)
    for number, (colour, (name, values)) in enumerate(
        zip((TRAINING, RELEASED, BASELINE), heights.items(), strict=False)
    ):
        places = [place + (number - (len(heights) - 1) / 2) * thick for place in range(len(names))]
        axes.barh(places, values, height=thick, color=colour, label=name)
    axes.set_yticks(range(len(names)), list(names), color=INK)
    axes.set(ylim=(len(names) - 0.5, -0.5), xlabel=label)
    figure.legend(loc="outside lower center", ncols=len(heights), frameon=False, fontsize=9, labelcolor=INK)
    return figure
