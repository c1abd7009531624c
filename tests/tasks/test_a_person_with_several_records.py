"""A schema that names people: one record of each is used, and plan, ledger, statement and verification follow."""

import csv
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey
from deniable.privacy.neighbours import RECORD
from deniable.record.statement import OF_EVERY_RELEASE
from flows.cli.planning import show_plan
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from schemas.table import columns_read, domain_of, identifier, nominal, person_of, table
from stores.tables.tables import load_codes
from stores.vault.step_log import noted_steps
from tasks.audit.restage import restage
from tasks.data.clean import clean
from tasks.data.ingest import ingest
from tasks.data.validate import validate
from tests.published import Published, faults
from tests.relation_words import texts_of, words_of_others
from tests.small_release import NAMES, QUICK, SCHEMA, made_up_people, write_small_release
from tests.tasks.hand_made import workspace_of
from tests.whole_release import Drawn, drawn_release

COLUMN = "patient"
UNIT = "one person (all records with the same patient)"
ENDING = "-persons-patient"
OF_PEOPLE = SCHEMA.replace('target="employed",', f'target="employed",\n    person="{COLUMN}",')
"""Of people who may have several records."""
OF_ALL_KINDS = OF_PEOPLE.replace("import nominal", "import dates, nominal").replace(
    '"employed": nominal',
    """"wage": numeric(0, 1_000_000, bins=5_000, round=True, also={-1: "inapplicable"}, missing_as=-9),
        "seen": dates("2020-01-01", "2020-12-31", by="quarter", missing_as="never"),
        "employed": nominal""",
)
MORE = ["wage", "seen"]
PEOPLE = 900


def stays() -> list[list[str]]:
    """Records of people who have one to three each, in any order."""
    draw = np.random.default_rng(list(b"stays"))
    owners = np.concatenate([np.arange(PEOPLE), draw.integers(0, PEOPLE, PEOPLE)])
    draw.shuffle(owners)
    return [[f"person{owner:05}", *row] for owner, row in zip(owners, made_up_people(len(owners)), strict=True)]


def stays_of_all_kinds() -> list[list[str]]:
    """The same, with a wage of many values, and a date, which may both be missing."""
    draw = np.random.default_rng(list(b"wages"))
    return [
        [*row, ["", "-1", str(draw.integers(0, 10**6)), "10000.4"][draw.integers(0, 4)], ["2020-05-01", ""][number % 2]]
        for number, row in enumerate(stays())
    ]


def spec_of(folder: Path, people: list[list[str]] | None = None, schema: str = OF_PEOPLE, **changes: Any) -> Path:
    """A small release of such people."""
    rows = stays() if people is None else people
    return write_small_release(folder, people=rows, names=[COLUMN, *NAMES], schema=schema, **{**QUICK, **changes})


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    changes = {"people": stays_of_all_kinds(), "names": [COLUMN, *NAMES, *MORE], "schema": OF_ALL_KINDS, **QUICK}
    return drawn_release(tmp_path_factory.mktemp("people"), "small-1", **changes)


@pytest.fixture(scope="module")
def published(drawn: Drawn) -> Published:
    drawn.publish()
    return Published.of(drawn)


def test_the_release_holds_and_its_unit_is_a_person(drawn: Drawn, published: Published) -> None:
    report = published.verify(with_ledger=True)
    assert report.holds, faults(report)
    said, record = published.document("privacy.json"), published.record
    assert said["privacy_unit"] == UNIT
    assert said["neighbouring_relation"].startswith("one is the other with all records of one person added or removed")
    assert said["rows_left_out"]["rules"][-1].startswith("rows without patient, and of the other rows with the same")
    assert not any("People with several records" in line for line in said["not_covered"])
    assert said["not_covered"][1:] == list(OF_EVERY_RELEASE)
    assert published.document("schema.json")["person"] == {"column": COLUMN, "most_records": 1}
    assert record["schema"]["person"] == {"column": COLUMN, "most_records": 1}
    assert record["release"]["dataset"] == f"people{ENDING}"
    assert {entry.get("content", {}).get("dataset") for entry in record["ledger"]["entries"]} <= {
        f"people{ENDING}",
        None,
    }
    words = published.files["PRIVACY.md"].decode()
    assert f"The **privacy unit** is {UNIT}." in words
    assert "reveals about\nwhether a given person was in the table" in words
    assert "differ by\nall records of one person: one is the other" in words
    assert "differ by all records of one person added or removed" in words
    assert UNIT in published.files["index.html"].decode()
    readme = published.files["README.md"].decode()
    assert "those with the same patient, one record each was used" in readme
    assert "The numbers of wage were counted by bins" in readme
    require_words_of_a_person(drawn, published)


def require_words_of_a_person(drawn: Drawn, published: Published) -> None:
    """Require all texts of a release to speak of people, and not of records or anything else that is not protected."""
    relation = drawn.accounts.relation
    for name, text in texts_of(drawn, published.files):
        assert words_of_others(relation, text) == [], name
        assert words_of_others(RECORD, text) or name in ("README.md", "MLflow's runs"), name


def test_no_public_file_has_an_identifier(published: Published) -> None:
    assert not [name for name, content in published.files.items() if b"person0" in content]
    assert COLUMN not in published.files["synthetic.csv"].decode().splitlines()[0]


def test_numbers_are_drawn_within_their_bins_and_again_in_a_replay(drawn: Drawn, published: Published) -> None:
    text = published.files["synthetic.csv"].decode().splitlines()
    fields = {record["wage"] for record in csv.DictReader(text)}
    # A missing wage is no number; the code -1 is the codebook's.
    assert {"", "-1"} < fields
    assert "-9" not in fields
    wages = {int(each) for each in fields if each}
    # Of some 200 numbers in steps of 1, most are no first number of a bin.
    assert len([wage for wage in wages if wage > 0 and wage % 5_000]) > 50
    assert {record["seen"] for record in csv.DictReader(text)} <= {"never", *(f"2020-Q{n}" for n in (1, 2, 3, 4))}
    again = restage(drawn.workspace, drawn.codes, drawn.learnt, drawn.accounts, so_far=None, day="2026-01-01")
    for name in ("synthetic.csv", "synthetic.parquet", "schema.json"):
        assert again[name] == sha256(published.files[name]).hexdigest(), name


def without(document: dict[str, Any], *place: str) -> dict[str, Any]:
    inner = document
    for key in place[:-1]:
        inner = inner[key]
    del inner[place[-1]]
    return document


def test_what_is_stated_of_the_unit_cannot_be_changed(published: Published) -> None:
    def refused(changed: Published) -> str:
        report = changed.verify(with_ledger=True)
        assert not report.holds
        return faults(report)

    one_record = published.document("privacy.json") | {"privacy_unit": "one record"}
    assert "privacy_unit is" in refused(published.with_document("privacy.json", one_record))
    of_record = without(published.document("schema.json"), "person")
    assert "schema.person is" in refused(published.with_document("schema.json", of_record))
    assert "schema.person is" in refused(published.signed_again(without(published.record, "schema", "person")))
    two = published.document("schema.json") | {"person": {"column": COLUMN, "most_records": 2}}
    assert "schema.domain is" in refused(published.with_document("schema.json", two))
    none = published.document("schema.json") | {"person": {"column": COLUMN, "most_records": 0}}
    assert "most_records must be a whole number from 1 to 100" in refused(published.with_document("schema.json", none))
    other = published.record
    other["release"]["dataset"] = other["runs"]["mlflow_experiment"] = "people"
    assert "a ledger adds guarantees of one kind" in refused(published.signed_again(other))


def test_one_record_of_each_person_is_kept_and_one_that_is_valid_if_there_is_any(tmp_path: Path) -> None:
    rows = [
        ["a", "20", "f", "none", "no"],
        ["b", "21", "m", "some", "yes"],
        ["a", "99", "m", "none", "no"],
        ["", "22", "m", "none", "no"],
        ["b", "x", "m", "none", "no"],
        ["c", "99", "m", "none", "no"],
        ["d", "23", "f", "degree", "no"],
        ["d", "23", "f", "degree", "yes"],
    ]
    with workspace_of(spec_of(tmp_path, rows, chunk_rows=3, max_invalid_share=0.9)) as workspace:
        codes = clean(workspace, validate(workspace, ingest(workspace)))
        found = load_codes(codes.path, workspace.spec.domain)[:, 0]
        (step,) = [step for step in noted_steps(workspace, ("ingest", "validate", "clean")) if step.step == "clean"]
    assert sorted(found.tolist()) == [2, 3, 5]
    assert step.figures is not None
    assert step.figures["internal/rows_of_the_same_person"] == 1


_LARGE = 2**53 + 1


@pytest.mark.parametrize(
    ("parts", "people"),
    [
        ([pa.array([_LARGE, _LARGE, _LARGE, None, 8, 8, 8, None])], {_LARGE, 8}),
        ([pa.array([_LARGE, _LARGE - 1, 8]), pa.array([8.0, float("nan"), 9.5])], {_LARGE, _LARGE - 1, 8, 9.5}),
        ([pa.array([_LARGE, _LARGE, 8]), pa.array([8.0, 9.5]), pa.array(["8", str(_LARGE)])], {_LARGE, 8, 9.5}),
    ],
    ids=["beside nulls", "beside floats", "beside texts"],
)
def test_a_number_is_one_person(tmp_path: Path, parts: list[pa.Array], people: set[float]) -> None:
    """Pandas makes floats of integers beside nulls: 8.0 of 8, and above 2^53 other numbers."""
    spec = spec_of(tmp_path, chunk_rows=2, max_invalid_share=0.9)
    (tmp_path / "people.csv").unlink()
    (tmp_path / "people.csv").mkdir()
    for part, owners in enumerate(parts):
        rest = dict(zip(NAMES, map(list, zip(*made_up_people(len(owners)), strict=True)), strict=True))
        pq.write_table(pa.table({COLUMN: owners, **rest}), tmp_path / "people.csv" / f"{part}.parquet")
    with workspace_of(spec) as workspace:
        assert clean(workspace, validate(workspace, ingest(workspace))).rows == len(people)


def test_the_records_of_all_chunks_are_compared(tmp_path: Path) -> None:
    with workspace_of(spec_of(tmp_path, chunk_rows=100)) as workspace:
        codes = clean(workspace, validate(workspace, ingest(workspace)))
    assert codes.rows == PEOPLE


def test_another_key_chooses_other_records(tmp_path: Path) -> None:
    spec, found = spec_of(tmp_path), []
    for key in (bytes(32), bytes(32), b"1" * 32):
        with workspace_of(spec, key) as workspace:
            codes = clean(workspace, validate(workspace, ingest(workspace)))
            found.append(load_codes(codes.path, workspace.spec.domain).tolist())
    assert found[0] == found[1] != found[2]


def in_two_chunks(folder: Path, school: str = "none") -> list[int]:
    """Which records are kept of people who have one in each of two chunks, in the same order: 0 to 9, and 10 to 19."""
    rows = [[f"p{owner}", str(18 + chunk + owner % 10), "f", school, "no"] for chunk in (0, 10) for owner in range(200)]
    with workspace_of(spec_of(folder, rows, chunk_rows=200)) as workspace:
        codes = clean(workspace, validate(workspace, ingest(workspace)))
        return load_codes(codes.path, workspace.spec.domain)[:, 0].tolist()


def test_records_in_different_chunks_have_words_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, stream = [], ReleaseKey.stream

    def noted(self: ReleaseKey, **named: Any) -> Any:
        opened.append(named)
        return stream(self, **named)

    monkeypatch.setattr(ReleaseKey, "stream", noted)
    kept = in_two_chunks(tmp_path)
    of_people = [each for each in opened if each["mechanism"] == "one record of each person"]
    assert [each["chunk"] for each in of_people] == [0, 1]
    assert all(each["parameters"] == {"person": COLUMN, "most_records": 1} for each in of_people)
    # All are of one chunk by chance less often than once in 10^59.
    assert min(kept) < 10 <= max(kept)
    assert len(kept) == 200


def test_other_rows_are_chosen_by_other_words(tmp_path: Path) -> None:
    # The same are kept of both by chance less often than once in 10^30.
    assert in_two_chunks(tmp_path / "some") != in_two_chunks(tmp_path / "others", "some")


def test_a_recode_and_a_universe_need_not_know_the_person() -> None:
    schema = table(
        {"old": nominal([0, 1]), COLUMN: identifier(missing=["?"])},
        reads={"age": int},
        person=COLUMN,
        universe=lambda person: person["age"] > 9,
        recode=lambda person: pd.DataFrame({"old": (person["age"] > 50) * 1}),
    )
    frame = pd.DataFrame({"age": [70, 3, 20], COLUMN: ["a", "b", "?"]})
    read = schema.validate(frame, lazy=True)
    assert read["old"].tolist() == [1, 0]
    assert read[COLUMN].isna().tolist() == [False, True]
    assert columns_read(schema) == ("age", COLUMN)
    assert domain_of(schema).names == ("old",)


def test_identifiers_are_text_however_a_file_stores_them() -> None:
    schema = table({"old": nominal([0, 1])}, person=COLUMN)
    for written in ([7, 8], [7.0, 8.0], ["7", "8"]):
        frame = pd.DataFrame({"old": [0, 1], COLUMN: written})
        assert schema.validate(frame, lazy=True)[COLUMN].tolist() == ["7", "8"]


def test_a_domain_of_people_is_another_than_that_of_records() -> None:
    of_people, of_records = (domain_of(table({"a": nominal([1])}, person=name)) for name in (COLUMN, None))
    assert of_people.digest != of_records.digest
    assert of_people.digest != domain_of(table({"a": nominal([1])}, person="household")).digest
    assert of_people.person == person_of(table({"a": nominal([1])}, person=COLUMN))


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"person": "age"}, "must be an identifier, which is never released, and age is an attribute"),
        ({"person": COLUMN, "most_records": 0}, "most_records must be a whole number from 1 to 100, got 0"),
        ({"person": COLUMN, "most_records": 101}, "most_records must be a whole number from 1 to 100, got 101"),
        ({"person": COLUMN, "most_records": True}, "most_records must be a whole number from 1 to 100, got True"),
        ({"person": "a\nb"}, "the name of a person's column"),
    ],
)
def test_what_is_no_person_is_refused(more: dict[str, Any], what: str) -> None:
    with pytest.raises(InvalidInput, match=what):
        table({"age": nominal([1])}, **more)


def test_a_ledger_adds_guarantees_for_people_only(tmp_path: Path) -> None:
    budget = {"epsilon": 10, "delta": 1e-5}
    named = load_spec(spec_of(tmp_path / "own", budget={**budget, "dataset": f"stays{ENDING}"}))
    assert named.dataset_name == f"stays{ENDING}"
    assert load_spec(spec_of(tmp_path / "default")).dataset_name == f"people{ENDING}"
    with pytest.raises(InvalidInput, match=f"must name a dataset that ends in {ENDING}"):
        load_spec(spec_of(tmp_path / "records", budget={**budget, "dataset": "stays"}))
    with pytest.raises(InvalidInput, match="only if the schema names a person"):
        load_spec(spec_of(tmp_path / "people", schema=SCHEMA, budget={**budget, "dataset": f"stays{ENDING}"}))


def test_the_plan_says_who_is_protected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = load_spec(spec_of(tmp_path))
    show_plan(spec, tmp_path / "state")
    shown = " ".join(capsys.readouterr().out.split())
    assert f"privacy unit {UNIT}; one record of each, chosen at random, is used" in shown
    # The costs are those of records.
    of_records = load_spec(spec_of(tmp_path / "records", schema=SCHEMA))
    assert plan_release(spec).accounts.total == plan_release(of_records).accounts.total
