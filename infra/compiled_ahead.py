"""Compiles the kernels of a release during installation: `python -m infra.compiled_ahead SPEC`.

It carries out the steps that the spec plans on a few made-up rows, and evaluates the results like a release. The
compiled kernels stay in numba's cache next to the modules, so that the first release compiles nothing. No data are
read, nothing is kept and nothing is charged. A release of another spec compiles whatever else it needs.
"""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np

from deniable.evaluation.classifiers import classifiers
from deniable.evaluation.disclosure import Tables, nearer_to_training
from deniable.evaluation.utility import (
    compared_marginals,
    count_marginals,
    mean_distance_error,
    predictions,
    sample_rows,
)
from deniable.foundation.domain import Codes, Domain
from deniable.foundation.keys import ReleaseKey
from deniable.foundation.tables import FamilyCounts, Tally
from deniable.mechanisms import URNS, drawn_from
from deniable.models.graph import Graph
from deniable.models.model_formats import model_from_document
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import ReleaseSpec, load_spec
from stores.tables.tables import read_codes, write_codes

T = TypeVar("T", bound=Tally)

ROWS = 4096
"""Number of made-up rows; with fewer, the noise would hide everything, and some kernels would not run."""


class _Counter:
    """A counter of made-up rows, in the form of codes files."""

    def __init__(self, path: Path, domain: Domain) -> None:
        self._path, self._domain = path, domain

    def count(self, empty: Callable[[], T], _: str) -> T:
        """Count all rows."""
        tally = empty()
        for codes in read_codes(self._path, self._domain):
            tally.add(codes)
        return tally

    def advance(self, _: int) -> None:
        """Report nothing."""


def compile_kernels(spec: ReleaseSpec) -> None:
    """Carry out the computations of a spec's release on made-up rows; numba compiles kernels that are not in its cache.

    Args:
        spec: the spec; its source is not read.
    """
    domain = spec.domain
    streams = partial(ReleaseKey.generate().stream, step="compile", inputs="")
    with TemporaryDirectory(prefix="deniable-kernels-") as folder:
        rows = Path(folder) / "rows.parquet"
        write_codes(rows, domain, [_rows(domain)])
        released = _drawn(spec, _Counter(rows, domain), streams)
        write_codes(Path(folder) / "released.parquet", domain, [released])
        baseline = plan_release(spec).baseline
        if baseline is not None:
            graph = Graph.without_edges(domain)
            counts = _Counter(rows, domain).count(partial(FamilyCounts, domain, graph.parents), "baseline")
            net = baseline.run(counts, graph, streams)
            net.sample(streams(mechanism="sample", parameters={}).take(ROWS * len(domain)))
        if spec.is_evaluated or spec.is_compared_publicly:
            _evaluate([rows, Path(folder) / "released.parquet"], spec, streams)


def _rows(domain: Domain) -> Codes:
    """Return rows in which every value occurs, and attributes depend on each other."""
    number = np.arange(ROWS)
    columns = [number // (1 + i % 3) % attribute.cardinality for i, attribute in enumerate(domain.attributes)]
    return np.stack(columns, axis=1).astype(np.uint16)


def _drawn(spec: ReleaseSpec, counter: _Counter, streams: Any) -> Codes:
    """Learn by the spec's plan, and draw a chunk of records."""
    made: dict[str, Any] = {}
    plan = plan_release(spec)
    for step in plan.steps:
        found = step.run(counter, {name: made[name] for name in step.reads}, streams)
        if step.compile_more is not None:
            step.compile_more()
        for product in step.makes:
            file = BytesIO()
            product.write(found.products[product.name], file)
            file.seek(0)
            made[product.name] = product.read(file)
    source = drawn_from(made)
    sampler = plan.sampler
    prepared = None if sampler.prepare is None else made[sampler.prepare.makes[0].name]
    model = source if source is made.get(URNS.name) else model_from_document(spec.domain, source)
    return sampler.open(model, prepared, streams)(0, ROWS)


def _evaluate(tables: Sequence[Path], spec: ReleaseSpec, streams: Any) -> None:
    """Count samples of two tables, and compare them."""
    domain, words = spec.domain, streams(mechanism="sample records", parameters={})
    real, released = (sample_rows(read_codes(table, domain), words, ROWS // 4) for table in tables)
    for marginals in compared_marginals(domain.cardinalities).values():
        counts = [count_marginals([table], domain.cardinalities, marginals) for table in (real, released)]
        mean_distance_error(real, released, (counts[0], counts[1]))
    for name, classifier in classifiers(words).items():
        if name in {*spec.evaluation.classifiers, "forest"}:
            predictions(classifier, real, released, domain.index(domain.target or ""))
    nearer_to_training(Tables(released=released, training=real, holdout=real, cardinalities=domain.cardinalities))


if __name__ == "__main__":
    compile_kernels(load_spec(Path(sys.argv[1])))
