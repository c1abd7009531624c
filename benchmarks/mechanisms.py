"""`python -m benchmarks.mechanisms`: compares all learners at the same total epsilon in one table.

The records of Adult, of ACS 2013 and of the guides' example are halved. Each learner learns from one half, with all its
steps together within the budget, and draws a table of the same size. The tools in the folder that DENIABLE_EVALUATION
names score it against the other half (benchmarks.utility), and its disclosure risk is measured (benchmarks.risk).
Learners whose draws are charged divide the same budget among as many records. For comparison there are learners without
a guarantee, randomized response (benchmarks.surveyed), and the records themselves. Figures are means over keys. They
are kept in `benchmarks/mechanisms.json` after every row, from which the page `docs/statistician/comparison.md` and the
short table of the README are written. A run of some rows replaces only their figures, and a run with `--missing`
measures only missing figures.
"""

import argparse
import runpy
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import fsum, prod
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import numpy as np
import pandas as pd

from benchmarks import surveyed
from benchmarks.coded import Rows
from benchmarks.measuring import in_page, keep_figures, kept_figures, markdown, rewrite, spread
from benchmarks.risk import RISKS, risks
from benchmarks.utility import ROOT, Budget, Half, options, prepare, released, scorer
from deniable.foundation.domain import Codes, Domain
from deniable.foundation.keys import ReleaseKey
from deniable.learners.multinomial_sets.plan import MOST_CELLS
from deniable.learners.registry import LEARNERS, draws_of, entries, entry_of, relation_of, steps_of
from deniable.measurements.document import FILE as MEASURED
from deniable.measurements.estimates import FILE as CONSISTENT
from deniable.mechanisms import PlannedStep
from deniable.privacy.accounting import best
from deniable.privacy.neighbours import NOTHING_HIDDEN
from schemas.spec.release_spec import load_spec
from stores.tables.tables import encode

KEPT: Final = Path(__file__).with_suffix(".json")
PAGE: Final = ROOT / "docs/statistician/comparison.md"
README: Final = ROOT / "README.md"
DATA: Final = {"adult": "Adult", "acs13": "ACS 2013", "example": "the village of the guides"}
SCORES: Final = {"tvd1": "single", "tvd2": "pairs", "tvd3": "triples", "rf_acc": "forest", "disc_acc": "distinguished"}
"""The tools' figures on the page, and their column headings."""
SHOWN: Final = SCORES | RISKS
COMPARED: Final = tuple(kind for kind, entry in zip(LEARNERS, entries(), strict=True) if not entry.is_drawn_from_counts)
"""The learners that make a model. The others draw each record from counts, and the costs of the draws add up."""


@dataclass(frozen=True)
class Drawn:
    """A row for a learner that draws records from exact counts.

    Attributes:
        kind: the learner.
        asked: its entry in a spec, without kind and epsilon.
        serves: how many records one charge pays for; None if the budget is for all records together, or there is no
            budget.
        most_cells: the largest number of cells that a table may have.
    """

    kind: str
    asked: Mapping[str, Any]
    serves: int | None
    most_cells: int | None = None


DRAWN: Final[Mapping[str, Drawn]] = {
    "pegs": Drawn("pegs", {}, 1),
    "pegs, blocks of 1,000": Drawn("pegs", {"block": 1000}, 1000),
    "imputed": Drawn("imputed", {}, 1),
    "multinomial_sets": Drawn("multinomial_sets", {}, None, MOST_CELLS),
    "diverse, entropy of 1.5 values": Drawn(
        "diverse", {"diversity": Fraction(3, 2), "accept_no_differential_privacy": True}, None
    ),
}
"""Rows of learners whose draws are charged or have no guarantee."""
SURVEYED: Final = "randomized response"
ITSELF: Final = "the records learnt from"
ROWS: Final = (*COMPARED, *DRAWN, SURVEYED, ITSELF)
LEFT_OUT: Final = {
    "origin_destination": "it needs origins and destinations; see [commuting flows](../papers/002.md)",
}
"""Reasons why other learners are not compared."""
BUDGET: Final = Budget(Fraction(1), Fraction(1, 10**9))

_EXAMPLE = ROOT / "examples/village"


def example(folder: Path) -> Half:
    """Return the example's people who are in scope and complete, assigned alternately to two halves."""
    folder.mkdir(parents=True, exist_ok=True)
    maker = shutil.copy(_EXAMPLE / "make_people.py", folder)
    runpy.run_path(str(maker))
    people = pd.read_csv(folder / "village.csv")
    domain = load_spec(_EXAMPLE / "seedless.yaml").domain
    people = people[people["age"] >= 16]
    people = people[people["trade"] != "?"].reset_index(drop=True)
    codes = pd.DataFrame(encode(people, domain).astype(np.int64), columns=list(domain.names))
    meta = {"columns": {name: _column(domain, name) for name in domain.names}, "target": domain.target}
    return Half(meta, domain, *(codes[codes.index % 2 == part].reset_index(drop=True) for part in (0, 1)))


def _column(domain: Domain, name: str) -> dict[str, Any]:
    attribute = domain.attributes[domain.index(name)]
    return {"size": attribute.cardinality, "kind": "numeric" if attribute.kind == "numeric" else "categorical"}


def half_of(name: str, work: Path) -> Half:
    """Return the halves of a dataset."""
    return example(work / "village") if name == "example" else Half.read(work, name)


def described(kind: str, domain: Domain, public: Codes) -> dict[str, Any]:
    """Return a learner's claim and what it publishes, from its plan, before anything is read.

    Args:
        kind: the learner.
        domain: the table's domain.
        public: number of rows of a public file.
    """
    steps = steps_of(BUDGET.entry(kind, domain, public), domain, lambda delta: delta)
    costs = [step.guarantee for step in steps if step.guarantee is not None]
    files = [product.file for step in steps for product in step.makes if product.is_public]
    if MEASURED in files:
        files.append(CONSISTENT)
    return {
        "epsilon": fsum(cost.epsilon for cost in costs),
        "delta": fsum(cost.delta for cost in costs),
        "noise": _noise(steps),
        "public": files,
    }


def _noise(steps: Sequence[PlannedStep]) -> list[str]:
    """Return the kinds of charged mechanisms, in order."""
    return list(dict.fromkeys(event.mechanism for step in steps for event in step.events))


Evaluate = Callable[..., Mapping[str, Any]]


def _scored(half: Half, evaluate: Evaluate, records: Codes, fit: float) -> dict[str, float]:
    """Return the scores and the risks of a table."""
    synthetic = pd.DataFrame(records, columns=half.domain.names)
    found = evaluate(half.meta, half.train, half.holdout, synthetic, n_jobs=1)
    return {name: found[name] for name in SCORES} | risks(half, records) | {"fit": fit}


def measured(kind: str, half: Half, evaluate: Evaluate, keys: int) -> dict[str, Any]:
    """Return the figures of a learner: mean and standard deviation over keys."""
    entry = BUDGET.entry(kind, half.domain, half.public)
    # The first run compiles whatever is not compiled yet.
    released(half, entry, 0)
    runs = []
    for number in range(1, keys + 1):
        made = released(half, entry, number)
        runs.append(_scored(half, evaluate, made.records, made.fit))
    return {**described(kind, half.domain, half.public), **_summary(runs, half)}


def _summary(runs: Sequence[Mapping[str, float]], half: Half) -> dict[str, Any]:
    figures = {name: [fmean(own), spread(own)] for name in SHOWN if (own := [run[name] for run in runs if name in run])}
    return {
        "keys": len(runs),
        "rows": len(half.train),
        "fit": fmean(run["fit"] for run in runs),
        "figures": {name: [round(value, 5) for value in pair] for name, pair in figures.items()},
    }


def drawn(row: str, half: Half, evaluate: Evaluate, keys: int) -> dict[str, Any]:
    """Return the figures of a learner with charged draws, where all records of a table share the budget.

    Args:
        row: a row of DRAWN.
        half: the half to learn from, and the other half.
        evaluate: computes the scores.
        keys: number of keys.
    """
    records, of = len(half.train), DRAWN[row]
    charges = 1 if of.serves is None else -(-records // of.serves)
    budget = {"epsilon": BUDGET.epsilon / charges} if "epsilon" in entry_of(of.kind).model_fields else {}
    entry = entry_of(of.kind).model_validate({"kind": of.kind, **budget, **of.asked}, context={"domain": half.domain})
    rows = Rows(half.train.to_numpy().astype(np.uint16))
    (step,) = steps_of(entry, half.domain, lambda delta: delta)
    plan = draws_of(entry, half.domain, records=records, chunk=records)
    runs = []
    for number in range(1, keys + 1):
        key = ReleaseKey(number.to_bytes(32, "big"))
        start = time.process_time()
        document = step.run(rows, {}, partial(key.stream, step=step.name, inputs="benchmark")).products["urns"]
        counted = plan.count(rows, document)
        fit = time.process_time() - start
        codes = plan.open(document, counted, partial(key.stream, step="draw", inputs="benchmark"))(0, records)
        runs.append(_scored(half, evaluate, codes, fit))
    return {
        "epsilon": best(plan.events, 0).epsilon if plan.is_private else None,
        "delta": 0.0,
        "noise": [f"{charges:,} charged draw{'s' if charges > 1 else ''}"] if plan.is_private else [],
        "public": [],
        **_summary(runs, half),
    }


def responded(half: Half, keys: int) -> dict[str, Any]:
    """Return the figures of randomized response: shares of single attributes."""
    runs = [surveyed.surveyed(half, BUDGET.epsilon, number) for number in range(1, keys + 1)]
    return {**surveyed.described(half, BUDGET.epsilon), **_summary(runs, half)}


def itself(half: Half, evaluate: Evaluate) -> dict[str, Any]:
    """Return the figures of the learning half as if it were released: the greatest utility and the greatest risk."""
    run = _scored(half, evaluate, half.train.to_numpy(), 0.0)
    return {"epsilon": None, "delta": 0.0, "noise": [], "public": [], **_summary([run], half)}


def figures_of(row: str, half: Half, evaluate: Evaluate, keys: int) -> dict[str, Any] | None:
    """Return the figures of a row; None if it is not defined for the table."""
    if row == SURVEYED:
        return responded(half, keys)
    if row == ITSELF:
        return itself(half, evaluate)
    if row not in DRAWN:
        return measured(row, half, evaluate, keys)
    most = DRAWN[row].most_cells
    return None if most is not None and prod(half.domain.cardinalities) > most else drawn(row, half, evaluate, keys)


def protected(row: str) -> str:
    """Return in a few words which tables the output of a row cannot distinguish."""
    if row == SURVEYED:
        return "local: any answers of one person"
    kind = DRAWN[row].kind if row in DRAWN else row
    if kind == "uniform":
        return "any tables"
    relation = NOTHING_HIDDEN if row == ITSELF else relation_of({"kind": kind})
    return {"record": "add/remove", "none": "none"}.get(relation.kind, relation.neighbouring)


HEADS: Final = ("learner", *SHOWN.values(), "fit, CPU s", "neighbours", "claim", "public")


def table(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table of a dataset: a row for each measured learner, ordered by the error of pairs."""
    rows = []
    for row in _in_order(found):
        own = found[row]
        rows.append(
            [
                _name(row),
                *(_figure(own["figures"].get(name)) for name in SHOWN),
                f"{own['fit']:.2f}",
                protected(row),
                claim(own),
                ", ".join(f"`{file}`" for file in own["public"]) or "none",
            ]
        )
    return markdown(HEADS, rows)


def _in_order(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the measured rows by their error of pairs; rows without pairs, and the records themselves, are last."""

    def place(row: str) -> tuple[bool, float]:
        pairs = found[row]["figures"].get("tvd2")
        return row == ITSELF, 2.0 if pairs is None else float(pairs[0])

    return sorted((row for row in ROWS if row in found), key=place)


def _name(row: str) -> str:
    if row == SURVEYED:
        return row
    if row == ITSELF:
        return f"*{row}*"
    kind, comma, form = row.partition(",")
    return f"`{kind}`{comma}{form}"


def _figure(pair: Sequence[float] | None) -> str:
    if pair is None:
        return ""
    mean, deviation = (f"{value:.4f}".replace("0.", ".", 1) for value in pair)
    return f"{mean} ({deviation})"


_MECHANISMS: Final = {
    "discrete_laplace": "discrete Laplace noise",
    "discrete_gaussian": "discrete Gaussian noise",
    "exponential": "exponential mechanism",
    "concentrated": "rounds of noise and choices under zCDP",
    "approximate": "Laplace noise divided by earlier answers",
    "k_rr": "k-ary randomized response",
    "oue": "optimized unary encoding",
}


def claim(own: Mapping[str, Any]) -> str:
    """Return a learner's claim in words."""
    if own["epsilon"] is None:
        return "none"
    if not own["epsilon"]:
        return "reads no record"
    by = ", ".join(_MECHANISMS.get(each, each.replace("_", " ")) for each in own["noise"])
    delta = f", δ = {own['delta']:.2g}" if own["delta"] else ""
    return f"ε = {own['epsilon']:.4g}{delta}; {by}"


def page(text: str, found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """Return the page with the tables inserted.

    Args:
        text: the page.
        found: figures by dataset and learner.

    Raises:
        ValueError: the page has no place for them.
    """
    parts = ["Not in the tables:\n\n" + "\n".join(f"- `{kind}`: {why}" for kind, why in LEFT_OUT.items())]
    for name, title in DATA.items():
        if own := found.get(name):
            keys, rows = ({own[row][what] for row in own if row != ITSELF} for what in ("keys", "rows"))
            said = f"{' or '.join(map(str, sorted(keys)))} keys, {' or '.join(f'{n:,}' for n in sorted(rows))} records"
            parts.append(f"## {title[0].upper()}{title[1:]}\n\n{said}.\n\n{table(own)}")
    return in_page(text, "bench-mechanisms", "\n\n".join(parts))


SHORT: Final = {"tvd1": "single", "tvd2": "pairs", "rf_acc": "forest", "nearer": "nearer", "guessed": "guessed"}
"""Figures in the README, and their column headings."""
SHORT_ROWS: Final = (
    *("loglinear", "privbayes", "cfs", "independent", "pegs, blocks of 1,000"),
    *("diverse, entropy of 1.5 values", SURVEYED, ITSELF),
)
"""Rows in the README, at least one of each kind; `aim` and `mst` are in its tables of peers."""


def short(text: str, found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """Return the README with the short table inserted: means on Adult, without spreads.

    Args:
        text: the README.
        found: figures by dataset and learner.

    Raises:
        ValueError: the README has no place for it.
    """
    own = {row: each for row, each in found.get("adult", {}).items() if row in SHORT_ROWS}
    rows = []
    for row in _in_order(own):
        means = (_figure(own[row]["figures"].get(name)).partition(" ")[0] for name in SHORT)
        rows.append([_name(row), *means, f"{own[row]['fit']:.2f}", protected(row)])
    return in_page(text, "bench-mechanisms", markdown(["Adult", *SHORT.values(), "CPU s", "neighbours"], rows))


def main() -> None:
    """Measure, print a table for each dataset, and write the pages."""
    parser = options("mechanisms", __doc__)
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=DATA)
    parser.add_argument(
        "--learners", nargs="+", default=list(ROWS), choices=ROWS, help="rows to measure, in this order"
    )
    parser.add_argument("--keys", type=int, default=5)
    parser.add_argument("--missing", action="store_true", help="measure only what is not kept with as many keys")
    parser.add_argument("--pages-only", action="store_true", help="measure nothing, and write the pages")
    parser.add_argument("--print-only", action="store_true", help="neither keep the figures nor write the pages")
    asked = parser.parse_args()
    found: dict[str, dict[str, Any]] = kept_figures(KEPT)
    if not asked.pages_only:
        _measure(asked, found)
    if not asked.print_only:
        for path, written in ((PAGE, page), (README, short)):
            rewrite(path, written(path.read_text(encoding="utf-8"), found))


def _measure(asked: argparse.Namespace, found: dict[str, dict[str, Any]]) -> None:
    """Measure the requested rows, and keep the figures after every row."""
    if set(asked.data) - {"example"}:
        prepare(asked.shared, asked.work)
    evaluate = scorer(asked.shared)
    halves = {name: half_of(name, asked.work) for name in asked.data}
    for row in asked.learners:
        for name, half in halves.items():
            kept = found.setdefault(name, {})
            if asked.missing and _is_kept(row, kept.get(row), asked.keys):
                continue
            own = figures_of(row, half, evaluate, asked.keys)
            if own is None:
                continue
            kept[row] = own
            print(f"{DATA[name]}\n{table({row: own})}", flush=True)
            if not asked.print_only:
                keep_figures(KEPT, found)


def _is_kept(row: str, own: Mapping[str, Any] | None, keys: int) -> bool:
    """Whether all figures of a row are kept for as many keys."""
    if own is None:
        return False
    whole = set(SHOWN) if row != SURVEYED else {"tvd1"}
    return whole <= set(own["figures"]) and (row == ITSELF or own["keys"] >= keys)


if __name__ == "__main__":
    main()
