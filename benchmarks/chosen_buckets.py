"""`python -m benchmarks.chosen_buckets`: the coverage of intervals where noisy counts choose the buckets.

Tables with nominal attributes of hundreds of values and numbers with heavy tails: people of the ACS 2024, hospital
stays, and made-up purchases. The rows of each release are drawn with replacement and measured by the log-linear learner
at epsilon 1 and delta 1e-9. Totals, subtotals, single values, means, quantiles and slopes are answered as by `deniable
data infer` and compared with these rows, so that only noise can be the cause of errors. The estimates of earlier
versions, which summed counts over the buckets that these had chosen, are the positive control. Figures of each release
are kept in `benchmarks/chosen_buckets.json`, from which the section of `docs/statistician/coverage.md` is written; a
later run adds releases that are missing.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import product
from math import ceil, sqrt
from pathlib import Path
from statistics import fmean, stdev
from time import process_time
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.coded import Rows
from benchmarks.coverage import LEVEL, MOST
from benchmarks.development_tables import prepare
from benchmarks.measuring import in_page, kept_figures, markdown, rewrite
from benchmarks.population import stream
from benchmarks.utility import ROOT, Half, options
from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.errors import Refused
from deniable.foundation.keys import ReleaseKey
from deniable.inference.answers import Answer
from deniable.inference.estimation import Inference
from deniable.inference.quantiles import quantile
from deniable.inference.regression import regress
from deniable.learners.loglinear.spec import Entry
from deniable.learners.registry import steps_of
from deniable.measurements.document import Measurements

KEPT: Final = Path(__file__).with_suffix(".json")
PAGE: Final = ROOT / "docs/statistician/coverage.md"
ASKED: Final[dict[str, Any]] = {
    "kind": "loglinear",
    "noise": "gaussian",
    "parameters": {"epsilon": 1, "delta": 1e-9},
}
DATA: Final = {"wide": "ACS 2024", "diabetes": "hospital stays", "purchases": "made-up purchases"}
ROWS: Final = 20_000
KINDS: Final = ("total", "subtotals", "single values", "means", "quantiles", "slopes")
CONSERVATIVE: Final = ("quantiles", "slopes")
"""Kinds of which only undercoverage is a fault: values are few, and intervals allow for slopes within buckets."""
CLOSE: Final = 0.02
"""Difference from the level that a coverage may have, whatever its standard error."""
_STAYS: Final = frozenset(
    {
        "race",
        "gender",
        "age",
        "admission_type_id",
        "time_in_hospital",
        "medical_specialty",
        "num_lab_procedures",
        "num_medications",
        "number_outpatient",
        "number_emergency",
        "diag_1",
        "readmitted",
    }
)
_TWO, _NARROW, _WIDE, _LONG = 2, 12, 64, 24
_RANKS: Final = (0, 2, 5, 10, 20, 35, 50, 75, 100, 150)
_PROBABILITIES: Final = (0.5, 0.9, 0.99)
_PEOPLE: Final = 60_000

Found = tuple[str, Callable[[Inference], Answer], float]
"""A question: its kind, how it is asked, and the true answer."""


@dataclass(frozen=True)
class Population:
    """A population of which all rows are known.

    Attributes:
        name: one of DATA.
        domain: their domain.
        codes: all rows, shape (rows, m).
    """

    name: str
    domain: Domain
    codes: Codes

    @classmethod
    def read(cls, name: str, shared: Path, work: Path) -> "Population":
        """Make or read a population."""
        if name == "purchases":
            return cls(name, *_purchases())
        prepare(name, shared, work)
        half = Half.read(work, name)
        codes = np.concatenate([half.train.to_numpy(), half.holdout.to_numpy()]).astype(np.uint16)
        kept = [i for i, own in enumerate(half.domain.names) if name != "diabetes" or own in _STAYS]
        domain = Domain(tuple(half.domain.attributes[i] for i in kept))
        return cls(name, domain, np.ascontiguousarray(codes[:, kept]))


def _purchases() -> tuple[Domain, Codes]:
    """Make up customers: an article of 400 by a power law, an amount with a heavy tail, and a skewed age."""

    def uniform(purpose: str) -> NDArray[np.float64]:
        return (stream(f"purchases: {purpose}").take(_PEOPLE).astype(np.float64) + 0.5) / 2**32

    articles, steps = 400, np.unique(np.round(10 ** np.linspace(0, 6, 240)))
    weights = 1 / (np.argsort(stream("purchases: frequencies").take(articles), kind="stable") + 4.0)
    article = np.searchsorted(np.cumsum(weights) / weights.sum(), uniform("article"))
    age = np.minimum(-22 * np.log(uniform("age")), 79).astype(int)
    sex = (uniform("sex") < 0.35 + 0.004 * age).astype(int)
    branch = np.minimum((uniform("branch") ** 2 * 6).astype(int), 5)
    size = 30 * np.exp(0.012 * age + 0.2 * sex) * uniform("amount") ** -0.8
    amount = np.searchsorted(steps, size, side="right") * (uniform("paid") < 0.8)
    visits = np.minimum((uniform("visits") ** -0.7 - 1).astype(int), 149)
    domain = Domain(
        (
            Attribute("article", tuple(range(articles)), "nominal", tuple(range(articles))),
            Attribute("sex", (0, 1), "nominal", (0, 1)),
            Attribute("branch", tuple(range(6)), "nominal", tuple(range(6))),
            Attribute("age", tuple(range(80)), "numeric", tuple(range(80))),
            Attribute("amount", (0, *map(int, steps)), "numeric", tuple(range(len(steps) + 1))),
            Attribute("visits", tuple(range(150)), "numeric", tuple(range(150))),
        )
    )
    return domain, np.stack([article, sex, branch, age, amount, visits], axis=1).astype(np.uint16)


def questions(population: Population, rows: Codes) -> Iterator[Found]:
    """Yield the questions of a population, fixed before any release, with the answers of the rows of a release."""
    domain = population.domain
    numbers = {i: np.asarray(each.values, np.float64) for i, each in enumerate(domain.attributes) if _is_number(each)}
    yield "total", partial(_count, condition=""), float(len(rows))
    for i, each in enumerate(domain.attributes):
        if i in numbers:
            yield from _of_number(each, numbers[i][rows[:, i]])
        else:
            counts = np.bincount(population.codes[:, i], minlength=each.cardinality)
            yield from _of_values(each, counts, rows[:, i])
    two = [i for i, each in enumerate(domain.attributes) if i not in numbers and each.cardinality == _TWO]
    for i, (j, values) in product(two, numbers.items()):
        held, own, name = (rows[:, i] == 1).astype(np.float64), values[rows[:, j]], domain.names[j]
        covariance, condition = float(np.cov(held, own, bias=True)[0, 1]), _condition(domain.attributes[i], 1)
        yield "slopes", partial(_slope, outcome=condition, by=name), covariance / float(own.var())
        yield "slopes", partial(_slope, outcome=name, by=domain.names[i]), covariance / float(held.var())


def _of_number(attribute: Attribute, own: NDArray[np.float64]) -> Iterator[Found]:
    yield "means", partial(_mean, name=attribute.name), float(own.mean())
    if attribute.cardinality > _LONG:
        ordered = np.sort(own)
        for each in _PROBABILITIES:
            right = float(ordered[ceil(each * len(own)) - 1])
            yield "quantiles", partial(_quantile, name=attribute.name, probability=each), right


def _of_values(attribute: Attribute, frequencies: NDArray[np.int64], own: NDArray[np.integer]) -> Iterator[Found]:
    chosen, kind = list(range(attribute.cardinality)), "subtotals"
    if attribute.cardinality > _WIDE:
        by_rank = np.argsort(-frequencies, kind="stable")
        chosen, kind = [int(by_rank[rank]) for rank in _RANKS if rank < len(by_rank)], "single values"
    elif attribute.cardinality > _NARROW:
        return
    for code in chosen:
        yield kind, partial(_count, condition=_condition(attribute, code)), float((own == code).sum())


def _condition(attribute: Attribute, code: int) -> str:
    return f"{attribute.name}={attribute.values[code]}"


def _is_number(attribute: Attribute) -> bool:
    return attribute.kind == "numeric"


def _count(found: Inference, condition: str) -> Answer:
    return found.count(condition)


def _mean(found: Inference, name: str) -> Answer:
    return found.mean(name)


def _quantile(found: Inference, name: str, probability: float) -> Answer:
    return quantile(found, name, probability)


def _slope(found: Inference, outcome: str, by: str) -> Answer:
    return regress(found, outcome, [by]).answers[1]


def figures(population: Population, number: int, entry: Entry) -> dict[str, Any]:
    """Return the figures of one release, for each kind: answers, how many are covered or refused, and their errors."""
    key = ReleaseKey(sha256(f"chosen buckets {population.name} {number}".encode()).digest())
    words = key.stream(step="sample", mechanism="rows", inputs="", parameters={}).take(ROWS)
    places = (words.astype(np.uint64) * np.uint64(len(population.codes))) >> np.uint64(32)
    rows = np.ascontiguousarray(population.codes[places])
    products: dict[str, Any] = {}
    for step in steps_of(entry, population.domain, lambda delta: delta):
        given = {name: products[name] for name in step.reads}
        products |= step.run(Rows(rows), given, partial(key.stream, step=step.name, inputs="rows")).products
    measured = Measurements.from_document(population.domain, products["measured"])
    now, before = Inference(measured), Inference(measured, is_former=True)
    made: dict[str, dict[str, float]] = {}
    for kind, ask, right in questions(population, rows):
        sums = made.setdefault(kind, dict.fromkeys(("answers", "covered", "refused", "error", "before", "bias"), 0.0))
        try:
            answer = ask(now)
        except Refused:
            sums["refused"] += 1
            continue
        sums["answers"] += 1
        sums["covered"] += _holds(answer, right)
        if answer.noise_deviation > 0:
            sums["error"] += (answer.raw_estimate - right) / answer.noise_deviation
        if kind in KINDS[:3]:
            former = ask(before)
            sums["before"] += _holds(former, right)
            sums["bias"] += (former.raw_estimate - right) / former.noise_deviation
    return {kind: {what: round(value, 4) for what, value in sums.items()} for kind, sums in made.items()}


def _holds(answer: Answer, right: float) -> bool:
    slack = 1e-9 * abs(right)
    return answer.interval is not None and answer.interval.low - slack <= right <= answer.interval.high + slack


@dataclass(frozen=True)
class Rate:
    """A mean over the answers of all releases.

    Attributes:
        value: the mean.
        error: its standard error, from the spread between releases.
    """

    value: float
    error: float

    @classmethod
    def of(cls, found: Sequence[Mapping[str, float]], what: str) -> "Rate":
        """Return the mean of a sum over the answers of each release."""
        answered = [own for own in found if own["answers"]]
        value = sum(own[what] for own in answered) / sum(own["answers"] for own in answered)
        each = [own[what] / own["answers"] for own in answered]
        return cls(value, stdev(each) / sqrt(len(each)) if len(each) > 1 else 0.0)


def verdicts(found: Mapping[str, Mapping[str, Any]]) -> dict[str, bool]:
    """Return what must hold for a population, in the page's words, and whether it does."""
    said: dict[str, bool] = {}
    for kind in KINDS:
        own = [each[kind] for each in found.values() if kind in each]
        if not own or not sum(each["answers"] for each in own):
            continue
        rate = Rate.of(own, "covered")
        slack = max(CLOSE, MOST * rate.error)
        said[kind] = rate.value >= LEVEL - slack and (rate.value <= LEVEL + slack or kind in CONSERVATIVE)
    errors = Rate.of([each["total"] for each in found.values()], "error")
    said["the total is unbiased"] = abs(errors.value) <= MOST * errors.error
    return said


def is_biased_before(found: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether the total, as estimated by earlier versions, is biased."""
    rate = Rate.of([each["total"] for each in found.values()], "bias")
    return abs(rate.value) > MOST * rate.error > 0


def section(name: str, found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the part of the page on one population."""
    rows = []
    for kind in KINDS:
        own = [each[kind] for each in found.values() if kind in each]
        if not own:
            continue
        answers, refused = (fmean(each[what] for each in own) for what in ("answers", "refused"))
        shown = ["", "", "", ""]
        if answers:
            rate, error = Rate.of(own, "covered"), Rate.of(own, "error")
            shown = [f"{rate.value:.3f} ({rate.error:.3f})", f"{error.value:+.2f} ({error.error:.2f})", "", ""]
            if kind == "quantiles":
                shown[1] = ""
        if answers and kind in KINDS[:3]:
            before, bias = Rate.of(own, "before"), Rate.of(own, "bias")
            shown[2:] = [f"{before.value:.3f}", f"{bias.value:+.2f} ({bias.error:.2f})"]
        rows.append([kind, f"{answers:.1f}", f"{refused:.1f}", *shown])
    heads = ("kind", "answered", "refused", "covered", "mean error", "covered before", "mean error before")
    said = [f"- {'holds' if holds else '**does not hold**'}: {what}" for what, holds in verdicts(found).items()]
    control = "biased" if is_biased_before(found) else "not visibly biased"
    return "\n".join(
        [
            f"### {DATA[name][0].upper()}{DATA[name][1:]}",
            "",
            f"{len(found)} releases of {ROWS:,} rows. The total of earlier versions is {control}.",
            "",
            markdown(heads, rows),
            "",
            *said,
        ]
    )


def page(text: str, found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """Return the page with the tables inserted; see `in_page`."""
    parts = [section(name, found[name]) for name in DATA if found.get(name)]
    return in_page(text, "bench-buckets", "\n\n".join(parts))


def main() -> None:
    """Make the missing releases, keep their figures, and write the page.

    Raises:
        SystemExit: a requirement does not hold, or the control is unbiased everywhere.
    """
    parser = options("chosen_buckets", __doc__)
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=DATA)
    parser.add_argument("--releases", type=int, default=60)
    asked = parser.parse_args()
    entry, found = Entry.model_validate(ASKED), kept_figures(KEPT)
    for name in asked.data:
        population, own = Population.read(name, asked.shared, asked.work), found.setdefault(name, {})
        for number in range(1, asked.releases + 1):
            if str(number) not in own:
                start = process_time()
                own[str(number)] = figures(population, number, entry)
                rewrite(KEPT, json.dumps(found, separators=(",", ":")) + "\n")
                print(f"{name} {number} of {asked.releases}: {process_time() - start:.1f} CPU seconds", flush=True)
        print(f"\n{section(name, own)}\n", flush=True)
    rewrite(PAGE, page(PAGE.read_text(encoding="utf-8"), found))
    missed = [f"{name}, {what}" for name in asked.data for what, holds in verdicts(found[name]).items() if not holds]
    if not any(is_biased_before(found[name]) for name in asked.data):
        missed.append("the total of earlier versions is biased in one of the tables")
    if missed:
        raise SystemExit(f"everything that the page lists must hold, got otherwise: {'; '.join(missed)}.")


if __name__ == "__main__":
    main()
