"""`python -m benchmarks.inference`: the coverage of releases' intervals, on known populations.

The rows of each release are drawn with replacement from a public population: ACS 2013, Adult, or the people of the
guides' example. The log-linear learner measures them at epsilon 1 and delta 1e-9, with a certificate that gets 1 % of
the budget. All cells of all measured pairs, and named statistics, are then computed as by `deniable data infer`
(deniable.inference), and compared with the rows (finite) and with the population. Naive intervals, which treat the
synthetic records as a sample, are computed for comparison, and must fail. Coverage must be neither below nor above the
value implied by the distribution of the errors, except for intervals declared conservative (CONSERVATIVE). Figures of
each release are kept in `benchmarks/inference.json`, from which the page `docs/statistician/coverage.md` is written; a
later run adds, one by one, releases that are missing or were made by another version of the learner.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from math import inf, sqrt
from pathlib import Path
from time import process_time
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.coded import Rows
from benchmarks.coverage import (
    COLUMNS,
    DATA,
    LEVEL,
    ROWS,
    expected_of_counts,
    expected_of_shares,
    page,
    section,
    verdicts,
)
from benchmarks.measuring import kept_figures, rewrite
from benchmarks.mechanisms import half_of
from benchmarks.utility import ROOT, options, prepare
from deniable.foundation.domain import Codes, Domain
from deniable.foundation.errors import Refused
from deniable.foundation.keys import ReleaseKey
from deniable.inference.answers import Answer, Asked
from deniable.inference.comparisons import compare
from deniable.inference.estimation import Inference
from deniable.inference.quantiles import quantile
from deniable.inference.queries import Query
from deniable.inference.regression import regress
from deniable.inference.tables import table
from deniable.learners.loglinear.spec import Entry
from deniable.learners.registry import steps_of
from deniable.measurements.certificate import Certificate
from deniable.measurements.document import Measurements
from deniable.models.model_formats import model_from_document

KEPT: Final = Path(__file__).with_suffix(".json")
PAGE: Final = ROOT / "docs/statistician/coverage.md"
ASKED: Final[dict[str, Any]] = {
    "kind": "loglinear",
    "noise": "gaussian",
    "parameters": {"epsilon": 1, "delta": 1e-9},
    "certificate": {"share": 0.01},
}
CLASSES: Final = (0.0, 1e-4, 1e-3, 1e-2, 1.0)
"""Bounds of the classes of cells by their share of the population; the first class has the empty cells."""
_TESTED = 3
_MOST_TESTED = 60
"""Number of tables of a release whose errors are tested together by chi-squared, and their largest number of cells."""
MADE_BY: Final = {"learner": 8, "figures": 3}
"""The versions that made the figures; figures of other versions are computed again.

The learner's is the version since which tables of at most 30 attributes are drawn alike; no population has more.
"""
_STILL: Final = {"acs13": ({"learner": 7, "figures": 3},), "adult": ({"learner": 7, "figures": 3},), "example": ()}
"""Earlier versions whose figures of a population are still shown; the page names them."""


@dataclass(frozen=True)
class Statistic:
    """A named statistic.

    Attributes:
        name: its name on the page.
        kind: `mean`, `median`, `share`, `ratio` (of two counts), `difference` (of shares, the second value of `by`
            less the first), or `slope` (of a condition on `by`).
        what: the attribute or the condition.
        given: the group, as a condition; for a ratio, the denominator.
        by: the attribute with two values, for differences and slopes.
    """

    name: str
    kind: str
    what: str
    given: str = ""
    by: str = ""

    def answer(self, inference: Inference, asked: Asked) -> Answer:
        """Return the answer of the release."""
        if self.kind == "mean":
            return inference.mean(self.what, self.given, asked)
        if self.kind == "share":
            return inference.share(self.what, self.given, asked)
        if self.kind == "median":
            return quantile(inference, self.what, asked=asked)
        if self.kind == "ratio":
            return inference.ratio(self.what, self.given, asked)
        if self.kind == "slope":
            return regress(inference, self.what, [self.by], asked).answers[-1]
        return compare(inference, self.what, self.by, self.given, asked).answers[-1]

    def of(self, inference: Inference, codes: Codes) -> tuple[float, float]:
        """Return the statistic of a table of codes, and its standard error for a simple random sample."""
        words = inference.conditions
        inside = _mask(words.parse(self.given), codes)
        if self.kind == "median":
            own = np.sort(words.numbers(words.attribute(self.what))[codes[:, words.attribute(self.what)]])
            n, z = len(own), stats.norm.ppf((1 + LEVEL) / 2)
            ends = [own[min(max(round(n / 2 + side * z * sqrt(n) / 2), 0), n - 1)] for side in (-1, 1)]
            return float(own[(n + 1) // 2 - 1]), float(ends[1] - ends[0]) / (2 * z)
        if self.kind == "ratio":
            above, below = (float(_mask(words.parse(each), codes).mean()) for each in (self.what, self.given))
            return above / below, above / below * sqrt((1 / above + 1 / below) / len(codes))
        if self.kind == "slope":
            values = codes[:, words.attribute(self.by)].astype(np.float64)
            found = stats.linregress(values, _mask(words.parse(self.what), codes).astype(np.float64))
            return float(found.slope), float(found.stderr)
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
        Statistic("median age", "median", "age"),
        Statistic("ratio of women to men", "ratio", "sex=1", "sex=0"),
        Statistic("slope of high income on sex", "slope", "incc=1", by="sex"),
        Statistic("mean age of women", "mean", "age", "sex=1"),
    ),
    "adult": (
        Statistic("mean age (code)", "mean", "age"),
        Statistic("mean hours of work (code)", "mean", "hours-per-week"),
        Statistic("share of high income among men", "share", "income=1", "sex=1"),
        Statistic("the same, second less first sex", "difference", "income=1", by="sex"),
        Statistic("share of one race", "share", "race=2"),
        Statistic("median age (code)", "median", "age"),
        Statistic("ratio of the sexes", "ratio", "sex=1", "sex=0"),
        Statistic("slope of high income on sex", "slope", "income=1", by="sex"),
        Statistic("mean age (code) of men", "mean", "age", "sex=1"),
    ),
    "example": (
        Statistic("mean age", "mean", "age"),
        Statistic("share of owners of land", "share", "land=yes"),
        Statistic("share of owners among farmers", "share", "land=yes", "trade=farmer"),
        Statistic("share of owners, men less women", "difference", "land=yes", by="sex"),
        Statistic("share of smiths on the hill", "share", "trade=smith", "hamlet=hill"),
        Statistic("median age", "median", "age"),
        Statistic("ratio of smiths to millers", "ratio", "trade=smith", "trade=miller"),
        Statistic("slope of owning land on sex", "slope", "land=yes", by="sex"),
        Statistic("mean age of owners of land", "mean", "age", "land=yes"),
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
    """A population of which all people are known.

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
        """Read both halves of a dataset, joined."""
        half = half_of(name, work)
        codes = np.concatenate([half.train.to_numpy(), half.holdout.to_numpy()]).astype(np.uint16)
        return cls(name, half.domain, np.ascontiguousarray(codes))


@dataclass(frozen=True)
class Made:
    """A release of the benchmark.

    Attributes:
        rows: the rows that were measured.
        records: the same number of synthetic records.
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
    """Make the release with a given number, which determines rows, noise and records."""
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
    """Return counts of two attributes by buckets."""
    shape = tuple(int(groups[i].max()) + 1 for i in pair)
    cells = np.ravel_multi_index(tuple(groups[i][codes[:, i]] for i in pair), shape)
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)


def figures(population: Population, number: int, entry: Entry) -> dict[str, Any]:
    """Return all figures of one release."""
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
        noise = inference.system.table(pair).variances
        expected = expected_of_counts(truth), expected_of_shares(shares, n, noise, z)
        columns = {
            "finite": (finite[0] <= truth) & (truth <= finite[1]),
            "population": (among[0] <= shares) & (shares <= among[1]),
            "naive": np.abs(copied - shares) <= half,
            "expected": expected[0],
            "expected_population": expected[1],
            "width": (among[1] - among[0]) / 2,
            "naive_width": half,
            "sampling_width": z * np.sqrt(shares * (1 - shares) / n),
        }
        places = np.searchsorted(CLASSES, shares.ravel())
        for place in range(len(CLASSES)):
            chosen = places == place
            if chosen.any():
                sums = [float(chosen.sum()), *(float(columns[each].ravel()[chosen].sum()) for each in COLUMNS)]
                before = by_class.get(str(place), [0.0] * len(sums))
                by_class[str(place)] = [a + b for a, b in zip(before, sums, strict=True)]
    return {
        "made_by": MADE_BY,
        "pairs": len(pairs),
        "measured": len(measured),
        "seconds": round(own.seconds, 2),
        "cells": {place: [round(value, 3) for value in sums] for place, sums in by_class.items()},
        "chi_squared": _chi_squared(own, measured, groups, number),
        "together": _together(own, measured, groups, number),
        "apart": _apart(own, [pair for pair in pairs if pair not in measured], groups, number),
        "certificate": _certified(own),
        "speed": _speed(inference, measured),
        "statistics": {each.name: _named(each, own, population) for each in STATISTICS[population.name]},
    }


def _ends(answers: Sequence[Answer], shape: tuple[int, ...]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    intervals = [(inf, -inf) if each.interval is None else (each.interval.low, each.interval.high) for each in answers]
    low, high = np.asarray(intervals).T
    return low.reshape(shape), high.reshape(shape)


def _chi_squared(
    own: Made, measured: Sequence[tuple[int, int]], groups: Sequence[NDArray[np.int64]], number: int
) -> list[tuple[float, int]]:
    """Return the chi-squared statistics of the errors of whole tables, and their cells; tables alternate by release."""
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


def _together(
    own: Made, measured: Sequence[tuple[int, int]], groups: Sequence[NDArray[np.int64]], number: int
) -> list[bool]:
    """Return whether simultaneous intervals cover all cells of a table, for some tables; these alternate by release."""
    found = []
    for turn in range(min(_TESTED, len(measured))):
        pair = measured[(number * _TESTED + turn) % len(measured)]
        truth = counted(own.rows, groups, pair)
        names = [own.inference.measured.domain.names[i] for i in pair]
        low, high = _ends(table(own.inference, names, "count", simultaneous=True).answers, truth.shape)
        found.append(bool(((low <= truth) & (truth <= high)).all()))
    return found


def _apart(
    own: Made, pairs: Sequence[tuple[int, int]], groups: Sequence[NDArray[np.int64]], number: int
) -> list[int | float]:
    """Return the cells of an unmeasured pair, how many are covered, and the sum of half-widths; pairs alternate."""
    sizes = own.inference.system.sizes
    small = [pair for pair in pairs if sizes[pair[0]] * sizes[pair[1]] <= _MOST_TESTED]
    if not small:
        return [0, 0, 0.0]
    pair = small[number % len(small)]
    truth = counted(own.rows, groups, pair)
    names = [own.inference.measured.domain.names[i] for i in pair]
    low, high = _ends(table(own.inference, names, "count").answers, truth.shape)
    inside = (low <= truth) & (truth <= high)
    return [truth.size, int(inside.sum()), round(float((high - low).sum()) / 2 / len(own.rows), 5)]


def _speed(inference: Inference, measured: Sequence[tuple[int, int]]) -> dict[str, float]:
    """Return the processor seconds for all tables of pairs, given the measurements, and the mean for a question."""
    start = process_time()
    again = Inference(inference.measured)
    for pair in measured:
        again.system.table(pair)
    tables = process_time() - start
    conditions = [" & ".join(inference.conditions.named(i, inference.groups(i)[-1]) for i in pair) for pair in measured]
    start = process_time()
    for condition in conditions:
        inference.count(condition)
        inference.share(condition)
    return {"tables": round(tables, 4), "question": round((process_time() - start) / (2 * len(conditions)), 6)}


def _certified(own: Made) -> dict[str, Any]:
    """Return the certificate's bound, the error that it bounds, and the distribution of the difference."""
    worst = 0.0
    buckets = [np.asarray(each, np.int64) for each in own.inference.measured.buckets]
    for pair, model in zip(own.certificate.workload.pairs, own.certificate.model, strict=True):
        worst = max(worst, float(np.abs(counted(own.rows, buckets, pair) - model).max()))
    law = own.certificate.noise
    sd, reach = sqrt(law.variance), own.certificate.bound() - own.certificate.released
    return {
        "pairs": len(own.certificate.workload.pairs),
        "all": own.certificate.workload.is_all,
        "bound": own.certificate.bound(),
        "error": worst,
        # The noise is discrete Gaussian, with a standard deviation of hundreds of steps: it is at most `reach` below 0.
        "expected": round(float(stats.norm.cdf((reach + 0.5) / sd)), 6),
        "noise": round((own.certificate.released - worst) / sd, 5),
    }


def _named(each: Statistic, own: Made, population: Population) -> dict[str, Any]:
    inference = own.inference
    naive, deviation = each.of(inference, own.records)
    truth, sampling = each.of(inference, population.codes)
    finite = each.of(inference, own.rows)[0]
    sampling *= sqrt(len(population.codes) / len(own.rows))
    try:
        answers = [
            each.answer(inference, asked) for asked in (Asked(), Asked(estimand="population", sampling="simple random"))
        ]
    except Refused:
        return {"kind": each.kind, "grade": "refused"}
    z = stats.norm.ppf((1 + LEVEL) / 2)
    covers = [
        answer.interval is not None and answer.interval.low <= right <= answer.interval.high
        for answer, right in zip(answers, (finite, truth), strict=True)
    ]
    widths = [
        (answer.interval.high - answer.interval.low) / 2 if answer.interval is not None else inf for answer in answers
    ]
    return {
        "kind": each.kind,
        "grade": answers[0].grade,
        "covers": covers,
        "widths": [float(f"{width:.4g}") for width in (*widths, z * deviation, z * sampling)],
        "naive": bool(abs(naive - truth) <= z * deviation),
    }


def read_kept() -> dict[str, dict[str, Any]]:
    """Read the kept figures that were made by the present versions, by dataset and number of the release."""
    found: dict[str, dict[str, Any]] = kept_figures(KEPT)
    return {
        name: {number: own for number, own in releases.items() if own.get("made_by") in (MADE_BY, *_STILL[name])}
        for name, releases in found.items()
    }


def keep(found: Mapping[str, Mapping[str, Any]]) -> None:
    """Write all figures; a run that is interrupted while it writes leaves the earlier ones."""
    rewrite(KEPT, json.dumps(found, separators=(",", ":")) + "\n")


def main() -> None:
    """Make the missing releases, keep their figures, and write the page.

    Raises:
        SystemExit: a requirement does not hold, or naive intervals cover.
    """
    parser = options("inference", __doc__)
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=DATA)
    parser.add_argument("--releases", type=int, default=200)
    asked = parser.parse_args()
    if set(asked.data) - {"example"}:
        prepare(asked.shared, asked.work)
    entry, found = Entry.model_validate(ASKED), read_kept()
    for name in asked.data:
        population, own = Population.read(name, asked.work), found.setdefault(name, {})
        for number in range(1, asked.releases + 1):
            if str(number) not in own:
                start = process_time()
                own[str(number)] = figures(population, number, entry)
                keep(found)
                print(f"{name} {number} of {asked.releases}: {process_time() - start:.1f} CPU seconds", flush=True)
        print(f"\n{section(name, own)}", flush=True)
    rewrite(PAGE, page(PAGE.read_text(encoding="utf-8"), found))
    missed = [f"{name}, {what}" for name in asked.data for what, holds in verdicts(found[name]).items() if not holds]
    if missed:
        raise SystemExit(f"everything that the page lists must hold, got otherwise: {'; '.join(missed)}.")


if __name__ == "__main__":
    main()
