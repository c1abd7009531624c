"""`deniable data from-measurements`: a model and synthetic records from noisy tables published by others.

From the tables, the code of our own learners (`mst`, `nist_mst`) computes consistent estimates, intervals, a graphical
model and records. Nothing here is confidential: the publisher of the tables added the noise, and the random words that
draw the records are derived from the file. Needs the compiled code of the models (the extra `learn`).
"""

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

import numpy as np

from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey
from deniable.foundation.strict_json import parsed
from deniable.inference.interval_table import FILE as INTERVALS
from deniable.inference.interval_table import interval_table
from deniable.learners.mst.network import network_of
from deniable.learners.mst.pooling import Pooled, sizes_of
from deniable.measurements.document import FILE as MEASURED
from deniable.measurements.document import Measurements
from deniable.measurements.estimates import FILE as CONSISTENT
from deniable.measurements.estimates import added_up, consistent
from deniable.measurements.from_others import measurements_of_others
from deniable.measurements.noisy_tables import Cells, MeasuredTable
from deniable.models.bayes_net import BayesNet
from deniable.models.graphical.fitting import NoisyTable, fit
from deniable.models.graphical.junction_tree import JunctionTree

MOST_CELLS: Final = 20_000_000
"""Largest total number of cells of the model's cliques."""
MOST_RECORDS: Final = 10_000_000
_TOLERANCE = 1e-3

_README = """# {title}: synthetic records from published noisy tables

These records are made up. A model was fitted to {tables} noisy tables that others published, and {records} records
were drawn from it. The records have no guarantee but that of the tables.

| file | contents |
|---|---|
| `synthetic.csv` | the records |
| `schema.json` | the attributes and their values |
| `measured.json` | the noisy tables as they were read |
| `consistent.json` | estimates of the same tables that agree with each other, with variances |
| `intervals.csv` | the same tables as counts and shares with intervals |
| `model.json`, `graph.json` | the model, and the dependences in it |

`deniable data infer FOLDER QUESTION` answers questions from the tables, with intervals that cover; the records
are no sample, and an interval that is computed from them does not.
"""


@dataclass(frozen=True)
class MadeOfOthers:
    """The results computed from noisy tables.

    Attributes:
        files: text of each file, by its name.
        tables: number of tables.
        records: estimated number of records counted in the tables.
        cells: number of cells of the model.
    """

    files: Mapping[str, str]
    tables: int
    records: float
    cells: int


def made_of_others(text: str, records: int) -> MadeOfOthers:
    """Compute estimates, a model and synthetic records from noisy tables.

    Args:
        text: the file of noisy tables, JSON.
        records: number of synthetic records.

    Raises:
        InvalidInput: the file is not in the documented format, or the model would be too large.
    """
    if not 1 <= records <= MOST_RECORDS:
        raise InvalidInput(f"the number of records must be from 1 to {MOST_RECORDS:,}, got {records}.")
    document = parsed(text, "a file of noisy tables")
    if not isinstance(document, dict):
        raise InvalidInput("a file of noisy tables must be a JSON object, and is not.")
    measured = measurements_of_others(document)
    domain = measured.domain
    estimates = consistent(measured)
    pools = [_pool(measured, estimates, i) for i in range(len(domain))]
    tables = [_noisy_table(table, measured, pools) for table in measured.tables]
    cells = JunctionTree.of(sizes_of(pools), [own.attributes for own in tables]).cells
    if cells > MOST_CELLS:
        raise InvalidInput(
            f"the model of these tables must have at most {MOST_CELLS:,} cells, got {cells:,}; leave tables out, or "
            "count attributes by buckets."
        )
    net = network_of(domain, pools, fit(sizes_of(pools), tables, tolerance=_TOLERANCE).model)
    key = ReleaseKey(sha256(text.encode()).digest())
    words = key.stream(step="from_measurements", mechanism="sample", inputs="", parameters={"records": records})
    title = document.get("title") or "Noisy tables"
    files = {
        "schema.json": _json(_schema(domain)),
        MEASURED: _json(measured.document()),
        CONSISTENT: _json(estimates),
        INTERVALS: interval_table(measured, None),
        "model.json": _json(net.document()),
        "graph.json": _json(net.graph.document(domain)),
        "synthetic.csv": _records(net, domain, net.sample_evenly(words.take(records * len(domain)))),
        "README.md": _README.format(title=title, tables=len(measured.tables), records=f"{records:,}"),
    }
    return MadeOfOthers(files, len(measured.tables), measured.records, cells)


def _pool(measured: Measurements, estimates: Mapping[str, Any], i: int) -> Pooled:
    """The buckets of an attribute in the model, and the share of each value in its bucket by consistent estimates."""
    size, buckets = measured.domain.cardinalities[i], measured.buckets[i]
    if not any(i in table.attributes for table in measured.tables):
        # Nothing was measured in it: all values are equally probable.
        return Pooled(np.zeros(size, np.uint16), np.ones(1, np.int64), np.asarray([size]), np.full(size, 1 / size))
    values = np.bincount(buckets)
    shares = 1 / values[buckets]
    name = measured.domain.names[i]
    for table in estimates["tables"]:
        if table["attributes"] == [name] == table["by_values"]:
            own = np.maximum(np.asarray(table["estimates"], np.float64), 0.0)
            held = np.bincount(buckets, weights=own)[buckets]
            shares = np.where(held > 0, own / np.where(held > 0, held, 1.0), shares)
    return Pooled(buckets.astype(np.uint16), np.ones(len(values), np.int64), values, shares)


def _noisy_table(table: MeasuredTable, measured: Measurements, pools: list[Pooled]) -> NoisyTable:
    """A table summed to the model's buckets; the noise of a bucket is the sum of the noise of its values."""
    counts: Cells = table.values
    variance = np.full(counts.shape, table.variance)
    for axis, i in enumerate(table.attributes):
        if i in table.by_values and pools[i].size < measured.domain.cardinalities[i]:
            counts = added_up(counts, measured.buckets[i], axis)
            variance = added_up(variance, measured.buckets[i], axis)
    return NoisyTable(table.attributes, counts, np.sqrt(variance))


def _schema(domain: Domain) -> dict[str, Any]:
    """The domain in the form of `schema.json`."""
    return {
        "target": None,
        "attributes": [
            {
                "name": own.name,
                "title": "",
                "kind": own.kind,
                "values": [
                    {"value": value, "label": "", "bucket": bucket}
                    for value, bucket in zip(own.values, own.buckets, strict=True)
                ],
            }
            for own in domain.attributes
        ],
    }


def _records(net: BayesNet, domain: Domain, codes: Any) -> str:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(net.domain.names)
    columns = [np.asarray(own.values, object)[codes[:, i]] for i, own in enumerate(domain.attributes)]
    rows.writerows(zip(*columns, strict=True))
    return text.getvalue()


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False) + "\n"
