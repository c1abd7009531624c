"""`python -m benchmarks.inference`: how often intervals of releases cover, on populations that are known.

Each release is of rows drawn with replacement from a public population: ACS 2013, Adult, or the people of the example
of the guides. The log-linear learner measures them at epsilon 1 and delta 1e-9, with a certificate of 1 %. All cells of
all measured pairs, and named statistics, are then computed as `python -m deniable infer` does (deniable.inference), and
compared with the rows (finite) and with the population. Naive intervals, of the synthetic records as if they were a
sample, stand beside them: they must fail. Figures of each release are kept in `benchmarks/inference.json`, from which
the page `docs/statistician/coverage.md` is written; a later run adds the releases that are missing.
"""

import argparse
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from math import inf, sqrt
from pathlib import Path
from statistics import fmean, stdev
from time import process_time
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.measuring import in_page
from benchmarks.mechanisms import half_of
from benchmarks.utility import ROOT, Rows, prepare
from deniable.foundation.domain import Codes, Domain
from deniable.foundation.keys import ReleaseKey
from deniable.inference.answers import Answer, Asked
from deniable.inference.comparisons import compare
from deniable.inference.estimation import Inference
from deniable.inference.queries import Query
from deniable.inference.tables import table
from deniable.learners.loglinear.spec import Entry
from deniable.learners.registry import steps_of
from deniable.measurements.certificate import Certificate
from deniable.measurements.document import Measurements
from deniable.models.model_formats import model_from_document

KEPT: Final = Path(__file__).with_suffix(".json")
PAGE: Final = ROOT / "docs/statistician/coverage.md"
LEVEL: Final = 0.95
DATA: Final = {"acs13": "ACS 2013", "adult": "Adult", "example": "the village of the guides"}
ROWS: Final = {"acs13": 25_000, "adult": 20_000, "example": 20_000}
"""Rows of a release."""
ASKED: Final[dict[str, Any]] = {
    "kind": "loglinear",
    "noise": "gaussian",
    "parameters": {"epsilon": 1, "delta": 1e-9},
    "certificate": {"share": 0.01},
}
CLASSES: Final = (0.0, 1e-4, 1e-3, 1e-2, 1.0)
"""Ends of the classes of cells by their share of the population; the first is of empty cells."""
_TESTED = 3
_MOST_TESTED = 60
"""Tables of a release whose errors are tested together by chi-squared, and their largest number of cells."""
FALSE_ALARM: Final = 1e-9


@dataclass(frozen=True)
class Statistic:
    """A statistic that is asked for by name.

    Attributes:
        name: what it is, for the page.
        kind: `mean`, `share` or `difference` (of shares, the second value of `by` less the first).
        what: the attribute or the condition.
        given: the group, as a condition.
        by: the attribute of two values, for differences.
    """

    name: str
    kind: str
    what: str
    given: str = ""
    by: str = ""

    def answer(self, inference: Inference, asked: Asked) -> Answer:
        """The answer of the release."""
        if self.kind == "mean":
            return inference.mean(self.what, self.given, asked)
        if self.kind == "share":
            return inference.share(self.what, self.given, asked)
        return compare(inference, self.what, self.by, self.given, asked).answers[-1]

    def of(self, inference: Inference, codes: Codes) -> tuple[float, float]:
        """The statistic of a table of codes, and the standard error that it has as of a simple random sample."""
        words = inference.conditions
        inside = _mask(words.parse(self.given), codes)
        if self.kind == "mean":
            i = words.attribute(self.what)
            own = words.numbers(i)[codes[inside, i]]
            return float(own.mean()), float(own.std() / sqrt(len(own)))
        held = _mask(words.parse(self.what), codes)
        if self.kind == "share":
            return _share(held[inside])
        j = words.attribute(self.by)
        one, other = (_share(held[inside & (codes[:, j] == value)]) for value in (1, 0))
        return one[0] - other[0], sqrt(one[1] ** 2 + other[1] ** 2)


STATISTICS: Final[dict[str, tuple[Statistic, ...]]] = {
    "acs13": (
        Statistic("mean age", "mean", "age"),
        Statistic("mean hours of work", "mean", "hpw"),
        Statistic("share of high income among women", "share", "incc=1", "sex=1"),
        Statistic("the same, women less men", "difference", "incc=1", by="sex"),
        Statistic("share of one race", "share", "race=1"),
        Statistic("share of the lowest occupation codes", "share", "occ=0"),
    ),
    "adult": (
        Statistic("mean age (code)", "mean", "age"),
        Statistic("mean hours of work (code)", "mean", "hours-per-week"),
        Statistic("share of high income among men", "share", "income=1", "sex=1"),
        Statistic("the same, second less first sex", "difference", "income=1", by="sex"),
        Statistic("share of one race", "share", "race=2"),
    ),
    "example": (
        Statistic("mean age", "mean", "age"),
        Statistic("share of owners of land", "share", "land=yes"),
        Statistic("share of owners among farmers", "share", "land=yes", "trade=farmer"),
        Statistic("share of owners, men less women", "difference", "land=yes", by="sex"),
        Statistic("share of smiths on the hill", "share", "trade=smith", "hamlet=hill"),
    ),
}


def _mask(condition: Mapping[int, NDArray[np.float64]], codes: Codes) -> NDArray[np.bool_]:
    found = np.ones(len(codes), bool)
    for i, allowed in condition.items():
        found &= allowed[codes[:, i]] > 0
    return found


def _share(held: NDArray[np.bool_]) -> tuple[float, float]:
    share = float(held.mean())
    return share, sqrt(share * (1 - share) / len(held))


@dataclass(frozen=True)
class Population:
    """People who are all known.

    Attributes:
        name: one of DATA.
        domain: their domain.
        codes: all of them, shape (people, m).
    """

    name: str
    domain: Domain
    codes: Codes

    @classmethod
    def read(cls, name: str, work: Path) -> "Population":
        """The two halves of a dataset together."""
        half = half_of(name, work)
        codes = np.concatenate([half.train.to_numpy(), half.holdout.to_numpy()]).astype(np.uint16)
        return cls(name, half.domain, np.ascontiguousarray(codes))


@dataclass(frozen=True)
class Made:
    """A release of the benchmark.

    Attributes:
        rows: the rows that were measured.
        records: as many synthetic records.
        inference: the answers of the release.
        certificate: its certificate.
        seconds: processor time of learning.
    """

    rows: Codes
    records: Codes
    inference: Inference
    certificate: Certificate
    seconds: float


def made(population: Population, number: int, entry: Entry) -> Made:
    """The release of a number: rows, noise and records follow from it."""
    key = ReleaseKey(sha256(f"inference {population.name} {number}".encode()).digest())
    n, size, domain = ROWS[population.name], len(population.codes), population.domain
    words = key.stream(step="sample", mechanism="rows", inputs="", parameters={}).take(n)
    rows = np.ascontiguousarray(population.codes[(words.astype(np.uint64) * np.uint64(size)) >> np.uint64(32)])
    start = process_time()
    products: dict[str, Any] = {}
    for step in steps_of(entry, domain, lambda delta: delta):
        given = {name: products[name] for name in step.reads}
        products |= step.run(Rows(rows), given, partial(key.stream, step=step.name, inputs="rows")).products
    seconds = process_time() - start
    net = model_from_document(domain, products["model"])
    drawn = key.stream(step="draw", mechanism="records", inputs="", parameters={}).take(n * len(domain))
    measured = Measurements.from_document(domain, products["measured"])
    certificate = Certificate.from_document(domain, products["certificate"])
    return Made(rows, net.sample_evenly(drawn), Inference(measured, certificate=certificate), certificate, seconds)


def counted(codes: Codes, groups: Sequence[NDArray[np.int64]], pair: Sequence[int]) -> NDArray[np.float64]:
    """Counts of two attributes by buckets."""
    shape = tuple(int(groups[i].max()) + 1 for i in pair)
    cells = np.ravel_multi_index(tuple(groups[i][codes[:, i]] for i in pair), shape)
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)


def figures(population: Population, number: int, entry: Entry) -> dict[str, Any]:
    """All figures of one release."""
    own = made(population, number, entry)
    inference, n = own.inference, len(own.rows)
    m = len(population.domain)
    groups = [np.asarray(buckets, np.int64) for buckets in inference.system.buckets]
    counts = [i for i in range(m) if inference.system.sizes[i] > 1]
    pairs = [(i, j) for place, i in enumerate(counts) for j in counts[place + 1 :]]
    measured = [pair for pair in pairs if inference.system.is_measured(pair)]
    by_class: dict[str, list[float]] = {}
    z = stats.norm.ppf((1 + LEVEL) / 2)
    for pair in measured:
        names = [population.domain.names[i] for i in pair]
        truth, whole, naive = (counted(codes, groups, pair) for codes in (own.rows, population.codes, own.records))
        shares, copied = whole / len(population.codes), naive / n
        finite = _ends(table(inference, names, "count").answers, truth.shape)
        random = Asked(estimand="population", sampling="simple random")
        among = _ends(table(inference, names, "share", random).answers, truth.shape)
        half = z * np.sqrt(copied * (1 - copied) / n)
        columns = {
            "finite": (finite[0] <= truth) & (truth <= finite[1]),
            "population": (among[0] <= shares) & (shares <= among[1]),
            "naive": np.abs(copied - shares) <= half,
            "width": (among[1] - among[0]) / 2,
            "naive_width": half,
            "sampling_width": z * np.sqrt(shares * (1 - shares) / n),
        }
        places = np.searchsorted(CLASSES, shares.ravel())
        for place in range(len(CLASSES)):
            chosen = places == place
            if chosen.any():
                sums = [float(chosen.sum()), *(float(each.ravel()[chosen].sum()) for each in columns.values())]
                before = by_class.get(str(place), [0.0] * len(sums))
                by_class[str(place)] = [a + b for a, b in zip(before, sums, strict=True)]
    return {
        "pairs": len(pairs),
        "measured": len(measured),
        "seconds": round(own.seconds, 2),
        "cells": {place: [round(value, 3) for value in sums] for place, sums in by_class.items()},
        "chi_squared": _chi_squared(own, measured, groups, number),
        "certificate": _certified(own, groups),
        "statistics": {each.name: _named(each, own, population) for each in STATISTICS[population.name]},
    }


def _ends(answers: Sequence[Answer], shape: tuple[int, ...]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    intervals = [(inf, -inf) if each.interval is None else (each.interval.low, each.interval.high) for each in answers]
    low, high = np.asarray(intervals).T
    return low.reshape(shape), high.reshape(shape)


def _chi_squared(
    own: Made, measured: Sequence[tuple[int, int]], groups: Sequence[NDArray[np.int64]], number: int
) -> list[tuple[float, int]]:
    """The squared errors of whole tables by their covariance, and the number of cells; tables take turns."""
    system = own.inference.system
    small = [pair for pair in measured if system.sizes[pair[0]] * system.sizes[pair[1]] <= _MOST_TESTED]
    found = []
    for turn in range(min(_TESTED, len(small))):
        pair = small[(number * _TESTED + turn) % len(small)]
        functionals = []
        for place in np.ndindex(tuple(system.sizes[i] for i in pair)):
            of = {i: (groups[i] == bucket).astype(np.float64) for i, bucket in zip(pair, place, strict=True)}
            functionals.append(system.functional(Query.product(of)))
        error = np.array([system.value(each) for each in functionals]) - counted(own.rows, groups, pair).ravel()
        covariance = np.array([[system.covariance(one, other) for other in functionals] for one in functionals])
        found.append((round(float(error @ np.linalg.solve(covariance, error)), 4), len(error)))
    return found


def _certified(own: Made, groups: Sequence[NDArray[np.int64]]) -> dict[str, Any]:
    """The certificate's bound, and the error that it bounds."""
    worst = 0.0
    buckets = [np.asarray(each, np.int64) for each in own.inference.measured.buckets]
    for pair, model in zip(own.certificate.workload.pairs, own.certificate.model, strict=True):
        worst = max(worst, float(np.abs(counted(own.rows, buckets, pair) - model).max()))
    del groups
    return {
        "pairs": len(own.certificate.workload.pairs),
        "all": own.certificate.workload.is_all,
        "bound": own.certificate.bound(),
        "error": worst,
    }


def _named(each: Statistic, own: Made, population: Population) -> dict[str, Any]:
    inference = own.inference
    naive, deviation = each.of(inference, own.records)
    truth, sampling = each.of(inference, population.codes)
    finite = each.of(inference, own.rows)[0]
    sampling *= sqrt(len(population.codes) / len(own.rows))
    answers = [
        each.answer(inference, asked) for asked in (Asked(), Asked(estimand="population", sampling="simple random"))
    ]
    z = stats.norm.ppf((1 + LEVEL) / 2)
    covers = [
        answer.interval is not None and answer.interval.low <= right <= answer.interval.high
        for answer, right in zip(answers, (finite, truth), strict=True)
    ]
    widths = [
        (answer.interval.high - answer.interval.low) / 2 if answer.interval is not None else inf for answer in answers
    ]
    return {
        "grade": answers[0].grade,
        "covers": covers,
        "widths": [float(f"{width:.4g}") for width in (*widths, z * deviation, z * sampling)],
        "naive": bool(abs(naive - truth) <= z * deviation),
    }


NAMES: Final = ("no one", "below .0001", ".0001 to .001", ".001 to .01", "above .01")
_COVERED = ("finite", "population", "naive")
_COLUMNS = ("finite", "population", "naive", "width", "naive_width", "sampling_width")


def cell_table(found: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """The rows of the table of cells: all of them, and by their share of the population."""
    rows = []
    for label, places in (("all", range(len(NAMES))), *((name, (i,)) for i, name in enumerate(NAMES))):
        sums = np.zeros(1 + len(_COLUMNS))
        for own in found.values():
            for place in places:
                sums += np.asarray(own["cells"].get(str(place), [0.0] * len(sums)))
        if sums[0]:
            means = sums[1:] / sums[0]
            rows.append(
                [label, f"{int(sums[0]):,}", *(f"{x:.3f}" for x in means[:3]), *(f"{x:.4f}" for x in means[3:])]
            )
    return rows


def coverages(found: Mapping[str, Mapping[str, Any]], column: str) -> list[float]:
    """The share of measured cells that are covered, release by release."""
    place = _COLUMNS.index(column)
    each = [np.sum(list(own["cells"].values()), axis=0) for own in found.values()]
    return [float(sums[1 + place] / sums[0]) for sums in each]


def verdicts(found: Mapping[str, Mapping[str, Any]]) -> dict[str, bool]:
    """What must hold, and what must fail, as the page says it.

    Cells of one release share noise, so their coverage is judged by its spread over releases; a named statistic is one
    trial a release; tables are judged by chi-squared, one by one and all together.
    """
    releases = len(found)
    said: dict[str, bool] = {}
    for column in ("finite", "population"):
        own = coverages(found, column)
        error = stdev(own) / sqrt(releases) if releases > 1 else 1.0
        said[f"measured cells, {column}"] = fmean(own) >= LEVEL - 3 * error
    own = coverages(found, "naive")
    error = stdev(own) / sqrt(releases) if releases > 1 else 0.0
    said["naive intervals of cells fail"] = fmean(own) < LEVEL - 3 * error
    spread = sqrt(LEVEL * (1 - LEVEL) / releases)
    names = next(iter(found.values()))["statistics"]
    for name in names:
        for place, column in enumerate(("finite", "population")):
            share = fmean(own["statistics"][name]["covers"][place] for own in found.values())
            said[f"{name}, {column}"] = share >= LEVEL - 3 * spread
    naive = fmean(own["statistics"][name]["naive"] for own in found.values() for name in names)
    said["naive intervals of named statistics fail"] = naive < LEVEL - 3 * spread / sqrt(len(names))
    tested = [(value, cells) for own in found.values() for value, cells in own["chi_squared"]]
    if tested:
        p_values = [float(stats.chi2.sf(value, cells)) for value, cells in tested]
        said["each table by chi-squared"] = min(p_values) > FALSE_ALARM / len(tested)
        total = float(stats.chi2.sf(sum(value for value, _ in tested), sum(cells for _, cells in tested)))
        said["all tables together by chi-squared"] = 1e-3 < total < 1 - 1e-3
    held = [own["certificate"]["error"] <= own["certificate"]["bound"] for own in found.values()]
    said["certificates"] = fmean(held) >= LEVEL - 3 * spread
    return said


def _head(first: str, others: Sequence[str]) -> str:
    """The head of a table of numbers."""
    return f"| {first} | {' | '.join(others)} |\n|---|{'--:|' * len(others)}"


def section(name: str, found: Mapping[str, Mapping[str, Any]]) -> str:
    """The part of the page on one population."""
    numbers = [own["measured"] / own["pairs"] for own in found.values()]
    seconds = fmean(own["seconds"] for own in found.values())
    said = f"{len(found)} releases of {ROWS[name]:,} rows; {100 * fmean(numbers):.0f} % of the pairs were measured"
    lines = [
        f"## {DATA[name][0].upper()}{DATA[name][1:]}",
        "",
        f"{said}; {seconds:.1f} CPU seconds a release.",
        "",
        _head("measured cells, by share", ["cells", *_COVERED, "half-width", "naive", "sampling alone"]),
        *("| " + " | ".join(row) + " |" for row in cell_table(found)),
        "",
        _head("statistic", ["grade", *_COVERED, "half-width, finite", "population", "naive", "sampling alone"]),
    ]
    for statistic in (each.name for each in STATISTICS[name]):
        own = [each["statistics"][statistic] for each in found.values()]
        grades = sorted({each["grade"] for each in own})
        shares = [fmean(each["covers"][0] for each in own), fmean(each["covers"][1] for each in own)]
        widths = [fmean(each["widths"][place] for each in own) for place in range(4)]
        figures_of = [*(f"{share:.3f}" for share in (*shares, fmean(each["naive"] for each in own)))]
        figures_of += [f"{width:.3g}" for width in widths]
        lines.append(f"| {statistic} | {', '.join(grades)} | " + " | ".join(figures_of) + " |")
    certificates = [own["certificate"] for own in found.values()]
    shown = [f"{fmean(own[what] for own in certificates):,.0f}" for what in ("error", "bound")]
    held = sum(own["error"] <= own["bound"] for own in certificates)
    over = f"over {fmean(own['pairs'] for own in certificates):.0f} pairs on average"
    kept = f"the bound {shown[1]}; it held in {held} of {len(certificates)} releases, {over}"
    lines += ["", f"Certificates: the largest error was {shown[0]} records on average, {kept}.", ""]
    lines += [f"- {'holds' if holds else '**does not hold**'}: {what}" for what, holds in verdicts(found).items()]
    return "\n".join(lines)


def page(text: str, found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """The page with the tables in their place.

    Raises:
        ValueError: the page has no place for them.
    """
    parts = [section(name, found[name]) for name in DATA if found.get(name)]
    return in_page(text, "bench-inference", "\n\n".join(parts))


def read_kept() -> dict[str, dict[str, Any]]:
    """The figures that were kept, by dataset and number of the release."""
    found: dict[str, dict[str, Any]] = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    return found


def main(read: Callable[[str, Path], Population] = Population.read) -> None:
    """Make the releases that are missing, keep their figures, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.inference", description=__doc__)
    parser.add_argument(
        "--shared", type=Path, default=Path(os.environ.get("DENIABLE_EVALUATION", ROOT.parent / "shared"))
    )
    parser.add_argument("--work", type=Path, default=ROOT / "var/utility", help="folder for the populations")
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=DATA)
    parser.add_argument("--releases", type=int, default=200)
    asked = parser.parse_args()
    if set(asked.data) - {"example"}:
        prepare(asked.shared, asked.work)
    entry, found = Entry.model_validate(ASKED), read_kept()
    for name in asked.data:
        population, own = read(name, asked.work), found.setdefault(name, {})
        for number in range(1, asked.releases + 1):
            if str(number) not in own:
                own[str(number)] = figures(population, number, entry)
                KEPT.write_text(json.dumps(found, separators=(",", ":"), sort_keys=True) + "\n", encoding="utf-8")
        print(f"\n{section(name, own)}", flush=True)
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main()
