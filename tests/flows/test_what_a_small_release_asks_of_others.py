"""What a small release asks of its servers, its databases and its accountants does not grow unnoticed.

None of these numbers depends on the machine. A limit is what is asked today, and a tenth; a step or a record more is
worth its requests, and the limit then says so.
"""

import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from matplotlib.figure import Figure
from sqlalchemy import Engine, event

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.tables import FamilyCounts
from deniable.learners.loglinear import plan as loglinear
from deniable.models.graph import Graph
from deniable.privacy import accounting
from deniable.record.released_table import TableFindings
from deniable.verification import release as verification
from flows.release import release
from stores.tables.tables import read_codes, write_codes
from tests.small_release import write_small_release

REQUESTS, STATEMENTS, PICTURES = 50, 810, 8
pytestmark = pytest.mark.pictures
SEEDLESS = {"guarantee": "seedless", "records": 500, "chunk_candidates": 200}


class Asked:
    """What is asked while a release runs in this process.

    Attributes:
        requests: requests to Prefect's server, by method and kind of path.
        statements: statements to MLflow's database and to the ledger's, by their first word.
        compositions: events whose privacy losses were composed by the library.
        pictures: figures that matplotlib drew.
        tables: published tables whose records were checked one by one.
    """

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.statements: Counter[str] = Counter()
        self.compositions = self.pictures = self.tables = 0


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Asked]:
    found = Asked()
    send, send_later, compose = httpx.Client.send, httpx.AsyncClient.send, accounting._composed
    draw, check = Figure.draw, verification.check_parquet

    def sent(client: httpx.Client, request: httpx.Request, **how: Any) -> httpx.Response:
        found.requests[f"{request.method} {request.url.path}"] += 1
        return send(client, request, **how)

    async def sent_later(client: httpx.AsyncClient, request: httpx.Request, **how: Any) -> httpx.Response:
        found.requests[f"{request.method} {request.url.path}"] += 1
        return await send_later(client, request, **how)

    def composed(*given: Any) -> float:
        found.compositions += 1
        return compose(*given)

    def drawn(figure: Figure, renderer: Any) -> None:
        found.pictures += 1
        draw(figure, renderer)

    def checked(*given: Any) -> TableFindings:
        found.tables += 1
        return check(*given)

    def executed(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        found.statements[statement.split(maxsplit=1)[0]] += 1

    monkeypatch.setattr(httpx.Client, "send", sent)
    monkeypatch.setattr(httpx.AsyncClient, "send", sent_later)
    monkeypatch.setattr(accounting, "_composed", composed)
    monkeypatch.setattr(Figure, "draw", drawn)
    monkeypatch.setattr(verification, "check_parquet", checked)
    event.listen(Engine, "before_cursor_execute", executed)
    yield found
    event.remove(Engine, "before_cursor_execute", executed)


def forget_plans() -> None:
    """Forget the plans that this process has calibrated; what the state folder keeps stays."""
    accounting._composed_by_library.cache_clear()
    accounting.calibrate_discrete_gaussian.cache_clear()
    accounting.calibrate_discrete_laplace.cache_clear()
    loglinear._calibrate_gaussian.cache_clear()


@pytest.mark.nightly
@pytest.mark.usefixtures("prefect")
def test_a_release_asks_little_of_its_servers_and_is_calibrated_once(state: Path, tmp_path: Path, asked: Asked) -> None:
    spec = write_small_release(tmp_path, learner__kind="loglinear", learner__noise="gaussian", synthesis=SEEDLESS)
    (state / "cache" / "costs.json").unlink(missing_ok=True)
    forget_plans()
    release(spec, state, anew=True)
    assert 0 < asked.compositions <= 34
    assert 0 < asked.requests.total() <= REQUESTS, asked.requests
    assert 0 < asked.statements.total() <= STATEMENTS, asked.statements
    assert asked.pictures == PICTURES, "MLflow and the pages show the same pictures"
    assert asked.tables == 1, "what publication has checked, the verification after it compares by digests"
    forget_plans()
    asked.compositions = 0
    release(spec, state, anew=True)
    assert asked.compositions == 0, "the second release of a spec is calibrated as the first was"


DOMAIN = Domain(tuple(Attribute(f"a{i}", tuple(range(8)), "nominal", tuple(range(8))) for i in range(6)))
CHUNK = 20_000


def chunks(number: int) -> Iterator[Codes]:
    rows = np.arange(CHUNK)
    chunk = np.stack([rows // (1 + i) % 8 for i in range(6)], axis=1).astype(np.uint16)
    return (chunk for _ in range(number))


def counted(path: Path) -> None:
    counts = FamilyCounts(DOMAIN, Graph.without_edges(DOMAIN).parents)
    for codes in read_codes(path, DOMAIN):
        counts.add(codes)


def hoarded(path: Path) -> None:
    """All rows at once, which is what streaming is not."""
    np.concatenate(list(read_codes(path, DOMAIN)))


def peak(work: Callable[[], object]) -> int:
    """Bytes that a call holds at most beside what was there before."""
    work()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_of_writing_and_counting_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    few, many = tmp_path / "few.parquet", tmp_path / "many.parquet"
    write_few, write_many = (
        partial(lambda path, number: write_codes(path, DOMAIN, chunks(number)), *each)
        for each in ((few, 4), (many, 24))
    )
    assert peak(write_many) <= 1.2 * peak(write_few)
    assert peak(partial(counted, many)) <= 1.2 * peak(partial(counted, few))
    assert peak(partial(hoarded, many)) > 3 * peak(partial(hoarded, few)), "what is not streamed is seen"
