"""`python -m benchmarks.peers`: our learners and other programs by the same protocol, in one run, by turns.

Each program has an environment of its own (`.venv/peers`, from the pins in `infra/peers`) and a driver
(`benchmarks/peer_programs`). Every program learns from the same half, at epsilon 1 and delta 1e-9 with its own defaults
otherwise, on the same single core, and draws as many records; the tools in the folder that DENIABLE_EVALUATION names
score them against the other half (benchmarks.utility). All programs run once, then all again.

Figures are kept in `benchmarks/peers.json` after every run, from which the page `docs/statistician/peers.md` and the
tables of the README are written. A run of some programs or datasets replaces only their figures, and `--resume` makes
only the runs that are missing. A program that cannot be installed or run is named, and the others are measured.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np
import pandas as pd

from benchmarks.environments import Environment, Unavailable
from benchmarks.measuring import in_page, keep_figures, kept_figures, markdown, rewrite
from benchmarks.mechanisms import SCORES
from benchmarks.peer_programs.driver import FIGURES, RECORDS, Request, spent
from benchmarks.utility import FIGURES as ALL_SCORES
from benchmarks.utility import ROOT, Half, options, prepare, scorer

KEPT: Final = Path(__file__).with_suffix(".json")
PAGE: Final = ROOT / "docs/statistician/peers.md"
README: Final = ROOT / "README.md"
DATA: Final = {"acs13": "ACS 2013, 11 attributes", "adult": "Adult, 15 attributes"}
EPSILON, DELTA = 1.0, 1e-9
LONG_S: Final = 120
"""CPU seconds; a program that takes longer runs once and is not fitted a second time."""
_NOT_PASSED: Final = ("PYTHONDONTWRITEBYTECODE", "DENIABLE_", "PREFECT_", "MLFLOW_")
"""Beginnings of environment variables that no program is given: those of our own servers may contain passwords."""
REAL: Final = "real"
"""The row of the learning half itself, which is scored as if it were released."""

Scores = Mapping[str, float]


@dataclass(frozen=True)
class Program:
    """A program of the comparison.

    Attributes:
        title: its name in the tables.
        module: its module in `benchmarks.peer_programs`.
        name: its name in that module.
        environment: its environment; None for that of this process, which has our own learners.
    """

    title: str
    module: str
    name: str
    environment: Environment | None = None

    @property
    def is_ours(self) -> bool:
        """Whether it is a learner of this project."""
        return self.environment is None

    @property
    def version(self) -> str:
        """The pinned version, or the last commit that changed our learners; empty outside a repository."""
        if self.environment is not None:
            return self.environment.version
        asked = ["git", "-C", str(ROOT), "log", "-1", "--format=%h", "--", "deniable"]
        return subprocess.run(asked, check=False, capture_output=True, text=True).stdout.strip()


_DPMM: Final = Environment("dpmm", below=(3, 13))
_DATA_SYNTHESIZER: Final = Environment("DataSynthesizer", below=(3, 13))
PROGRAMS: Final = {
    "loglinear": Program("Deniable (`loglinear`)", "of_deniable", "loglinear"),
    "mst": Program("Deniable (`mst`)", "of_deniable", "mst"),
    "aim": Program("Deniable (`aim`)", "of_deniable", "aim"),
    "synthpop": Program("CART (synthpop-py), no privacy guarantee", "of_synthpop", "CART", Environment("synthpop-py")),
    "dpmm-privbayes": Program("PrivBayes (dpmm)", "of_dpmm", "PrivBayes", _DPMM),
    "dpmm-mst": Program("MST (dpmm)", "of_dpmm", "MST", _DPMM),
    "datasynthesizer": Program("PrivBayes (DataSynthesizer)", "of_datasynthesizer", "PrivBayes", _DATA_SYNTHESIZER),
    "dpmm-aim": Program("AIM (dpmm)", "of_dpmm", "AIM", _DPMM),
}
"""Programs by name, in the order of their turns."""


@dataclass(frozen=True)
class Job:
    """What a program is asked for.

    Attributes:
        train: the file to learn from.
        meta: the file that describes its columns.
        records: number of records to draw.
        seed: the seed.
        seconds: limit on the CPU seconds of a fit.
    """

    train: Path
    meta: Path
    records: int
    seed: int
    seconds: float


@dataclass(frozen=True)
class Ended:
    """The end of a program.

    Attributes:
        figures: CPU seconds of a cold and, if it was fitted again, of a warm process, records per CPU second and MiB;
            empty if the limit was reached before the records were written.
        records: the records; None likewise.
    """

    figures: dict[str, float]
    records: Any = None


def run(program: Program, python: str, job: Job) -> Ended:
    """Run a program once in a separate process, and stop it if a fit exceeds the limit.

    Args:
        program: the program.
        python: the Python of its environment.
        job: what it is asked for.

    Raises:
        Unavailable: it failed.
    """
    request = Request(
        program.module,
        program.name,
        str(job.train.resolve()),
        str(job.meta.resolve()),
        job.seed,
        EPSILON,
        DELTA,
        job.records,
        max(os.sched_getaffinity(0)),
        LONG_S,
    )
    with tempfile.TemporaryDirectory(prefix="deniable-peers-") as name, tempfile.TemporaryFile() as said:
        folder = Path(name)
        command = [python, "-P", "-m", "benchmarks.peer_programs.driver", str(request.write(folder))]
        process = subprocess.Popen(
            command, cwd=folder, env=_environment(), stdout=said, stderr=said, start_new_session=True
        )
        stopped = _stopped(process, folder / FIGURES, job.seconds)
        if not (folder / FIGURES).is_file():
            if stopped:
                return Ended({})
            said.seek(0)
            last = said.read().decode(errors="replace").strip().splitlines() or ["nothing"]
            raise Unavailable(f"{program.title} must run to its end to be measured, and it failed with: {last[-1]}")
        return Ended(json.loads((folder / FIGURES).read_text(encoding="utf-8")), np.load(folder / RECORDS))


def _stopped(process: "subprocess.Popen[bytes]", figures: Path, seconds: float) -> bool:
    """Wait until a program ends, and stop it if it exceeds the limit before or after it has written its records."""
    begun, written = 0.0, False
    try:
        while process.poll() is None:
            used = spent(process.pid)
            if figures.is_file() and not written:
                begun, written = used, True
            if used - begun > seconds:
                return True
            time.sleep(0.1)
        return False
    finally:
        # Its children are in its group too; none is left behind, even if the command is interrupted.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _environment() -> dict[str, str]:
    """Return the environment variables of all programs: one thread, modules compiled once, and no password of ours."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_PASSED)}
    threads = ("OMP", "OPENBLAS", "MKL", "NUMBA")
    return own | {"PYTHONPATH": str(ROOT)} | {f"{each}_NUM_THREADS": "1" for each in threads}


def tried(program: Program) -> Ended:
    """Run one of our learners on a small made-up table, which compiles its kernels, as `make` does during installation.

    Args:
        program: the program.

    Raises:
        Unavailable: it failed or did not end.
    """
    sizes = {"age": 12, "sex": 2, "town": 3, "owns": 2}
    rows = [(i % 12, i // 12 % 2, (i % 12 + i // 24) % 3, (i % 12 // 6 + i // 96) % 2) for i in range(2000)]
    columns = {name: {"size": size, "kind": "categorical"} for name, size in sizes.items()}
    with tempfile.TemporaryDirectory(prefix="deniable-peers-") as name:
        train, meta = Path(name) / "train.csv", Path(name) / "meta.json"
        pd.DataFrame(rows, columns=list(sizes)).to_csv(train, index=False)
        meta.write_text(json.dumps({"columns": columns, "target": "owns"}), encoding="utf-8")
        ended = run(program, sys.executable, Job(train, meta, len(rows), 0, LONG_S))
    if ended.records is None or ended.records.shape != (len(rows), len(sizes)):
        raise Unavailable(f"{program.title} must draw {len(rows):,} records of a small table, and did not.")
    return ended


Kept = dict[str, Any]


def is_enough(row: Mapping[str, Any] | None, version: str, runs: int) -> bool:
    """Whether a row has all its runs: as many as asked, or one if the program takes long or reached the limit.

    Args:
        row: the row, if any is kept.
        version: the version to be measured.
        runs: number of runs.
    """
    if row is None or not version or row["version"] != version:
        return False
    if "limit" in row:
        return True
    made = row["runs"]
    return len(made) >= runs or (bool(made) and made[0]["cold"] > LONG_S)


def with_run(
    row: Mapping[str, Any] | None, program: Program, version: str, made: Mapping[str, float], seconds: float
) -> Kept:
    """Return a row with one more run; runs of another version are dropped.

    Args:
        row: the row, if any is kept.
        program: the program.
        version: its version.
        made: figures and scores of the run; empty if it reached the limit.
        seconds: the limit.
    """
    if not made:
        return {"title": program.title, "version": version, "limit": seconds}
    earlier = row["runs"] if row is not None and row["version"] == version and "limit" not in row else []
    return {"title": program.title, "version": version, "runs": [*earlier, dict(made)]}


def measure(asked: argparse.Namespace, kept: Kept, keep: Callable[[], None]) -> None:
    """Measure the requested programs, and keep the figures after every run.

    Args:
        asked: the options.
        kept: the figures, which are changed.
        keep: writes them.
    """
    evaluate = scorer(asked.shared)
    halves = {name: Half.read(asked.work, name) for name in asked.datasets}
    ready = _ready(asked.programs)
    versions = {name: PROGRAMS[name].version for name in ready}
    kept["machine"] = _machine()
    for data, half in halves.items():
        rows = kept["figures"].setdefault(data, {})
        if not asked.resume:
            kept["figures"][data] = rows = {name: row for name, row in rows.items() if name not in ready}
        if REAL not in rows:
            rows[REAL] = _real(half, evaluate)
    for number, name, data in product(range(1, asked.runs + 1), ready, halves):
        rows = kept["figures"][data]
        if is_enough(rows.get(name), versions[name], number):
            continue
        files = (asked.work / f"{data}_train.csv", asked.work / f"{data}_meta.json")
        job = Job(*files, len(halves[data].train), number, asked.seconds)
        try:
            ended = run(PROGRAMS[name], ready[name], job)
        except Unavailable as failed:
            print(failed, flush=True)
            continue
        scores = {} if ended.records is None else _scores(halves[data], evaluate, ended.records)
        rows[name] = with_run(rows.get(name), PROGRAMS[name], versions[name], ended.figures | scores, asked.seconds)
        print(f"{data}, run {number}\n{table({name: rows[name]})}", flush=True)
        keep()


def _ready(names: Sequence[str]) -> dict[str, str]:
    """Return the Pythons of the programs that can run here; the others are named, with the reason."""
    ready = {}
    for name in names:
        program = PROGRAMS[name]
        try:
            if program.environment is not None:
                ready[name] = program.environment.python()
            else:
                tried(program)
                ready[name] = sys.executable
        except Unavailable as reason:
            print(f"{reason} The other programs are measured.", flush=True)
    return ready


def _scores(half: Half, evaluate: Callable[..., Scores], records: Any) -> dict[str, float]:
    synthetic = pd.DataFrame(records, columns=half.domain.names)
    found = evaluate(half.meta, half.train, half.holdout, synthetic, n_jobs=1)
    return {name: found[name] for name in ALL_SCORES if name in found}


def _real(half: Half, evaluate: Callable[..., Scores]) -> Kept:
    title = "a second half of the real data"
    return {"title": title, "version": "", "runs": [_scores(half, evaluate, half.train.to_numpy())]}


def _machine() -> str:
    """Return when and on what the figures are measured."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
    return f"one core of {os.cpu_count()} ({model}), Python {sys.version.split()[0]}, {time.strftime('%B %Y')}"


SECONDS: Final = {"cold": "cold, CPU s", "warm": "warm, CPU s", "per_second": "records/s", "mib": "peak MiB"}
"""Figures of the programs, and their column headings."""
HEADS: Final = ("program", *SCORES.values(), *SECONDS.values(), "runs")


def table(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table of a dataset: medians, with the least and the most of several runs, by the error of pairs.

    Args:
        rows: the rows by program.
    """
    lines = []
    for name in _in_order(rows):
        row = rows[name]
        if "limit" in row:
            said = f"no records within {row['limit']:,.0f} CPU s"
            lines.append([_title(name, row), *([""] * len(SCORES)), said, "", "", "", "1"])
            continue
        runs = row["runs"]
        cells = [_spread([run[each] for run in runs if each in run], _score) for each in SCORES]
        cells += [_spread([run[each] for run in runs if each in run], _digits) for each in SECONDS]
        lines.append([_title(name, row), *cells, str(len(runs))])
    return markdown(HEADS, lines)


def _in_order(rows: Mapping[str, Mapping[str, Any]]) -> list[str]:
    def place(name: str) -> tuple[bool, float]:
        if "limit" in rows[name]:
            return False, 2.0
        return name == REAL, median(run["tvd2"] for run in rows[name]["runs"])

    return sorted(rows, key=place)


def _title(name: str, row: Mapping[str, Any]) -> str:
    if name == REAL:
        return f"*{row['title']}*"
    if name not in PROGRAMS or PROGRAMS[name].is_ours:
        return f"**{row['title']}**"
    return f"{row['title']}, {row['version']}"


def _spread(values: Sequence[float], shown: Callable[[float], str]) -> str:
    if len(values) < 2:
        return "".join(map(shown, values))
    least, middle, most = map(shown, (min(values), median(values), max(values)))
    return f"{middle} ({least} to {most})"


def _score(value: float) -> str:
    return str(Decimal(str(value)).quantize(Decimal("0.001"), ROUND_HALF_UP)).removeprefix("0")


def _digits(value: float) -> str:
    """Return a figure with two digits, or without decimals from 10 to 10,000."""
    return f"{value:.2g}" if value < 10 else f"{value if value < 10_000 else float(f'{value:.2g}'):,.0f}"


def page(text: str, kept: Mapping[str, Any]) -> str:
    """Return the page with the tables inserted, each with the programs that it lacks.

    Args:
        text: the page.
        kept: the kept figures.

    Raises:
        ValueError: the page has no place for them.
    """
    figures, once = kept.get("figures", {}), kept.get("once", {})
    parts = [f"Measured on {kept['machine']}."] if "machine" in kept else []
    for name, title in DATA.items():
        if rows := figures.get(name):
            missing = [each.title for program, each in PROGRAMS.items() if program not in rows]
            parts.append(f"## {title}\n\n{table(rows)}")
            parts += [f"Not measured yet: {', '.join(missing)}."] if missing else []
    if once:
        parts.append(f"## Measured once, not by this command\n\n{kept.get('about', '')}".rstrip())
        parts += [_once(title, once[name]) for name, title in DATA.items() if once.get(name)]
    return in_page(text, "bench-peers", "\n\n".join(parts))


def _once(title: str, rows: Mapping[str, Scores]) -> str:
    lines = []
    for name, own in sorted(rows.items(), key=lambda row: row[1]["tvd2"]):
        cells = [_score(own[each]) for each in SCORES]
        lines.append([name, *cells, _digits(own["fit"]) if "fit" in own else ""])
    return markdown([title, *SCORES.values(), "fit, CPU s"], lines)


SHORT: Final = ("tvd2", "tvd3", "rf_acc", "disc_acc", "cold", "warm")
"""Figures in the README."""


def short(text: str, kept: Mapping[str, Any]) -> str:
    """Return the README with the short tables inserted: medians.

    Args:
        text: the README.
        kept: the kept figures.

    Raises:
        ValueError: the README has no place for them.
    """
    tables = []
    for data, title in DATA.items():
        rows = kept.get("figures", {}).get(data, {})
        lines = []
        for name in _in_order(rows):
            if "limit" in rows[name]:
                continue
            runs = rows[name]["runs"]
            own = {each: [run[each] for run in runs if each in run] for each in SHORT}
            cells = [(_score if each in SCORES else _digits)(median(own[each])) if own[each] else "" for each in SHORT]
            lines.append([_title(name, rows[name]), *cells])
        heads = [(SCORES | SECONDS)[each] for each in SHORT]
        if lines:
            tables.append(markdown([title, *heads], lines))
    return in_page(text, "bench-peers", "\n\n".join(tables))


def main() -> None:
    """Measure, keep the figures and write the pages."""
    parser = options("peers", __doc__)
    parser.add_argument("--datasets", nargs="+", default=list(DATA), choices=DATA)
    parser.add_argument("--programs", nargs="+", default=list(PROGRAMS), choices=PROGRAMS)
    parser.add_argument("--runs", type=int, default=3, help="runs of each program (default: 3)")
    parser.add_argument("--seconds", type=float, default=900, help="limit on the CPU seconds of a fit (default: 900)")
    parser.add_argument("--resume", action="store_true", help="make only the runs that are not kept of this version")
    parser.add_argument("--pages-only", action="store_true", help="measure nothing, and write the pages")
    parser.add_argument("--print-only", action="store_true", help="neither keep the figures nor write the pages")
    asked = parser.parse_args()
    if asked.runs < 1 or asked.seconds <= 0:
        parser.error(f"runs must be 1 or more and seconds positive, got {asked.runs} and {asked.seconds:g}.")
    kept: Kept = kept_figures(KEPT)
    kept.setdefault("figures", {})

    def keep() -> None:
        if asked.print_only:
            return
        keep_figures(KEPT, kept)
        for path, written in ((PAGE, page), (README, short)):
            rewrite(path, written(path.read_text(encoding="utf-8"), kept))

    if not asked.pages_only:
        prepare(asked.shared, asked.work)
        measure(asked, kept, keep)
    keep()


if __name__ == "__main__":
    main()
