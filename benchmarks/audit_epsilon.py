"""`python -m benchmarks.audit_epsilon`: lower bounds on the epsilon of every mechanism, beside what it claims.

The real mechanisms are run under fixed keys, and the exact probabilities of their outputs are computed on the worst of
several neighbouring tables (benchmarks.audits), so that the figures are the same in every run. They are kept in
`benchmarks/audit_epsilon.json`, from which `docs/statistician/audited-epsilon.md` is written. A run of some mechanisms
replaces their figures alone. The command fails if a mechanism exceeds its claim, or if a broken twin does not.
"""

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from math import floor, isinf
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from benchmarks.audits.auditing import Audit, audit
from benchmarks.audits.registry import NOT_AUDITED, case_of, mechanism_of
from benchmarks.audits.twins import twins
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
RUNS: Final = 2000
FEWEST: Final = 100


def names_of(words: Sequence[str]) -> list[str]:
    """Return the names of audits, and of audits of twins, that begin with one of some words; all if there are none."""
    named = [*case_of(), *(f"{_TWIN}{twin.name}: {twin.fault}" for twin in twins())]
    return [name for name in named if not words or any(name.removeprefix(_TWIN).startswith(word) for word in words)]


def audited(name: str, runs: int) -> tuple[dict[str, Any], float]:
    """Audit a mechanism or a twin by its name, and return its figures and the seconds that it took."""
    began = perf_counter()
    if name.startswith(_TWIN):
        twin = next(twin for twin in twins() if name == f"{_TWIN}{twin.name}: {twin.fault}")
        return figures_of(twin.audit(runs)), perf_counter() - began
    return figures_of(audit(case_of()[name], runs)), perf_counter() - began


def figures_of(found: Audit) -> dict[str, Any]:
    """Return an audit's figures, ready for JSON."""
    bound = found.bound

    def rounded(value: float | None) -> Any:
        return "infinite" if value is not None and isinf(value) else value if value is None else round(value, 4)

    return {
        "kind": found.kind,
        "epsilon": round(found.epsilon, 6),
        "delta": found.delta,
        "shown": rounded(bound.shown),
        "method": bound.method,
        "neighbours": bound.neighbours,
        "runs": bound.runs,
        "counted": rounded(bound.counted),
        "choice": rounded(bound.choice),
        "choice_claimed": None if found.choice is None else round(found.choice, 6),
        "found": found.found,
        "exceeds": found.exceeds,
    }


def page(text: str, found: Mapping[str, Any]) -> str:
    """Return the page with the figures."""
    honest = {name: own for name, own in found.items() if not name.startswith(_TWIN)}
    sections = []
    for title in dict.fromkeys(_KINDS.values()):
        rows = [_row(name, own) for name, own in honest.items() if _KINDS[own["kind"]] == title]
        if rows:
            sections += [f"### {title}", _table(_HEADS, rows)]
    broken = {name.removeprefix(_TWIN): own for name, own in found.items() if name.startswith(_TWIN)}
    if broken:
        rows = [_row_of_twin(name, own) for name, own in broken.items()]
        sections += ["### Broken twins", _table(("twin", "fault", "what", "claimed", "shown"), rows)]
    reasons = [(name, reason) for name, reason in NOT_AUDITED.items()]
    sections += ["### Not audited", markdown(("mechanism", "reason"), reasons)]
    return in_page(text, "audit-epsilon", "\n\n".join(sections))


_HEADS = (
    "mechanism",
    "claimed epsilon",
    "delta",
    "shown",
    "of the claim",
    "one choice",
    "by counting",
    "how",
    "tables",
)


def _table(heads: Sequence[str], rows: Sequence[tuple[str, ...]]) -> str:
    """The columns that have entries."""
    filled = [place for place in range(len(heads)) if any(row[place] for row in rows)]
    return markdown([heads[place] for place in filled], [[row[place] for place in filled] for row in rows])


def _row(name: str, own: Mapping[str, Any]) -> tuple[str, ...]:
    share = "" if own["shown"] == "infinite" else f"{floor(1000 * own['shown'] / own['epsilon'] + 1e-3) / 10:.1f} %"
    return (
        name,
        _number(own["epsilon"]),
        f"{own['delta']:.1e}" if own["delta"] else "0",
        _shown(own),
        share,
        "" if own["choice"] is None else f"{own['choice']:.4f} of {own['choice_claimed']:.4f}",
        "" if own["counted"] is None else f"{own['counted']:.2f}",
        f"{own['method']}, {own['runs']:,} runs",
        own["neighbours"],
    )


def _row_of_twin(name: str, own: Mapping[str, Any]) -> tuple[str, ...]:
    of, _, fault = name.rpartition(": ")
    if "choices at" in fault:
        return of, fault, "one choice", f"{own['choice_claimed']:.4f}", f"{own['choice']:.4f}"
    return of, fault, "epsilon", _number(own["epsilon"]), _shown(own)


def _number(value: float) -> str:
    return f"{value:.3f}"


def _shown(own: Mapping[str, Any]) -> str:
    if own["found"]:
        return f"refused: {own['found'].rstrip('.')}"
    return "infinite" if own["shown"] == "infinite" else _number(own["shown"])


def line_of(name: str, own: Mapping[str, Any], seconds: float) -> str:
    """Return a line of the table that the command prints."""
    counted, choice = ("" if own[each] is None else f"{own[each]:.4f}" for each in ("counted", "choice"))
    return f"{name[:90]:90} {own['epsilon']:8.4f} {_shown(own)[:8]:>8} {choice:>7} {counted:>7} {seconds:5.0f}"


def measured(names: Sequence[str], runs: int, workers: int) -> Iterator[tuple[str, dict[str, Any], float]]:
    """Audit mechanisms in several processes, and yield the figures and seconds of each when it is done."""
    with ProcessPoolExecutor(workers, mp_context=get_context("fork")) as pool:
        begun = {pool.submit(audited, name, runs): name for name in names}
        for done in as_completed(begun):
            yield begun[done], *done.result()


def main(arguments: Sequence[str] | None = None) -> None:
    """Audit, print, keep and write."""
    parser = argparse.ArgumentParser(prog="make audit-epsilon", description=__doc__.partition("\n")[0])
    parser.add_argument("--mechanisms", nargs="+", default=[], help="words with which names of audits begin")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"runs on each of two tables, for counting ({RUNS:,})")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    asked = parser.parse_args(arguments)
    if asked.runs < FEWEST or asked.workers < 1:
        raise SystemExit(f"runs must be {FEWEST} or more, and workers 1 or more; leave them out to audit as usual.")
    names = names_of(asked.mechanisms)
    if not names:
        known = ", ".join(sorted({mechanism_of(name) for name in case_of()}))
        raise SystemExit(f"mechanisms must begin like one of {known}, got {', '.join(asked.mechanisms)}.")
    began, found = perf_counter(), dict[str, Any]()
    print(f"{'audit':90} {'claimed':>8} {'shown':>8} {'choice':>7} {'counted':>7} {'s':>5}")
    for number, (name, own, seconds) in enumerate(measured(names, asked.runs, asked.workers), 1):
        found[name] = own
        print(f"{line_of(name, own, seconds)}  ({number} of {len(names)})", flush=True)
        keep_figures(KEPT, {**kept_figures(KEPT), **found})  # of a run that is interrupted, too
    known = {*names_of([])}
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
