"""`make attack-lab`: every attack on every mechanism, with controls, and the page `docs/research/attack-lab.md`.

Only public and made-up tables are attacked. The figures are kept in `benchmarks/attack_lab/figures.json`, from which
the page is written; a run of some parts replaces their figures alone. The command fails if a release shows more than it
claims, if a control that must fire does not, or if one that must not does.
"""

import argparse
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from math import isinf
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Final

from benchmarks.attack_lab import faults, shadows
from benchmarks.measuring import in_page, keep_figures, kept_figures, markdown, require, rewrite
from papers.findings import Part
from papers.lecture import linkage, queries, reconstruction

VERSION: Final = 1
"""Raise it when an attack or a control changes."""

ROOT: Final = Path(__file__).resolve().parent.parent.parent
KEPT: Final = Path(__file__).with_name("figures.json")
PAGE: Final = ROOT / "docs/research/attack-lab.md"
LECTURE: Final[Mapping[str, Callable[[], Part]]] = {
    "differencing": queries.differencing,
    "query auditing": queries.auditing,
    "reconstruction of 60 bits": reconstruction.bits,
    "reconstruction of a block": reconstruction.block,
    "linkage with a register": linkage.weld,
    "linkage of ratings": linkage.netflix,
    "membership": linkage.membership,
}
"""The attacks of the lecture of document 004, which `make paper-004` runs too."""
PARTS: Final = ("membership", "faults", "lecture")

Figures = dict[str, Any]


def tasks(parts: Sequence[str]) -> list[tuple[str, str]]:
    """What is to be run: part and name."""
    names = {"membership": shadows.all_names(), "faults": tuple(faults.PUBLISHED), "lecture": tuple(LECTURE)}
    return [(part, name) for part in parts for name in names[part]]


def run(part: str, name: str) -> tuple[Figures, list[str]]:
    """Run one task; return its figures and what must not be."""
    if part == "membership":
        with TemporaryDirectory() as folder:
            found = shadows.attacked(name, Path(folder))
        return {each: _plain(value) for each, value in asdict(found).items()}, found.faults
    if part == "faults":
        twins = list(faults.caught(name))
        missed = [f"{twin.mechanism}: {twin.fault} was not found" for twin in twins if not twin.finding]
        return {"twins": [asdict(twin) for twin in twins]}, missed
    attack = LECTURE[name]()
    failed = [f"{name}: {check.words}" for check in attack.checks if not check.holds]
    return {"title": attack.title, "checks": [check.words for check in attack.checks]}, failed


def page(text: str, found: Mapping[str, Mapping[str, Figures]]) -> str:
    """Return the page with the figures."""
    sections = [f"Version {VERSION} of the lab."]
    for part, heads, rows in (
        ("membership", _HEADS, _membership),
        ("faults", ("fault", "put into", "as", "found by"), _faults),
        ("lecture", ("attack", "on", "must hold, and does"), _lecture),
    ):
        if found.get(part):
            sections += [f"## {_TITLES[part]}", markdown(heads, rows(found[part]))]
    return in_page(text, "attack-lab", "\n\n".join(sections))


_TITLES: Final = {
    "membership": "Membership by shadow releases",
    "faults": "Published faults, put into this program",
    "lecture": "Attacks of the lecture",
}
_HEADS: Final = (
    "mechanism",
    "claimed epsilon",
    "found at least",
    "could have found",
    "100 records charged as one",
    "same table twice",
    "releases",
)


def _membership(found: Mapping[str, Figures]) -> Iterator[tuple[str, ...]]:
    for name in sorted(found):
        own = found[name]
        claimed = "none" if own["claimed"] == "infinite" else f"{own['claimed']:.3g}"
        reach = "" if own["claimed"] == "infinite" or own["power"] <= own["claimed"] else ", found"
        copied = "reads no record" if own["claimed"] == 0 else f"{own['copied']:.2f}{reach}"
        yield (
            name,
            claimed,
            f"{own['found']:.2f}",
            f"{own['power']:.2f}",
            copied,
            f"{own['nothing']:.2f}",
            f"{own['runs']:,} of each table",
        )


def _faults(found: Mapping[str, Figures]) -> Iterator[tuple[str, ...]]:
    for kind in sorted(found):
        for number, twin in enumerate(found[kind]["twins"]):
            by = twin["finding"].partition(":")[0]
            yield ("" if number else kind, twin["mechanism"], twin["fault"].replace("`", ""), by)


def _lecture(found: Mapping[str, Figures]) -> Iterator[tuple[str, ...]]:
    for name in sorted(found):
        yield name, found[name]["title"], "; ".join(found[name]["checks"])


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return "infinite" if isinf(value) else round(value, 6)
    return value


def main(arguments: Sequence[str] | None = None) -> None:
    """Attack, print, keep and write."""
    parser = argparse.ArgumentParser(prog="make attack-lab", description=__doc__.partition("\n")[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="only these parts")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    asked = parser.parse_args(arguments)
    began, kept = perf_counter(), kept_figures(KEPT)
    failed, waiting = list[str](), tasks(asked.parts)
    found: dict[str, dict[str, Figures]] = {part: {} for part in asked.parts}
    with ProcessPoolExecutor(max(asked.workers, 1), mp_context=get_context("fork")) as pool:
        begun = {pool.submit(run, part, name): (part, name) for part, name in waiting}
        for number, done in enumerate(as_completed(begun), 1):
            part, name = begun[done]
            found[part][name], wrong = done.result()
            failed += wrong
            print(f"{number:>3} of {len(waiting)}  {part:<11} {name}: {'; '.join(wrong) or 'as expected'}", flush=True)
            keep_figures(KEPT, {**kept, **found})  # of a run that is interrupted, too
    rewrite(PAGE, page(PAGE.read_text(encoding="utf-8"), {**kept, **found}))
    print(f"{len(waiting)} attacks in {perf_counter() - began:.0f} s; figures are in {PAGE.relative_to(ROOT)}.")
    require(
        [(fault, False) for fault in failed],
        "a release must show no more than it claims, and every control must do as it should; see above.",
    )


if __name__ == "__main__":
    main()
