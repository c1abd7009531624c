"""`python -m benchmarks.goals`: every speed goal, with the measured figure, its limit and their ratio.

Figures are kept in `benchmarks/goals.json`, from which the tables of `docs/developer/speed.md` and of the README are
written. They are written after each part, so an interrupted run is resumed with `--resume`; a run of some parts or
goals, by name, replaces only their figures. With `--beside FOLDER`, another checkout is measured alternately with this
one by the same interpreter, and nothing is kept: on a machine with other load, only such ratios are meaningful.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks import goal_parts
from benchmarks.measuring import in_page, markdown, rewrite

ROOT: Final = Path(__file__).resolve().parent.parent
KEPT: Final = Path(__file__).with_suffix(".json")
PAGE: Final = ROOT / "docs/developer/speed.md"
README: Final = ROOT / "README.md"
IN_README: Final = ("release_clock", "million_clock", "million_mib", "candidates_9", "records_11")
"""The goals that the README shows."""

_RATE = "million/s"
_TIMES = "times as fast"
_WHOLE = 100
"""Figures of at least this size are shown without decimals."""


@dataclass(frozen=True)
class Goal:
    """A limit on one figure.

    Attributes:
        name: the figure's name.
        part: the part that measures it, of `goal_parts.PARTS`.
        what: what is measured and how.
        unit: its unit.
        limit: the limit, a minimum for a rate and a maximum for anything else; None for a cost that is shown with the
            goals, so that no goal is met by moving work there.
    """

    name: str
    part: str
    what: str
    unit: str
    limit: float | None

    @property
    def is_rate(self) -> bool:
        """Whether the figure should be at least the limit, instead of at most."""
        return self.unit in {_RATE, _TIMES}

    def ratio(self, runs: Sequence[float]) -> float:
        """The median's cost divided by its limit: the goal is met at 1 or less; without a limit, the cost."""
        middle, limit = median(runs), self.limit or 1.0
        return limit / middle if self.is_rate else middle / limit


GOALS: Final = (
    Goal("release_cpu", "release", "`make release`, warm: all its processes, from the command to its end", "CPU s", 12),
    Goal("release_clock", "release", "`make release`, warm, by the clock", "s", 10),
    Goal(
        "kernels_cpu",
        "release",
        "the first of a new installation, which has compiled the kernels, less a warm one",
        "CPU s",
        4,
    ),
    Goal(
        "kernels_ahead_cpu",
        "release",
        "compiling kernels ahead, which `make` does once while it installs",
        "CPU s",
        None,
    ),
    Goal("plan", "release", "`plan`, the whole process", "CPU s", 2),
    Goal("find", "release", "`find`, likewise", "CPU s", 2),
    Goal("held", "release", "`held`, likewise", "CPU s", 2),
    Goal("ledger_show", "release", "`ledger show`, likewise", "CPU s", 2),
    Goal("verify", "release", "`verify` of that release, likewise", "CPU s", 2),
    Goal("million_evaluated", "million", "evaluation of the utility of a million records, warm: the step", "CPU s", 8),
    Goal(
        "million_cpu", "million", "release of a million records from 1.4 million, warm: all its processes", "CPU s", 22
    ),
    Goal("million_clock", "million", "release of a million records from 1.4 million, warm, by the clock", "s", 15),
    Goal("million_mib", "million", "peak memory of the largest process of such a release", "MiB", 900),
    Goal(
        "candidates_9",
        "candidates",
        "candidates, 11 attributes, a million seeds, warm, one thread; 9 drawn anew",
        _RATE,
        9,
    ),
    Goal("candidates_9_11", "candidates", "the same; 9, 10 or 11 drawn anew", _RATE, 7.5),
    Goal("candidates_5_11", "candidates", "the same; 5 to 11 drawn anew", _RATE, 6),
    Goal(
        "scan",
        "scan",
        "exact privacy tests, called one by one, beside scans of the seeds; 9, 10 or 11 drawn anew",
        _TIMES,
        1000,
    ),
    Goal(
        "histogram",
        "histogram",
        "records drawn from a noisy histogram of 6 of 11 attributes, warm, one thread",
        _RATE,
        2,
    ),
    Goal("cfs", "cfs", "the paper's structure and parameters of 11 attributes, counting included, warm", "CPU s", 10),
    Goal(
        "records_11",
        "records",
        "log-linear records without matching, warm, one thread; 11 attributes",
        _RATE,
        6,
    ),
    Goal("records_15", "records", "the same; 15 attributes", _RATE, 5),
    Goal("records_real", "real_records", "the same; 11 attributes of real people", _RATE, None),
    Goal("fit_adult", "adult", "fit to half of Adult, warm, one thread", "CPU s", 0.25),
    Goal("fit_adult_cold", "adult", "the same and as many records, cold: a process from the import on", "CPU s", 1.2),
    Goal("fit_80", "attributes", "fit to 50,000 rows of 80 attributes, warm, one thread", "CPU s", 5),
    Goal("fit_160", "attributes", "the same of 160 attributes, which are four times the pairs", "times that of 80", 4),
    Goal(
        "fit_streamed", "streamed", "fit to ten million rows of 11 attributes, in chunks, warm, one thread", "CPU s", 6
    ),
    Goal(
        "fit_streamed_mib", "streamed", "the most memory of a process that does so", "times that of a million rows", 1.1
    ),
)

PAGES: Final[Mapping[Path, Sequence[Goal]]] = {PAGE: GOALS, README: [goal for goal in GOALS if goal.name in IN_README]}
"""The pages, and the goals that each shows."""

Kept = dict[str, dict[str, Any]]


def measured(part: str, runs: int, root: Path = ROOT) -> Kept:
    """Measure a part in a separate process: the runs of each figure, and the data.

    Args:
        part: the part.
        runs: number of runs of each figure.
        root: the checkout to measure.

    Raises:
        CalledProcessError: something could not be measured.
    """
    others = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [str(root), *(path for path in others if path not in {"", str(ROOT), str(root)})]
    with tempfile.TemporaryDirectory(prefix="deniable-goals-") as folder:
        figures = Path(folder) / "figures.json"
        command = [sys.executable, "-P", goal_parts.__file__, part, str(runs), str(figures)]
        subprocess.run(command, cwd=root, env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)}, check=True)
        found = json.loads(figures.read_text(encoding="utf-8"))
    return {name: {"runs": values, "data": found["data"]} for name, values in found["figures"].items()}


def table(
    found: Mapping[str, Mapping[str, Any]],
    beside: Mapping[str, Mapping[str, Any]] | None = None,
    goals: Sequence[Goal] = GOALS,
) -> str:
    """Return the goals as a Markdown table; with another checkout, only those that were measured.

    Args:
        found: the runs of each figure, by its name.
        beside: the same for another checkout, in the same run.
        goals: the goals to show.
    """
    heads = ["what is timed", "data", "median (least to most; runs)", "limit", "ratio"]
    if beside is not None:
        heads += ["the other checkout", "to the other"]
    rows = []
    for goal in goals:
        limit = goal.unit
        if goal.limit is not None:
            limit = f"{'at least' if goal.is_rate else 'at most'} {goal.limit:g} {goal.unit}"
        if goal.name not in found:
            if beside is None:
                rows.append([goal.what, "", "not measured", limit, ""])
            continue
        runs = found[goal.name]["runs"]
        row = [
            goal.what,
            found[goal.name]["data"],
            _in_words(runs),
            limit,
            "" if goal.limit is None else f"{goal.ratio(runs):.2f}",
        ]
        if beside is not None:
            other = beside[goal.name]["runs"]
            row += [_in_words(other), f"{goal.ratio(runs) / goal.ratio(other):.2f}"]
        rows.append(row)
    return markdown(heads, rows)


def _in_words(runs: Sequence[float]) -> str:
    least, middle, most = (_digits(value) for value in (min(runs), median(runs), max(runs)))
    return f"{middle} ({least} to {most}; {len(runs)})" if len(runs) > 1 else f"{middle} (1)"


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= _WHOLE else f"{value:.3g}"


def page(text: str, found: Mapping[str, Mapping[str, Any]], goals: Sequence[Goal] = GOALS) -> str:
    """Return a page with the table inserted.

    Raises:
        ValueError: the page has no place for it.
    """
    return in_page(text, "bench-goals", table(found, goals=goals))


def _merged(rounds: Sequence[Kept]) -> Kept:
    """Merge the runs of several rounds."""
    return {
        name: {**own, "runs": [run for one in rounds for run in one[name]["runs"]]} for name, own in rounds[0].items()
    }


def main() -> None:
    """Measure, print the table, keep the figures and write the pages."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.goals", description=__doc__)
    every = list(goal_parts.PARTS)
    names = {goal.name: goal.part for goal in GOALS}
    choices = [[], *every, *names]
    parser.add_argument("asked", nargs="*", choices=choices, metavar="PART_OR_GOAL", help=", ".join([*every, *names]))
    parser.add_argument("--runs", type=int, default=5, help="runs of each figure (default: 5)")
    parser.add_argument(
        "--beside", type=Path, metavar="FOLDER", help="another checkout, measured by turns with this one"
    )
    parser.add_argument("--resume", action="store_true", help="leave out what is kept of this commit already")
    parser.add_argument("--print-only", action="store_true", help="neither keep the figures nor write the pages")
    asked = parser.parse_args()
    if asked.runs < 1:
        parser.error(f"the number of runs must be 1 or more, got {asked.runs}.")
    if asked.beside is not None and not (asked.beside / "benchmarks").is_dir():
        parser.error(f"--beside must name a checkout, got {asked.beside}, which has no folder benchmarks.")
    found: Kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    wanted = {name for name, part in names.items() if not asked.asked or {name, part} & {*asked.asked}}
    commit = _commit()
    if asked.resume:
        wanted = left(wanted, found, commit)
    now: Kept = {}
    there: Kept = {}
    for part in [part for part in every if part in {names[name] for name in wanted}]:
        if asked.beside is None:
            own = measured(part, asked.runs)
        else:
            turns = [(measured(part, 1, asked.beside.resolve()), measured(part, 1)) for _ in range(asked.runs)]
            there |= _merged([other for other, _ in turns])
            own = _merged([own for _, own in turns])
        now |= {name: {**figures, "commit": commit} for name, figures in own.items() if name in wanted}
        if asked.beside is None and not asked.print_only:
            found |= now
            rewrite(KEPT, json.dumps(found, indent=1, sort_keys=True) + "\n")
            for place, goals in PAGES.items():
                rewrite(place, page(place.read_text(encoding="utf-8"), found, goals))
    print(table(now, there) if asked.beside is not None else table(now if asked.print_only else found))


def left(wanted: AbstractSet[str], found: Mapping[str, Mapping[str, Any]], commit: str) -> set[str]:
    """Return the goals that have no kept figure of this commit."""
    return {name for name in wanted if not commit or found.get(name, {}).get("commit") != commit}


def _commit() -> str:
    """Return the measured commit; empty outside a repository, where no run is resumed."""
    asked = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, check=False, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()
