"""Draws the figures of plausible deniability in the style of all pictures of the project."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from papers.chance import Floats
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

if TYPE_CHECKING:
    from matplotlib.artist import Artist

_COLOURS = (RELEASED, TRAINING, BASELINE, TARGET, HOLDOUT)
_MARKERS = "osD^v"


def _legend(figure: Figure, columns: int) -> None:
    """One legend below all axes."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=9, labelcolor=INK)


def draw_dots(names: Sequence[str], values: Mapping[str, Floats], label: str, *, least: float, most: float) -> Figure:
    """Draw a row of dots for each attribute.

    Args:
        names: the attributes.
        values: by series, a value for each attribute.
        label: label of the horizontal axis.
        least: its start.
        most: its end.
    """
    figure = make_figure(7.6, 0.9 + 0.34 * len(names))
    axes = plain_axes(figure.subplots(), grid="x")
    for place in range(len(names)):
        there = [series[place] for series in values.values()]
        axes.plot([min(there), max(there)], [place, place], color=MUTED, linewidth=0.7, alpha=0.5)
    for colour, marker, (series, own) in zip(_COLOURS, _MARKERS, values.items(), strict=False):
        axes.plot(own, range(len(names)), linestyle="none", marker=marker, markersize=5, color=colour, label=series)
    axes.set_yticks(range(len(names)), list(names), color=INK)
    axes.set(ylim=(len(names) - 0.5, -0.5), xlabel=label, xlim=(least, most))
    if least < 0:
        axes.axvline(0, color=MUTED, linewidth=1.0)
    _legend(figure, len(values))
    return figure


def draw_boxes(values: Mapping[str, Floats], floor: float, label: str) -> Figure:
    """Draw a box for each table: quartiles, whiskers of 1.5 interquartile ranges, and what lies beyond.

    Args:
        values: by table, its distances.
        floor: the distance to mark.
        label: label of the horizontal axis.
    """
    figure = make_figure(8.6, 0.9 + 0.33 * len(values))
    axes = plain_axes(figure.subplots(), grid="x")
    axes.boxplot(
        list(values.values()),
        orientation="horizontal",
        whis=1.5,
        widths=0.6,
        boxprops={"color": RELEASED, "linewidth": 1.3},
        medianprops={"color": TARGET, "linewidth": 2.0},
        whiskerprops={"color": RELEASED, "linewidth": 1.1},
        capprops={"color": RELEASED, "linewidth": 1.1},
        flierprops={"marker": "o", "markersize": 3, "markeredgecolor": MUTED, "markerfacecolor": "none"},
    )
    axes.axvline(floor, color=HOLDOUT, linewidth=1.1, linestyle=(0, (3, 3)))
    axes.set_yticks(range(1, len(values) + 1), [name.replace("omega", "ω") for name in values], color=INK)
    axes.set(xlabel=label, xlim=(0, None), ylim=(len(values) + 0.6, 0.4))
    return figure


def draw_passing(
    ks: Sequence[int],
    passing: Mapping[str, tuple[Mapping[str, Sequence[float]], Mapping[str, Sequence[float]]]],
) -> Figure:
    """Draw the share that passes by k, a panel for each number of seeds, and the total epsilon on a second axis.

    Args:
        ks: the numbers of plausible seeds required.
        passing: by panel, the shares at each k by omega, and the totals at each k by number of candidates; infinite
            totals are not drawn.
    """
    figure = make_figure(9.8, 4.4)
    panels = figure.subplots(1, len(passing), squeeze=False)[0]
    handles: dict[str, Artist] = {}
    for axes, (panel, (curves, totals)) in zip(panels, passing.items(), strict=True):
        plain_axes(axes, grid="y")
        set_title(axes, panel)
        fixed = [name for name in curves if " to " not in name]
        for name, values in curves.items():
            is_fixed = name in fixed
            (handles[name],) = axes.plot(
                ks,
                values,
                color=RELEASED if is_fixed else (BASELINE if "9" in name else TRAINING),
                alpha=1 - 0.8 * fixed.index(name) / len(fixed) if is_fixed else 1.0,
                marker="o" if is_fixed else "D",
                markersize=3.5 if is_fixed else 5,
                linewidth=1.3 if is_fixed else 2.0,
                label=name.replace("omega", "ω"),
            )
        axes.set(xlabel="k", ylim=(0, 1.03), xticks=list(ks))
        other = axes.twinx()
        for style, (name, own) in zip(("--", ":"), totals.items(), strict=False):
            finite = [place for place, epsilon in enumerate(own) if isfinite(epsilon)]
            (handles[name],) = other.plot(
                [ks[place] for place in finite],
                [own[place] for place in finite],
                style,
                color=TARGET,
                linewidth=1.6,
                label=f"ε of {name}",
            )
        other.set(ylim=(0, None))
        other.tick_params(length=0, labelcolor=TARGET, labelsize=9)
        for spine in other.spines.values():
            spine.set_visible(False)
    panels[0].set_ylabel("share of candidates that pass")
    other.set_ylabel("total epsilon of all candidates", color=TARGET)
    figure.legend(
        handles=list(handles.values()), loc="outside lower center", ncols=6, frameon=False, fontsize=8.5, labelcolor=INK
    )
    return figure


def draw_times(curves: Mapping[str, tuple[Sequence[float], Sequence[float]]], labels: tuple[str, str]) -> Figure:
    """Draw times against numbers of records, both on logarithmic axes.

    Args:
        curves: by program, numbers of records and CPU seconds; one point is an upper bound.
        labels: labels of both axes.
    """
    figure = make_figure(7.6, 4.2)
    axes = plain_axes(figure.subplots(), grid="y")
    colours = iter((RELEASED, TRAINING, BASELINE, TARGET, TARGET))
    for name, (numbers, seconds) in curves.items():
        alone = len(numbers) == 1
        marker = {True: "v" if "one core" in name else "^", False: "o"}[alone]
        axes.plot(
            numbers,
            seconds,
            color=next(colours),
            marker=marker,
            markersize=8 if alone else 4.5,
            linestyle="none" if alone else "-",
            linewidth=1.7,
            label=name,
        )
    axes.set(xscale="log", yscale="log", xlabel=labels[0], ylabel=labels[1])
    axes.set_yticks(
        [0.1, 1, 10, 60, 600, 3600, 36000, 360000], ["0.1 s", "1 s", "10 s", "1 min", "10 min", "1 h", "10 h", "100 h"]
    )
    axes.set_xticks([1e3, 1e4, 1e5, 1e6], ["1,000", "10,000", "100,000", "1,000,000"])
    axes.minorticks_off()
    _legend(figure, 2)
    return figure
