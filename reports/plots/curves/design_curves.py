"""Draws what a total buys: epsilon against plausible seeds and against records, by each account, and Theorem 1.

The numbers are computed elsewhere (deniable.samplers.poisson_seeds.designs).
"""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from deniable.privacy.loss import Guarantee
from deniable.samplers.poisson_seeds.designs import ACCOUNTS, Curves
from reports.plots.theme import BASELINE, INK, MUTED, RELEASED, TARGET, TRAINING, make_figure, plain_axes, set_title

_WIDTH_IN, _HEIGHT_IN = 12.0, 4.8
_COLOURS = (TARGET, BASELINE, TRAINING, RELEASED)
_MARKERS = "svDo"


def draw_design_curves(shown: Curves, one_record: Sequence[tuple[int, Guarantee]], threshold: str) -> Figure:
    """Draw three panels.

    Args:
        shown: plausible seeds by total and by records.
        one_record: Theorem 1 for one record, by t.
        threshold: the threshold that Theorem 1 is about, in words.
    """
    figure = make_figure(_WIDTH_IN, _HEIGHT_IN)
    seeds, records, trade = figure.subplots(1, 3)
    _draw_seeds(plain_axes(seeds, grid="y"), shown)
    _draw_records(plain_axes(records, grid="y"), shown)
    _draw_trade_off(plain_axes(trade, grid="y"), one_record, threshold)
    handles, labels = seeds.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9, labelcolor=INK)
    return figure


def _draw_seeds(axes: Axes, shown: Curves) -> None:
    wish = shown.wish
    for place, (account, words) in enumerate(ACCOUNTS.items()):
        points = [(shown.by_place[wish.records, total][account], total) for total in shown.totals]
        found = [(half, total) for half, total in points if half is not None]
        axes.plot(
            [half for half, _ in found],
            [total for _, total in found],
            color=_COLOURS[place],
            marker=_MARKERS[place],
            markersize=4.5,
            linewidth=1.6,
            label=words,
        )
    axes.set_xscale("log")
    _scale_totals(axes, shown)
    axes.set_xlabel("plausible seeds with which half of the attempts pass")
    axes.set_ylabel("ε of the whole release")
    set_title(axes, "Total against plausible seeds", f"{wish.records:,} records of {wish.public_rows:,} rows")


def _draw_records(axes: Axes, shown: Curves) -> None:
    for place, account in enumerate(ACCOUNTS):
        points = [(records, shown.total_for(records, account)) for records in shown.records]
        found = [(records, total) for records, total in points if total is not None]
        axes.plot(
            [records for records, _ in found],
            [total for _, total in found],
            color=_COLOURS[place],
            marker=_MARKERS[place],
            markersize=4.5,
            linewidth=1.6,
        )
    axes.set_xscale("log")
    _scale_totals(axes, shown)
    axes.set_xlim(shown.records[0] * 0.8, shown.records[-1] * 1.25)
    axes.set_xlabel("records")
    axes.set_ylabel("ε of the whole release")
    note = "" if shown.half is None else f"half of the attempts pass with {shown.half:,} plausible seeds"
    set_title(axes, "Total against records", note)


def _scale_totals(axes: Axes, shown: Curves) -> None:
    """Logarithmic totals, with those that were computed as labels."""
    axes.set_yscale("log")
    axes.set_yticks(shown.totals, [f"{total:.3g}" for total in shown.totals])
    axes.yaxis.set_minor_locator(NullLocator())


def _draw_trade_off(axes: Axes, one_record: Sequence[tuple[int, Guarantee]], threshold: str) -> None:
    axes.plot(
        [guarantee.delta for _, guarantee in one_record],
        [guarantee.epsilon for _, guarantee in one_record],
        color=INK,
        marker="o",
        markersize=4.5,
        linewidth=1.6,
    )
    for t, guarantee in one_record[::3]:
        axes.annotate(
            f"t = {t:,}",
            (guarantee.delta, guarantee.epsilon),
            (4, 4),
            textcoords="offset points",
            color=MUTED,
            fontsize=8,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda epsilon, _: f"{epsilon:g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("δ of one record")
    axes.set_ylabel("ε of one record")
    set_title(axes, "Theorem 1 over t", threshold)
