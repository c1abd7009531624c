"""Tables as text are read in the dialect that the spec declares, and refused with the line to write in any other."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from deniable.foundation.errors import InvalidInput
from schemas.spec.release_spec import FileSource, load_spec
from stores.tables.sources.headers import read_header
from stores.tables.sources.reading import opened_source

SCHEMA = """
from schemas.table import nominal, numeric, table

schema = table({"town": nominal(["Ash", "Zürich"]), "hours": numeric(0.0, 10_000.0, step=0.5)})
"""
ROWS = [("Ash", "1.5"), ("Zürich", "1000"), ("Ash", None), ("Zürich", "7")]


def spec_of(folder: Path, content: bytes, source: str, name: str = "t.csv") -> Path:
    (folder / name).write_bytes(content)
    (folder / "towns.py").write_text(SCHEMA)
    (folder / "towns.yaml").write_text(f"name: towns\ndataset: towns.py\nsource: {source}\nepsilon: 1\n")
    return folder / "towns.yaml"


def read(spec: Path) -> list[tuple[Any, ...]]:
    with opened_source(load_spec(spec), spec.parent / "cache") as source:
        return [tuple(row.values()) for batch in source.batches() for row in batch.to_pylist()]


def text(rows: list[str], end: str = "\n") -> str:
    return end.join(rows) + end


SEMICOLONS = text(["id;town;hours", "1;Ash;1,5", "2;Zürich;1.000,0", "3;Ash;", "4;Zürich;7"])
WRITTEN = [
    (SEMICOLONS.encode(), 'delimiter: ";", decimal: ",", thousands: "."', "t.csv"),
    (SEMICOLONS.encode("latin-1"), 'delimiter: ";", decimal: ",", thousands: ".", encoding: latin-1', "t.csv"),
    (SEMICOLONS.encode("utf-16"), 'delimiter: ";", decimal: ",", thousands: ".", encoding: utf-16', "t.csv"),
    (gzip.compress(SEMICOLONS.encode()), 'delimiter: ";", decimal: ",", thousands: "."', "t.csv.gz"),
    (b"\xef\xbb\xbf" + SEMICOLONS.encode(), 'delimiter: ";", decimal: ",", thousands: "."', "t.txt"),
    (
        text(["hours\ttown", "1.5\tAsh", "1000\tZürich", "\tAsh", "7\tZürich"], "\r\n").encode(),
        "quote: '\"'",
        "t.tsv",
    ),
    (text(["hours|town", "1.5|Ash", "1000|Zürich", "|Ash", "7|Zürich"]).encode(), 'delimiter: "|"', "t.csv"),
    (
        text(["Survey 2026,", ",", "town,hours", "Ash,1.5", "Zürich,1000", "Ash,", "Zürich,7"]).encode(),
        "skip_rows: 2",
        "t.csv",
    ),
    (
        text(["town,hours", "name,h per week", "Ash,1.5", "Zürich,1000", "Ash,", "Zürich,7"]).encode(),
        "unit_rows: 1",
        "t.csv",
    ),
    (
        text(["town,hours", "'Ash',1.5", "'Zürich',1000", "'Ash',", "'Zürich',7"]).encode(),
        'quote: "\'"',
        "t.csv",
    ),
]


@pytest.mark.parametrize(("content", "entries", "name"), WRITTEN, ids=[entries for _, entries, _ in WRITTEN])
def test_a_declared_dialect_is_read(tmp_path: Path, content: bytes, entries: str, name: str) -> None:
    found = read(spec_of(tmp_path, content, f"{{kind: file, path: {name}, {entries}}}", name))
    assert [town for town, _ in found] == [town for town, _ in ROWS]
    hours = [None if hours is None else float(hours) for _, hours in found]
    assert hours == [1.5, 1000.0, None, 7.0]


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (
            SEMICOLONS.encode(),
            "t.csv",
            r"the first line has 3 columns if split at semicolons; .*path: \"t.csv\", delimiter: \";\"\}",
        ),
        (
            SEMICOLONS.encode("utf-16"),
            "t.csv",
            'split at semicolons, and the file is written in utf-16; .*delimiter: ";", encoding: utf-16',
        ),
        (text(["town,hours", "Zürich,1"]).encode("latin-1"), "t.csv", "written in latin-1; .*, encoding: latin-1}"),
        (text(["town,hours", "Zürich\x80,1"]).encode("latin-1"), "t.csv", "encoding: windows-1252}"),
        (text(["a title", "", "town,hours", "Ash,1"]).encode(), "t.csv", "line 3 has 2 columns .*skip_rows: 2"),
        (text(["sep=;", "town;hours", "Ash;1"]).encode(), "t.csv", 'line 2 .* delimiter: ";", skip_rows: 1}'),
        (text(["town\thours", "Ash\t1"]).encode(), "t.csv", r"split at tabs; .*delimiter: \"\\t\"\}"),
        (text(["town,hours", "Ash,1"]).encode(), "t.tsv", "split at commas"),
        (text(["town,hours,", *["Ash,1"] * 5]).encode(), "t.csv", "are named and the first rows have 2: line 1 ends"),
        (text(["town,hours", *["1,Ash,1"] * 5]).encode(), "t.csv", "first rows have 3: .*such as R's row names"),
    ],
)  # fmt: skip
def test_another_dialect_is_refused_with_what_was_seen_and_the_line_to_write(
    tmp_path: Path, content: bytes, name: str, said: str
) -> None:
    spec = spec_of(tmp_path, content, name, name)
    with pytest.raises(InvalidInput, match=said) as caught:
        read(spec)
    assert "Ash" not in str(caught.value)


def test_the_line_of_a_refusal_is_the_line_that_helps(tmp_path: Path) -> None:
    content = text(["a title", "town;hours", "Zürich;1"]).encode("utf-16")
    spec = spec_of(tmp_path, content, "t.csv")
    with pytest.raises(InvalidInput) as caught:
        read(spec)
    line = str(caught.value).partition("state it in the spec: source: ")[2]
    assert read(spec_of(tmp_path, content, line)) == [("Zürich", "1")]


def test_a_header_states_what_a_draft_must_declare(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text(["a title", "town;hours", "Ash;1"]).encode())
    header = read_header(path, tmp_path, ["hours", "town", "other"])
    assert (header.names, header.entries) == (("town", "hours"), {"delimiter": ";", "skip_rows": 1})
    path.write_bytes(b"town,hours\nAsh,1\n")
    assert read_header(path, tmp_path, ["hours"]).entries == {}
    assert read_header(path, tmp_path).names == ("town", "hours")


def test_a_dialect_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    for entries in (
        'thousands: "."',
        'decimal: ",", thousands: ","',
        "skip_rows: -1",
        "delimiter: ab",
        "encoding: ebcdic",
    ):
        with pytest.raises(InvalidInput, match="source"):
            load_spec(spec_of(tmp_path, b"", f"{{kind: file, path: t.csv, {entries}}}"))


def test_what_arrives_next_is_written_as_the_source_was(tmp_path: Path) -> None:
    spec = load_spec(spec_of(tmp_path, b"", '{kind: file, path: t.csv, delimiter: ";"}'))
    again = spec.reading(tmp_path / "next.csv").source
    assert isinstance(again, FileSource)
    assert again.delimiter == ";"
    other = spec.reading(tmp_path / "next.parquet").source
    assert isinstance(other, FileSource)
    assert other.delimiter is None
