"""`python -m benchmarks.declared_analyses WORK`: what it brings, and costs, to count what analyses need together.

Each of several keys learns two log-linear models of the same half of ACS 2013 at epsilon 1: one chooses its tables by
itself, the other is told the attributes of four regressions (`counted_together`). Compared are the grades of
`infer regress`, the error of its coefficients against those of the rows, and the distances of pairs in drawn records.
Nothing is released.
"""

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Final

import numpy as np

from benchmarks.mechanisms import half_of
from deniable.evaluation.analyses.declared import Analysis, regression
from deniable.evaluation.analyses.estimates import Estimates, estimated
from deniable.foundation.domain import Codes, Domain
from deniable.foundation.errors import Refused
from deniable.inference.estimation import Inference
from deniable.inference.regression import regress
from deniable.learners.mapped import Rows, stream
from deniable.learners.registry import entry_of, steps_of
from deniable.measurements.document import Measurements
from deniable.models.model_formats import model_from_document

DECLARED: Final = ("hpw ~ age + sex + race", "age ~ hpw + ms + sex", "hpw ~ sex + ms", "age ~ race + sex")
"""Regressions of numbers on others and on attributes of few values; none has the target, whose pairs are measured."""

_EPSILON, _DELTA = 1, "1e-9"
_RECORDS: Final = 50_000

Figures = dict[str, float]


def learnt(domain: Domain, rows: Codes, number: int, together: Sequence[Sequence[str]]) -> dict[str, Any]:
    """The products of a log-linear model of some rows under a key of a number."""
    entry: dict[str, Any] = {
        "kind": "loglinear",
        "noise": "gaussian",
        "parameters": {"epsilon": _EPSILON, "delta": _DELTA},
        **({"counted_together": together} if together else {}),
    }
    asked = entry_of("loglinear").model_validate(entry, context={"domain": domain})
    found: dict[str, Any] = {}
    for step in steps_of(asked, domain, lambda delta: delta):
        found |= step.run(Rows(rows), found, partial(stream, number, step.name)).products
    return found


def inferred(inference: Inference, analysis: Analysis) -> dict[str, tuple[float, float]] | None:
    """Each coefficient and half of its 95% interval by noisy counts; None if a pair was not counted together."""
    try:
        table = regress(inference, analysis.outcome_in_words, analysis.terms)
    except Refused:
        return None
    told = {}
    for cell, answer in zip(table.cells, table.answers, strict=True):
        if answer.grade == "measured" and answer.interval is not None:
            told[" ".join(cell)] = float(answer.estimate), (answer.interval.high - answer.interval.low) / 2
    return told or None


def error_of(known: Estimates, values: Sequence[float]) -> float:
    """The mean error of coefficients, in standard deviations of the outcome per standard deviation of the column."""
    gaps = np.abs(np.asarray(values) - known.values) * known.spreads / known.spread
    return float(np.nanmean(gaps))


def pair_distance(domain: Domain, rows: Codes, drawn: Codes, pairs: Sequence[tuple[int, int]]) -> float:
    """The mean total variation distance of pairs."""
    found = []
    for i, j in pairs:
        size = domain.cardinalities[j]
        cells = [table[:, i].astype(np.int64) * size + table[:, j] for table in (rows, drawn)]
        shares = [np.bincount(each, minlength=domain.cardinalities[i] * size) / len(each) for each in cells]
        found.append(float(np.abs(shares[0] - shares[1]).sum()) / 2)
    return fmean(found)


def figures(domain: Domain, rows: Codes, number: int, *, declared: bool) -> Figures:
    """The figures of one key."""
    analyses = [regression(each) for each in DECLARED]
    products = learnt(domain, rows, number, [each.attributes for each in analyses] if declared else ())
    words = stream(number, "draw", mechanism="declared analyses", parameters={})
    drawn: Codes = model_from_document(domain, products["model"]).sample_evenly(words.take(_RECORDS * len(domain)))
    inference = Inference(Measurements.from_document(domain, products["measured"]))
    known = [estimated(each, domain, rows) for each in analyses]
    told = [inferred(inference, each) for each in analyses]
    needed = {tuple(sorted(map(domain.index, pair))) for each in analyses for pair in combinations(each.attributes, 2)}
    every = [*combinations(range(len(domain)), 2)]
    inferable = [
        error_of(own, [said.get(name, (np.nan, 0))[0] for name in each.estimates(domain)])
        for each, own, said in zip(analyses, known, told, strict=True)
        if said is not None
    ]
    return {
        "measured": sum(each is not None for each in told),
        **({"error of infer": fmean(inferable)} if inferable else {}),
        "error of records": fmean(
            error_of(own, estimated(each, domain, drawn).values) for each, own in zip(analyses, known, strict=True)
        ),
        "needed pairs": pair_distance(domain, rows, drawn, [pair for pair in every if pair in needed]),
        "other pairs": pair_distance(domain, rows, drawn, [pair for pair in every if pair not in needed]),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.declared_analyses", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("work", type=Path, help="the folder of the halves that make bench-utility prepares")
    parser.add_argument("--rows", type=int, default=50_000, help="number of rows")
    parser.add_argument("--keys", type=int, default=5, help="number of keys")
    asked = parser.parse_args(arguments)
    half = half_of("acs13", asked.work)
    rows = np.ascontiguousarray(half.train.to_numpy().astype(np.uint16)[: asked.rows])
    for declared in (False, True):
        found: list[Mapping[str, float]] = [
            figures(half.domain, rows, key, declared=declared) for key in range(asked.keys)
        ]
        print("declared" if declared else "not declared")
        for name in dict.fromkeys(name for each in found for name in each):
            values = [each[name] for each in found if name in each]
            error = stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
            print(f"  {name}: {fmean(values):.4f} ± {error:.4f} of {len(values)} keys")


if __name__ == "__main__":
    main()
