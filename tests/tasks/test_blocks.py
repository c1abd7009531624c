"""Blocks are few whatever the number of records, and together they are all chunks."""

from types import SimpleNamespace
from typing import Any

import pytest

from tasks import synthesize
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


@pytest.mark.parametrize("draw", ["_draw_and_test", "_draw_from_histogram", "_draw_from_model"])
def test_each_chunk_of_candidates_opens_a_stream_of_its_own(draw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were it one stream for all, the chunks would have the same seeds and the same noise."""
    opened: list[dict[str, Any]] = []

    class Anything:
        """Stands for the model, the seeds and the records: only the streams count."""

        digest, net, domain, words_per_record = "d", None, (0, 1), 3

        def __init__(self, *_: object) -> None:
            pass

        def __call__(self, *_: object) -> "Anything":
            return self

        parameters = take = sample = sample_evenly = __call__

    def stream(**named: Any) -> Anything:
        opened.append(named)
        return Anything()

    for name in ("read_model", "read_index", "read_histogram", "SeedResampler", "PrefixSampler", "attempt"):
        monkeypatch.setattr(synthesize, name, Anything())
    monkeypatch.setattr(synthesize, "run_mechanism", Anything())
    spec = SimpleNamespace(domain=None, learner=SimpleNamespace(kind="cfs"))
    workspace = SimpleNamespace(spec=spec, key=lambda: SimpleNamespace(stream=stream))
    arguments: dict[str, list[object]] = {
        "_draw_and_test": [SimpleNamespace(omega={}), Anything(), Anything()],
        "_draw_from_histogram": [Anything(), Anything()],
        "_draw_from_model": [Anything()],
    }
    drawn = getattr(synthesize, draw)(workspace, *arguments[draw])
    for chunk in range(3):
        drawn(chunk, 10)
    assert [named["chunk"] for named in opened] == [0, 1, 2]
    assert {named["step"] for named in opened} == {"synthesize"}
