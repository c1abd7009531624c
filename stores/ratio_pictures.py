"""Draws a table of two attributes by how far each count is from independence, for pages and for MLflow.

Blue where there are more records than independent attributes would have, orange where there are fewer; the deeper, the
further, up to eight times. What is drawn does not belong here.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

import numpy as np
from markupsafe import Markup
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from numpy.typing import NDArray

from stores.measured import Ratios
from stores.theme import BASELINE, PAPER, RELEASED, make_figure, plain_axes, set_title

_FULL: Final = 3.0
"""Logarithm to base 2 of the ratio that has the full colour."""
_LEVELS: Final = 5
_HEIGHT_IN: Final = 2.4


def ratios_svg(ratios: NDArray[np.float64], words: str) -> Markup:
    """A picture that stands in a page: a square a cell, the first attribute downwards.

    Args:
        ratios: logarithms to base 2, shape (rows, columns).
        words: what is to be seen, for those who cannot see it.
    """
    rows, columns = ratios.shape
    level = np.rint(np.clip(ratios / _FULL, -1, 1) * _LEVELS).astype(int)
    paths = [
        Markup('<path class="{}" fill-opacity="{:g}" d="{}"/>').format(
            "more" if step > 0 else "fewer", abs(step) / _LEVELS, _squares(level == step)
        )
        for step in range(-_LEVELS, _LEVELS + 1)
        if step and (level == step).any()
    ]
    ground = Markup('<path fill="none" d="{}"/>').format(_squares(np.ones((1, columns), np.bool_)))
    return Markup(
        '<svg class="ratios" role="img" aria-label="{}" viewBox="0 0 {} {}" preserveAspectRatio="none">{}</svg>'
    ).format(words, columns, rows, Markup("").join([ground, *paths]))


def draw_ratios(tables: Sequence[Ratios]) -> Figure:
    """Tables one below the other, each before and after the denoiser."""
    figure = make_figure(10, _HEIGHT_IN * len(tables))
    colours = LinearSegmentedColormap.from_list("ratios", [BASELINE, PAPER, RELEASED])
    for row, table in zip(figure.subplots(len(tables), 2, squeeze=False), tables, strict=True):
        for axes, ratios, name in zip(row, (table.noisy, table.denoised), ("noisy", "denoised"), strict=True):
            plain_axes(axes)
            axes.imshow(np.clip(ratios, -_FULL, _FULL), cmap=colours, vmin=-_FULL, vmax=_FULL, aspect="auto")
            axes.set(xticks=[], yticks=[], ylabel=table.line.names[0], xlabel=table.line.names[1])
            set_title(axes, f"{' and '.join(table.line.names)}, {name}")
    return figure


def _squares(cells: NDArray[np.bool_]) -> str:
    """Cells as one path, neighbours of a row in one piece."""
    pieces = []
    for y, row in enumerate(cells.tolist()):
        x = 0
        for held, run in groupby(row):
            length = sum(1 for _ in run)
            if held:
                pieces.append(f"M{x},{y}h{length}v1h-{length}z")
            x += length
    return "".join(pieces)
