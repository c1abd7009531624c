"""Draws flows of commuters on a map, and mean commutes in a release against real ones by size of destination.

The figures are measured on real records without noise: they are internal.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from reports.plots.theme import GRID, MUTED, RELEASED, TRAINING, make_figure, plain_axes, set_title

FLOWS: Final = 400
"""Number of flows drawn for each table, the largest ones."""

_WIDTH_IN, _HEIGHT_IN = 11.0, 4.2
_SERIES = ("workers", "real", "released")
_TABLES = {"released": ("Released flows", RELEASED), "real": ("Real flows", TRAINING)}
_WIDEST, _LARGEST_POINT = 3.0, 160.0


def series_of_commutes(
    workers: NDArray[np.int64],
    means: Mapping[str, NDArray[np.float64]],
    flows: Mapping[str, NDArray[np.float64]],
) -> dict[str, tuple[float, ...]]:
    """Return the series that `draw_commutes` draws, by their names in the figures of an evaluation.

    Args:
        workers: number of real workers of each destination.
        means: mean commute of each destination in miles, for the tables `real` and `released`.
        flows: coordinates of the ends of flows, and their numbers of workers, shape (flows, 5), for the same tables.
    """
    both = np.isfinite(means["real"]) & np.isfinite(means["released"])
    series = {"commutes/workers": workers[both].astype(np.float64)}
    series |= {f"commutes/{name}": means[name][both] for name in ("real", "released")}
    series |= {f"flows/{name}": flows[name].ravel() for name in _TABLES}
    return {name: tuple(map(float, values)) for name, values in series.items()}


def draw_commutes(series: Mapping[str, Sequence[float]]) -> Figure | None:
    """Draw flows and commutes; None if the evaluation measured none.

    Args:
        series: the series of an evaluation.
    """
    workers, real, released = (np.asarray(series.get(f"commutes/{name}", ())) for name in _SERIES)
    if not len(workers):
        return None
    figure = make_figure(_WIDTH_IN, _HEIGHT_IN)
    left, middle, right = figure.subplots(1, 3)
    for axes, (name, (title, colour)) in zip((left, middle), _TABLES.items(), strict=True):
        _draw_flows(axes, np.asarray(series[f"flows/{name}"]).reshape(-1, 5), title, colour)
    plain_axes(right, grid="y")
    most = float(max(real.max(), released.max(), 1.0))
    right.plot([0, most], [0, most], color=GRID, linewidth=1.2)
    areas = 6 + _LARGEST_POINT * workers / workers.max()
    right.scatter(real, released, s=areas, color=RELEASED, alpha=0.35, linewidths=0)
    right.set(xlabel="real mean commute, miles", ylabel="released mean commute, miles")
    set_title(right, "Mean commute of each destination", "the area of a point is its number of workers")
    return figure


def _draw_flows(axes: Axes, flows: NDArray[np.float64], title: str, colour: str) -> None:
    """Draw lines from home to work, on the plane of latitude and longitude."""
    axes.set_facecolor("none")
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xticks([])
    axes.set_yticks([])
    lines = [[(x1, y1), (x2, y2)] for y1, x1, y2, x2, _ in flows]
    weights = flows[:, 4] / max(float(flows[:, 4].max(initial=1.0)), 1.0)
    axes.add_collection(LineCollection(lines, colors=colour, linewidths=0.3 + _WIDEST * weights, alpha=0.45))
    axes.scatter(flows[:, 3], flows[:, 2], s=5, color=MUTED, linewidths=0)
    axes.autoscale()
    # A degree of longitude is shorter than one of latitude.
    axes.set_aspect(1 / max(float(np.cos(np.radians(flows[:, 2].mean() if len(flows) else 0.0))), 0.1), "datalim")
    set_title(axes, title, f"the {len(flows):,} largest, from home to work")
