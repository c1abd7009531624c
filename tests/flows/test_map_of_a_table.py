"""`deniable mechanisms map`: the R-U map and the intruder's curves of a table of one's own; nothing is released."""

import csv
import stat
import zipfile
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Bins, Domain
from deniable.foundation.errors import InvalidInput, Refused
from deniable.learners.mapped import Drawing
from deniable.samplers.mapped import GUARANTEES
from reports.figures.confidentiality_map import ConfidentialityMap, MapPoint, Measure, as_csv
from reports.pages.confidentiality_map import render_map
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from stores.vault.lease import LEASE
from tasks.data import reading
from tasks.mapping import own_table
from tasks.mapping.measures import Measured, RealTable, numbers_of
from tasks.mapping.own_table import Asked, measured_of, rows_of
from tasks.mapping.points import points_of_guarantees
from tests.commands import carry_out
from tests.small_release import QUICK, made_up_people, write_small_release

pytestmark = pytest.mark.slow

_OF_WAYS = ("PeGS", "PeGS.rs, B = 10", "Polya, B = r = 10", "PeGS.rs, B = 100")


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_release(tmp_path_factory.mktemp("table"), people=made_up_people(600), **QUICK)


@pytest.fixture(scope="module")
def state(spec: Path) -> Path:
    state = spec.parent / "state"
    asked = ["--epsilons", "2", "400", "--totals", "1", "--records", "40", "--repeats", "1"]
    assert carry_out("mechanisms map", [spec, *asked], state) == 0
    return state


@pytest.fixture(scope="module")
def points(state: Path) -> list[dict[str, str]]:
    with (state / "vault/maps/small/map.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_way_has_its_points_at_their_totals(points: list[dict[str, str]]) -> None:
    models = ["log-linear", "marginals", "PeGS with noisy tables"]
    curves = ["bootstrap", "independent", *models, "histogram of seeds", "Poisson seeds", "tested seeds, k = 50"]
    assert [point["curve"] for point in points] == [*curves, *(way for way in _OF_WAYS for _ in range(2))]
    first = {point["curve"]: float(point["epsilon_total"] or "nan") for point in reversed(points)}
    # A block of ten records costs ten times as much, and there are four of them; one of a hundred is longer than all.
    assert first["PeGS"] == pytest.approx(40 * 2, rel=1e-3)
    assert first["PeGS.rs, B = 10"] == pytest.approx(4 * 20, rel=1e-3)
    # The smallest prior weight there is, for each of four attributes.
    assert first["PeGS.rs, B = 100"] == pytest.approx(4 * np.log1p(2**20))
    by_curve = {point["curve"]: point for point in points}
    assert by_curve["log-linear"]["records"] == "300"
    assert by_curve["PeGS"]["records"] == "40"
    assert by_curve["bootstrap"]["epsilon_total"] == by_curve["log-linear"]["epsilon_per_record"] == ""


def test_records_from_seeds_cost_at_least_what_a_release_of_them_would(
    points: list[dict[str, str]], tmp_path: Path
) -> None:
    """The plan of a release of the same model and seeds, from all rows; it may compose more tightly."""
    stated = {point["curve"]: float(point["epsilon_total"] or "nan") for point in points}
    domain = load_spec(write_small_release(tmp_path / "domain", **QUICK)).domain
    for number, guarantee in enumerate(GUARANTEES):
        records = 300 if guarantee.has_total else 40
        learner, synthesis = guarantee.entries(domain, 600, records, 1.0)
        asked = {"learner": plain(learner), "synthesis": plain(synthesis), "split": {"shared": 1, "holdout": 0}}
        total = plan_release(
            load_spec(write_small_release(tmp_path / str(number), **{**QUICK, **asked, "thresholds": {}}))
        ).accounts.total
        assert total is not None
        assert 0.9 * stated[guarantee.curve] < total.epsilon <= stated[guarantee.curve] * (1 + 1e-6), guarantee.curve


def plain(entry: Any) -> Any:
    """An entry as in a spec."""
    if isinstance(entry, Mapping):
        return {name: plain(value) for name, value in entry.items()}
    return float(entry) if isinstance(entry, Fraction) else entry


def test_a_table_of_one_attribute_has_no_records_from_seeds() -> None:
    domain = Domain((Attribute("age", tuple(range(4)), "numeric", tuple(range(4))),))
    codes = np.zeros((90, 1), np.uint16)
    real = RealTable(domain, codes, Measured(given=(), explained=(), known=(), guessed=(), number=None, linking=()))
    assert list(points_of_guarantees(real, Drawing(domain, codes), (1.0,), 10, 1)) == []


def test_seeds_that_a_table_is_too_small_for_are_left_out_in_a_sentence() -> None:
    domain = Domain(
        tuple(Attribute(name, tuple(range(4)), "numeric", tuple(range(4))) for name in ("age", "town", "trade"))
    )
    codes = np.zeros((40, 3), np.uint16)
    measured = Measured(given=(), explained=(), known=(), guessed=(), number=None, linking=())
    said: list[str] = []
    drawing = Drawing(domain, codes)
    found = list(points_of_guarantees(RealTable(domain, codes, measured), drawing, (1.0,), 10, 1, said.append))
    assert [point.curve for point in found] == ["histogram of seeds"]
    assert [line.partition(" is left out")[0] for line in said] == [
        "Poisson seeds at a total of 1",
        "tested seeds, k = 50",
    ]
    assert all("public_rows must be at least" in line for line in said)


def test_a_model_for_which_the_table_is_too_small_is_left_out_and_the_page_says_so(state: Path) -> None:
    page = (state / "vault/maps/small/map.html").read_text(encoding="utf-8")
    assert "Bayesian network at a total of 1 is left out: the structure part must hold at least 2 rows" in page


def test_the_intruders_guesses_are_of_what_the_spec_names(points: list[dict[str, str]]) -> None:
    wanted = {"marginal", "given age", "regression of employed", "regression of age", "guess of school", "unique"}
    assert wanted <= set(points[0])
    assert all(0 <= float(point["guess of school"]) <= 1 and 0 <= float(point["unique"]) <= 1 for point in points)


def test_the_page_is_internal_and_nothing_is_charged(state: Path) -> None:
    folder = state / "vault/maps/small"
    page = (folder / "map.html").read_text(encoding="utf-8")
    assert "Internal: measured on real records" in page
    assert "no guarantee covers it" in " ".join(page.split())
    assert all(way in page for way in _OF_WAYS)
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert not list(state.rglob("*.sqlite*"))
    assert not (state / "releases").exists()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--records", "0"], "--records must be at least 1, got 0"),
        (["--repeats", "-1"], "--repeats must be at least 1"),
        (["--epsilons", "0"], "--epsilons must be numbers above 0"),
        (["--epsilons", "1", "2000"], "--epsilons must be at most 1,000"),
        (["--totals", "200"], "--totals must be at most 100"),
    ],
)
def test_a_map_that_cannot_be_is_refused_before_the_table_is_read(
    asked: Sequence[str], said: str, spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "opened_source", None)
    with pytest.raises(InvalidInput) as refused:
        carry_out("mechanisms map", [spec, *asked], tmp_path)
    assert said in str(refused.value)
    assert not (tmp_path / "vault").exists()


def test_an_error_of_the_schema_does_not_show_a_record(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("Ada, 36, married")

    monkeypatch.setattr(reading, "examine", fail)
    with pytest.raises(Refused) as refused:
        rows_of(load_spec(spec), tmp_path)
    assert "Ada" not in str(refused.value)
    assert refused.value.__context__ is None
    assert "Ada" in (tmp_path / "vault/checks/small.error.txt").read_text()


def test_a_packed_table_lies_in_the_scratch_of_the_state_folder_and_what_a_kill_left_there_is_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = made_up_people(80)
    path = write_small_release(tmp_path / "spec", people=people)
    with zipfile.ZipFile(tmp_path / "spec" / "people.zip", "w") as packed:
        packed.write(tmp_path / "spec" / "people.csv", "people.csv")
    write_small_release(tmp_path / "spec", people=[], source={"kind": "file", "path": "people.zip"})
    state, seen, examine = tmp_path / "state", [], reading.examine
    left = state / "scratch" / "source-killed.scratch"
    left.mkdir(parents=True)
    (left / LEASE).touch()

    def look(*asked: Any) -> Any:
        seen.append([found for found in tmp_path.rglob("people.csv") if found.parent != tmp_path / "spec"])
        return examine(*asked)

    monkeypatch.setattr(reading, "examine", look)
    assert len(rows_of(load_spec(path), state)) == len(people)
    assert seen
    assert all(place.is_relative_to(state / "scratch") for places in seen for place in places)
    assert all(len(places) == 1 for places in seen)
    assert not list((state / "scratch").iterdir())


def test_a_large_table_is_sampled_in_the_same_way_each_time(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = rows_of(load_spec(spec), tmp_path)
    monkeypatch.setattr(own_table, "MOST_ROWS", 50)
    some, again = (rows_of(load_spec(spec), tmp_path) for _ in range(2))
    assert len(whole) == 600
    assert some.shape == (50, 4)
    assert (some == again).all()


def test_regressions_of_too_many_columns_are_left_out_and_the_page_says_so(
    spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load_spec(spec)
    assert measured_of(loaded, loaded.domain)[0].explained == (3, 0)
    monkeypatch.setattr(own_table, "_MOST_COLUMNS", 2)
    measured, remark = measured_of(loaded, loaded.domain)
    assert measured.explained == ()
    assert "more than 2 columns" in remark
    assert Asked().records == 1000


def test_the_intruder_sees_as_many_records_of_every_table() -> None:
    domain = Domain(tuple(Attribute(name, (0, 1), "nominal", (0, 1)) for name in "ab"))
    codes = np.array([[0, 0], [1, 1]] * 4, np.uint16)
    real = RealTable(domain, codes, Measured((), (), (0,), (1,), None, (0, 1)))
    assert [measure.name for measure in real.measures] == ["marginal", "guess of b", "unique"]
    # Of the first two records each is alone, and they tell everything; of all four, none is.
    assert real.figures(codes[:4], 2) == (0, 1, 1)
    assert real.figures(codes[:4], 4) == (0, 1, 0)


def test_numbers_are_middles_of_bins_values_or_places() -> None:
    assert numbers_of(Attribute("a", (0, 10), "numeric", (0, 1), Bins((9, 19), 1))) == [4.5, 14.5]
    assert numbers_of(Attribute("a", (3, 5), "numeric", (0, 1))) == [3, 5]
    assert numbers_of(Attribute("a", ("low", "high"), "ordered", (0, 1))) == [0, 1]


def test_what_was_fitted_serves_every_epsilon() -> None:
    domain = Domain(tuple(Attribute(name, (0, 1), "nominal", (0, 1)) for name in "ab"))
    told: list[int] = []
    drawing = Drawing(domain, np.array([[0, 0], [1, 1]] * 20, np.uint16), told.append)
    entry = {"kind": "imputed", "fit_rows": 40}
    totals = [drawing.drawer({**entry, "epsilon": epsilon}, 5)[1] for epsilon in (1, 2)]
    assert totals == pytest.approx([5, 10], rel=1e-4)
    assert sum(told) == 1000, "the regressions were fitted once"


def test_the_page_is_made_of_its_points_alone() -> None:
    measures = (Measure("marginal", "Marginal", "a distance"), Measure("unique", "Unique", "a share"))
    points = [
        MapPoint("a curve", total=10.0, records=10, figures=(0.25, 0.5), spreads=(0.0, 0.0), per_record=1.0),
        MapPoint("a model", total=1.0, records=10, figures=(0.125, 0.5), spreads=(0.0, 0.0)),
        MapPoint("reality", total=None, records=10, figures=(0.0625, 0.5), spreads=(0.0, 0.0)),
    ]
    shown = ConfidentialityMap("a table", measures, 1, points, ("A note.",))
    page = render_map(shown)
    assert all(each in page for each in ("a curve", "a model", "reality", "A note.", "a table", "a share"))
    assert [list(each) for each in (shown.curves, shown.models, shown.baselines)] == [
        ["a curve"],
        ["a model"],
        ["reality"],
    ]
    assert as_csv(shown).splitlines()[:2] == [
        "curve,epsilon_per_record,epsilon_total,records,marginal,unique,marginal_sd,unique_sd",
        "a curve,1,10,10,0.250000,0.500000,0.000000,0.000000",
    ]
    alone = shown.measured("unique")
    assert [point.figures for point in alone.points] == [(0.5,)] * 3
