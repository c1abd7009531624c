"""Utility of every guarantee against the total epsilon, on three tables, by key: `python -m benchmarks guarantees`.

A release is planned from a spec as by `make plan`: one total for `seedless` and for `poisson_seeds`, which the plan
designs, and divided budgets for the others. Its model is learnt from four fifths of the table, its records are drawn,
and both are compared with the last fifth as in a release's evaluation. Tested seeds get the smallest threshold of a
public list at which Theorem A meets half of the budget. Steps are run without the ledger, the record and the pages of
a release.

Workers of 2024 come from the folder that DENIABLE_EVALUATION names (../shared by default). Figures are kept in
`benchmarks/guarantees.json` after every release, one key after the other, from which the tables of
`docs/statistician/guarantees.md` and `docs/release-engineer/own-data.md` are written; a later run adds what is missing.
DENIABLE_BENCH_TOTALS and DENIABLE_BENCH_KEYS, numbers separated by commas, replace totals and keys.
"""

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from math import exp, log, sqrt
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
from ruamel.yaml import YAML

from benchmarks.coded import Rows
from benchmarks.measuring import Result, in_page, keep_figures, kept_figures, markdown, rewrite, spread
from deniable.evaluation.classifiers import classifiers
from deniable.evaluation.utility import (
    accuracy,
    compared_marginals,
    count_marginals,
    distinguishing_game,
    predictions,
    total_variation,
)
from deniable.foundation.domain import Codes, Domain
from deniable.foundation.errors import DeniableError
from deniable.foundation.keys import ReleaseKey
from deniable.models.model_formats import model_from_document
from deniable.plausible_deniability.seed_accounting import compose_candidates
from deniable.privacy.loss import PrivacyTestEvent
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import ReleaseSpec, load_spec
from tasks.data.reading import valid_codes

ROOT: Final = Path(__file__).resolve().parent.parent
SPECS: Final = ROOT / "deployments/specs"
KEPT: Final = Path(__file__).with_suffix(".json")
PAGE: Final = ROOT / "docs/statistician/guarantees.md"
GUIDE: Final = ROOT / "docs/release-engineer/own-data.md"
TABLES: Final = {"acs_ma": "Massachusetts", "workers": "workers of 2024", "adult": "Adult"}
TOTALS: Final = tuple(map(float, os.environ.get("DENIABLE_BENCH_TOTALS", "1,.5,2,4").split(",")))
KEYS: Final = tuple(map(int, os.environ.get("DENIABLE_BENCH_KEYS", "1,2,3,4,5").split(",")))
GUARANTEES: Final = ("seedless", "poisson_seeds", "histogram_seeds", "tested_seeds")
RECORDS: Final = 20_000
COMPARED: Final = 50_000
"""Number of records with which `seedless` and `poisson_seeds` are compared at a total of 1."""
COMPARED_ON: Final = ("acs_ma", "workers")
SHOWN: Final = {"pairs": "pairs", "triples": "triples", "told": "distinguished", "lost": "forest lost"}
USED: Final = 0.8
_FOR_HISTOGRAM, _FOR_TESTS = 0.2, 0.6
_COPIED = 2
"""Number of attributes that tested candidates copy: combinations of more are shared by few."""
_THRESHOLDS: Final = tuple(10 * round(20 * 1.2**step) for step in range(26))
_STEEPNESS: Final = 20
"""eps0 times k: the noise on the threshold that candidates need at a delta of about 1e-9."""
_TRAIN_ROWS: Final = 20_000
_FEWEST: Final = 100
"""The smallest number of records that are scored."""


@dataclass(frozen=True)
class Table:
    """A table, in two parts.

    Attributes:
        domain: its domain.
        train: codes to learn from, shape (rows, m).
        holdout: codes to compare with, in random order.
    """

    domain: Domain
    train: Codes
    holdout: Codes


@dataclass(frozen=True, order=True)
class Cell:
    """A row of the table: releases that differ in the key alone.

    Attributes:
        table: one of TABLES.
        guarantee: one of GUARANTEES.
        total: epsilon of the whole release.
        records: number of records wanted.
    """

    table: str
    guarantee: str
    total: float
    records: int

    def __str__(self) -> str:
        """Return its name, under which its figures are kept."""
        return f"{self.table}, {self.guarantee}, epsilon {self.total:g}, {self.records:,} records"


def cells() -> tuple[list[Cell], list[Cell]]:
    """Return the rows of the comparison at a total of 1, and those of the whole table."""
    return (
        [Cell(table, guarantee, 1.0, COMPARED) for table in COMPARED_ON for guarantee in GUARANTEES[:2]],
        [Cell(table, guarantee, total, RECORDS) for total in TOTALS for table in TABLES for guarantee in GUARANTEES],
    )


def measure() -> list[Result]:
    """Measure what is missing, key by key; write the tables of both pages, and return them as results."""
    found: dict[str, dict[str, Any]] = kept_figures(KEPT)
    turns = [(number, cell) for rows in cells() for number in KEYS for cell in rows]
    started = time.process_time()
    with TemporaryDirectory(prefix="deniable-bench-") as name:
        for turn, (number, cell) in enumerate(turns, 1):
            own = found.setdefault(str(cell), {})
            if str(number) in own or "none" in own:
                continue
            try:
                own[str(number)] = released(cell, number, Path(name))
            except DeniableError as refusal:
                own["none"] = str(refusal)
            keep_figures(KEPT, found)
            write_pages(found)
            said = f"{turn} of {len(turns)}, {time.process_time() - started:.0f} CPU s: key {number}, {cell}"
            print(said, own.get(str(number), own.get("none")), flush=True)
    write_pages(found)
    return [Result(str(cell), "; ".join(_figures_of(found.get(str(cell), {})))) for rows in cells() for cell in rows]


@cache
def _table(name: str, folder: Path) -> Table:
    """Read a table, and divide it in random order."""
    spec = _spec(Cell(name, "seedless", 1.0, RECORDS), folder)
    codes = np.concatenate(list(valid_codes(spec, ROOT / "var")))
    words = ReleaseKey(bytes(32)).stream(step="split", mechanism="", inputs="", parameters={})
    shuffled = codes[np.argsort(words.take(len(codes)), kind="stable")]
    fifth = len(codes) // 5
    return Table(spec.domain, shuffled[fifth:], shuffled[:fifth])


@cache
def _spec(cell: Cell, folder: Path) -> ReleaseSpec:
    """Return the spec of a row.

    Raises:
        InvalidInput: the plan refuses it.
    """
    shared = Path(os.environ.get("DENIABLE_EVALUATION") or ROOT.parent / "shared")
    read = YAML(typ="safe", pure=True)
    if cell.table == "workers":
        source = {"kind": "file", "path": str(shared / "data/acs2024/acs2024_workers_pd9_coded.parquet")}
        dataset = "acs2024_workers"
    else:
        stated = read.load(SPECS / f"{cell.table}.yaml")
        source, dataset = stated["source"], stated["dataset"]
    asked: dict[str, Any] = {"name": f"bench_{cell.table}", "dataset": dataset, "source": source}
    asked |= {"learner": {"kind": "loglinear", "noise": "gaussian"}, "max_dropped_share": 1}
    asked["synthesis"] = {"guarantee": cell.guarantee, "records": cell.records, "chunk_candidates": 65536}
    if cell.guarantee in GUARANTEES[:2]:
        asked |= {"epsilon": cell.total, "delta": 1e-9}
        if cell.guarantee == "poisson_seeds":
            asked["synthesis"] |= {"plausible": 50, "public_rows": _PUBLIC_ROWS[cell.table]}
    else:
        asked |= {"budget": {"epsilon": 1000, "delta": 1e-4}}
        budget = log(1 + (exp(cell.total) - 1) / USED)
        share = _FOR_HISTOGRAM if cell.guarantee == "histogram_seeds" else _FOR_TESTS
        asked["learner"]["parameters"] = {"epsilon": round(budget * (1 - share), 4), "delta": 1e-9}
        asked["synthesis"] |= _seeds(cell, round(budget * share, 4))
    path = folder / f"{cell.table}-{cell.guarantee}-{cell.total:g}-{cell.records}.yaml"
    with path.open("w") as file:
        YAML(typ="safe", pure=True).dump(asked, file)
    return load_spec(path)


_PUBLIC_ROWS: Final = {"acs_ma": 220_000, "workers": 1_100_000, "adult": 39_000}
"""About how many rows are read, as public numbers."""
_ATTRIBUTES: Final = {"acs_ma": 17, "workers": 12, "adult": 15}


def _seeds(cell: Cell, epsilon: float) -> dict[str, Any]:
    """Return the entries of the guarantees whose seeds have a budget of their own.

    Raises:
        DeniableError: no threshold of the list meets it.
    """
    m = _ATTRIBUTES[cell.table]
    if cell.guarantee == "histogram_seeds":
        rows = {"epsilon": epsilon, "delta": 1e-9, "epsilon_rows": 0.01, "max_rows": 2_000_000}
        return {"omega": m - 6, "k": 50, "beta": 1e-6, **rows}
    candidates = cell.records * 6 // 5
    for k in _THRESHOLDS:
        test = {
            "omega": m - _COPIED,
            "k": k,
            "gamma": 4,
            "eps0": _STEEPNESS / k,
            "test": 2,
            "epsilon": 3,
            "delta": 1e-9,
            "candidates": candidates,
            "drop_probability": 0.01,
            "public_rows": _PUBLIC_ROWS[cell.table],
            "total_delta": 1e-9,
        }
        event = PrivacyTestEvent(
            query="",
            part="seeds",
            outputs=candidates,
            k=k,
            gamma=Fraction(4),
            eps0=Fraction(_STEEPNESS, k),
            public_rows=_PUBLIC_ROWS[cell.table],
            drop_probability=Fraction(1, 100),
            equal_probabilities=True,
        )
        costs = compose_candidates(event, 1e-9).values()
        if costs and min(guarantee.epsilon for guarantee in costs) <= epsilon:
            return test
    raise DeniableError("no threshold of the list meets the budget.")


@cache
def _planned(cell: Cell, folder: Path) -> tuple[Any, Any, float]:
    """Return the steps, the sampler and the claim of a row."""
    spec = _spec(cell, folder)
    plan = plan_release(spec)
    total = plan.accounts.total
    if total is None:
        raise AssertionError("each of these guarantees has a total")
    return list(plan.steps), plan.sampler, total.epsilon


def released(cell: Cell, number: int, folder: Path) -> dict[str, float]:
    """Learn with one key, draw the records, and return their figures."""
    table, (steps, sampler, claimed) = _table(cell.table, folder), _planned(cell, folder)
    key = ReleaseKey(number.to_bytes(32, "big"))
    start, made = time.process_time(), dict[str, Any]()
    for step in steps:
        read = {name: made[name] for name in step.reads}
        if step.foresee is not None:
            step.foresee(read)
        made |= step.run(Rows(table.train), read, partial(key.stream, step=step.name, inputs="benchmark")).products
    net = model_from_document(table.domain, made["model"])
    prepared = None if sampler.prepare is None else made[sampler.prepare.makes[0].name]
    draw = sampler.open(net, prepared, partial(key.stream, step="draw", inputs="benchmark"))
    attempts = _spec(cell, folder).synthesis.attempts
    records = draw(0, attempts)[: cell.records]
    seconds = time.process_time() - start
    if len(records) < _FEWEST:
        return {"claimed": claimed, "records": len(records)}
    return {"claimed": claimed, "records": len(records), **_scores(table, records, key), "seconds": round(seconds, 2)}


def _scores(table: Table, records: Codes, key: ReleaseKey) -> dict[str, float]:
    """Compare records with the holdout, as the evaluation of a release does."""
    sizes = table.domain.cardinalities
    marginals = compared_marginals(sizes)
    distance = {
        name: total_variation(*(count_marginals([each], sizes, marginals[order]) for each in (records, table.holdout)))
        for order, name in ((2, "pairs"), (3, "triples"))
    }
    forest = classifiers(key.stream(step="score", mechanism="", inputs="", parameters={}))["forest"]
    rows = min(_TRAIN_ROWS, len(records))
    real, target = table.holdout[:_TRAIN_ROWS], table.domain.index(table.domain.target or "")
    truth = real[:, target]
    reached = [accuracy(predictions(forest, each[:rows], real, target), truth) for each in (table.train, records)]
    return {
        **{name: round(float(found.mean()), 6) for name, found in distance.items()},
        "told": round(distinguishing_game(forest, real[:rows], records[:rows]), 5),
        "lost": round(reached[0] - reached[1], 5),
    }


def _figures_of(own: Mapping[str, Any]) -> list[str]:
    """Return means over keys, each with its standard error."""
    runs = _scored(own)
    if not runs:
        return [_why_none(own)]
    found = []
    for name, title in SHOWN.items():
        values = [run[name] for run in runs]
        found.append(f"{title} {_decimal(fmean(values))} ({_decimal(spread(values) / sqrt(len(values)))})")
    return found


def _decimal(value: float) -> str:
    return f"{value:.4f}".replace("0.", ".", 1)


def _scored(own: Mapping[str, Any]) -> list[dict[str, float]]:
    """Return the figures of the releases of a row, by key, without those of which hardly a record passed."""
    return [own[key] for key in sorted(own) if key != "none" and "pairs" in own[key]]


def _why_none(own: Mapping[str, Any]) -> str:
    if "none" in own:
        return "no threshold meets the budget"
    return f"fewer than {_FEWEST} passed" if own else "not measured"


def _mean(runs: list[dict[str, float]], name: str) -> str:
    values = [run[name] for run in runs]
    error = f" ({_decimal(spread(values) / sqrt(len(values)))})" if len(values) > 1 else ""
    return _decimal(fmean(values)) + error


def _row(found: Mapping[str, Any], cell: Cell) -> list[str]:
    """Return the figures of a row, or why there are none."""
    own = found.get(str(cell), {})
    runs = _scored(own)
    if not runs:
        return [_why_none(own), *[""] * (len(SHOWN) + 1)]
    passed = fmean(run["records"] for run in runs)
    told = f"{runs[0]['claimed']:.3f}" + (f" ({passed:,.0f} passed)" if passed < cell.records else "")
    return [told, *(_mean(runs, name) for name in SHOWN), str(len(runs))]


def whole_table(found: Mapping[str, Any]) -> str:
    """Return the table of all guarantees."""
    heads = ["table", "total", "guarantee", "epsilon claimed", *SHOWN.values(), "keys"]
    rows = [
        [TABLES[table], f"{total:g}", f"`{guarantee}`", *_row(found, Cell(table, guarantee, total, RECORDS))]
        for table in TABLES
        for total in sorted({0.5, 1.0, 2.0, 4.0, *TOTALS})
        for guarantee in GUARANTEES
    ]
    return markdown(heads, rows)


def short_table(found: Mapping[str, Any]) -> str:
    """Return the table of Massachusetts alone."""
    heads = ["total", "guarantee", "epsilon claimed", *SHOWN.values(), "keys"]
    totals = sorted({0.5, 1.0, 2.0, 4.0, *TOTALS})
    rows = [
        [f"{total:g}", f"`{guarantee}`", *_row(found, Cell("acs_ma", guarantee, total, RECORDS))]
        for total in totals
        for guarantee in GUARANTEES
    ]
    return markdown(heads, rows)


def _differences(found: Mapping[str, Any], table: str) -> Iterator[tuple[str, float, float]]:
    """Yield by how much `poisson_seeds` exceeds `seedless` in each figure, key by key, and the standard error."""
    without, seeded = (found.get(str(Cell(table, each, 1.0, COMPARED)), {}) for each in GUARANTEES[:2])
    keys = sorted(key for key in set(without) & set(seeded) if "pairs" in without[key] and "pairs" in seeded[key])
    for name in SHOWN:
        values = [seeded[key][name] - without[key][name] for key in keys]
        if values:
            yield name, fmean(values), spread(values) / sqrt(len(values))


def compared(found: Mapping[str, Any]) -> str:
    """Return the table that compares designed `poisson_seeds` with `seedless` at a total of 1."""
    heads = ["table", "guarantee", "epsilon claimed", *SHOWN.values(), "keys", "CPU s"]
    rows = []
    for table in COMPARED_ON:
        for guarantee in GUARANTEES[:2]:
            cell = Cell(table, guarantee, 1.0, COMPARED)
            runs = _scored(found.get(str(cell), {}))
            seconds = f"{median(run['seconds'] for run in runs):.1f}" if runs else ""
            rows.append([TABLES[table], f"`{guarantee}`", *_row(found, cell), seconds])
        more = [f"{mean:+.4f} ({error:.4f})".replace("0.", ".") for _, mean, error in _differences(found, table)]
        rows.append([TABLES[table], "difference", "", *(more or [""] * len(SHOWN)), "", ""])
    return markdown(heads, rows)


def page(text: str, found: Mapping[str, Any]) -> str:
    """Return the statistician's page with its tables inserted.

    Args:
        text: the page.
        found: the figures by row and key.

    Raises:
        ValueError: the page has no place for them.
    """
    text = in_page(text, "bench-guarantees", whole_table(found))
    return in_page(text, "bench-guarantees, at a total of 1", compared(found))


def guide(text: str, found: Mapping[str, Any]) -> str:
    """Return the release engineer's page with its table inserted; see `page`."""
    return in_page(text, "bench-guarantees", short_table(found))


def write_pages(found: Mapping[str, Any]) -> None:
    """Write the tables of both pages."""
    rewrite(PAGE, page(PAGE.read_text(encoding="utf-8"), found))
    rewrite(GUIDE, guide(GUIDE.read_text(encoding="utf-8"), found))
