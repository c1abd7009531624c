"""`python -m benchmarks.audit_epsilon`: lower bounds on the epsilon of every mechanism, beside what it claims.

The real mechanisms are run under many keys, and the exact likelihood ratio of each output is computed on the worst
of several neighbouring tables (benchmarks.audits). Figures are kept in `benchmarks/audit_epsilon.json`, from which
`docs/statistician/audited-epsilon.md` is written. A run of some mechanisms replaces their figures alone. The command
fails if a mechanism exceeds its claim, or if a broken twin does not.
"""

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from math import isinf
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from benchmarks.audits.auditing import Audit, Budget, audit
from benchmarks.audits.registry import NOT_AUDITED, case_of
from benchmarks.audits.twins import TWINS
from benchmarks.measuring import in_page, keep_figures, kept_figures, markdown, require, rewrite

ROOT: Final = Path(__file__).resolve().parent.parent
KEPT: Final = Path(__file__).with_suffix(".json")
PAGE: Final = ROOT / "docs/statistician/audited-epsilon.md"
_TWIN = "twin of "
_KINDS: Final[Mapping[str, str]] = {
    "learners": "Learners",
    "certificates": "Certificates",
    "persons": "Several records of each person",
    "pegs": "Records drawn from exact counts",
    "imputed": "Records drawn from exact counts",
    "multinomial_sets": "Records drawn from exact counts",
    "origin_destination": "Records drawn from exact counts",
    "tested_seeds": "Seeds",
    "poisson_seeds": "Seeds",
    "histogram_seeds": "Seeds",
    "discovery": "Discovery",
    "surveys": "Surveys",
}
RUNS, SECONDS = 2000, 20.0


def names_of(words: Sequence[str]) -> list[str]:
    """Return the names of audits, and of audits of twins, that begin with one of some words; all if there are none."""
    named = [*case_of(), *(f"{_TWIN}{twin.name}: {twin.fault}" for twin in TWINS)]
    return [name for name in named if not words or any(name.removeprefix(_TWIN).startswith(word) for word in words)]


def audited(name: str, runs: int, seconds: float) -> dict[str, Any]:
    """Audit a mechanism or a twin by its name, and return its figures."""
    if name.startswith(_TWIN):
        twin = next(twin for twin in TWINS if name == f"{_TWIN}{twin.name}: {twin.fault}")
        return figures_of(twin.audit(Budget(runs, seconds)))
    return figures_of(audit(case_of()[name], Budget(runs, seconds)))


def figures_of(found: Audit) -> dict[str, Any]:
    """Return an audit's figures, ready for JSON."""
    figures = {**asdict(found), "exceeds": found.exceeds, "seconds": round(found.seconds)}
    shown = "infinite" if isinf(found.shown) else round(found.shown, 4)
    return {**figures, "shown": shown, "counted": None if found.counted is None else round(found.counted, 4)}


def page(text: str, found: Mapping[str, Any]) -> str:
    """Return the page with the figures."""
    honest = {name: own for name, own in found.items() if not name.startswith(_TWIN)}
    sections = []
    for title in dict.fromkeys(_KINDS.values()):
        rows = [_row(name, own) for name, own in honest.items() if _KINDS[own["kind"]] == title]
        if rows:
            sections += [f"### {title}", markdown(_HEADS, rows)]
    twins = [
        (name.removeprefix(_TWIN), _number(own["epsilon"]), _shown(own), _counted(own))
        for name, own in found.items()
        if name.startswith(_TWIN)
    ]
    if twins:
        sections += ["### Broken twins", markdown(("twin and fault", "claimed", "shown", "by counting"), twins)]
    reasons = [(name, reason) for name, reason in NOT_AUDITED.items()]
    sections += ["### Not audited", markdown(("mechanism", "reason"), reasons)]
    return in_page(text, "audit-epsilon", "\n\n".join(sections))


_HEADS = ("mechanism", "claimed epsilon", "delta", "shown", "of the claim", "by counting", "how", "neighbours")


def _row(name: str, own: Mapping[str, Any]) -> tuple[str, ...]:
    share = "" if own["shown"] == "infinite" else f"{own['shown'] / own['epsilon']:.0%}".replace("%", " %")
    delta = "0" if not own["delta"] else f"{own['delta']:.1e}"
    how = f"{own['method']}, {own['runs']:,} runs"
    return name, _number(own["epsilon"]), delta, _shown(own), share, _counted(own), how, own["neighbours"]


def _number(value: float) -> str:
    return f"{value:.3f}"


def _shown(own: Mapping[str, Any]) -> str:
    if own["found"]:
        return f"refused: {own['found'].rstrip('.')}"
    return "infinite" if own["shown"] == "infinite" else _number(own["shown"])


def _counted(own: Mapping[str, Any]) -> str:
    return "" if own["counted"] is None else f"{own['counted']:.2f} ({own['counted_runs']:,} runs)"


def line_of(name: str, own: Mapping[str, Any]) -> str:
    """Return a line of the table that the command prints."""
    counted = "" if own["counted"] is None else f"{own['counted']:.3f}"
    return f"{name[:72]:72} {own['epsilon']:8.4f} {_shown(own)[:24]:>8} {counted:>7} {own['seconds']:5}"


def measured(names: Sequence[str], runs: int, seconds: float, workers: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Audit mechanisms in several processes, and yield the figures of each when it is done."""
    with ProcessPoolExecutor(workers, mp_context=get_context("fork")) as pool:
        begun = {pool.submit(audited, name, runs, seconds): name for name in names}
        for done in as_completed(begun):
            yield begun[done], done.result()


def main(arguments: Sequence[str] | None = None) -> None:
    """Audit, print, keep and write."""
    parser = argparse.ArgumentParser(prog="make audit-epsilon", description=__doc__.partition("\n")[0])
    parser.add_argument("--mechanisms", nargs="+", default=[], help="words with which names of audits begin")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"runs of each mechanism ({RUNS:,})")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"most time for each mechanism ({SECONDS:g})")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    asked = parser.parse_args(arguments)
    if asked.runs < 1 or asked.seconds <= 0 or asked.workers < 1:
        raise SystemExit("runs, seconds and workers must be above 0; leave them out to audit as usual.")
    names = names_of(asked.mechanisms)
    if not names:
        known = ", ".join(sorted({name.partition(":")[0].partition(",")[0] for name in case_of()}))
        raise SystemExit(f"mechanisms must begin like one of {known}, got {', '.join(asked.mechanisms)}.")
    began, found = perf_counter(), dict[str, Any]()
    print(f"{'audit':72} {'claimed':>8} {'shown':>8} {'counted':>7} {'s':>5}")
    for number, (name, own) in enumerate(measured(names, asked.runs, asked.seconds, asked.workers), 1):
        found[name] = own
        print(f"{line_of(name, own)}  ({number} of {len(names)})", flush=True)
        keep_figures(KEPT, {**kept_figures(KEPT), **found})  # of a run that is interrupted, too
    known = set(names_of([]))
    keep_figures(KEPT, {name: own for name, own in kept_figures(KEPT).items() if name in known})
    rewrite(PAGE, page(PAGE.read_text(encoding="utf-8"), kept_figures(KEPT)))
    print(f"{len(found)} audits in {perf_counter() - began:.0f} s; figures are in {PAGE.relative_to(ROOT)}.")
    require(
        (
            (f"{name}: {_shown(own)} of {own['epsilon']:.4g}", own["exceeds"] == name.startswith(_TWIN))
            for name, own in found.items()
        ),
        "a mechanism must not exceed its claim, and each broken twin must; see above.",
    )


if __name__ == "__main__":
    main()
