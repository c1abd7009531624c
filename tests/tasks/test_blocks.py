"""Blocks are few whatever the number of records, and together they are all chunks."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deniable.foundation.keys import ReleaseKey, WordStream
from deniable.mechanisms import Product
from schemas.references import Audience
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from stores.vault.models import read_model, read_product
from tasks.running.step import amount_of
from tasks.synthesis.synthesize import CHUNKS_A_BLOCK, MAX_BLOCKS, blocks
from tests.small_release import write_small_release
from tests.whole_release import GUARANTEES, drawn_release

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


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_each_chunk_of_candidates_opens_a_stream_of_its_own(guarantee: str, tmp_path: Path) -> None:
    """Were it one stream for all, the chunks would have the same seeds and the same noise."""
    spec = load_spec(write_small_release(tmp_path, people=[], **GUARANTEES[guarantee]))
    drawn = drawn_release(tmp_path / "release", "people-1", **GUARANTEES[guarantee])
    opened: list[dict[str, Any]] = []

    def stream(**named: Any) -> WordStream:
        opened.append(named)
        return ReleaseKey(bytes(32)).stream(step="synthesize", inputs="", **named)

    vault = drawn.workspace
    model = vault.refer("model", "model.json", Audience.PUBLIC)
    sampler = plan_release(spec).sampler
    made = [] if sampler.prepare is None else list(sampler.prepare.makes)
    prepared = [read_product(item, vault.refer(item.name, item.file, audience_of(item))) for item in made]
    draw = sampler.open(read_model(spec.domain, model), prepared[0] if prepared else None, stream)
    for chunk in range(3):
        draw(chunk, 10)
    # Drawing, matching and raking have a stream each.
    names = list(dict.fromkeys(named["mechanism"] for named in opened))
    assert [(named["mechanism"], named["chunk"]) for named in opened] == [
        (name, chunk) for chunk in range(3) for name in names
    ]
    assert len({str(named["parameters"]) for named in opened}) == 1


def audience_of(product: Product) -> Audience:
    return Audience.PUBLIC if product.is_public else Audience.RESTRICTED
