"""Draws what releases of public records were good for: a row for each use, a column for each epsilon."""

from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deniable.evaluation.uses import USES
from reports.plots.theme import BASELINE, INK, MUTED, PAPER, RELEASED, TARGET, TRAINING, make_figure, plain_axes
from schemas.rehearsal import Grade, Rehearsal

_WIDTH_IN, _ROW_IN, _AROUND_IN = 6.4, 0.36, 1.0
_CURVE_IN: Final = 1.5
_MARKS: Final[dict[Grade, tuple[str, str, str]]] = {
    "good": ("o", TRAINING, TRAINING),
    "with caution": ("o", PAPER, BASELINE),
    "do not": ("X", TARGET, TARGET),
    "not decided": ("_", MUTED, MUTED),
}
"""Marker, filling and edge of each grade; they differ in shape and filling, not in colour alone."""


def draw_ladder(shown: Rehearsal) -> Figure:
    """Draw the grades by epsilon, and below them the widths of intervals, if there are any.

    Args:
        shown: the rehearsal.
    """
    words = {use.name: use.words for use in USES}
    used = shown.used
    widths = [rung.width for rung in shown.rungs]
    has_widths = any(width is not None for width in widths)
    above = _ROW_IN * max(len(used), 1) + _AROUND_IN
    figure = make_figure(_WIDTH_IN, above + _CURVE_IN * has_widths)
    if has_widths:
        axes, below = figure.subplots(2, 1, sharex=True, height_ratios=(above, _CURVE_IN))
        _draw_widths(plain_axes(below, grid="y"), shown)
    else:
        axes = figure.subplots()
    plain_axes(axes)
    axes.spines["bottom"].set_visible(False)
    for grade, (marker, filling, edge) in _MARKS.items():
        places = [
            (place, -row)
            for row, use in enumerate(used)
            for place, rung in enumerate(shown.rungs)
            if rung.uses.get(use) == grade
        ]
        label = {"good": "good", "with caution": "with caution", "do not": "not to be used"}.get(grade, "not decided")
        axes.plot(
            *(list(each) for each in zip(*places, strict=True)) if places else ([], []),
            marker,
            color=filling,
            markeredgecolor=edge,
            markeredgewidth=1.6,
            markersize=11,
            label=label,
        )
    axes.set_yticks([-row for row in range(len(used))], [words[use] for use in used], color=INK)
    axes.tick_params(labelcolor=INK)
    axes.set_ylim(-len(used) + 0.4, 0.6)
    _label(axes, shown, bottom=not has_widths)
    figure.legend(
        *axes.get_legend_handles_labels(),
        loc="outside lower center",
        ncols=4,
        frameon=False,
        fontsize=9,
        labelcolor=INK,
    )
    return figure


def _draw_widths(axes: Axes, shown: Rehearsal) -> None:
    places = [place for place, rung in enumerate(shown.rungs) if rung.width is not None]
    axes.plot(places, [100 * (shown.rungs[place].width or 0.0) for place in places], "o-", color=RELEASED, markersize=5)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("width of\n95% intervals, points", fontsize=8.5)
    _label(axes, shown, bottom=True)


def _label(axes: Axes, shown: Rehearsal, *, bottom: bool) -> None:
    """Label the epsilons below the lowest axes; that of the spec is marked."""
    names = [f"{rung.epsilon}\n(spec)" if rung.epsilon == shown.own else rung.epsilon for rung in shown.rungs]
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.tick_params(labelbottom=bottom)
    if bottom:
        axes.set_xlabel("ε of the whole release")
