"""Blocks are few whatever the number of records, and together they are all chunks."""

from types import SimpleNamespace

import pytest

from tasks.step import amount_of
from tasks.synthesize import CHUNKS_A_BLOCK, MAX_BLOCKS, blocks

CHUNK = 65_536


@pytest.mark.parametrize("records", [1, CHUNK, CHUNK + 1, 10**6, 10**8, 10**9])
def test_blocks_are_few_and_miss_no_chunk(records: int) -> None:
    spec = SimpleNamespace(synthesis=SimpleNamespace(attempts=records, chunk_candidates=CHUNK))
    divided = blocks(spec)  # type: ignore[arg-type]
    assert [chunk for block in divided for chunk in block] == list(range(-(-records // CHUNK)))
    assert len(divided) <= MAX_BLOCKS
    assert all(len(block) >= CHUNKS_A_BLOCK for block in divided[:-1])


@pytest.mark.parametrize("records", [1, CHUNK + 1, 10**8])
def test_the_work_of_the_blocks_is_that_of_the_release(records: int) -> None:
    spec = SimpleNamespace(synthesis=SimpleNamespace(attempts=records, chunk_candidates=CHUNK))
    sent = {"workspace": SimpleNamespace(spec=spec), "model": None, "seeds": None}
    amounts = [amount_of("synthesize", {**sent, "block": block}) for block in blocks(spec)]  # type: ignore[arg-type]
    assert sum(amounts) == records
    assert amount_of("a step whose work nobody counts", sent) == 0
