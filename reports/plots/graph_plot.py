"""Draws a dependency graph: attributes in layers, each below its parents, with the target highlighted.

The choice of the graph and the use of the picture do not belong here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import sqrt
from typing import Any, Final, Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
from matplotlib.path import Path

from reports.plots.layered_layout import Place, lay_out
from reports.plots.theme import BASELINE, INK, MUTED, PAPER, RELEASED, TARGET, TRAINING, make_figure

Edge = tuple[str, str]
"""A dependency: parent and child."""
Change = Literal["kept", "added", "removed", "turned"]
"""How a dependency changed from one graph to another."""

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
_THINNEST, _THICKER = 0.6, 3.0
_ALIKE, _WEAKEST = 0.1, 1e-9
_MOST_BEYOND_A_TREE = 15


@dataclass(frozen=True)
class EdgeStyle:
    """The style of an arrow.

    Attributes:
        colour: its colour.
        width: width of its line.
        dashes: lengths of dashes and gaps; empty for a solid line.
        upwards: whether it points from the lower box to the upper one.
    """

    colour: str
    width: float
    dashes: tuple[float, ...] = ()
    upwards: bool = False


_LOOKS: Final[dict[Change, EdgeStyle]] = {
    "kept": EdgeStyle(MUTED, 0.9),
    "added": EdgeStyle(TRAINING, 2.4),
    "removed": EdgeStyle(BASELINE, 1.6, (4, 3)),
    "turned": EdgeStyle(TARGET, 2.0, (1, 1.6)),
}


def draw_graph(
    names: Sequence[str],
    parents: Mapping[str, Sequence[str]],
    target: str | None,
    weights: Mapping[tuple[str, str], float] | None = None,
) -> Figure:
    """Draw a directed acyclic graph, with the target and its dependencies highlighted.

    Args:
        names: the attributes.
        parents: the parents of each attribute; an attribute that is not listed has none.
        target: the attribute to highlight, if any.
        weights: strength in [0, 1] of each dependency, by (parent, child); it sets the width of the arrow, relative to
            the strongest one. Only the dependencies selected by `strongest` are drawn.

    Returns:
        The picture.

    Raises:
        InvalidInput: the graph has a cycle, or names an attribute that is not listed.
    """
    edges = [(parent, child) for child, those in parents.items() for parent in those]
    strengths = {edge: _ALIKE if weights is None else max(weights.get(edge, 0.0), 0.0) for edge in edges}
    most = max(1.0 if weights is None else max(strengths.values(), default=0.0), _WEAKEST)

    def look(parent: str, child: str) -> EdgeStyle:
        width = _THINNEST + _THICKER * sqrt(strengths[parent, child] / most)
        return EdgeStyle(TARGET if target in {parent, child} else MUTED, width)

    drawn = edges if weights is None else strongest(strengths, len(names))
    shown: dict[str, list[str]] = {}
    for parent, child in sorted(drawn, key=edges.index):
        shown.setdefault(child, []).append(parent)
    return _draw(names, shown, target, look)


def strongest(weights: Mapping[Edge, float], attributes: int) -> list[Edge]:
    """Select the dependencies that a picture has room for: each attribute's strongest, and the strongest of the others.

    Args:
        weights: strength of each dependency, by (parent, child).
        attributes: number of attributes; at least as many dependencies are shown, if there are that many.

    Returns:
        The dependencies, the strongest first.
    """
    falling = sorted(weights, key=lambda edge: (-weights[edge], edge))
    first: dict[str, Edge] = {}
    for edge in falling:
        first.setdefault(edge[1], edge)
    kept = set(list(dict.fromkeys([*first.values(), *falling]))[: attributes + min(attributes, _MOST_BEYOND_A_TREE)])
    return [edge for edge in falling if edge in kept]


def weights_of(graph: Mapping[str, Any]) -> dict[Edge, float]:
    """Strength of each dependency of a graph, by (parent, child), from its document."""
    return {(edge["name"], child): edge["similarity"] for child, into in graph["parents"].items() for edge in into}


def parents_of(weights: Mapping[Edge, float]) -> dict[str, list[str]]:
    """The parents of each attribute that has any."""
    parents: dict[str, list[str]] = {}
    for parent, child in weights:
        parents.setdefault(child, []).append(parent)
    return parents


def draw_graph_changes(names: Sequence[str], edges: Mapping[tuple[str, str], Change], target: str | None) -> Figure:
    """Draw how the dependencies changed from one graph to another, distinguished by dashes as well as by colour.

    Args:
        names: the attributes of both graphs.
        edges: by (parent, child), how each dependency changed; those of the second graph have no cycle.
        target: the attribute to highlight, if any.

    Returns:
        The picture; a removed dependency that would close a cycle is drawn upwards.
    """
    parents: dict[str, list[str]] = {}
    upwards = set()
    for parent, child in sorted(edges, key=lambda edge: edges[edge] == "removed"):
        up = _leads(parents, child, parent)
        upwards |= {(child, parent)} if up else set()
        above, below = (child, parent) if up else (parent, child)
        parents.setdefault(below, []).append(above)

    def look(above: str, below: str) -> EdgeStyle:
        up = (above, below) in upwards
        return replace(_LOOKS[edges[(below, above) if up else (above, below)]], upwards=up)

    return _draw(names, parents, target, look)


def _leads(parents: Mapping[str, Sequence[str]], start: str, end: str) -> bool:
    """Whether arrows lead from one attribute to another."""
    reached, waiting = set(), [end]
    while waiting:
        name = waiting.pop()
        reached.add(name)
        waiting += [parent for parent in parents.get(name, ()) if parent not in reached]
    return start in reached


def _draw(
    names: Sequence[str],
    parents: Mapping[str, Sequence[str]],
    target: str | None,
    look: Callable[[str, str], EdgeStyle],
) -> Figure:
    """Lay a graph out and draw it."""
    widths = {name: _BOX_PADDING + _CHARACTER_WIDTH * len(name) for name in names}
    layout = lay_out(names, parents, widths, gap=_GAP, row_width=_ROW_WIDTH)
    width = layout.width + 2 * _MARGIN
    height = max(layout.depth - 1, 0) * _LAYER_HEIGHT + _BOX_HEIGHT + 2 * _MARGIN
    figure = make_figure(width, height, arranged=False)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(-_MARGIN, width - _MARGIN), ylim=(height - _BOX_HEIGHT / 2 - _MARGIN, -_BOX_HEIGHT / 2 - _MARGIN))
    axes.axis("off")
    for (above, below), route in layout.routes.items():
        _draw_arrow(axes, [(x, y * _LAYER_HEIGHT) for x, y in route], look(above, below))
    for name, (x, y) in layout.places.items():
        _draw_box(axes, name, (x, y * _LAYER_HEIGHT), widths[name], highlighted=name == target)
    return figure


def _draw_box(axes: Axes, name: str, centre: Place, width: float, *, highlighted: bool) -> None:
    """A box with a name; the target's box is filled."""
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


def _draw_arrow(axes: Axes, route: Sequence[Place], look: EdgeStyle) -> None:
    """A smooth line from the bottom of one box to the top of another, vertical at every point of its route."""
    # Drawn from its start to its tip; `down` is -1 for an arrow that points upwards.
    (x0, y0), *bends, (x1, y1) = route[::-1] if look.upwards else route
    down = -1 if look.upwards else 1
    tip = (x1, y1 - down * _BOX_HEIGHT / 2)
    base = tip[1] - down * _ARROW_LENGTH
    points = [(x0, y0 + down * _BOX_HEIGHT / 2), *bends, (x1, base)]
    vertices, codes = [points[0]], [Path.MOVETO]
    for (left, upper), (right, lower) in pairwise(points):
        middle = (upper + lower) / 2
        vertices += [(left, middle), (right, middle), (right, lower)]
        codes += [Path.CURVE4] * 3
    line = Path(vertices, codes)
    axes.add_patch(
        PathPatch(
            line,
            facecolor="none",
            edgecolor=look.colour,
            linewidth=look.width,
            linestyle=(0, look.dashes) if look.dashes else "solid",
            alpha=0.85,
            zorder=1,
        )
    )
    head = [tip, (tip[0] - _ARROW_HALF_WIDTH, base), (tip[0] + _ARROW_HALF_WIDTH, base)]
    axes.add_patch(Polygon(head, facecolor=look.colour, edgecolor="none", zorder=1))
