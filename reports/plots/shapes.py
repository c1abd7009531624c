"""The shapes of diagrams: bars, ribbons between them, boxes and arrows, all in inches, with y downwards.

The content of a diagram does not belong here.
"""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon, Rectangle
from matplotlib.path import Path

from reports.plots.theme import INK, MUTED, PAPER, make_figure

Place = tuple[float, float]
Edge = tuple[float, float, float]
"""A vertical edge: x, top and bottom."""

_THINNEST = 0.015
_ARROW_LENGTH = 0.11
_ARROW_HALF_WIDTH = 0.045


def make_sheet(width: float, height: float) -> tuple[Figure, Axes]:
    """Make a sheet for drawing, with coordinates in inches from its upper left corner."""
    figure = make_figure(width, height, arranged=False)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    return figure, axes


def draw_bar(axes: Axes, edge: Edge, width: float, colour: str, *, opacity: float = 1.0) -> None:
    """Draw a vertical bar, given its left edge."""
    x, top, bottom = edge
    height = max(bottom - top, _THINNEST)
    axes.add_patch(Rectangle((x, top), width, height, facecolor=colour, edgecolor="none", alpha=opacity, zorder=3))


def draw_ribbon(axes: Axes, left: Edge, right: Edge, colour: str, *, opacity: float = 0.22, bend: float = 0.5) -> None:
    """Draw a band from one vertical edge to another that bends at a fraction of the distance."""
    (x0, top0, bottom0), (x1, top1, bottom1) = left, right
    middle = x0 + bend * (x1 - x0)
    there = [(x0, top0), (middle, top0), (middle, top1), (x1, top1)]
    back = [(x1, bottom1), (middle, bottom1), (middle, bottom0), (x0, bottom0)]
    draw_band(axes, there, back, colour, opacity)


def draw_band(axes: Axes, there: Sequence[Place], back: Sequence[Place], colour: str, opacity: float) -> None:
    """Draw the area between two curves of four points each; the second curve runs backwards."""
    codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3, Path.CLOSEPOLY]
    outline = Path([*there, *back, there[0]], codes)
    axes.add_patch(PathPatch(outline, facecolor=colour, edgecolor="none", alpha=opacity, zorder=1))


def draw_box(
    axes: Axes, corner: Place, size: Place, title: str, lines: Sequence[str] = (), *, colour: str, filled: bool = False
) -> None:
    """Draw a box with rounded corners that contains a title and lines of text."""
    (x, y), (width, height) = corner, size
    axes.add_patch(
        FancyBboxPatch(
            (x, y),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=0.1",
            facecolor=colour if filled else PAPER,
            edgecolor=colour,
            linewidth=1.3,
            zorder=4,
        )
    )
    middle, text = y + height / 2 - 0.085 * len(lines), PAPER if filled else INK
    axes.text(
        x + width / 2, middle, title, ha="center", va="center", color=text, fontsize=10, fontweight="bold", zorder=5
    )
    for number, line in enumerate(lines, start=1):
        axes.text(
            x + width / 2,
            middle + 0.185 * number,
            line,
            ha="center",
            va="center",
            color=PAPER if filled else MUTED,
            fontsize=8.5,
            zorder=5,
        )


def draw_arrow(axes: Axes, start: Place, end: Place, colour: str) -> None:
    """Draw an arrow that starts and ends horizontally."""
    (x0, y0), (x1, y1) = start, end
    base, middle = x1 - _ARROW_LENGTH, (x0 + x1 - _ARROW_LENGTH) / 2
    line = Path([(x0, y0), (middle, y0), (middle, y1), (base, y1)], [Path.MOVETO, *[Path.CURVE4] * 3])
    axes.add_patch(PathPatch(line, facecolor="none", edgecolor=colour, linewidth=1.5, zorder=2))
    head = [(x1, y1), (base, y1 - _ARROW_HALF_WIDTH), (base, y1 + _ARROW_HALF_WIDTH)]
    axes.add_patch(Polygon(head, facecolor=colour, edgecolor="none", zorder=2))
