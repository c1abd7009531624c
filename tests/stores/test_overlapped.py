"""Tables written behind are those that pyarrow alone writes, chunks are read ahead in order, and errors are raised."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stores.tables.overlapped import ParquetBehind, ahead

SCHEMA = pa.schema([("code", pa.uint16())])
PATIENCE_S = 60


def batch(rows: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(np.arange(rows, dtype=np.uint16))], schema=SCHEMA)


def test_the_file_is_that_of_pyarrow_byte_for_byte(tmp_path: Path) -> None:
    batches = [batch(rows) for rows in (1000, 1, 0, 30_000)]
    with pq.ParquetWriter(tmp_path / "alone", SCHEMA, compression="zstd", write_statistics=False) as writer:
        for each in batches:
            writer.write_batch(each)
        writer.add_key_value_metadata({b"rows": "31001"})
    with ParquetBehind(tmp_path / "behind", SCHEMA, compression="zstd", write_statistics=False) as behind:
        for each in batches:
            behind.write_batch(each)
        behind.add_key_value_metadata({b"rows": "31001"})
    assert (tmp_path / "behind").read_bytes() == (tmp_path / "alone").read_bytes()


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that has no room for the first batch, and room again for others."""
    full, usual = [True], pq.ParquetWriter.write_batch

    def write_batch(writer: pq.ParquetWriter, batch: pa.RecordBatch) -> None:
        if full:
            full.clear()
            raise OSError(28, "No space left on device")
        usual(writer, batch)

    monkeypatch.setattr(pq.ParquetWriter, "write_batch", write_batch)


def write(path: Path, *, batches: int = 1, wrong: bool = False) -> None:
    with ParquetBehind(path, SCHEMA) as writer:
        for _ in range(batches):
            writer.write_batch(batch(10))
        if wrong:
            raise ValueError("a wrong row")


@pytest.mark.usefixtures("full_disk")
@pytest.mark.parametrize("batches", [1, 2])
def test_an_error_of_the_thread_is_raised_by_the_next_call_or_at_the_end(tmp_path: Path, batches: int) -> None:
    with pytest.raises(OSError, match="No space left"):
        write(tmp_path / "table", batches=batches)


@pytest.mark.usefixtures("full_disk")
def test_the_error_that_ended_the_rows_is_the_one_that_is_raised(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a wrong row"):
        write(tmp_path / "table", wrong=True)


def test_chunks_are_read_one_ahead_and_in_order() -> None:
    begun = [Event() for _ in range(3)]

    def chunks() -> Iterator[int]:
        for number, event in enumerate(begun):
            event.set()
            yield number

    read = ahead(chunks())
    assert next(read) == 0
    assert begun[1].wait(PATIENCE_S)
    assert not begun[2].is_set()
    assert list(read) == [1, 2]


def test_an_error_of_a_chunk_is_raised_in_its_place() -> None:
    def chunks() -> Iterator[int]:
        yield 1
        raise OSError("the file ends too early")

    read = ahead(chunks())
    assert next(read) == 1
    with pytest.raises(OSError, match="too early"):
        next(read)
