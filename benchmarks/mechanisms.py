"""`python -m benchmarks.mechanisms`: every learner that makes a model at the same total epsilon, in one table.

The records of Adult, of ACS 2013 and of the example of the guides are halved. Each learner learns from one half, with
all its steps together within the budget, and draws a table of the same size; the tools in the folder that
DENIABLE_EVALUATION names score it against the other half (benchmarks.utility). Learners whose draws are charged divide
the same budget among as many records. Figures are means over keys. They are
kept in `benchmarks/mechanisms.json`, from which the page `docs/statistician/comparison.md` is written; a run of part of
the learners replaces their figures alone.
"""

import argparse
import json
import os
import runpy
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import fsum
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Final

import numpy as np
import pandas as pd

from benchmarks.measuring import in_page
from benchmarks.utility import FIGURES, ROOT, Budget, Half, Rows, prepare, score, scorer
from deniable.foundation.domain import Codes, Domain
from deniable.foundation.keys import ReleaseKey
from deniable.learners.registry import LEARNERS, draws_of, entries, steps_of
from deniable.measurements.document import FILE as MEASURED
from deniable.measurements.estimates import FILE as CONSISTENT
from deniable.mechanisms import PlannedStep
from deniable.privacy.accounting import best
from schemas.spec.release_spec import load_spec
from stores.tables.tables import encode

KEPT: Final = Path(__file__).with_suffix(".json")
PAGE: Final = ROOT / "docs/statistician/comparison.md"
DATA: Final = {"adult": "Adult", "acs13": "ACS 2013", "example": "the village of the guides"}
SHOWN: Final = {"tvd1": "single", "tvd2": "pairs", "tvd3": "triples", "rf_acc": "forest", "disc_acc": "distinguished"}
"""Figures on the page, and the heads of their columns."""
COMPARED: Final = tuple(kind for kind, entry in zip(LEARNERS, entries(), strict=True) if not entry.is_drawn_from_counts)
"""The learners that make a model. The others draw each record from counts, and what one draw costs adds up."""
DRAWN: Final[Mapping[str, tuple[str, int]]] = {
    "pegs": ("pegs", 1),
    "pegs, blocks of 1,000": ("pegs", 1000),
    "imputed": ("imputed", 1),
}
"""Rows of learners whose draws are charged: the learner, and how many records one charge serves."""
LEFT_OUT: Final = {
    "diverse": "it has no epsilon to compare at",
    "multinomial_sets": "it needs a table of at most 10,000 cells; see `python -m benchmarks.synthetic_sets`",
    "origin_destination": "it needs origins and destinations; see `python -m benchmarks.commutes`",
}
"""Why other learners are not compared."""
BUDGET: Final = Budget(Fraction(1), Fraction(1, 10**9))

_EXAMPLE = ROOT / "examples/village"


def example(folder: Path) -> Half:
    """The people of the example who are in scope and complete, in two halves by turns."""
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
    """The halves of a dataset."""
    return example(work / "village") if name == "example" else Half.read(work, name)


def described(kind: str, domain: Domain, public: Codes) -> dict[str, Any]:
    """A learner's claim and what it publishes, as its plan says them before anything is read.

    Args:
        kind: the learner.
        domain: the table's domain.
        public: rows of a public file.
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
    """The kinds of mechanisms that are charged, in order."""
    return list(dict.fromkeys(event.mechanism for step in steps for event in step.events))


def measured(kind: str, half: Half, evaluate: Callable[..., dict[str, Any]], keys: int) -> dict[str, Any]:
    """The figures of a learner: mean and standard deviation over keys."""
    entry = BUDGET.entry(kind, half.domain, half.public)
    # The first run compiles what is not compiled yet.
    score(half, lambda *_, **__: dict.fromkeys(FIGURES, 0.0), entry, 0)
    runs = [score(half, evaluate, entry, number) for number in range(1, keys + 1)]
    return {**described(kind, half.domain, half.public), **_summary(runs, half, keys)}


def _summary(runs: Sequence[Mapping[str, float]], half: Half, keys: int) -> dict[str, Any]:
    figures = {
        name: [fmean(own), stdev(own) if keys > 1 else 0.0] for name in SHOWN if (own := [r[name] for r in runs])
    }
    return {
        "keys": keys,
        "rows": len(half.train),
        "fit": fmean(run["fit"] for run in runs),
        "figures": {name: [round(value, 5) for value in pair] for name, pair in figures.items()},
    }


def drawn(row: str, half: Half, evaluate: Callable[..., dict[str, Any]], keys: int) -> dict[str, Any]:
    """The figures of a learner whose draws are charged, where all records of a table share the budget.

    Args:
        row: a row of DRAWN.
        half: what is learnt from, and what it is compared with.
        evaluate: the scores.
        keys: number of keys.
    """
    kind, block = DRAWN[row]
    records = len(half.train)
    charges = -(-records // block)
    asked = {"kind": kind, "epsilon": BUDGET.epsilon / charges, **({"block": block} if block > 1 else {})}
    entry = entries()[LEARNERS.index(kind)].model_validate(asked, context={"domain": half.domain})
    rows = Rows(half.train.to_numpy().astype(np.uint16))
    (step,) = steps_of(entry, half.domain, lambda delta: delta)
    runs = []
    for number in range(1, keys + 1):
        key = ReleaseKey(number.to_bytes(32, "big"))
        start = time.process_time()
        document = step.run(rows, {}, partial(key.stream, step=step.name, inputs="benchmark")).products["urns"]
        plan = draws_of(entry, half.domain, records=records, chunk=records)
        counted = plan.count(rows, document)
        fit = time.process_time() - start
        codes = plan.open(document, counted, partial(key.stream, step="draw", inputs="benchmark"))(0, records)
        synthetic = pd.DataFrame(codes, columns=half.domain.names)
        runs.append(evaluate(half.meta, half.train, half.holdout, synthetic, n_jobs=1) | {"fit": fit})
    return {
        "epsilon": best(plan.events, 0).epsilon,
        "delta": 0.0,
        "noise": [f"{charges} charged draw{'s' if charges > 1 else ''}"],
        "public": [],
        **_summary(runs, half, keys),
    }


def table(found: Mapping[str, Mapping[str, Any]]) -> str:
    """The table of a dataset: a row for each learner of the registry that was measured, the nearest pairs first."""
    rows = [["learner", *SHOWN.values(), "fit, CPU s", "claim", "public"], ["---"] * (len(SHOWN) + 4)]
    known = [kind for kind in (*COMPARED, *DRAWN) if kind in found]
    for kind in sorted(known, key=lambda kind: float(found[kind]["figures"]["tvd2"][0])):
        own = found[kind]
        rows.append(
            [
                _name(kind),
                *(_figure(own["figures"][name]) for name in SHOWN),
                f"{own['fit']:.2f}",
                claim(own),
                ", ".join(f"`{file}`" for file in own["public"]) or "none",
            ]
        )
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _name(row: str) -> str:
    kind, comma, form = row.partition(",")
    return f"`{kind}`{comma}{form}"


def _figure(pair: Sequence[float]) -> str:
    mean, spread = (f"{value:.4f}".removeprefix("0") for value in pair)
    return f"{mean} ({spread})"


_MECHANISMS: Final = {
    "discrete_laplace": "discrete Laplace noise",
    "discrete_gaussian": "discrete Gaussian noise",
    "exponential": "exponential mechanism",
    "approximate": "Laplace noise divided by earlier answers",
}


def claim(own: Mapping[str, Any]) -> str:
    """What a learner claims, in words."""
    if not own["epsilon"]:
        return "reads no record"
    by = ", ".join(_MECHANISMS.get(each, each.replace("_", " ")) for each in own["noise"])
    delta = f", δ = {own['delta']:.2g}" if own["delta"] else ""
    return f"ε = {own['epsilon']:.4g}{delta}; {by}"


def page(text: str, found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """The page with the tables in their place.

    Args:
        text: the page.
        found: figures by dataset and learner.

    Raises:
        ValueError: the page has no place for them.
    """
    parts = ["Not in the tables:\n\n" + "\n".join(f"- `{kind}`: {why}" for kind, why in LEFT_OUT.items())]
    for name, title in DATA.items():
        if own := found.get(name):
            keys, rows = ({each[what] for each in own.values()} for what in ("keys", "rows"))
            said = f"{' or '.join(map(str, sorted(keys)))} keys, {' or '.join(f'{n:,}' for n in sorted(rows))} records"
            parts.append(f"## {title[0].upper()}{title[1:]}\n\n{said}.\n\n{table(own)}")
    return in_page(text, "bench-mechanisms", "\n\n".join(parts))


def main() -> None:
    """Measure, print a table for each dataset, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mechanisms", description=__doc__)
    parser.add_argument(
        "--shared", type=Path, default=Path(os.environ.get("DENIABLE_EVALUATION", ROOT.parent / "shared"))
    )
    parser.add_argument("--work", type=Path, default=ROOT / "var/utility", help="folder for the halves")
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=DATA)
    parser.add_argument("--learners", nargs="+", default=[*COMPARED, *DRAWN], choices=[*COMPARED, *DRAWN])
    parser.add_argument("--keys", type=int, default=5)
    parser.add_argument("--print-only", action="store_true", help="neither keep the figures nor write the page")
    asked = parser.parse_args()
    if set(asked.data) - {"example"}:
        prepare(asked.shared, asked.work)
    evaluate = scorer(asked.shared)
    found: dict[str, dict[str, Any]] = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    for name in asked.data:
        half = half_of(name, asked.work)
        for kind in asked.learners:
            of = drawn if kind in DRAWN else measured
            found.setdefault(name, {})[kind] = of(kind, half, evaluate, asked.keys)
            if not asked.print_only:
                KEPT.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(f"\n{DATA[name]}\n\n{table({kind: found[name][kind] for kind in asked.learners})}", flush=True)
    if not asked.print_only:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main()
