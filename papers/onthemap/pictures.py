"""Draws mean commutes against numbers of workers, as OnTheMap's figures do."""

import numpy as np
from matplotlib.figure import Figure

from papers.onthemap.methods import Drawn
from reports.plots.theme import INK, MUTED, RELEASED, TRAINING, make_figure, plain_axes


def draw_commutes(found: Drawn) -> Figure:
    """Draw the mean commute of each destination against its number of workers, real and synthetic.

    Args:
        found: the destinations.
    """
    figure = make_figure(7.6, 4.0)
    axes = plain_axes(figure.subplots(), grid="y")
    order = np.argsort(found.workers, kind="stable")
    workers, real, synthetic = found.workers[order], found.real[order], found.synthetic[order]
    axes.vlines(workers, real, synthetic, color=MUTED, linewidth=0.6, alpha=0.5)
    axes.plot(workers, real, "o", color=TRAINING, markersize=4, label="real workers")
    axes.plot(workers, synthetic, "^", color=RELEASED, markersize=4.5, label="synthetic workers")
    axes.set(
        xscale="log", xlabel="number of workers of the destination", ylabel="mean commute in miles", ylim=(0, None)
    )
    ticks = [each for each in (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000) if each <= 1.5 * workers.max()]
    axes.set_xticks(ticks, [f"{each:,}" for each in ticks])
    axes.minorticks_off()
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9, labelcolor=INK)
    return figure
