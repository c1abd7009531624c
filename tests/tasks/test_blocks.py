"""Blocks are few whatever the number of records, and together they are all chunks."""

from types import SimpleNamespace

import pytest

from tasks.synthesize import CHUNKS_A_BLOCK, MAX_BLOCKS, blocks

CHUNK = 65_536


@pytest.mark.parametrize("records", [1, CHUNK, CHUNK + 1, 10**6, 10**8, 10**9])
def test_blocks_are_few_and_miss_no_chunk(records: int) -> None:
    spec = SimpleNamespace(synthesis=SimpleNamespace(attempts=records, chunk_candidates=CHUNK))
    divided = blocks(spec)  # type: ignore[arg-type]
    assert [chunk for block in divided for chunk in block] == list(range(-(-records // CHUNK)))
    assert len(divided) <= MAX_BLOCKS
    assert all(len(block) >= CHUNKS_A_BLOCK for block in divided[:-1])
