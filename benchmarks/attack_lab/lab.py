"""`make attack-lab`: every attack on every mechanism, with controls, and the page `docs/research/attack-lab.md`.

Only public and made-up tables are attacked. The figures are kept in `benchmarks/attack_lab/figures.json`, from which
the page is written; a run of some parts replaces their figures alone. The command fails if a release shows more than it
claims, if a control that must fire does not, or if one that must not does.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from datetime import UTC, datetime
from math import isinf
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Final

from benchmarks.attack_lab import faults, one_run, shadows, tradeoffs
from benchmarks.measuring import in_page, keep_figures, kept_figures, markdown, require, rewrite
from papers.findings import Part
from papers.lecture import linkage, queries, reconstruction
from stores.statement import lab_findings

VERSION: Final = 2
"""Raise it when an attack or a control changes."""

ROOT: Final = Path(__file__).resolve().parent.parent.parent
KEPT: Final = Path(__file__).with_name("figures.json")
PAGE: Final = ROOT / "docs/research/attack-lab.md"
STATED: Final = lab_findings.FILE
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
PARTS: Final = ("membership", "one_run", "tradeoffs", "faults", "lecture")

MADE: Final = "made"
"""Under this name figures.json has the date and the commit of each part's last whole run."""

Figures = dict[str, Any]


def tasks(parts: Sequence[str], mechanism: str = "") -> list[tuple[str, str]]:
    """What is to be run: part and name.

    Args:
        parts: the parts.
        mechanism: a word of the names of the mechanisms that are attacked; all of them if it is empty.
    """
    names = {
        "membership": shadows.all_names(),
        "one_run": one_run.names(),
        "tradeoffs": tradeoffs.names(),
        "faults": tuple(faults.PUBLISHED),
        "lecture": tuple(LECTURE),
    }
    return [(part, name) for part in parts for name in names[part] if _is_of(part, name, mechanism)]


def _is_of(part: str, name: str, mechanism: str) -> bool:
    """Whether an attack is on a mechanism."""
    attacked = [twin for twin, _ in faults.PUBLISHED[name]] if part == "faults" else [name] if part != "lecture" else []
    return not mechanism or any(mechanism in re.split(r"[ ,:]+", each) or mechanism == each for each in attacked)


def run(part: str, name: str) -> tuple[Figures, list[str]]:
    """Run one task; return its figures and what must not be."""
    if part == "membership":
        with TemporaryDirectory() as folder:
            found = shadows.attacked(name, Path(folder))
        return {each: _plain(value) for each, value in asdict(found).items()}, found.faults
    if part in ("one_run", "tradeoffs"):
        shown = one_run.audited(name) if part == "one_run" else tradeoffs.audited(name)
        return {each: _plain(value) for each, value in asdict(shown).items()}, shown.faults
    if part == "faults":
        twins = list(faults.caught(name))
        missed = [f"{twin.mechanism}: {twin.fault} was not found" for twin in twins if not twin.finding]
        return {"twins": [asdict(twin) for twin in twins]}, missed
    attack = LECTURE[name]()
    failed = [f"{name}: {check.words}" for check in attack.checks if not check.holds]
    return {"title": attack.title, "checks": [check.words for check in attack.checks]}, failed


def page(text: str, found: Mapping[str, Mapping[str, Figures]]) -> str:
    """Return the page with the figures."""
    made = [f"{_TITLES[part]}: {own['date']}, at commit `{own['commit']}`." for part, own in found[MADE].items()]
    sections = [f"Version {VERSION} of the lab.", "\n".join(f"- {each}" for each in made)]
    for part, heads, rows in (
        ("membership", _HEADS, _membership),
        ("one_run", _HEADS_OF_ONE_RUN, _one_run),
        ("tradeoffs", _HEADS_OF_TRADE_OFFS, _tradeoffs),
        ("faults", ("fault", "put into", "as", "found by"), _faults),
        ("lecture", ("attack", "on", "must hold, and does"), _lecture),
    ):
        if found.get(part):
            sections += [f"## {_TITLES[part]}", markdown(heads, rows(found[part]))]
    return in_page(text, "attack-lab", "\n\n".join(sections))


_TITLES: Final = {
    "membership": "Membership by shadow releases",
    "one_run": "Audits of one run",
    "tradeoffs": "Trade-off curves of Gaussian noise",
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
        is_beyond = own["claimed"] == "infinite" or own["power"] <= own["claimed"]
        reach = ", beyond chance" if is_beyond else ", beyond the claim"
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


_HEADS_OF_ONE_RUN: Final = (
    "step",
    "claimed epsilon",
    "right guesses",
    "found at least",
    "could have found",
    "planned for 60 times the epsilon",
)
_HEADS_OF_TRADE_OFFS: Final = (
    "step",
    "claimed mu",
    "found at least",
    "of the claim",
    "could have found",
    "planned for 3 times the epsilon",
    "runs",
)


def _one_run(found: Mapping[str, Figures]) -> Iterator[tuple[str, ...]]:
    for name in sorted(found):
        own = found[name]
        figures = (f"{own[each]:.2f}" for each in ("found", "power"))
        yield (
            name,
            f"{own['claimed']:.3g}",
            f"{own['right']} of {own['guessed']}",
            *figures,
            f"{own['twin']:.2f}, found",
        )


def _tradeoffs(found: Mapping[str, Figures]) -> Iterator[tuple[str, ...]]:
    for name in sorted(found):
        own = found[name]
        within = "" if own["power"] <= own["claimed"] else ", found"
        yield (
            name,
            f"{own['claimed']:.2f}",
            f"{own['found']:.2f}",
            f"{own['found'] / own['claimed']:.0%}",
            f"{own['power']:.2f}",
            f"{own['twin']:.2f}{within}",
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


def stated(found: Mapping[str, Mapping[str, Figures]]) -> Figures:
    """What the statements of releases name of the figures; see `stores.statement.lab_findings`."""
    made = found[MADE]["membership"]
    twins = [twin for own in found["faults"].values() for twin in own["twins"]]

    def claimed(own: Figures) -> str:
        return "no epsilon" if own["claimed"] == "infinite" else f"epsilon {own['claimed']:.3g}"

    return {
        "version": VERSION,
        "date": made["date"],
        "commit": made["commit"],
        "mechanisms": {
            name: [claimed(own), own["found"], own["power"]] for name, own in sorted(found["membership"].items())
        },
        "faults": len(twins),
        "caught": sum(bool(twin["finding"]) for twin in twins),
    }


def _now() -> Figures:
    """The date, and the last commit of main, with a remark if the code was changed since."""
    base = _git("merge-base", "HEAD", "main") or _git("rev-parse", "HEAD")
    changed = _git("diff", "--name-only", base)
    return {"date": datetime.now(UTC).date().isoformat(), "commit": base[:12] + (" with changes" if changed else "")}


def _git(*words: str) -> str:
    """What git says; nothing if it fails."""
    command = [shutil.which("git") or "git", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return "infinite" if isinf(value) else round(value, 6)
    return value


def main(arguments: Sequence[str] | None = None) -> None:
    """Attack, print, keep and write."""
    parser = argparse.ArgumentParser(prog="make attack-lab", description=__doc__.partition("\n")[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="only these parts")
    parser.add_argument("--mechanism", default="", help="only attacks on it, such as marginals or 'learner marginals'")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    asked = parser.parse_args(arguments)
    began, kept = perf_counter(), kept_figures(KEPT)
    failed, waiting = list[str](), tasks(asked.parts, asked.mechanism)
    if not waiting:
        parser.error(f"a mechanism must be one that is attacked, got {asked.mechanism}; name it as the page does.")
    found: dict[str, dict[str, Figures]] = {part: {} for part in asked.parts}
    if asked.mechanism:
        found = {part: dict(kept.get(part, {})) for part in dict.fromkeys(part for part, _ in waiting)}
    else:
        found[MADE] = {**kept.get(MADE, {}), **dict.fromkeys(asked.parts, _now())}
    with ProcessPoolExecutor(max(asked.workers, 1), mp_context=get_context("fork")) as pool:
        begun = {pool.submit(run, part, name): (part, name) for part, name in waiting}
        for number, done in enumerate(as_completed(begun), 1):
            part, name = begun[done]
            found[part][name], wrong = done.result()
            failed += wrong
            print(f"{number:>3} of {len(waiting)}  {part:<11} {name}: {'; '.join(wrong) or 'as expected'}", flush=True)
            keep_figures(KEPT, {**kept, **found})  # of a run that is interrupted, too
    whole = {**kept, **found}
    rewrite(PAGE, page(PAGE.read_text(encoding="utf-8"), whole))
    if {MADE, "membership", "faults"} <= whole.keys() and "membership" in whole[MADE]:
        rewrite(STATED, json.dumps(stated(whole), indent=1) + "\n")
    print(f"{len(waiting)} attacks in {perf_counter() - began:.0f} s; figures are in {PAGE.relative_to(ROOT)}.")
    require(
        [(fault, False) for fault in failed],
        "a release must show no more than it claims, and every control must do as it should; see above.",
    )


if __name__ == "__main__":
    main()
