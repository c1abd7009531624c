"""A release of commuting flows with as many origins as OnTheMap's first experiment: the 233,726 blocks of a state."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from deniable.foundation.domain import MAX_CARDINALITY
from flows.audit import audit_here
from flows.release import release
from flows.replay import replay
from reports.pages.explorer import EXPLORER
from stores.publication.release_folder import CSV
from tests.browser import browser
from tests.mechanisms.table import LEARNERS
from tests.small_release import write_small_release

pytestmark = pytest.mark.usefixtures("prefect")

ORIGINS = 233_726
WORKS = {"mill": 300, "port": 200, "school": 80, "farm": 20}
SCHEMA = f"""
from schemas.table import nominal, table

HOMES = [f"b{{n:06d}}" for n in range({ORIGINS})]
AREAS = [HOMES[n : n + 100] for n in range(0, {ORIGINS}, 100)]
schema = table({{"work": nominal({[*WORKS]}), "home": nominal(HOMES, buckets=AREAS)}}, target="work")
"""


@pytest.mark.nightly
def test_it_is_made_verified_replayed_and_explored(tmp_path: Path) -> None:
    draw = np.random.default_rng(1492)
    people = [
        [work, f"b{draw.integers(ORIGINS - 2000, ORIGINS):06d}"] for work, many in WORKS.items() for _ in range(many)
    ]
    row = LEARNERS["origin_destination"].asked
    learner = {"kind": "origin_destination", "destination": "work", "origin": "home", "privacy": "pdp", "epsilon": 4.6}
    spec = write_small_release(
        tmp_path / "spec",
        **{
            **row,
            "people": people,
            "schema": SCHEMA,
            "learner": {**learner, "delta": 1e-5, "totals": WORKS},
            "budget": {"dataset": "people-replaced", "epsilon": 10, "delta": 0.01},
            "synthesis": {"guarantee": "per_draw", "records": 600, "chunk_candidates": 256, "delta": 1e-5},
        },
    )
    state = tmp_path / "state"
    released = release(spec, state)
    workspace = released.workspace
    folder = workspace.release_folder
    with (folder / CSV).open(newline="") as file:
        homes = [int(line["home"][1:]) for line in csv.DictReader(file)]
    assert len(homes) == 600
    assert sum(home >= ORIGINS - 2000 for home in homes) > 50, "by chance alone it would be 5"
    assert max(homes) > MAX_CARDINALITY
    assert [int(home[1:]) for home in pq.read_table(folder / "synthetic.parquet").column("home").to_pylist()] == homes
    schema = json.loads((folder / "schema.json").read_text())
    assert sorted(len(each["values"]) for each in schema["attributes"]) == [4, ORIGINS]
    assert audit_here(workspace.release_id, state).holds
    assert replay(folder, state).same

    (tmp_path / "browser").mkdir()
    with browser(tmp_path / "browser") as chromium:
        page = chromium.page(folder.as_uri())
        said = list[str]()
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto((folder / EXPLORER).as_uri())
        page.click("#run")
        page.select_option("#one", "1")
        shown = page.eval_on_selector_all("#histogram tbody th", "all => all.map(each => each.textContent)")
        assert shown == sorted(shown)
        assert len(shown) == 500
        assert {int(home[1:]) for home in shown} <= set(homes)
        assert "the 500 values with the most records are shown" in page.inner_text("#histogram-about")
        sums = page.eval_on_selector_all(
            "#cross tbody td:last-child", "all => all.map(each => Number(each.textContent))"
        )
        assert sums == [WORKS[work] for work in WORKS]
        assert said == []
