"""Text without separators is read by the positions of its columns, which a codebook or a program's syntax states."""

import gzip
from pathlib import Path

import pytest

from deniable.foundation.errors import InvalidInput
from flows.cli.table.drafting import places_in_lines
from schemas.codebooks.codebook import Place
from schemas.codebooks.drafting import draft_of, spec_text
from schemas.codebooks.reading import read_codebooks
from schemas.spec.release_spec import ReleaseSpec, load_spec
from stores.tables.sources.reading import opened_source

SCHEMA = """
from schemas.table import nominal, numeric, table

schema = table({"SEX": nominal(["1", "2"]), "AGE": numeric(0, 120), "PAY": numeric(-10.0, 99.0, step=0.01),
    "TOWN": nominal(["Ash", "Zürich"])}, missing_as="missing")
"""
# ID 1-3, SEX 4, AGE 5-7, PAY 8-11 with two implied decimals, TOWN 12-17
LINES = ["0011 30  12Ash   ", "0022  71250Zürich", "003 120-100", "", "0041 55 9.5Ash", "\x1a"]
COLUMNS = (
    "columns: [{name: SEX, start: 4, width: 1}, {name: AGE, start: 5, width: 3}, "
    "{name: PAY, start: 8, width: 4, decimals: 2}, {name: TOWN, start: 12, width: 6}]"
)
READ = [
    {"SEX": "1", "AGE": "30", "PAY": "0.12", "TOWN": "Ash"},
    {"SEX": "2", "AGE": "7", "PAY": "12.50", "TOWN": "Zürich"},
    {"SEX": None, "AGE": "120", "PAY": "-1.00", "TOWN": None},
    {"SEX": "1", "AGE": "55", "PAY": "9.5", "TOWN": "Ash"},
]
NAMES = ["SEX", "AGE", "PAY", "TOWN"]


def spec_of(folder: Path, source: str) -> ReleaseSpec:
    (folder / "people.py").write_text(SCHEMA)
    (folder / "people.yaml").write_text(f"name: people\ndataset: people.py\nsource: {source}\nepsilon: 1\n")
    return load_spec(folder / "people.yaml")


@pytest.mark.parametrize(
    ("name", "encoding", "end"),
    [("a.dat", "utf-8", "\n"), ("a.txt", "latin-1", "\r\n"), ("a.asc.gz", "utf-8", "\n"), ("a.csv", "utf-16", "\n")],
)
@pytest.mark.parametrize("rows", [1, 3, 100])
def test_each_column_is_where_the_spec_says(tmp_path: Path, name: str, encoding: str, end: str, rows: int) -> None:
    content = "".join(f"{line}{end}" for line in LINES).encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    spec = spec_of(tmp_path, f"{{kind: file, path: {name}, encoding: {encoding}, {COLUMNS}}}")
    with opened_source(spec, tmp_path, NAMES) as source:
        source._rows = rows
        batches = list(source.batches())
        assert (source.empty_rows, source.malformed_rows) == (2, 0)
    assert max(map(len, batches)) <= rows
    assert [row for batch in batches for row in batch.to_pylist()] == READ


def test_lines_above_the_records_are_skipped_and_a_decimal_comma_is_read(tmp_path: Path) -> None:
    (tmp_path / "people.dat").write_text("A survey\n1 12,5\n2  7,1\n")
    columns = "columns: [{name: SEX, start: 1, width: 1}, {name: AGE, start: 3, width: 4}]"
    spec = spec_of(tmp_path, f'{{kind: file, path: people.dat, skip_rows: 1, decimal: ",", {columns}}}')
    (tmp_path / "people.py").write_text(
        "from schemas.table import nominal, numeric, table\n\n"
        'schema = table({"SEX": nominal(["1", "2"]), "AGE": numeric(0.0, 20.0, step=0.1)})\n'
    )
    with opened_source(spec, tmp_path) as source:
        assert [row["AGE"] for batch in source.batches() for row in batch.to_pylist()] == ["12.5", "7.1"]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("people.dat", r"must name its columns in a line, or have fields of fixed width, .* `columns: \[\{name: AGE"),
        (
            "{kind: file, path: people.dat, columns: [{name: SEX, start: 40, width: 2}]}",
            "must reach position 40, where `columns` has SEX, and the longest has 17 characters; correct `columns`",
        ),
        (
            "{kind: file, path: people.dat, columns: [{name: AGE, start: 1, width: 2}]}",
            "and lacks SEX",
        ),
        (
            '{kind: file, path: people.dat, delimiter: ";", columns: [{name: SEX, start: 1, width: 2}]}',
            "must be left out if fields have separators, and `delimiter` is stated",
        ),
        (
            "{kind: file, path: people.dat, columns: [{name: A, start: 1, width: 2}, {name: A, start: 3, width: 2}]}",
            "must have different names, and do not",
        ),
        ("{kind: file, path: people.sav, columns: [{name: A, start: 1, width: 2}]}", "which has no such entry"),
        ("{kind: file, path: people.dat, columns: [{name: A, start: 0, width: 2}]}", "start"),
    ],
)
def test_positions_that_cannot_be_are_refused_without_quoting_a_record(tmp_path: Path, source: str, said: str) -> None:
    (tmp_path / "people.dat").write_text("".join(f"{line}\n" for line in LINES))
    with pytest.raises(InvalidInput, match=said) as caught:
        opened_source(spec_of(tmp_path, source), tmp_path, ["SEX"]).__enter__()
    assert not {"Ash", "1250"} & set(str(caught.value).split())


SYNTAXES = {
    "people.csv": "variable,type,values,start,end\nSEX,nominal,1=man|2=woman,4,4\nAGE,numeric,0 to 120,5,7\n"
    "PAY,numeric,-10 to 99,8,11\n",
    "people.sps": "DATA LIST FILE='people.dat' FIXED /1\n  ID 1-3 SEX 4\n  AGE 5-7 (F3.0)\n  PAY 8-11 (2)\n"
    "  TOWN 12-17 (A) .\nVALUE LABELS SEX 1 'man' 2 'woman'.\n",
    "people.do": "clear\nquietly infix ///\n  int ID 1-3 ///\n  byte SEX 4 ///\n  byte AGE 5-7 ///\n  double PAY 8-11 "
    '///\n  str TOWN 12-17 ///\n  using `"people.dat"\'\nreplace PAY = PAY / 100\n'
    'label define sex 1 `"man"\'\nlabel define sex 2 `"woman"\', add\nlabel values SEX sex\n',
    "people.dct": 'infile dictionary using people.dat {\n  _column(1) int ID %3f "number"\n  _column(4) byte SEX %1f\n'
    '  _column(5) AGE %3f "age in years"\n  _column(8) float PAY %4.2f\n  _column(12) str6 TOWN %6s "town"\n}\n',
    "people.txt": "Variable Name: SEX\nDescription: sex\nStart: 4\nEnd: 4\n1 MAN  10\n2 WOMAN  12\n"
    "AGE   age in years   3.0  NUM  5  7\n0 - 120   22\nPAY   pay   4.2  NUM  8  11\n",
}


@pytest.mark.parametrize("name", SYNTAXES)
def test_a_codebook_or_the_syntax_of_a_program_states_positions(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(SYNTAXES[name])
    variables = read_codebooks([tmp_path / name]).variables
    implied = 2 if name.endswith((".sps", ".do", ".dct")) else 0
    expected = {"SEX": Place(4, 1), "AGE": Place(5, 3), "PAY": Place(8, 4, implied)}
    assert {each: variables[each].place for each in expected} == expected


def test_a_draft_of_a_table_without_separators_states_the_positions_of_its_codebook(tmp_path: Path) -> None:
    (tmp_path / "book.sps").write_text(SYNTAXES["people.sps"])
    (tmp_path / "ranges.csv").write_text("variable,values\nAGE,0 to 120\nPAY,-10 to 99\n")
    book = read_codebooks([tmp_path / "book.sps", tmp_path / "ranges.csv"])
    draft = draft_of(book, "the book", ["SEX", "AGE", "PAY"])
    assert places_in_lines(book, draft, "people.csv") == {}
    places = places_in_lines(book, draft, "people.dat")
    text = spec_text("people", schema="people.py", source="people.dat", epsilon="1", places=places)
    (tmp_path / "people.py").write_text(SCHEMA)
    (tmp_path / "people.yaml").write_text(text)
    (tmp_path / "people.dat").write_text("".join(f"{line}\n" for line in LINES))
    with opened_source(load_spec(tmp_path / "people.yaml"), tmp_path, ["SEX", "AGE", "PAY"]) as source:
        read = [row for batch in source.batches() for row in batch.to_pylist()]
    assert read == [{name: row[name] for name in ("SEX", "AGE", "PAY")} for row in READ]


@pytest.mark.parametrize(
    ("name", "syntax", "said"),
    [
        ("a.sps", "DATA LIST FILE='a' /1 A 1-3 /2 B 1-4.\n", "DATA LIST must state one line for each record"),
        ("a.do", "infix 2 lines 1: int A 1-3 2: int B 1-4 using a.dat\n", "infix must state one line for each record"),
        ("a.csv", "variable,type,start,width\nA,numeric,x,3\n", "must have a first position, and a width or a last"),
        ("a.csv", "variable,type,start,width,end\nA,numeric,1,3,5\n", "that agree, got '1', '3' and '5'"),
    ],
)
def test_positions_that_are_not_understood_are_faults(tmp_path: Path, name: str, syntax: str, said: str) -> None:
    (tmp_path / name).write_text(syntax)
    faults = read_codebooks([tmp_path / name]).faults
    assert any(said in fault for fault in faults)
