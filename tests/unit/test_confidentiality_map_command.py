"""`make bench-map` on a small made-up table: its points, its files, its page, and what it says without a real one."""

import csv
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import confidentiality_map as command
from benchmarks.confidentiality_map import RECORDS, SPEC, TOLERANCE, WAYS, WORKED_OUT, Table, verdicts
from deniable.foundation.domain import Attribute, Domain
from reports.figures.confidentiality_map import DISTANCES, ConfidentialityMap, MapPoint, as_csv
from reports.pages.confidentiality_map import render_map
from schemas.spec.release_spec import load_spec

pytestmark = pytest.mark.slow

DOMAIN = Domain(
    tuple(
        Attribute(name, tuple(range(size)), kind, tuple(range(size)))
        for name, size, kind in (("age", 4, "numeric"), ("incc", 2, "nominal"), ("hpw", 5, "numeric"))
    )
)


def table() -> Table:
    rows = np.arange(600)
    age = rows % 4
    codes = np.stack([age, (age + rows // 4 % 3) // 3 % 2, (age + rows // 12 % 2) % 5], axis=1)
    return Table(DOMAIN, codes.astype(np.uint16))


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("map")
    asked = ["--epsilons", "2", "400", "--records", "40", "--keys", "2", "--fit-rows", "60", "--learners"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "read_table", table)
        patch.setattr(sys, "argv", ["map", "--out", str(folder), *asked])
        command.main()
    return folder


def test_every_curve_has_its_points_at_their_totals(out: Path) -> None:
    with (out / "map.csv").open(encoding="utf-8", newline="") as file:
        points = list(csv.DictReader(file))
    curves = [*(way.curve for way in WAYS), "PMI"]
    assert [point["curve"] for point in points] == [
        *(name for name in curves for _ in range(2)),
        "bootstrap",
        "independent",
    ]
    assert all(set(DISTANCES) <= set(point) and point["records"] == "40" for point in points)
    by_curve = {point["curve"]: point for point in points}  # the second epsilon
    first = {point["curve"]: float(point["epsilon_total"]) for point in points[: 2 * len(curves) : 2]}
    # A block of ten records costs ten times as much, and there are four of them; one of a hundred is longer than all.
    assert first["PeGS"] == pytest.approx(40 * 2, rel=1e-3)
    assert first["PeGS.rs, B = 10"] == pytest.approx(4 * 20, rel=1e-3)
    assert first["PMI"] == 80
    # The smallest prior weight there is: three attributes of one unit each.
    assert first["PeGS.rs, B = 100"] == pytest.approx(3 * np.log1p(2**20))
    assert by_curve["bootstrap"]["epsilon_total"] == by_curve["bootstrap"]["epsilon_per_record"] == ""
    far, near = (float(point["conditional"]) for point in points if point["curve"] == "PMI")
    assert near < far / 2, "records of a large epsilon are nearer to the table"


def test_the_command_judges_order_and_ends_of_the_curves() -> None:
    def points(off: float, records: int = RECORDS) -> list[MapPoint]:
        return [
            MapPoint(
                curve, total=1.0, records=records, distances=(right + off,) * 4, spreads=(0.0,) * 4, per_record=eps
            )
            for (curve, eps), right in WORKED_OUT.items()
        ]

    assert [holds for _, holds in verdicts(points(0.9 * TOLERANCE))] == [True] * 8
    assert [holds for _, holds in verdicts(points(-1.1 * TOLERANCE))] == [False] * 7 + [True]
    swapped = [points(0)[1], points(0)[0], *points(0)[2:]]
    swapped[0], swapped[1] = (
        MapPoint(one.curve, total=1.0, records=RECORDS, distances=other.distances, spreads=(0.0,) * 4, per_record=1.0)
        for one, other in ((swapped[0], swapped[1]), (swapped[1], swapped[0]))
    )
    assert not verdicts(swapped)[-1][1]
    assert verdicts(points(0, records=40)) == []


def test_the_page_names_every_curve_and_loads_nothing(out: Path) -> None:
    page = (out / "map.html").read_text(encoding="utf-8")
    for way in WAYS:
        assert way.curve in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "vacuous" in page
    assert (out / "map.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_is_made_of_its_points_alone() -> None:
    points = [
        MapPoint("a curve", total=10.0, records=10, distances=(0.25,) * 4, spreads=(0.0,) * 4, per_record=1.0),
        MapPoint("a model", total=1.0, records=10, distances=(0.125,) * 4, spreads=(0.0,) * 4),
        MapPoint("reality", total=None, records=10, distances=(0.0625,) * 4, spreads=(0.0,) * 4),
    ]
    shown = ConfidentialityMap("a table", "age", ("incc", "hpw"), 1, points, ("A note.",))
    page = render_map(shown)
    assert all(each in page for each in ("a curve", "a model", "reality", "A note.", "a table"))
    assert [list(each) for each in (shown.curves, shown.models, shown.baselines)] == [
        ["a curve"],
        ["a model"],
        ["reality"],
    ]
    assert as_csv(shown).splitlines()[1] == "a curve,1,10,10," + ",".join(["0.250000"] * 4 + ["0.000000"] * 4)


def test_the_real_table_is_read_with_the_schema_of_its_spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    domain = load_spec(SPEC).domain
    draw = np.random.default_rng(list(b"acs13"))
    codes = np.stack([draw.integers(0, size, 30) for size in domain.cardinalities], axis=1)
    columns = {
        attribute.name: [attribute.values[code] for code in column]  # noqa: PD011 - no data frame
        for attribute, column in zip(domain.attributes, codes.T, strict=True)
    }
    pd.DataFrame(columns).to_csv(tmp_path / "acs13.csv", index=False)
    monkeypatch.setenv("DENIABLE_ACS13", str(tmp_path / "acs13.csv"))
    read = command.read_table()
    assert read.domain.digest == domain.digest
    assert read.codes.tolist() == codes.tolist()
    monkeypatch.delenv("DENIABLE_ACS13")
    with pytest.raises(SystemExit, match=r"DENIABLE_ACS13 must name the file acs13_stats\.csv\.gz; set it"):
        command.read_table()
    assert RECORDS == 1000
