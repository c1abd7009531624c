"""A table is the same whichever program wrote it; what is missing there is missing, and a refusal says what to do."""

import gzip
import json
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from traceback import format_exception_only
from typing import Any
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyreadstat
import pytest

from deniable.foundation.errors import InvalidInput
from schemas.spec.release_spec import FileSource, ReleaseSpec, load_spec
from schemas.spec.source_kinds import SOURCE_KINDS, TABLE_SUFFIXES, TEXT, ZIP
from schemas.statistics_programs.times import clock_of
from stores.tables.sources.headers import read_header
from stores.tables.sources.kinds import FILE_KINDS, open_file
from stores.tables.sources.reading import Source, opened_source
from stores.tables.tables import VALID, encode, read_frames, write_snapshot
from tasks.data.validate import Findings, examine
from tests.sas_files import write_sas
from tests.spreadsheets import Day, write_xlsx
from tests.watched_folders import watching_folders

SCHEMA = """
from schemas.table import boolean, dates, nominal, numeric, table

schema = table(
    {
        "SEX": nominal({1: "male", 2: "female"}),
        "AGE": numeric(0, 120),
        "HOURS": numeric(0.0, 80.0, step=0.1),
        "TOWN": nominal(["Ash", "Zürich"]),
        "SEEN": dates("2020-01-01", "2020-12-31", by="month"),
        "MEMBER": boolean(),
    },
    missing_as="missing",
)
"""
ROWS = 7
PEOPLE = pd.DataFrame(
    {
        "SEX": [1.0, 2.0, None, 1.0, 2.0, 2.0, 1.0],
        "AGE": [30, 41, 7, 99, 0, 120, 55],
        "HOURS": [37.5, None, 9.6, 0.1, 0.3, 80.0, 7.7],
        "TOWN": ["Ash", "Zürich", None, "Ash", "Zürich", "Ash", "Ash"],
        "SEEN": pd.to_datetime(
            ["2020-01-01", None, "2020-03-01", "2020-04-30", "2020-12-31", "2020-02-29", "2020-07-07"]
        ),
        "MEMBER": [True, False, True, True, False, False, True],
    }
)
TEXTS = PEOPLE.assign(SEEN=PEOPLE["SEEN"].dt.strftime("%Y-%m-%d"))
CELLS: list[dict[str, Any]] = [
    {str(name): None if pd.isna(each) else each for name, each in row.items()} for row in TEXTS.to_dict("records")
]


def write_json(path: Path) -> None:
    text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n\n" for row in CELLS)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def write_stream(path: Path) -> None:
    table = pa.Table.from_pandas(PEOPLE.assign(TOWN=PEOPLE["TOWN"].astype("category")))
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)


def write_stata(path: Path) -> None:
    numbers = PEOPLE.assign(AGE=PEOPLE["AGE"].astype(np.int8), HOURS=PEOPLE["HOURS"].astype(np.float32))
    numbers = numbers.assign(MEMBER=PEOPLE["MEMBER"].astype(np.int8), TOWN=PEOPLE["TOWN"].fillna(""))
    numbers.to_stata(path, write_index=False, convert_dates={"SEEN": "td"}, version=118)


def write_spreadsheet(path: Path) -> None:
    days = [None if pd.isna(day) else Day((day - pd.Timestamp("1899-12-30")).days) for day in PEOPLE["SEEN"]]
    rows = [[*(row | {"SEEN": day}).values()] for row, day in zip(CELLS, days, strict=True)]
    write_xlsx(path, {"people": [list(PEOPLE), *rows, [], []]})


def write_days_of_sas(path: Path) -> None:
    days = [None if pd.isna(day) else float((day - pd.Timestamp("1960-01-01")).days) for day in PEOPLE["SEEN"]]
    columns = {name: [row[name] for row in CELLS] for name in PEOPLE} | {"SEEN": days}
    columns["SEX"][2] = ".A"
    columns["MEMBER"] = [float(each) for each in columns["MEMBER"]]
    write_sas(path, columns, {"SEEN": "DDMMYYP10."})


def write_zip(path: Path) -> None:
    with ZipFile(path, "w") as archive:
        archive.writestr("people/", "")
        archive.writestr("people/table.tsv", TEXTS.to_csv(index=False, sep="\t"))
        archive.writestr("people/notes.txt", "a note")
        archive.writestr("__MACOSX/people/._table.tsv", "x")


WRITERS: dict[str, Callable[[Path], None]] = {
    ".csv": lambda path: TEXTS.to_csv(path, index=False),
    ".tsv": lambda path: TEXTS.to_csv(path, index=False, sep="\t"),
    ".parquet": PEOPLE.to_parquet,
    ".feather": lambda path: pa.feather.write_feather(PEOPLE, path),
    ".arrow": write_stream,
    ".jsonl": write_json,
    ".ndjson.gz": write_json,
    ".sav": lambda path: pyreadstat.write_sav(PEOPLE, path),
    ".zsav": lambda path: pyreadstat.write_sav(PEOPLE, path, compress=True),
    ".dta": write_stata,
    ".xpt": lambda path: pyreadstat.write_xport(PEOPLE, path),
    ".sas7bdat": write_days_of_sas,
    ".xlsx": write_spreadsheet,
    ".zip": write_zip,
}


def spec_of(folder: Path, source: str) -> ReleaseSpec:
    (folder / "people.py").write_text(SCHEMA)
    (folder / "people.yaml").write_text(f"name: people\ndataset: people.py\nsource: {source}\nepsilon: 1\n")
    return load_spec(folder / "people.yaml")


def digest_of_codes(spec: ReleaseSpec) -> tuple[int, str]:
    """The number of valid rows, and a digest of their codes."""
    with opened_source(spec, spec.folder) as source:
        write_snapshot(spec.folder / "snapshot.parquet", source)
    frames = [examine(spec.schema, frame, Findings()) for frame in read_frames(spec.folder / "snapshot.parquet")]
    codes = np.concatenate([encode(frame[frame[VALID]], spec.domain) for frame in frames])
    return len(codes), sha256(codes.tobytes()).hexdigest()


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_table_has_the_same_codes_whichever_program_wrote_it(tmp_path: Path, suffix: str) -> None:
    WRITERS[".csv"](tmp_path / "reference.csv")
    WRITERS[suffix](tmp_path / f"people{suffix}")
    expected = digest_of_codes(spec_of(tmp_path, "reference.csv"))
    assert expected[0] == ROWS
    assert digest_of_codes(spec_of(tmp_path, f"people{suffix}")) == expected
    assert set(read_header(tmp_path / f"people{suffix}", tmp_path, list(PEOPLE)).names) == set(PEOPLE)


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("rows", [3, ROWS, 100])
def test_a_table_is_read_in_chunks_whose_size_changes_nothing(tmp_path: Path, suffix: str, rows: int) -> None:
    path = tmp_path / f"people{suffix}"
    WRITERS[suffix](path)
    spec = spec_of(tmp_path, path.name)
    columns = ["TOWN", "AGE", "HOURS"]
    with opened_source(spec, tmp_path, columns) as source:
        source._rows = rows
        batches = list(source.batches())
    assert max(map(len, batches)) <= rows
    found = [row for batch in batches for row in batch.to_pylist()]
    # A number that is stored in 32 bits is written with its own digits.
    assert [(row["TOWN"], row["AGE"], row["HOURS"] and float(row["HOURS"])) for row in found] == [
        (row["TOWN"], str(row["AGE"]), row["HOURS"]) for row in CELLS
    ]


def test_every_known_ending_of_a_name_has_one_kind_and_every_kind_a_reader() -> None:
    assert len(set(TABLE_SUFFIXES)) == len(TABLE_SUFFIXES)
    assert set(FILE_KINDS) | {TEXT, ZIP} == set(SOURCE_KINDS)


@pytest.mark.parametrize("suffix", [suffix for suffix in TABLE_SUFFIXES if suffix not in TEXT.suffixes])
def test_a_file_that_is_not_what_its_name_says_is_refused_without_quoting_it(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"people{suffix}").write_bytes(b"Ann Smith, 12\n" * 300)
    with pytest.raises(InvalidInput, match=r"must .*(save it|get it)") as caught:
        digest_of_codes(spec_of(tmp_path, f"people{suffix}"))
    assert "Ann" not in "".join(format_exception_only(caught.value))
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("suffix", [".sav", ".dta", ".sas7bdat", ".xlsx", ".feather"])
def test_a_file_that_was_cut_off_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"people{suffix}"
    WRITERS[suffix](path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(InvalidInput, match="save it again"):
        digest_of_codes(spec_of(tmp_path, path.name))


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_column_that_a_file_lacks_is_named(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"people{suffix}"
    WRITERS[suffix](path)
    spec = spec_of(tmp_path, path.name)
    with (
        pytest.raises(InvalidInput, match="and lacks WEIGHT"),
        opened_source(spec, tmp_path, ["AGE", "WEIGHT"]),
    ):
        pass


def test_a_name_that_differs_by_case_alone_is_shown(tmp_path: Path) -> None:
    WRITERS[".sav"](tmp_path / "people.sav")
    said = r"lacks age, Region \(it has AGE\); check their names in it, or correct the schema"
    with (
        pytest.raises(InvalidInput, match=said),
        opened_source(spec_of(tmp_path, "people.sav"), tmp_path, ["SEX", "age", "Region"]),
    ):
        pass


def test_what_a_program_declares_missing_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "people.sav"
    people = pd.DataFrame({"sex": [1.0, 2, 9], "pay": [100.0, -9, 250], "town": ["Ash", "?", "Elm"]})
    pyreadstat.write_sav(people, path, missing_ranges={"sex": [9], "pay": [{"lo": -10, "hi": -1}], "town": ["?"]})
    assert [batch.to_pydict() for batch in open_file(path).batches(["sex", "pay"], 10)] == [
        {"sex": [1.0, 2.0, None], "pay": [100.0, None, 250.0]}
    ]
    assert [row["town"] for batch in Source([open_file(path)], ["town"], 9).batches() for row in batch.to_pylist()] == [
        "Ash",
        None,
        "Elm",
    ]
    typed = pd.DataFrame({"pay": [100.0, "a", None, 250.0]})
    pyreadstat.write_dta(typed, tmp_path / "people.dta", missing_user_values={"pay": ["a"]})
    table = open_file(tmp_path / "people.dta")
    assert [batch.to_pydict() for batch in table.batches(["pay"], 10)] == [{"pay": [100.0, None, None, 250.0]}]


@pytest.mark.parametrize(
    ("program", "form", "counted", "written"),
    [
        ("stata", "%td", 21915.0, "2020-01-01"),
        ("stata", "%d", -1.0, "1959-12-31"),
        ("stata", "%-tdN/D/Y", 21915.0, "2020-01-01"),
        ("stata", "%tc", 1893542399000.0, "2020-01-01T23:59:59"),
        ("stata", "%tcCCYY-NN-DD", 1893456000000.0, "2020-01-01"),
        ("spss", "ADATE10", 13797216000.0, "2020-01-01"),
        ("spss", "DATETIME20", 13797216060.0, "2020-01-01T00:01:00"),
        ("sas", "YYMMDD10.", 21915.0, "2020-01-01"),
        ("sas", "E8601DT19.", 1893456060.0, "2020-01-01T00:01:00"),
        # Beyond the end of calendars, such as 99999999 for unknown: no day, and not missing either.
        ("sas", "DATE9.", 99999999.0, "99999999.0"),
        ("sas", "DATE9.", np.nan, None),
    ],
)
def test_days_and_moments_are_read_as_their_programs_count_them(
    program: str, form: str, counted: float, written: str | None
) -> None:
    clock = clock_of(program, form)
    assert clock is not None
    assert clock.written(np.array([counted])) == [written]


@pytest.mark.parametrize(
    ("program", "form"),
    [("stata", "%9.0g"), ("stata", "%tm"), ("stata", "%tcHH:MM:SS"), ("stata", "%12.2fc"), ("spss", "F8.2"),
     ("spss", "TIME8"), ("spss", "MONTH"), ("sas", "BEST12."), ("sas", "TIME8."), ("sas", "MONTH2."), ("sas", "")],
)  # fmt: skip
def test_other_formats_are_numbers(program: str, form: str) -> None:
    assert clock_of(program, form) is None


@pytest.mark.parametrize(
    ("sheets", "line", "seen"),
    [
        ({"a": [["Survey 2026"], [], ["AGE", "TOWN"], [30, "Ash"]]}, "skip_rows: 2", "row 3 names 2 columns"),
        ({"notes": [["see below"]], "b": [["TOWN", "AGE"], ["Ash", 30]]}, "sheet: 2", "row 1 of sheet 2 names 2"),
        ({"n": [], "b": [["x"], ["TOWN", "AGE"], ["Ash", 30]]}, "sheet: 2, skip_rows: 1", "row 2 of sheet 2"),
    ],
)  # fmt: skip
def test_another_sheet_or_row_is_refused_with_the_line_that_helps(
    tmp_path: Path, sheets: dict[str, list[list[Any]]], line: str, seen: str
) -> None:
    write_xlsx(tmp_path / "people.xlsx", sheets)
    columns = ["TOWN", "AGE"]
    spec = spec_of(tmp_path, "people.xlsx")
    with pytest.raises(InvalidInput, match=seen) as caught, opened_source(spec, tmp_path, columns):
        pass
    assert "Ash" not in str(caught.value)
    stated = str(caught.value).partition("state it in the spec: source: ")[2]
    assert line in stated
    with opened_source(spec_of(tmp_path, stated), tmp_path, columns) as source:
        assert [row for batch in source.batches() for row in batch.to_pylist()] == [{"TOWN": "Ash", "AGE": "30"}]
    header = read_header(tmp_path / "people.xlsx", tmp_path, columns)
    assert "".join(f", {name}: {value}" for name, value in header.entries.items()) == f", {line}"


def test_empty_rows_and_rows_of_units_in_a_sheet_are_no_records(tmp_path: Path) -> None:
    rows = [["TOWN", "AGE"], ["name", "years"], ["Ash", 30], [], ["Elm", 41], [], []]
    write_xlsx(tmp_path / "people.xlsx", {"a": rows})
    spec = spec_of(tmp_path, "{kind: file, path: people.xlsx, unit_rows: 1, sheet: a}")
    with opened_source(spec, tmp_path, ["TOWN", "AGE"]) as source:
        assert sum(map(len, source.batches())) == 2
        assert source.empty_rows == 1


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({}, "must hold one table, and holds none"),
        ({"a.csv": "AGE\n1\n", "b.csv": "AGE\n1\n"}, "must hold one table, and holds 2; unpack it"),
        ({"a.zip": "AGE\n1\n"}, "must hold one table, and holds none"),
    ],
)
def test_a_zip_file_with_any_other_number_of_tables_is_refused(
    tmp_path: Path, members: dict[str, str], said: str
) -> None:
    with ZipFile(tmp_path / "people.zip", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(InvalidInput, match=said):
        digest_of_codes(spec_of(tmp_path, "people.zip"))


def test_a_table_in_a_zip_file_has_the_dialect_that_the_spec_states_and_is_not_left_unpacked(tmp_path: Path) -> None:
    places = tmp_path / "scratch"
    with ZipFile(tmp_path / "people.zip", "w") as archive:
        archive.writestr("t.csv", "AGE;TOWN\n30;Ash\n")
    columns = ["AGE", "TOWN"]
    with pytest.raises(InvalidInput, match=r"people\.zip must be written .*split at semicolons") as caught:
        opened_source(spec_of(tmp_path, "people.zip"), tmp_path, columns).__enter__()
    spec = spec_of(tmp_path, str(caught.value).partition("state it in the spec: source: ")[2])
    with opened_source(spec, tmp_path, columns) as source:
        assert [path.stat().st_mode & 0o077 for path in (places, *places.iterdir())] == [0, 0]
        assert [path.read_text() for path in places.glob("*/t.csv")] == ["AGE;TOWN\n30;Ash\n"]
        assert [row for batch in source.batches() for row in batch.to_pylist()] == [{"AGE": "30", "TOWN": "Ash"}]
    assert not list(places.iterdir())


def test_a_zip_file_that_cannot_be_unpacked_says_where_and_what_to_do(tmp_path: Path) -> None:
    write_zip(tmp_path / "people.zip")
    (tmp_path / "scratch").write_text("a file in the place of the folder")
    said = r"people\.zip is unpacked in the state folder .* unpack the source yourself and name the table"
    with pytest.raises(InvalidInput, match=said):
        digest_of_codes(spec_of(tmp_path, "people.zip"))


def test_no_reader_puts_a_copy_among_temporary_files_or_beside_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary, state = tmp_path / "temporary", tmp_path / "state"
    for folder in (temporary, state):
        folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    for suffix, write in WRITERS.items():
        write(tmp_path / f"people{suffix}")
    specs = {suffix: spec_of(tmp_path, f"people{suffix}") for suffix in WRITERS}
    with watching_folders(temporary, tmp_path) as watched:
        for spec in specs.values():
            with opened_source(spec, state, ["AGE"]) as source:
                assert sum(map(len, source.batches())) == ROWS
        assert watched.made() == set()
        NamedTemporaryFile(dir=temporary).close()
        assert len(watched.made()) == 1


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ('path: people.sav, delimiter: ";"', "people.sav is a file of Stata, SPSS or SAS, which has no such entry"),
        ('path: "s3://people/a", skip_rows: 1', "s3://people/a is an object store, which has no such entry"),
        ("path: people.csv, sheet: 2", "people.csv is a table of text, which has no such entry"),
        ("path: people.pdf", "must be a file that ends in .csv, .*, .sav, .*or s3://BUCKET/PREFIX, got people.pdf"),
    ],
)
def test_an_entry_that_a_file_cannot_have_is_refused(tmp_path: Path, entries: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        spec_of(tmp_path, f"{{kind: file, {entries}}}")


def test_a_portable_file_of_spss_is_read(tmp_path: Path) -> None:
    pyreadstat.write_por(pd.DataFrame({"SEX": [1.0, None], "TOWN": ["Ash", ""]}), tmp_path / "people.por")
    source = Source([open_file(tmp_path / "people.por")], ["TOWN", "SEX"], 1)
    found = [row for batch in source.batches() for row in batch.to_pylist()]
    assert found == [{"TOWN": "Ash", "SEX": 1.0}, {"TOWN": None, "SEX": None}]


def test_names_may_be_in_capitals(tmp_path: Path) -> None:
    WRITERS[".sav"](tmp_path / "PEOPLE.SAV")
    assert digest_of_codes(spec_of(tmp_path, "PEOPLE.SAV"))[0] == ROWS


def test_further_files_are_read_as_the_first(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, '{kind: file, path: people.csv, delimiter: ";", skip_rows: 2}')
    read = spec.reading(tmp_path / "more.xlsx").source
    assert isinstance(read, FileSource)
    assert (read.delimiter, read.skip_rows) == (None, 2)


@pytest.mark.parametrize(("suffix", "library"), [(".sav", "pyreadstat"), (".xlsx", "python_calamine")])
def test_a_library_that_is_not_installed_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, library: str
) -> None:
    WRITERS[suffix](tmp_path / f"people{suffix}")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InvalidInput, match=rf"the library {library}, .*pip install 'deniable\[sources\]'"):
        digest_of_codes(spec_of(tmp_path, f"people{suffix}"))
