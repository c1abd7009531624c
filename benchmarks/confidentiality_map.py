"""`python -m benchmarks.confidentiality_map`: the R-U confidentiality map of the perturbed Gibbs sampler.

The table is ACS 2013, a public file that DENIABLE_ACS13 names (acs13_stats.csv.gz). For each epsilon per record, 1000
records are drawn by PeGS, PeGS.rs, Polya urns and perturbed multiple imputation, and compared with the table by the
distances of Park, Ghosh, Shankar 2013. For comparison there are the log-linear and the CFS learner at small totals, a
bootstrap sample, and independent draws from the exact marginals. Keys are ordered by the table's own mutual
information, as in the paper; no release of this project does so, and `in schema order` shows public orders.
"""

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.coded import Rows
from benchmarks.measuring import require
from benchmarks.regressions import regression
from benchmarks.utility import ROOT
from deniable.evaluation.confidentiality_map import conditional_distance, marginal_distance
from deniable.foundation.domain import Codes, Domain, Parents
from deniable.foundation.keys import ReleaseKey, WordStream
from deniable.foundation.tables import FamilyCounts
from deniable.learners.imputed.draws import draws as imputed_draws
from deniable.learners.imputed.spec import Entry as Imputed
from deniable.learners.pegs.draws import urns_of
from deniable.learners.pegs.plan import DrawsPlan, key_of, others_in_order, urns_document
from deniable.learners.registry import LEARNERS, entries, steps_of
from deniable.models.model_formats import model_from_document
from deniable.models.urns import Urns, draw_blocks
from reports.figures.confidentiality_map import ConfidentialityMap, MapPoint, as_csv
from reports.pages.confidentiality_map import render_map
from reports.plots.confidentiality_map import draw_map
from schemas.spec.release_spec import load_spec
from stores.tables.tables import encode

SPEC = ROOT / "deployments/specs/acs13.yaml"
GIVEN, TARGETS = "age", ("incc", "hpw")
EPSILONS = (1, 5, 10, 20, 50, 100, 200)
KEY_CELLS = 2000
RECORDS = 1000
TOTALS = (1, 10)
"""Total epsilons at which models are learnt."""


@dataclass(frozen=True)
class Way:
    """A way to draw records that are charged one by one.

    Attributes:
        curve: its name.
        block: number of records in a block.
        draws: number of draws in a block that use the same row.
        ordered: whether keys are ordered by mutual information; otherwise as in the schema.
    """

    curve: str
    block: int = 1
    draws: int = 1
    ordered: bool = True


WAYS = (
    Way("PeGS"),
    Way("PeGS.rs, B = 10", 10),
    Way("Polya, B = r = 10", 10, 10),
    Way("PeGS.rs, B = 100", 100),
    Way("PeGS, in schema order", ordered=False),
    Way("PeGS.rs, B = 10, in schema order", 10, ordered=False),
)


@dataclass(frozen=True)
class Table:
    """The real table.

    Attributes:
        domain: its domain.
        codes: its records.
    """

    domain: Domain
    codes: Codes

    def distances(self, records: Codes) -> tuple[float, ...]:
        """Return the distances of a synthetic table, in the order of the map."""
        regressions = (
            float(np.linalg.norm(regression(self.domain, records, target) - right))
            for target, right in self._regressions.items()
        )
        return (
            marginal_distance(self.domain, self.codes, records),
            conditional_distance(self.domain, self.codes, records, self.domain.index(GIVEN), bucketed=True),
            *regressions,
        )

    @cached_property
    def _regressions(self) -> dict[int, Any]:
        return {target: regression(self.domain, self.codes, target) for target in self.domain.subset(TARGETS)}

    @cached_property
    def by_information(self) -> Parents:
        """The other attributes, for each one, by their mutual information with it, which is exact and not private."""
        return tuple(
            tuple(sorted(others, key=lambda j, i=i: -self._information(i, j)))  # type: ignore[misc]
            for i, others in enumerate(others_in_order(self.domain))
        )

    def _information(self, attribute: int, other: int) -> float:
        """Return the mutual information of an attribute's values and another's buckets, in nats."""
        buckets = self.domain.attributes[other].bucket_of[self.codes[:, other]].astype(np.int64)
        size = self.domain.bucket_counts[other]
        cells = self.codes[:, attribute].astype(np.int64) * size + buckets
        joint = np.bincount(cells, minlength=self.domain.cardinalities[attribute] * size).reshape(-1, size)
        shares = joint / joint.sum()
        apart = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0, keepdims=True)
        here = shares > 0
        return float((shares[here] * np.log(shares[here] / apart[here])).sum())

    def urns(self, way: Way, priors: Sequence[int]) -> Urns:
        """Return the urns of a way to draw."""
        document, tables = self._counted[way.ordered]
        rows = [np.full(len(table), prior, np.int64) for table, prior in zip(tables, priors, strict=True)]
        return urns_of(self.domain, document, tables, rows)

    @cached_property
    def _counted(self) -> dict[bool, tuple[dict[str, Any], Any]]:
        found = {}
        for ordered in (True, False):
            orders = self.by_information if ordered else others_in_order(self.domain)
            keys = tuple(key_of(self.domain, order, KEY_CELLS) for order in orders)
            counts = FamilyCounts(self.domain, keys)
            counts.add(self.codes)
            found[ordered] = (urns_document(self.domain, keys, {}), counts.tables)
        return found


def stream(number: int, mechanism: str, chunk: int = 0) -> WordStream:
    """Return a stream of this benchmark."""
    key = ReleaseKey(number.to_bytes(32, "big"))
    return key.stream(step="map", mechanism=mechanism, inputs="benchmark", parameters={}, chunk=chunk)


def point(table: Table, curve: str, made: Callable[[int], Codes], keys: int, **costs: Any) -> MapPoint:
    """Make a table under each key, and measure it."""
    figures = [table.distances(made(number)) for number in range(1, keys + 1)]
    means, spreads = (tuple(of(column) for column in zip(*figures, strict=True)) for of in (fmean, pstdev))
    print(f"{curve}, {costs}: " + ", ".join(f"{mean:.3f}" for mean in means), flush=True)
    return MapPoint(curve, distances=means, spreads=spreads, **costs)


def drawn_points(
    table: Table, ways: Sequence[Way], epsilons: Sequence[int], records: int, keys: int
) -> Iterator[MapPoint]:
    """Yield the curves of urns; a block costs the epsilon of one record times its size, as in the paper."""
    for way in ways:
        for epsilon in epsilons:
            plan = DrawsPlan(table.domain, records, Fraction(epsilon) * way.block, way.block, way.draws)
            urns = table.urns(way, plan.priors)

            def made(number: int, way: Way = way, urns: Urns = urns, epsilon: int = epsilon) -> Codes:
                words = stream(number, f"{way.curve} {epsilon}")
                return draw_blocks(words, urns, records, block=way.block, most=way.draws)

            costs = {"per_record": float(epsilon), "total": float(plan.blocks * plan.block_epsilon), "records": records}
            yield point(table, way.curve, made, keys, **costs)


def imputed_points(table: Table, epsilons: Sequence[int], records: int, keys: int, fit_rows: int) -> Iterator[MapPoint]:
    """Yield the curve of perturbed multiple imputation."""
    shuffled = table.codes[np.argsort(stream(0, "fit").take(len(table.codes)), kind="stable")]
    document = urns_document(table.domain, others_in_order(table.domain), {})
    any_budget = Imputed(kind="imputed", epsilon=Fraction(1), fit_rows=fit_rows)
    fitted = imputed_draws(any_budget, table.domain, records=records, chunk=records).count(Rows(shuffled), document)
    for epsilon in epsilons:
        # A spec's budget is at most 100; the plan itself has no such bound.
        entry = any_budget.model_copy(update={"epsilon": Fraction(epsilon)})
        plan = imputed_draws(entry, table.domain, records=records, chunk=records)

        def made(number: int, open_drawing: Any = plan.open, epsilon: int = epsilon) -> Codes:
            def opened(*, mechanism: str, parameters: Any, chunk: int) -> WordStream:  # noqa: ARG001 - as it is called
                return stream(number, f"{mechanism} {epsilon}", chunk)

            drawn: Codes = open_drawing(document, fitted, opened)(0, records)
            return drawn

        costs = {"per_record": float(epsilon), "total": float(records * epsilon), "records": records}
        yield point(table, "PMI", made, keys, **costs)


def learnt_points(table: Table, kinds: Sequence[str], totals: Sequence[int], keys: int) -> Iterator[MapPoint]:
    """Yield points of models at small totals and delta 1e-9; the size of the table does not affect its cost."""
    for kind in kinds:
        for total in totals:
            half = {"epsilon": total / 2 if kind == "cfs" else total, "delta": 5e-10 if kind == "cfs" else 1e-9}
            structure = {"structure": {**half, "epsilon_rows": 0.01, "max_cost": 20}} if kind == "cfs" else {}
            asked = {"kind": kind, "noise": "gaussian", "parameters": half, **structure}
            entry = entries()[LEARNERS.index(kind)].model_validate(asked)

            def made(number: int, entry: Any = entry, kind: str = kind) -> Codes:
                key, there = ReleaseKey(number.to_bytes(32, "big")), dict[str, Any]()
                for step in steps_of(entry, table.domain, lambda delta: delta):
                    read = {name: there[name] for name in step.reads}
                    opened = partial(key.stream, step=step.name, inputs="benchmark")
                    there |= step.run(Rows(table.codes), read, opened).products
                net = model_from_document(table.domain, there["model"])
                rows = len(table.codes) // 2
                return net.sample_evenly(stream(number, kind).take(rows * len(table.domain)))

            yield point(table, kind, made, keys, total=float(total), records=len(table.codes) // 2)


def baselines(table: Table, records: int, keys: int) -> Iterator[MapPoint]:
    """Yield points of resampled real records, and of values drawn independently from the exact marginals."""
    rows = len(table.codes)

    def again(number: int) -> Codes:
        return table.codes[stream(number, "bootstrap").take(records) % rows]

    def apart(number: int) -> Codes:
        words = stream(number, "independent")
        return np.stack([column[words.take(records) % rows] for column in table.codes.T], axis=1)

    yield point(table, "bootstrap", again, keys, total=None, records=records)
    yield point(table, "independent", apart, keys, total=None, records=records)


def read_table() -> Table:
    """Read the whole real table."""
    place, domain = os.environ.get("DENIABLE_ACS13"), load_spec(SPEC).domain
    if place is None:
        raise SystemExit("DENIABLE_ACS13 must name the file acs13_stats.csv.gz; set it.")
    return Table(domain, encode(pd.read_csv(place, skipinitialspace=True), domain))


WORKED_OUT = {
    ("PeGS", 1): 0.354,
    ("PeGS.rs, B = 10", 1): 0.131,
    ("Polya, B = r = 10", 1): 0.239,
    ("PeGS.rs, B = 100", 1): 0.179,
    ("PeGS.rs, B = 10", 50): 0.077,
    ("Polya, B = r = 10", 50): 0.049,
    ("PeGS.rs, B = 100", 50): 0.180,
}
"""Marginal distances that another program found for 1,000 records, by curve and epsilon per record.

They fix the order of the curves at epsilon 1, and the ends of the block curves.
"""
TOLERANCE = 0.015


def verdicts(points: Sequence[MapPoint]) -> list[tuple[str, bool]]:
    """Return in words what a map of 1,000 records must show, and whether it does.

    Args:
        points: the points; epsilons that are not among them are not judged.
    """
    found = {(point.curve, point.per_record): point.distances[0] for point in points if point.records == RECORDS}
    said = []
    for (curve, epsilon), right in WORKED_OUT.items():
        own = found.get((curve, float(epsilon)))
        if own is not None:
            words = f"{curve} at epsilon {epsilon} a record: {own:.3f}, worked out before: {right:.3f}"
            said.append((words, abs(own - right) <= TOLERANCE))
    at_one = [found.get((curve, 1.0)) for curve, epsilon in WORKED_OUT if epsilon == 1]
    if None not in at_one:
        order = "at epsilon 1 a record, PeGS.rs with B = 10 is nearest, then B = 100, Polya urns, and PeGS"
        pegs, short, polya, long = (float(each or 0) for each in at_one)
        said.append((order, short < long < polya < pegs))
    return said


NOTES = (
    """A table of 1,000 records at epsilon 1 each costs epsilon 1,000 in total, which is vacuous; so is each point of
    the curves. A block of B records costs the same however large B is, so that B is a choice of utility alone.""",
    """Keys are ordered by the table's mutual information, exactly and without a charge, as in the paper; no release may
    do that. The curves in schema order use public keys.""",
    "Points of models are tables with as many records as half of the table has: further records cost nothing.",
)


def main() -> None:
    """Draw the map: print a table, and write a CSV file, a picture and a page to a folder."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.confidentiality_map", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "var/confidentiality_map", help="folder for the files")
    parser.add_argument("--epsilons", nargs="+", type=int, default=list(EPSILONS))
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--keys", type=int, default=5)
    parser.add_argument("--fit-rows", type=int, default=20_000, help="records that imputation is fitted to; 0 for none")
    parser.add_argument("--learners", nargs="*", default=["loglinear", "cfs"], choices=["loglinear", "cfs"])
    asked = parser.parse_args()
    table = read_table()
    points = [
        *drawn_points(table, WAYS, asked.epsilons, asked.records, asked.keys),
        *(imputed_points(table, asked.epsilons, asked.records, asked.keys, asked.fit_rows) if asked.fit_rows else ()),
        *learnt_points(table, asked.learners, TOTALS, asked.keys),
        *baselines(table, asked.records, asked.keys),
    ]
    shown = ConfidentialityMap("ACS 2013", GIVEN, TARGETS, asked.keys, points, NOTES)
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / "map.csv").write_text(as_csv(shown), encoding="utf-8")
    (asked.out / "map.html").write_text(render_map(shown), encoding="utf-8")
    draw_map(shown).savefig(asked.out / "map.png", dpi=120)
    print(f"written to {asked.out}")
    require(verdicts(points), f"the map must agree within {TOLERANCE} with what was worked out before.")


if __name__ == "__main__":
    main()
