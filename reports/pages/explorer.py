"""The explorer of a public table: `explore.html`, which filters, counts and cross-tabulates the records in the page.

It is made from the published table, the schema, `measured.json` and `intervals.csv`, and from nothing else. It is the
only page with a script; its policy names the script's digest, and the script does nothing until the reader starts it.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow.parquet as pq
from markupsafe import Markup

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.inference.interval_table import FILE as INTERVALS
from deniable.record.released_table import in_batches
from reports.figures.measured_intervals import IntervalTable, read_intervals, tables_to_pick_from
from reports.figures.value_groups import label_of
from reports.pages.pages import render_page
from reports.plots.measured import MEASURED, CountedTable, counted_by_value
from schemas.spec.release_spec import ReleaseSpec
from stores.publication.release_folder import PARQUET
from stores.tables.tables import codes_of_column

EXPLORER: Final = "explore.html"

MOST_BYTES: Final = 3_000_000
"""Bytes of packed codes that a page contains; a larger table is represented by its first records."""

_SCRIPT = "explore.js"
_ROWS_AT_A_TIME = 100_000
_CODES_AT_A_TIME = 8 * 4096
"""Number of codes packed at a time: a multiple of eight, which fills whole bytes."""


def write_explorer(folder: Path, *, release_id: str, spec: ReleaseSpec, records: int) -> Path:
    """Write `explore.html` into a staged release that contains the table and the measurements.

    Args:
        folder: the staged release.
        release_id: the release's name.
        spec: what was released.
        records: number of its records.

    Returns:
        The page; the same table gives the same bytes.
    """
    domain = spec.domain
    shown = rows_to_show(domain, records)
    columns = _first_codes(folder / PARQUET, domain, shown)
    found = counted_by_value(folder / MEASURED, domain)
    tables = tables_to_pick_from(read_intervals(folder / INTERVALS, spec.labels))
    script = (Path(__file__).parents[1] / "templates" / _SCRIPT).read_text(encoding="utf-8")
    page = render_page(
        "explore.html.jinja",
        {
            "spec": spec,
            "release_id": release_id,
            "records": records,
            "shown": shown,
            "data": _as_data(_document(spec, columns, shown, found, tables)),
            "has_intervals": bool(tables),
            # The script is a file of this program.
            "script": Markup(script),  # noqa: S704
            "script_sha256": base64.b64encode(sha256(script.encode()).digest()).decode(),
        },
    )
    path = folder / EXPLORER
    path.write_text(page, encoding="utf-8")
    return path


def rows_to_show(domain: Domain, records: int) -> int:
    """The number of records in a page: all of them, or the first ones of a large table."""
    bits = sum(map(bits_of, domain.attributes))
    return min(records, 8 * MOST_BYTES // max(bits, 1))


def bits_of(attribute: Attribute) -> int:
    """Number of bits of an attribute's code."""
    return max(attribute.cardinality - 1, 0).bit_length()


def pack(codes: Codes, bits: int) -> str:
    """Codes, shape (rows,), as text: `bits` bits each, the lowest first, packed without gaps, in base 64."""
    packed = bytearray()
    for start in range(0, len(codes), _CODES_AT_A_TIME):
        planes = (codes[start : start + _CODES_AT_A_TIME, np.newaxis] >> np.arange(bits, dtype=np.uint16)) & 1
        packed += np.packbits(planes.astype(np.uint8).ravel(), bitorder="little").tobytes()
    return base64.b64encode(packed).decode()


def _first_codes(table: Path, domain: Domain, rows: int) -> dict[str, Codes]:
    """Codes of the first records of a table, by attribute."""
    columns = {attribute.name: np.empty(rows, attribute.code_type) for attribute in domain.attributes}
    done = 0
    with pq.ParquetFile(table) as file:
        for batch in in_batches(file, _ROWS_AT_A_TIME):
            taken = batch.slice(0, rows - done)
            for attribute in domain.attributes:
                codes = codes_of_column(taken.column(attribute.name), attribute)
                columns[attribute.name][done : done + len(taken)] = codes
            done += len(taken)
            if done == rows:
                break
    return columns


def _document(
    spec: ReleaseSpec,
    columns: Mapping[str, Codes],
    rows: int,
    found: Mapping[tuple[str, ...], CountedTable],
    tables: Sequence[IntervalTable],
) -> dict[str, Any]:
    """The data that the script reads."""
    domain, titles, labels = spec.domain, spec.titles, spec.labels
    attributes = [
        {
            "name": attribute.name,
            "title": titles.get(attribute.name, ""),
            "values": [label_of(value, labels.get(attribute.name, {})) for value in attribute.values],
            "bits": bits_of(attribute),
            "codes": pack(columns[attribute.name], bits_of(attribute)),
            "counted": _counted(found.get((attribute.name,))),
        }
        for attribute in domain.attributes
    ]
    pairs = {
        f"{domain.index(names[0])},{domain.index(names[1])}": _counted(table)
        for names, table in found.items()
        if len(names) == 2
    }
    counted = next((table.records for table in found.values()), 0)
    measured = {",".join(str(domain.index(name)) for name in table.attributes): _estimated(table) for table in tables}
    return {"rows": rows, "counted": counted, "attributes": attributes, "pairs": pairs, "measured": measured}


def _estimated(table: IntervalTable) -> dict[str, Any]:
    """A measured table: labels along its attributes, and for each cell three counts and three shares."""
    shares = [[float(f"{number:.5g}") for number in cell.share] for cell in table.cells]
    return {
        "level": table.level,
        "labels": [table.labels(axis) for axis in range(len(table.attributes))],
        "counts": [[round(number) for number in cell.count] for cell in table.cells],
        "shares": shares,
    }


def _counted(table: CountedTable | None) -> dict[str, Any] | None:
    return None if table is None else {"noisy": table.noisy, "reach": table.reach}


def _as_data(document: Mapping[str, Any]) -> Markup:
    """A document as a data block in a page; nothing in it can end the block."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    # Every character with a meaning in HTML is written as its code point.
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))  # noqa: S704
