"""Draws the results of an evaluation: distances, classifiers, marginals and attacks.

Every function takes plain values and returns a picture. The measurements and the use of pictures do not belong here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, log10

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator

from deniable.evaluation.contract import CLASSIFIERS
from reports.figures.decimal_places import digits_of
from reports.plots.theme import (
    GRID,
    HOLDOUT,
    INK,
    MUTED,
    RELEASED,
    TABLE_COLOURS,
    TRAINING,
    make_figure,
    plain_axes,
    set_title,
)

_WIDTH = 11.0
_TABLE_NAMES = {"released": "released", "training": "real training", "baseline": "independent"}
_ORDER_NAMES = {1: "one attribute", 2: "two attributes", 3: "three attributes"}
_MANY_VALUES = 14
_LABEL_CHARACTERS = 9
_MOST_POINTS = 5000
_GOLDEN_RATIO = 0.6180339887
_SIGMAS = 1.96


def distance_boxes(
    distances: Mapping[int, Mapping[str, Sequence[float]]], marginals: Mapping[int, Sequence[str]]
) -> Figure:
    """Box plots of the total variation distances to the holdout, one panel per order and one box per table.

    Args:
        distances: by order and table, the distance of each marginal.
        marginals: by order, the name of each marginal.

    Returns:
        The picture.
    """
    tables = [table for table in TABLE_COLOURS if any(table in by_table for by_table in distances.values())]
    figure = make_figure(_WIDTH, 1.1 + 0.55 * len(tables))
    panels = figure.subplots(1, len(distances), sharey=True, squeeze=False)[0]
    for axes, (order, by_table) in zip(panels, distances.items(), strict=True):
        plain_axes(axes, grid="x")
        for row, table in enumerate(tables):
            _draw_box(axes, row, by_table[table], TABLE_COLOURS[table])
        worst = int(np.argmax(by_table["released"]))
        set_title(
            axes,
            f"{len(marginals[order])} tables of {_ORDER_NAMES[order]}",
            f"worst in the release: {marginals[order][worst]}",
        )
        axes.set(xlabel="total variation distance to the holdout", ylim=(len(tables) - 0.45, -0.6))
        axes.set_xlim(0, 1.4 * max(max(values) for values in by_table.values()) + 1e-6)
    panels[0].set_yticks(range(len(tables)), [_TABLE_NAMES[table] for table in tables], color=INK)
    return figure


def _draw_box(axes: Axes, row: int, values: Sequence[float], colour: str) -> None:
    """One horizontal box, with its values behind it, or quantiles of very many, and its mean as text."""
    shown = values if len(values) <= _MOST_POINTS else np.quantile(values, np.linspace(0, 1, _MOST_POINTS))
    # Multiples of the golden ratio separate neighbours, and the same values give the same picture.
    jitter = [row + 0.44 * ((i * _GOLDEN_RATIO) % 1 - 0.5) for i in range(len(shown))]
    axes.scatter(shown, jitter, s=7, color=colour, alpha=0.3, linewidths=0, zorder=2)
    axes.boxplot(
        [values],
        positions=[row],
        widths=0.5,
        orientation="horizontal",
        showfliers=False,
        patch_artist=True,
        boxprops={"facecolor": "none", "edgecolor": colour, "linewidth": 1.4},
        medianprops={"color": colour, "linewidth": 2.4},
        whiskerprops={"color": colour, "linewidth": 1.2},
        capprops={"linewidth": 0},
        manage_ticks=False,
        zorder=3,
    )
    axes.annotate(
        f"mean {np.mean(values):.3f}",
        (max(values), row),
        xytext=(6, -3),
        textcoords="offset points",
        color=colour,
        fontsize=9,
        fontweight="bold",
    )


def learning_panels(
    accuracies: Mapping[str, Mapping[str, float]],
    agreements: Mapping[str, Mapping[str, float]],
    distinguished: Mapping[str, float],
    majority: float,
) -> Figure:
    """Draw accuracy and agreement of classifiers, and the distinguishing game.

    Args:
        accuracies: by classifier and training table, its accuracy on the holdout.
        agreements: by classifier and table, how often it agrees with the classifier trained on real records.
        distinguished: by table, the accuracy of distinguishing its records from those of the holdout.
        majority: accuracy of always predicting the most common class.

    Returns:
        The picture.
    """
    figure = make_figure(_WIDTH, 1.35 + 0.5 * max(len(accuracies), len(distinguished)))
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.25, 1, 1))
    classifiers = list(accuracies)
    for axes, values in ((left, accuracies), (middle, agreements)):
        plain_axes(axes, grid="x")
        for row, classifier in enumerate(classifiers):
            shares = values[classifier]
            axes.plot(list(shares.values()), [row] * len(shares), color=GRID, linewidth=3, zorder=1)
            for table, share in shares.items():
                axes.scatter(share, row, s=62, color=TABLE_COLOURS[table], zorder=3)
            axes.annotate(
                f"{shares['released']:.3f}",
                (shares["released"], row),
                xytext=(0, 7),
                textcoords="offset points",
                ha="center",
                color=RELEASED,
                fontsize=8.5,
                fontweight="bold",
            )
        axes.set_ylim(len(classifiers) - 0.4, -0.6)
    left.set_yticks(range(len(classifiers)), [CLASSIFIERS[name] for name in classifiers], color=INK)
    left.axvline(majority, color=MUTED, linewidth=1.1, linestyle=(0, (3, 3)))
    left.annotate(
        "most common class",
        (majority, -0.55),
        xytext=(3, -1),
        textcoords="offset points",
        color=MUTED,
        fontsize=8,
        va="top",
    )
    set_title(left, "Accuracy on the holdout")
    left.set_xlabel("share predicted correctly")
    middle.set_yticks([])
    set_title(middle, "Agreement, trained on real records")
    middle.set_xlabel("share with the same prediction")
    _draw_bars(right, distinguished)
    right.axvline(0.5, color=MUTED, linewidth=1.1, linestyle=(0, (3, 3)))
    right.set(xlim=(min([0.48, *distinguished.values()]), 1.04), xlabel="accuracy: 0.5 by chance, 1 perfect")
    set_title(right, "Distinguished from real records")
    tables = {table for shares in accuracies.values() for table in shares}
    _draw_legend(figure, {name: TABLE_COLOURS[table] for table, name in _TABLE_NAMES.items() if table in tables})
    return figure


def _draw_bars(axes: Axes, shares: Mapping[str, float]) -> None:
    """Horizontal bars from one half, one per table, with the share at the end."""
    plain_axes(axes, grid="x")
    for row, (table, share) in enumerate(shares.items()):
        axes.barh(row, share - 0.5, left=0.5, height=0.5, color=TABLE_COLOURS[table], zorder=2)
        axes.annotate(f"{share:.3f}", (share, row), xytext=(4, -3), textcoords="offset points", color=INK, fontsize=9)
    axes.set_yticks(range(len(shares)), [_TABLE_NAMES[table] for table in shares], color=INK)
    axes.set_ylim(max(len(shares), 1) - 0.4, -0.6)


@dataclass(frozen=True)
class Attack:
    """Success of one attack on people who were used and on people who were not, with standard errors.

    Attributes:
        name: name of the attack.
        training: share of successes on the training data.
        training_error: its standard error.
        holdout: share of successes on the holdout.
        holdout_error: its standard error.
        note: what the attack counts.
        guess: share of successes without an attack, if it is known.
    """

    name: str
    training: float
    training_error: float
    holdout: float
    holdout_error: float
    note: str = ""
    guess: float | None = None

    @property
    def sides(self) -> tuple[tuple[str, float, float], ...]:
        """Table, share and standard error of both sides."""
        return (("training", self.training, self.training_error), ("holdout", self.holdout, self.holdout_error))


def attack_panels(attacks: Sequence[Attack]) -> Figure:
    """Each attack's success on people who were used and on people who were not, in panels with their own scales.

    Args:
        attacks: the results.

    Returns:
        The picture.
    """
    figure = make_figure(_WIDTH, 1.9)
    panels = figure.subplots(1, len(attacks), sharey=True, squeeze=False)[0]
    for axes, attack in zip(panels, attacks, strict=True):
        plain_axes(axes, grid="x")
        most = max(share + _SIGMAS * error for _, share, error in attack.sides)
        for row, (table, share, error) in enumerate(attack.sides):
            axes.barh(row, share, height=0.55, color=TABLE_COLOURS[table], zorder=2)
            axes.errorbar(share, row, xerr=_SIGMAS * error, color=INK, linewidth=1.1, capsize=2.5, zorder=3)
            end = share + _SIGMAS * error
            places = digits_of(100 * _SIGMAS * error) if error else 2
            axes.annotate(
                f"{share:.{places}%}", (end, row), xytext=(5, -3), textcoords="offset points", color=INK, fontsize=9
            )
        end = 1.45 * max(most, 0.001)
        axes.set(xlim=(0, end), ylim=(1.5, -0.5))
        axes.xaxis.set_major_locator(_two_ticks(end))
        axes.xaxis.set_major_formatter(_percent)
        set_title(axes, attack.name, attack.note)
    panels[0].set_yticks([0, 1], ["people used", "people not used"], color=INK)
    return figure


def inference_panel(inferences: Sequence[Attack]) -> Figure:
    """How often an intruder guesses each sensitive attribute correctly, for people used or not used, and at baseline.

    Args:
        inferences: the results, one per attribute.

    Returns:
        The picture.
    """
    figure = make_figure(_WIDTH, 1.15 + 0.48 * len(inferences))
    axes = plain_axes(figure.subplots(), grid="x")
    for row, inference in enumerate(inferences):
        for shift, (table, share, error) in zip((-0.13, 0.13), inference.sides, strict=True):
            place, colour = row + shift, TABLE_COLOURS[table]
            axes.errorbar(
                share, place, xerr=_SIGMAS * error, fmt="o", markersize=7.5, color=colour, linewidth=1.6, zorder=3
            )
        if inference.guess is not None:
            axes.plot([inference.guess] * 2, [row - 0.3, row + 0.3], color=INK, linewidth=2, zorder=2)
    axes.set_yticks(range(len(inferences)), [inference.name for inference in inferences], color=INK)
    axes.set(ylim=(len(inferences) - 0.4, -0.6), xlabel="share of people guessed correctly")
    axes.xaxis.set_major_formatter(_percent)
    _draw_legend(
        figure, {"people used": TRAINING, "people not used": HOLDOUT, "always guessing the most common value": INK}
    )
    return figure


def _draw_legend(figure: Figure, colours: Mapping[str, str]) -> None:
    """Explain the colours below all panels."""
    handles = [
        Line2D([], [], marker="|" if colour == INK else "o", linestyle="", markersize=8, mew=2, color=colour)
        for colour in colours.values()
    ]
    figure.legend(
        handles,
        list(colours),
        loc="outside lower left",
        ncols=len(colours),
        frameon=False,
        fontsize=9,
        labelcolor=MUTED,
        handletextpad=0.2,
    )


def _percent(share: float, _: object = None) -> str:
    """A share as a percentage without superfluous digits."""
    return f"{100 * share:.3g}%"


def _two_ticks(most: float) -> FixedLocator:
    """Zero and one round number below the end of the axis."""
    magnitude = 10.0 ** floor(log10(max(most, 1e-9)))
    return FixedLocator([0, next(step * magnitude for step in (5, 2, 1, 0.5) if step * magnitude <= 0.95 * most)])
