"""`python -m benchmarks.goals`: every speed goal, with the measured figure, its limit and their ratio.

Figures are kept in `benchmarks/goals.json`, from which the tables of `docs/developer/speed.md` and of the README are
written. They are written after each part, so an interrupted run is resumed with `--resume`; a run of some parts or
goals, by name, replaces only their figures. With `--beside FOLDER`, another checkout is measured alternately with this
one by the same interpreter, and nothing is kept: on a machine with other load, only such ratios are meaningful. With
`--as-set`, this other checkout is the commit at which the goals were set; its figures are kept, and the tables show how
many times as fast this one is.
"""

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks import goal_parts
from benchmarks.measuring import in_page, keep_figures, kept_figures, markdown, rewrite

ROOT: Final = Path(__file__).resolve().parent.parent
KEPT: Final = Path(__file__).with_suffix(".json")
PAGE: Final = ROOT / "docs/developer/speed.md"
README: Final = ROOT / "README.md"
IN_README: Final = ("release_clock", "million_clock", "million_mib", "candidates_9", "records_11")
"""The goals that the README shows."""

_RATE = "million/s"
_TIMES = "times as fast"
_STEPS = "bench-goals, of steps"
_ELSE = "all else: imports, Prefect's server, MLflow's store, opening and closing the release"
_FASTER = "times as fast as when the goals were set"
_IN_A_TURN = 3
"""Runs of each figure in one turn; of whole commands, one."""
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
        then: the figure when the goal was set, on another machine with other load; None if none was.
    """

    name: str
    part: str
    what: str
    unit: str
    limit: float | None
    then: float | None = None

    @property
    def is_rate(self) -> bool:
        """Whether the figure should be at least the limit, instead of at most."""
        return self.unit in {_RATE, _TIMES}

    def ratio(self, runs: Sequence[float]) -> float:
        """The median's cost divided by its limit: the goal is met at 1 or less; without a limit, the cost."""
        middle, limit = median(runs), self.limit or 1.0
        return limit / middle if self.is_rate else middle / limit

    @property
    def wanted(self) -> float | None:
        """How many times as fast as when it was set the goal requires; None if nothing was measured then."""
        return None if self.then is None else self.ratio([self.then])


GOALS: Final = (
    Goal(
        "release_cpu",
        "release",
        "`make release`, warm: all its processes, from the command to its end",
        "CPU s",
        12,
        29,
    ),
    Goal("release_clock", "release", "`make release`, warm, by the clock", "s", 10, 28),
    Goal(
        "kernels_cpu",
        "release",
        "the first of a new installation, which has compiled the kernels, less a warm one",
        "CPU s",
        4,
        18,
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
        "million_cpu",
        "million",
        "release of a million records from 1.4 million, warm: all its processes",
        "CPU s",
        22,
        50,
    ),
    Goal("million_clock", "million", "release of a million records from 1.4 million, warm, by the clock", "s", 15, 58),
    Goal("million_mib", "million", "peak memory of the largest process of such a release", "MiB", 900),
    Goal(
        "candidates_9",
        "candidates",
        "candidates, 11 attributes, a million seeds, warm, one thread; 9 drawn anew",
        _RATE,
        9,
        7.6,
    ),
    Goal("candidates_9_11", "candidates", "the same; 9, 10 or 11 drawn anew", _RATE, 7.5, 5.6),
    Goal("candidates_5_11", "candidates", "the same; 5 to 11 drawn anew", _RATE, 6, 4.6),
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
        2.7,
    ),
    Goal("records_15", "records", "the same; 15 attributes", _RATE, 5, 2.0),
    Goal("records_real", "real_records", "the same; 11 attributes of real people", _RATE, None),
    Goal("fit_adult", "adult", "fit to half of Adult, warm, one thread", "CPU s", 0.25, 0.93),
    Goal(
        "fit_adult_cold", "adult", "the same and as many records, cold: a process from the import on", "CPU s", 1.2, 3.2
    ),
    Goal("fit_80", "attributes", "fit to 50,000 rows of 80 attributes, warm, one thread", "CPU s", 5, 20),
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
SET_AT: Final = "5fc4aeb3168cff30c3b1d034427d2b21884597ba"
"""The commit at which the goals were set."""

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
    # Another checkout may not be able to measure everything.
    kept = {name: {"runs": values, "data": found["data"]} for name, values in found["figures"].items() if values}
    for order, step in enumerate(filter(_is_step, kept)):
        kept[step]["order"] = order
    return kept


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
    heads += [_FASTER] if beside is None else ["the other checkout", "to the other"]
    rows = []
    for goal in goals:
        limit = goal.unit
        if goal.limit is not None:
            limit = f"{'at least' if goal.is_rate else 'at most'} {goal.limit:g} {goal.unit}"
        if goal.name not in found:
            if beside is None:
                rows.append([goal.what, "", "not measured", limit, "", ""])
            continue
        runs = found[goal.name]["runs"]
        row = [
            goal.what,
            found[goal.name]["data"],
            _in_words(runs),
            limit,
            "" if goal.limit is None else f"{goal.ratio(runs):.2f}",
        ]
        if beside is None:
            row.append(_faster(goal, found[goal.name].get("then")))
        elif goal.name in beside:
            other = beside[goal.name]["runs"]
            row += [_in_words(other), f"{goal.ratio(runs) / goal.ratio(other):.2f}"]
        else:
            row += ["", ""]
        rows.append(row)
    return markdown(heads, rows)


def _faster(goal: Goal, then: Mapping[str, Any] | None) -> str:
    """How many times as fast as when the goals were set, by runs made alternately, and how many the goal requires."""
    # A difference can be nothing, or less by chance; then no number of times is meaningful.
    if then is None or median(then["beside"]) <= 0:
        return ""
    times = goal.ratio(then["runs"]) / goal.ratio(then["beside"])
    return f"{times:.2f}" if goal.wanted is None else f"{times:.2f} (goal: {goal.wanted:.2f})"


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
    text = in_page(text, "bench-goals", table(found, goals=goals))
    return in_page(text, _STEPS, steps_table(found)) if f"by make {_STEPS} " in text else text


def steps_table(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the CPU seconds of each step of a small release as a Markdown table, in the order of the steps.

    Args:
        found: the runs of each figure, by its name.
    """
    steps = sorted(filter(_is_step, found), key=lambda name: found[name]["order"])
    seconds = [median(found[name]["runs"]) for name in steps]
    names = [_ELSE if name == f"{goal_parts.STEP}else" else f"`{name.removeprefix(goal_parts.STEP)}`" for name in steps]
    shares = [f"{own / sum(seconds):.0%}" for own in seconds]
    rows = [[name, f"{own:.2f}", share] for name, own, share in zip(names, seconds, shares, strict=True)]
    return markdown(["step", "CPU s", "share"], rows)


def _is_step(name: str) -> bool:
    """Whether a figure is that of a step of a release."""
    return name.startswith(goal_parts.STEP)


def _merged(rounds: Sequence[Kept]) -> Kept:
    """Merge the runs of several rounds."""
    return {
        name: {**own, "runs": [run for one in rounds for run in one[name]["runs"]]} for name, own in rounds[0].items()
    }


def main() -> None:
    """Measure, print the table, keep the figures and write the pages."""
    asked = _asked()
    found: Kept = kept_figures(KEPT)
    parts = {goal.name: goal.part for goal in GOALS}
    wanted = {name for name, part in parts.items() if not asked.asked or {name, part} & {*asked.asked}}
    commit = _commit()
    if asked.resume:
        wanted = left(wanted, found, commit)
    now: Kept = {}
    there: Kept = {}
    with _checkout_of(SET_AT) if asked.as_set else nullcontext(asked.beside) as other:
        for part in [part for part in goal_parts.PARTS if part in {parts[name] for name in wanted}]:
            own, theirs = _by_turns(part, asked.runs, other)
            there |= theirs
            for name in own:
                if name not in wanted and not _is_step(name):
                    continue
                then = found.get(name, {}).get("then")
                if asked.as_set and name in theirs and name in parts:
                    then = {"runs": theirs[name]["runs"], "beside": own[name]["runs"]}
                now[name] = {**own[name], "commit": commit} | ({} if then is None else {"then": then})
            if asked.beside is None and not asked.print_only:
                found |= now
                _write(found)
    print(table(now, there) if asked.beside is not None else table(now if asked.print_only else found))


def _asked() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.goals", description=__doc__)
    every = [*goal_parts.PARTS, *(goal.name for goal in GOALS)]
    parser.add_argument("asked", nargs="*", choices=[[], *every], metavar="PART_OR_GOAL", help=", ".join(every))
    parser.add_argument("--runs", type=int, default=5, help="runs of each figure, or turns (default: 5)")
    parser.add_argument(
        "--beside", type=Path, metavar="FOLDER", help="another checkout, measured by turns with this one"
    )
    parser.add_argument(
        "--as-set", action="store_true", help="also measure, by turns, the commit at which the goals were set"
    )
    parser.add_argument("--resume", action="store_true", help="leave out what is kept of this commit already")
    parser.add_argument("--print-only", action="store_true", help="neither keep the figures nor write the pages")
    asked = parser.parse_args()
    if asked.runs < 1:
        parser.error(f"the number of runs must be 1 or more, got {asked.runs}.")
    if asked.beside is not None and not (asked.beside / "benchmarks").is_dir():
        parser.error(f"--beside must name a checkout, got {asked.beside}, which has no folder benchmarks.")
    if asked.beside is not None and asked.as_set:
        parser.error("another checkout must be named by --beside or by --as-set, got both.")
    return asked


def _by_turns(part: str, runs: int, other: Path | None) -> tuple[Kept, Kept]:
    """Measure a part, by turns with another checkout if there is one; return its figures and those of the other."""
    if other is None:
        return measured(part, runs), {}
    each = 1 if part in goal_parts.WHOLE else _IN_A_TURN
    turns = [(measured(part, each, other.resolve()), measured(part, each)) for _ in range(runs)]
    return _merged([own for _, own in turns]), _merged([theirs for theirs, _ in turns])


def _write(found: Kept) -> None:
    """Keep the figures, and write the pages."""
    keep_figures(KEPT, found)
    for place, goals in PAGES.items():
        rewrite(place, page(place.read_text(encoding="utf-8"), found, goals))


@contextmanager
def _checkout_of(commit: str) -> Iterator[Path]:
    """Yield a folder with the files of a commit.

    Raises:
        SystemExit: this repository does not have the commit.
    """
    with tempfile.TemporaryDirectory(prefix="deniable-as-set-") as folder:
        files = subprocess.run(["git", "-C", str(ROOT), "archive", commit], check=False, capture_output=True)
        if files.returncode:
            raise SystemExit(f"the repository must have the commit {commit}, and has not; clone it with its history.")
        with tarfile.open(fileobj=io.BytesIO(files.stdout)) as archive:
            archive.extractall(folder, filter="data")
        yield Path(folder)


def left(wanted: AbstractSet[str], found: Mapping[str, Mapping[str, Any]], commit: str) -> set[str]:
    """Return the goals that have no kept figure of this commit."""
    return {name for name in wanted if not commit or found.get(name, {}).get("commit") != commit}


def _commit() -> str:
    """Return the measured commit; empty outside a repository, where no run is resumed."""
    asked = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, check=False, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()
