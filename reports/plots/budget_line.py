"""Draws the spending of a dataset's budget, release by release, with its cap and the planned refreshes.

The amounts come from `reports.figures.spending`.
"""

from collections.abc import Sequence
from math import ceil
from typing import Final

from matplotlib.figure import Figure

from reports.figures.spending import Spending, SpentAt
from reports.plots.theme import BASELINE, HOLDOUT, INK, MUTED, PAPER, RELEASED, make_figure, plain_axes, set_title

BUDGET_IN_WORDS: Final = (
    "Epsilon spent on the dataset, release by release, its cap, and what planned refreshes would add."
)
"""What the picture shows, for readers who cannot see it."""

_WIDTH_IN, _HEIGHT_IN = 11.0, 3.0
_MOST_DATES = 12
_HEADROOM = 1.14


def draw_budget_line(spending: Spending) -> Figure:
    """Draw epsilon spent over the lifetime, one step per release; the planned refreshes are dashed.

    Args:
        spending: the amounts spent, with dates, caps and plans.

    Returns:
        The picture.
    """
    figure = make_figure(_WIDTH_IN, _HEIGHT_IN)
    axes = plain_axes(figure.subplots(), grid="y")
    past, ahead = spending.history, spending.planned
    spent = [0.0, *(float(each.epsilon) for each in past)]
    axes.step(range(len(spent)), spent, where="post", color=RELEASED, linewidth=2.2)
    last = len(spent) - 1
    axes.plot([last, last + 0.5], [spent[-1]] * 2, color=RELEASED, linewidth=2.2)
    own = [number for number, each in enumerate(past, start=1) if each.own]
    axes.scatter(own, [spent[number] for number in own], s=46, color=RELEASED, edgecolors=PAPER, zorder=3)
    if ahead:
        places = [last + 0.5, *(last + number for number in range(1, len(ahead) + 1))]
        axes.step(places, [spent[-1], *map(float, ahead)], where="post", color=HOLDOUT, linewidth=1.8, linestyle="--")
    cap = float(spending.limit) if spending.limit is not None else None
    if cap is not None:
        axes.axhline(cap, color=BASELINE, linewidth=1.6)
        axes.annotate(f"cap {cap:g}", (0, cap), (2, 4), textcoords="offset points", color=INK, fontsize=9)
    most = max([*spent, *map(float, ahead), cap or 0.0]) or 1.0
    end = last + max(len(ahead), 1)
    axes.set(xlim=(0, end), ylim=(0, _HEADROOM * most), ylabel="ε spent")
    axes.set_xticks(*_dates(past, len(ahead)), color=MUTED)
    note = "the point marks this release" + ("; the planned refreshes are dashed" if ahead else "")
    set_title(axes, "Epsilon spent, release by release", note)
    return figure


def _dates(past: Sequence[SpentAt], ahead: int) -> tuple[list[int], list[str]]:
    """Positions and labels of the release dates, as many as are legible, and of the planned releases."""
    step = max(1, ceil((len(past) + ahead) / _MOST_DATES))
    # The newest release is always labelled.
    numbers = list(range(len(past), 0, -step))[::-1]
    names = [past[number - 1].day for number in numbers]
    if ahead:
        later = list(range(len(past) + step, len(past) + ahead + 1, step))
        numbers += later
        names += [f"+{number - len(past)}" for number in later]
    return numbers, names
