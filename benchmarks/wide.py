"""Artificial people with any number of attributes, each of which depends on two earlier ones."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.population import stream
from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.keys import WordStream
from deniable.learners.cfs.parameters import integer_weights
from deniable.models.bayes_net import BayesNet
from deniable.models.graph import Graph, topological_order
from schemas.table import numeric

_CHUNK = 100_000
# Values and bucket width: mixed as in a table of people, with a few attributes of many values and many of few.
_SIZES = ((79, 10), (2, 1), (8, 1), (24, 4), (5, 1), (2, 1), (18, 1), (5, 1), (99, 15), (2, 1))


def domain(attributes: int) -> Domain:
    """Return the domain; the second attribute is the target."""
    sizes = [_SIZES[i % len(_SIZES)] for i in range(attributes)]
    return Domain(
        tuple(
            Attribute(f"a{i:02}", tuple(range(values)), "numeric", tuple(value // width for value in range(values)))
            for i, (values, width) in enumerate(sizes)
        ),
        target="a01",
    )


def columns(attributes: int) -> dict[str, object]:
    """Return the columns of the table's schema."""
    return {
        attribute.name: numeric(0, attribute.cardinality - 1, width=attribute.buckets.count(0))
        for attribute in domain(attributes).attributes
    }


def network(attributes: int) -> BayesNet:
    """Return a network with tables as skewed as in real populations."""
    described = domain(attributes)
    parents = tuple(tuple(sorted({max(i - 1, 0), max(i - 5, 0)} - {i})) for i in range(attributes))
    words = stream(f"{attributes} tables")
    weights = []
    for attribute, those in zip(described.attributes, parents, strict=True):
        rows = int(np.prod([described.bucket_counts[parent] for parent in those], dtype=int))
        skewed = (words.take(rows * attribute.cardinality).reshape(rows, -1) / 2**32) ** 4 + 1e-4
        weights.append(integer_weights(skewed / skewed.sum(axis=1, keepdims=True)))
    graph = Graph(parents, topological_order(described, parents), tuple((0.0,) * len(those) for those in parents))
    return BayesNet(described, graph, tuple(weights))


def write_people(path: Path, attributes: int, rows: int) -> None:
    """Write artificial people as Parquet, in chunks."""
    names = domain(attributes).names
    schema = pa.schema([(name, pa.uint8()) for name in names])
    with pq.ParquetWriter(path, schema) as writer:
        for codes in _people(network(attributes), stream(f"{attributes} people"), rows):
            writer.write_table(
                pa.table({name: codes[:, i].astype(np.uint8) for i, name in enumerate(names)}, schema=schema)
            )


def _people(net: BayesNet, words: WordStream, rows: int) -> Iterator[Codes]:
    for start in range(0, rows, _CHUNK):
        yield net.sample(words.take(min(_CHUNK, rows - start) * len(net.domain)))
