"""`python -m benchmarks.growth`: how time and memory grow with rows, records, attributes, values and workers.

Each point is measured in a separate process, after a small run that loads compiled code. Figures are kept in
`benchmarks/growth.json`, from which the tables and the picture of `docs/developer/growth.md` are written; a run of some
axes, by name, replaces only their figures. CPU seconds of larger sizes that were not run are extrapolated by the
straight line through the last two sizes that were, and are marked.

Between neighbouring sizes, CPU seconds grow as a power of the size. A power above `LINEAR` is more than proportional
and must have a reason in `REASONS`; without it, the page is not written.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from benchmarks import scaling, workers
from benchmarks.goal_parts import learnt, planned, wide_people
from benchmarks.measuring import forget_the_most, in_page, keep_figures, kept_figures, markdown, most_held_gib, rewrite
from benchmarks.population import stream
from deniable.foundation.domain import Attribute, Codes, Domain
from reports.plots.theme import MUTED, RELEASED, TARGET, TRAINING, make_figure, plain_axes, set_title

ROOT: Final = Path(__file__).resolve().parent.parent
KEPT: Final = Path(__file__).with_suffix(".json")
PAGE: Final = ROOT / "docs/developer/growth.md"
PICTURE: Final = PAGE.with_name("growth.png")

LINEAR: Final = 1.1
"""Largest power that counts as proportional; the variation between runs on a machine with other load stays below it."""
_MILLION: Final = 1_000_000
_AT_A_TIME: Final = 262_144
"""Records drawn together."""
_ROWS: Final = 50_000
_ATTRIBUTES: Final = 11
_RECORDS_OF_WORKERS: Final = 5_000_000

_COLOURS: Final = {"fit": TRAINING, "draw": RELEASED, "whole release": TARGET}

Figures = dict[str, float]
"""CPU seconds of all cores, seconds by the clock, and peak MiB of the largest process."""
Kept = dict[str, dict[str, dict[str, Figures]]]
"""Figures by axis, what is measured, and size."""


@dataclass(frozen=True)
class Growth:
    """A quantity measured along an axis.

    Attributes:
        axis: the axis.
        what: what is measured.
        sizes: the sizes to run.
        beyond: the sizes to extrapolate to.
    """

    axis: str
    what: str
    sizes: tuple[int, ...]
    beyond: tuple[int, ...] = ()


AXES: Final = {
    "rows": f"Rows to learn from, {_ATTRIBUTES} attributes",
    "records": f"Records, {_ATTRIBUTES} attributes",
    "attributes": f"Attributes, of {_ROWS:,} rows",
    "values": f"Values of one of {_ATTRIBUTES} attributes, of {_ROWS:,} rows",
    "workers": f"Workers of a cluster on two cores, {_RECORDS_OF_WORKERS:,} records",
}
"""Axes, with the unit of their sizes."""
FIT, DRAW, RELEASE = "fit", "draw", "whole release"
GROWTHS: Final = (
    Growth("rows", FIT, (10_000, 100_000, _MILLION, 10_000_000), (100_000_000,)),
    Growth("rows", RELEASE, (100_000, _MILLION)),
    Growth("records", DRAW, (100_000, _MILLION, 10_000_000), (100_000_000, 1_000_000_000)),
    Growth("records", RELEASE, (100_000, _MILLION, 10_000_000), (100_000_000, 1_000_000_000)),
    Growth("attributes", FIT, (10, 20, 40, 80, 160)),
    Growth("attributes", DRAW, (10, 20, 40, 80, 160)),
    Growth("attributes", RELEASE, (10, 20, 40, 80)),
    Growth("values", FIT, (10, 100, 1_000, 10_000, 40_000)),
    Growth("values", DRAW, (10, 100, 1_000, 10_000, 40_000)),
    Growth("workers", RELEASE, (1, 2)),
)
REASONS: Final[dict[tuple[str, str], str]] = {
    ("attributes", FIT): "pairs, each of which is counted once and compared with a model in every round, are "
    "four times as many for twice the attributes. Up to 50 attributes, work that is proportional to them outweighs "
    "that: fitting a distribution for each attribute.",
    (
        "attributes",
        DRAW,
    ): "each attribute depends on more others the more there are: fewer of its distributions "
    "are small enough to be computed beforehand, and more tables are added up for each value. From 40 to 160 "
    "attributes the power is 1 on average.",
}
"""Reasons why CPU seconds grow more than proportionally, by axis and quantity."""


def codes_of(values: int, rows: int) -> tuple[Domain, Codes]:
    """Return codes of people whose first attribute has a given number of values, which does not affect the others.

    Args:
        values: the number of values.
        rows: the number of people.
    """
    described, codes = wide_people(_ATTRIBUTES, rows)
    before = described.cardinalities[0]
    within = stream("values").take(rows).astype(float) / 2**32
    codes[:, 0] = ((codes[:, 0] + within) * values / before).astype(codes.dtype)
    first = Attribute("a00", tuple(range(values)), "numeric", tuple(value * 10 // values for value in range(values)))
    return Domain((first, *described.attributes[1:]), target=described.target), codes


def _streamed(rows: int) -> Callable[[], object]:
    """Fit to rows in chunks of at most a million; the same million is read repeatedly."""
    domain, codes = wide_people(_ATTRIBUTES, min(rows, _MILLION))
    return partial(learnt, planned(domain), lambda: [codes] * max(rows // _MILLION, 1))


def _fit(domain: Domain, codes: Codes) -> Callable[[], object]:
    return partial(learnt, planned(domain), lambda: [codes])


def _draw(domain: Domain, codes: Codes, records: int) -> Callable[[], object]:
    """Draw records as releases do, stratified and without matching."""
    net = _fit(domain, codes)()

    def draw() -> None:
        words = stream("run")
        for begun in range(0, records, _AT_A_TIME):
            net.sample_evenly(words.take(min(records - begun, _AT_A_TIME) * len(domain)))  # type: ignore[attr-defined]

    return draw


WORK: Final[dict[tuple[str, str], Callable[[int], Callable[[], object]]]] = {
    ("rows", FIT): _streamed,
    ("records", DRAW): lambda records: _draw(*wide_people(_ATTRIBUTES, _ROWS), records),
    ("attributes", FIT): lambda attributes: _fit(*wide_people(attributes, _ROWS)),
    ("attributes", DRAW): lambda attributes: _draw(*wide_people(attributes, _ROWS), _AT_A_TIME),
    ("values", FIT): lambda values: _fit(*codes_of(values, _ROWS)),
    ("values", DRAW): lambda values: _draw(*codes_of(values, _ROWS), _AT_A_TIME),
}
"""Work that runs within one process: functions that prepare the work of a size."""
SIZES: Final[dict[str, Callable[[int], scaling.Size]]] = {
    "rows": lambda rows: scaling.Size(people=rows, records=100_000),
    "records": lambda records: scaling.Size(records=records),
    "attributes": lambda attributes: scaling.Size(100_000, 100_000, attributes),
}
"""The sizes of whole releases."""


def of_work(axis: str, what: str, size: int) -> Figures:
    """Return figures of work in this process, after a small run of the same kind."""
    domain, codes = wide_people(_ATTRIBUTES, 20_000)
    _draw(domain, codes, 10_000)()
    work = WORK[axis, what](size)
    forget_the_most()
    cpu, clock = time.process_time(), time.perf_counter()
    work()
    return {
        "cpu": time.process_time() - cpu,
        "clock": time.perf_counter() - clock,
        "mib": most_held_gib() * 2**10,
    }


def measured(growth: Growth) -> Iterator[tuple[int, Figures]]:
    """Measure each size in a separate process.

    Args:
        growth: what to measure.
    """
    if growth.axis == "workers":
        found = workers.measured(scaling.Size(records=_RECORDS_OF_WORKERS), growth.sizes)
        for size, one in zip(growth.sizes, found, strict=True):
            whole = one["whole release"]
            cpu, gib = whole["core_seconds"] + one["workers"], max(whole["gib"], one["workers_gib"])
            yield size, {"cpu": cpu, "clock": whole["seconds"], "mib": gib * 2**10}
    elif growth.what == RELEASE:
        for size in growth.sizes:
            whole = scaling.measured(SIZES[growth.axis](size))["whole release"]
            yield size, {"cpu": whole["core_seconds"], "clock": whole["seconds"], "mib": whole["gib"] * 2**10}
    else:
        with tempfile.TemporaryDirectory(prefix="deniable-growth-") as folder:
            place = Path(folder) / "figures.json"
            for size in growth.sizes:
                asked = ["--one", growth.axis, growth.what, str(size), str(place)]
                subprocess.run([sys.executable, "-m", "benchmarks.growth", *asked], cwd=ROOT, check=True)
                yield size, json.loads(place.read_text(encoding="utf-8"))


def beyond(found: Mapping[str, Figures], size: int) -> float:
    """Extrapolate CPU seconds to a larger size by the straight line through the last two sizes that were run.

    Args:
        found: figures by size.
        size: the size.
    """
    first, last = sorted(map(int, found))[-2:]
    own, before = found[str(last)]["cpu"], found[str(first)]["cpu"]
    return own + (size - last) / (last - first) * (own - before)


def powers(found: Mapping[str, Figures]) -> dict[int, float]:
    """Return for each size except the first the power with which CPU seconds grew from the previous size.

    Args:
        found: figures by size.
    """
    sizes = sorted(map(int, found))
    return {
        after: math.log(found[str(after)]["cpu"] / found[str(before)]["cpu"]) / math.log(after / before)
        for before, after in pairwise(sizes)
    }


def without_reason(found: Kept) -> list[str]:
    """Return what grows more than proportionally between two sizes without a reason."""
    return [
        f"{what} by {axis}, up to {size:,}"
        for axis, own in found.items()
        for what, figures in own.items()
        for size, power in powers(figures).items()
        if power > LINEAR and (axis, what) not in REASONS
    ]


def tables(found: Kept) -> str:
    """Return all figures as Markdown: a table for each axis, and the reasons below it.

    Raises:
        ValueError: something grows more than proportionally without a reason.
    """
    if missing := without_reason(found):
        raise ValueError(f"growth above the power {LINEAR:g} must have a reason in REASONS, got none for {missing}.")
    heads = ["size", "what", "CPU s", "by the clock, s", "MiB", "power"]
    said = []
    for axis, title in AXES.items():
        rows = [row for growth in GROWTHS if growth.axis == axis for row in _rows(growth, found)]
        notes = [f"- {what}: {reason}" for (of, what), reason in REASONS.items() if of == axis]
        said.append("\n\n".join([f"## {title}", markdown(heads, rows), *(["\n".join(notes)] if notes else [])]))
    return "\n\n".join(said)


def _rows(growth: Growth, found: Kept) -> Iterator[list[str]]:
    """Yield a row for each size."""
    own = found.get(growth.axis, {}).get(growth.what, {})
    grew = powers(own)
    for size in growth.sizes:
        if str(size) in own:
            yield [f"{size:,}", growth.what, *_said(own[str(size)]), f"{grew[size]:.2f}" if size in grew else ""]
        else:
            yield [f"{size:,}", growth.what, "not measured", "", "", ""]
    if set(map(str, growth.sizes)) <= own.keys():
        for size in growth.beyond:
            yield [f"{size:,}", growth.what, _digits(beyond(own, size)), "", "", "by arithmetic"]


def _said(figures: Figures) -> list[str]:
    return [*(_digits(figures[name]) for name in ("cpu", "clock")), f"{figures['mib']:,.0f}"]


def _digits(seconds: float) -> str:
    return f"{seconds:,.0f}" if seconds >= 100 else f"{seconds:.1f}" if seconds >= 10 else f"{seconds:.2f}"


def picture(found: Kept) -> Figure:
    """Plot CPU seconds by size on logarithmic axes: a panel for each axis except the workers.

    Args:
        found: all figures.
    """
    axes = [axis for axis in AXES if axis != "workers"]
    figure = make_figure(11, 3.2)
    for axis, panel in zip(axes, figure.subplots(1, len(axes), sharey=True), strict=True):
        plain_axes(panel, grid="y")
        set_title(panel, AXES[axis].partition(",")[0].partition(" of ")[0])
        for growth in GROWTHS:
            own = found.get(growth.axis, {}).get(growth.what, {})
            if growth.axis == axis and own:
                sizes = sorted(map(int, own))
                panel.plot(sizes, [own[str(size)]["cpu"] for size in sizes], "o-", color=_COLOURS[growth.what], ms=4)
                more = [size for size in growth.beyond if len(own) > 1]
                ends = [own[str(sizes[-1])]["cpu"], *(beyond(own, size) for size in more)]
                panel.plot([sizes[-1], *more], ends, ":", color=_COLOURS[growth.what])
        panel.set(xscale="log", yscale="log")
        panel.minorticks_off()
    figure.supylabel("CPU seconds", color=MUTED, fontsize=9)
    lines = [Line2D([], [], color=colour, marker="o", ms=4) for colour in _COLOURS.values()]
    labels = [*_COLOURS, "by arithmetic"]
    lines.append(Line2D([], [], color=MUTED, linestyle=":"))
    figure.legend(lines, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=9)
    return figure


def page(text: str, found: Kept) -> str:
    """Return the page with the tables inserted.

    Raises:
        ValueError: the page has no place for them, or growth has no reason.
    """
    return in_page(text, "bench-growth", tables(found))


def main() -> None:
    """Measure, keep the figures, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    names = [*AXES, *(f"{growth.axis}:{growth.what}" for growth in GROWTHS)]
    parser.add_argument("asked", nargs="*", choices=[[], *names], metavar="AXIS", help=", ".join(names))
    parser.add_argument("--one", nargs=4, metavar=("AXIS", "WHAT", "SIZE", "FIGURES"), help=argparse.SUPPRESS)
    parser.add_argument("--page-only", action="store_true", help="write the page from what was kept")
    asked = parser.parse_args()
    if asked.one:
        axis, what, size, place = asked.one
        Path(place).write_text(json.dumps(of_work(axis, what, int(size))), encoding="utf-8")
        return
    found: Kept = kept_figures(KEPT)
    for growth in GROWTHS:
        if asked.page_only or (asked.asked and not {growth.axis, f"{growth.axis}:{growth.what}"} & {*asked.asked}):
            continue
        own: dict[str, Figures] = {}
        for size, figures in measured(growth):
            print(f"{growth.axis}, {growth.what}, {size:,}: {', '.join(_said(figures))}", flush=True)
            own[str(size)] = {name: round(figure, 4) for name, figure in figures.items()}
        found.setdefault(growth.axis, {})[growth.what] = own
        keep_figures(KEPT, found)
    rewrite(PAGE, page(PAGE.read_text(encoding="utf-8"), found))
    picture(found).savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    main()
