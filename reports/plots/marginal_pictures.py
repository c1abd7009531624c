"""Draws the distribution of every attribute, real and released, as one SVG file.

It draws what the report shows value by value (reports.figures.marginals).
"""

from collections.abc import Sequence
from math import ceil
from typing import Final

from markupsafe import Markup

from reports.figures.marginals import Curve, Panel, ValueRow
from reports.plots.theme import svg_alone

_COLUMNS: Final = 4
# Units of the picture; they are pixels if it has its full width.
_WIDTH, _HEIGHT, _GAP = 190.0, 70.0, 34.0
_ABOVE, _BELOW = 20.0, 26.0
_LETTER: Final = 5.2
_LONGEST: Final = 12


def series_of_shares(table: str, attribute: str) -> str:
    """Name of the series that contains the shares of an attribute's values in a table."""
    return f"shares_{table}/{attribute}"


def draw_marginals(panels: Sequence[Panel]) -> str:
    """One panel for each attribute: real shares as grey areas, released shares as blue lines.

    Args:
        panels: the attributes, with the shares of real records before those of the release.

    Returns:
        The text of an SVG file.
    """
    parts = []
    for number, panel in enumerate(panels):
        x, y = (number % _COLUMNS) * (_WIDTH + _GAP) + _GAP, (number // _COLUMNS) * (_ABOVE + _HEIGHT + _BELOW) + _ABOVE
        apart = "" if panel.distance is None else f"{panel.distance:.3f}"
        heads = Markup('<text class="title" y="-7">{}</text><text class="row" x="{:g}" y="-7">{}</text>').format(
            panel.name, _WIDTH, apart
        )
        drawn = _bars(panel.rows) if panel.curve is None else _curve(panel.curve)
        parts.append(Markup('<g transform="translate({:g} {:g})">{}{}</g>').format(x, y, heads, drawn))
    size = (_COLUMNS * (_WIDTH + _GAP) + _GAP, ceil(len(panels) / _COLUMNS) * (_ABOVE + _HEIGHT + _BELOW) + _ABOVE)
    return svg_alone(parts, size, "Shares of the values of every attribute, real (grey) and released (blue).")


def _bars(rows: Sequence[ValueRow]) -> Markup:
    """A bar for each value of few."""
    highest = max(max(row.shares) for row in rows) or 1.0
    each = _WIDTH / len(rows)
    parts = [_scale(highest)]
    for number, row in enumerate(rows):
        real, released = (_HEIGHT * (1 - share / highest) for share in row.shares)
        parts.append(
            Markup('<path class="real" d="M{:.1f},{:g}V{:.1f}h{:.1f}V{:g}z"/>').format(
                (number + 0.14) * each, _HEIGHT, real, 0.72 * each, _HEIGHT
            )
        )
        parts.append(
            Markup('<path class="released" d="M{:.1f},{:.1f}h{:.1f}"/>').format(
                (number + 0.08) * each, released, 0.84 * each
            )
        )
    return Markup("").join([*parts, _names([row.label for row in rows], each)])


def _names(labels: Sequence[str], each: float) -> Markup:
    """Names of the values below their bars, or of the first and the last if there is no room for all."""
    short = [label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…" for label in labels]
    if max(map(len, short)) * _LETTER <= each:
        shown = [(each * (number + 0.5), "middle", name) for number, name in enumerate(short)]
    else:
        shown = [(0.0, "", short[0]), (_WIDTH, "row", short[-1])]
    return Markup("").join(
        Markup('<text class="{}" x="{:.1f}" y="{:g}">{}</text>').format(where, x, _HEIGHT + 13, name)
        for x, where, name in shown
    )


def _curve(curve: Curve) -> Markup:
    """The outlines of a distribution over many values."""
    real, released = curve.paths
    paths = Markup(
        '<g transform="scale({:g} {:g})"><path class="real" d="{}"/><path class="released" d="{}"/></g>'
    ).format(_WIDTH / 100, _HEIGHT / 40, real, released)
    return _scale(curve.highest) + paths + _names([curve.least, curve.most], 0)


def _scale(highest: float) -> Markup:
    """The base line, and the share at the top."""
    return Markup('<path class="ground" d="M0,{:g}h{:g}"/><text class="row" x="-4" y="8">{:.0%}</text>').format(
        _HEIGHT, _WIDTH, highest
    )
