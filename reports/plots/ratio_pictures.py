"""Draws a table of two attributes, coloured by the deviation of each count from independence, for pages and MLflow.

Blue cells have more records than independent attributes would have, orange cells fewer. The deeper the colour, the
larger the ratio, up to a factor of eight. The choice of tables does not belong here.
"""

from collections.abc import Sequence
from itertools import groupby
from math import ceil
from typing import Final

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from reports.plots.measured import Ratios
from reports.plots.theme import svg_alone

_FULL: Final = 3.0
"""Logarithm to base 2 of the ratio shown in full colour."""
_LEVELS: Final = 5

# Units of a picture on a page; they are pixels if the picture has its full width.
_TABLE, _TOP, _PAD = 190.0, 16.0, 6.0
_ROW, _LEAST, _MOST = 13.0, 60.0, 200.0
_FONT, _LETTER = 9.5, 5.2
_LONGEST_NAME = 18
_APART = 90.0
"""Between two tables whose titles name the attributes."""

Names = Sequence[str]


def pair_svg(
    tables: Sequence[NDArray[np.float64]], titles: Sequence[str], names: tuple[Names, Names], words: str
) -> Markup:
    """Tables of the same two attributes side by side, with the names of their values, for a page.

    Args:
        tables: logarithms to base 2 of ratios, shape (rows, columns) each.
        titles: title of each table.
        names: names of the rows and of the columns.
        words: a description, for readers who cannot see the picture.

    Returns:
        One `svg` element; some names are left out if there is no room.
    """
    elements, (width, height) = _side_by_side(tables, titles, names, 3 * _PAD)
    return Markup('<svg class="ratios" role="img" aria-label="{}" viewBox="0 0 {:.0f} {:.0f}">{}</svg>').format(
        words, width, height, elements
    )


def _side_by_side(
    tables: Sequence[NDArray[np.float64]], titles: Sequence[str], names: tuple[Names, Names], apart: float
) -> tuple[Markup, tuple[float, float]]:
    """The tables with the names of their values, and the width and height of all."""
    rows, columns = ([_short(name) for name in those] for those in names)
    height = min(max(_ROW * len(rows), _LEAST), _MOST)
    left = _LETTER * max(map(len, rows)) + 2 * _PAD
    below = _LETTER * max(map(len, columns)) + 2 * _PAD
    parts = [_row_names(rows, left - _PAD, height)]
    for number, (table, title) in enumerate(zip(tables, titles, strict=True)):
        x = left + number * (_TABLE + apart)
        parts.append(Markup('<text class="title" x="{:g}" y="10">{}</text>').format(round(x, 1), title))
        parts.append(_levels(table, x, height))
        parts.append(_column_names(columns, x, _TOP + height + _PAD))
    width = left + len(tables) * _TABLE + (len(tables) - 1) * apart + _PAD
    return Markup("").join(parts), (width, _TOP + height + below)


def _levels(ratios: NDArray[np.float64], x: float, height: float) -> Markup:
    """The cells of a table, one path per depth of colour, on a background with a border."""
    rows, columns = ratios.shape
    level = np.rint(np.clip(ratios / _FULL, -1, 1) * _LEVELS).astype(int)
    paths = [
        Markup('<path class="{}" fill-opacity="{:g}" d="{}"/>').format(
            "more" if step > 0 else "fewer", abs(step) / _LEVELS, _squares(level == step)
        )
        for step in range(-_LEVELS, _LEVELS + 1)
        if step and (level == step).any()
    ]
    ground = Markup('<rect class="ground" x="{:g}" y="{:g}" width="{:g}" height="{:g}"/>').format(
        round(x, 1), _TOP, _TABLE, round(height, 1)
    )
    scale = Markup('<g transform="translate({:g} {:g}) scale({:.5g} {:.5g})">{}</g>').format(
        round(x, 1), _TOP, _TABLE / columns, height / rows, Markup("").join(paths)
    )
    return ground + scale


def _short(name: str) -> str:
    """A name, shortened if it is too long."""
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1].rstrip()}…"


def _row_names(names: Sequence[str], x: float, height: float) -> Markup:
    """Names to the left of rows, as many as are legible."""
    step, each = ceil(_FONT * len(names) / height), height / len(names)
    return Markup("").join(
        Markup('<text class="row" x="{:.1f}" y="{:.1f}">{}</text>').format(x, _TOP + each * (i + 0.5) + 3, name)
        for i, name in enumerate(names)
        if i % step == 0
    )


def _column_names(names: Sequence[str], x: float, y: float) -> Markup:
    """Vertical names below columns, as many as are legible."""
    step, each = ceil(_FONT * len(names) / _TABLE), _TABLE / len(names)
    return Markup("").join(
        Markup('<text class="row" transform="translate({:.1f} {:.1f}) rotate(-90)">{}</text>').format(
            x + each * (i + 0.5) + 3, y, name
        )
        for i, name in enumerate(names)
        if i % step == 0
    )


def draw_ratios(tables: Sequence[Ratios]) -> str:
    """Draw tables below each other, each before and after denoising, as an SVG file."""
    parts, width, top = list[Markup](), 0.0, _PAD
    for table in tables:
        titles = [f"{' and '.join(table.line.names)}, {which}" for which in ("noisy", "denoised")]
        elements, (wide, high) = _side_by_side((table.noisy, table.denoised), titles, table.names, _APART)
        parts.append(Markup('<g transform="translate(0 {:.1f})">{}</g>').format(top, elements))
        width, top = max(width, wide), top + high + 2 * _PAD
    return svg_alone(parts, (width, top), "Noisy and denoised tables of two attributes, beside independence.")


def _squares(cells: NDArray[np.bool_]) -> str:
    """Cells as one path, with neighbours in a row joined."""
    pieces = []
    for y, row in enumerate(cells.tolist()):
        x = 0
        for held, run in groupby(row):
            length = sum(1 for _ in run)
            if held:
                pieces.append(f"M{x},{y}h{length}v1h-{length}z")
            x += length
    return "".join(pieces)
