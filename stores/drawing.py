"""Draws a dependency graph: attributes in layers, each below all that it depends on, the target highlighted.

Which graph it is, and where the picture goes, does not belong here.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
from matplotlib.path import Path

from stores.layered_layout import Place, lay_out
from stores.theme import INK, MUTED, PAPER, RELEASED, TARGET, make_figure

# Inches, which are also the units of the axes.
_BOX_HEIGHT = 0.36
_LAYER_HEIGHT = 0.92
_CHARACTER_WIDTH = 0.105
_BOX_PADDING = 0.30
_GAP = 0.32
_MARGIN = 0.15
_ROW_WIDTH = 8.0
_ARROW_LENGTH = 0.11
_ARROW_HALF_WIDTH = 0.045


def draw_graph(
    names: Sequence[str],
    parents: Mapping[str, Sequence[str]],
    target: str | None,
    weights: Mapping[tuple[str, str], float] | None = None,
) -> Figure:
    """Draw a directed acyclic graph, the target and what it depends on highlighted.

    Args:
        names: the attributes.
        parents: the parents of each attribute; one that is not listed has none.
        target: the attribute to highlight, if any.
        weights: strength in [0, 1] of each dependency, by (parent, child); the width of its arrow.

    Returns:
        The picture.

    Raises:
        InvalidInput: the graph has a cycle, or names an attribute that is not listed.
    """
    widths = {name: _BOX_PADDING + _CHARACTER_WIDTH * len(name) for name in names}
    layout = lay_out(names, parents, widths, gap=_GAP, row_width=_ROW_WIDTH)
    width = layout.width + 2 * _MARGIN
    height = max(layout.depth - 1, 0) * _LAYER_HEIGHT + _BOX_HEIGHT + 2 * _MARGIN
    figure = make_figure(width, height, arranged=False)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(-_MARGIN, width - _MARGIN), ylim=(height - _BOX_HEIGHT / 2 - _MARGIN, -_BOX_HEIGHT / 2 - _MARGIN))
    axes.axis("off")
    for (parent, child), route in layout.routes.items():
        strength = 0.4 if weights is None else min(max(weights.get((parent, child), 0.0), 0.0), 1.0)
        _draw_arrow(
            axes,
            [(x, y * _LAYER_HEIGHT) for x, y in route],
            colour=TARGET if target in {parent, child} else MUTED,
            line_width=0.7 + 1.3 * strength,
        )
    for name, (x, y) in layout.places.items():
        _draw_box(axes, name, (x, y * _LAYER_HEIGHT), widths[name], highlighted=name == target)
    return figure


def _draw_box(axes: Axes, name: str, centre: Place, width: float, *, highlighted: bool) -> None:
    """A box with a name; the target's is filled."""
    x, y = centre
    axes.add_patch(
        FancyBboxPatch(
            (x - width / 2, y - _BOX_HEIGHT / 2),
            width,
            _BOX_HEIGHT,
            boxstyle="round,pad=0,rounding_size=0.1",
            facecolor=TARGET if highlighted else PAPER,
            edgecolor=TARGET if highlighted else RELEASED,
            linewidth=1.3,
            zorder=2,
        )
    )
    colour, weight = (PAPER, "bold") if highlighted else (INK, "normal")
    axes.text(x, y, name, ha="center", va="center_baseline", color=colour, fontsize=10, fontweight=weight, zorder=3)


def _draw_arrow(axes: Axes, route: Sequence[Place], *, colour: str, line_width: float) -> None:
    """A smooth line from the foot of one box to the head of another, upright at every point of its route."""
    (x0, y0), *bends, (x1, y1) = route
    tip = (x1, y1 - _BOX_HEIGHT / 2)
    points = [(x0, y0 + _BOX_HEIGHT / 2), *bends, (x1, tip[1] - _ARROW_LENGTH)]
    vertices, codes = [points[0]], [Path.MOVETO]
    for (left, upper), (right, lower) in pairwise(points):
        middle = (upper + lower) / 2
        vertices += [(left, middle), (right, middle), (right, lower)]
        codes += [Path.CURVE4] * 3
    line = Path(vertices, codes)
    axes.add_patch(PathPatch(line, facecolor="none", edgecolor=colour, linewidth=line_width, alpha=0.85, zorder=1))
    base = tip[1] - _ARROW_LENGTH
    head = [tip, (tip[0] - _ARROW_HALF_WIDTH, base), (tip[0] + _ARROW_HALF_WIDTH, base)]
    axes.add_patch(Polygon(head, facecolor=colour, edgecolor="none", zorder=1))
