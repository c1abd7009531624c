"""Records drawn evenly: each has the network's law, what is independent stays so, together they are nearer to it."""

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.domain import Attribute, Codes, Domain
from deniable.keys import ReleaseKey
from deniable.loglinear import strata as strata_module
from deniable.loglinear.factors import LogTable
from deniable.loglinear.net import LoglinearNet
from deniable.loglinear.rounding import within_buckets
from deniable.loglinear.strata import BLOCK
from tests.loglinear_nets import random_net

ROWS = 48


def words(name: str, count: int) -> NDArray[np.uint32]:
    return ReleaseKey(bytes(32)).stream(step="test", mechanism=name, inputs="", parameters={}).take(count)


def batches(net: LoglinearNet, name: str, count: int) -> Codes:
    """Batches of records, shape (batches, rows, m)."""
    m = len(net.domain)
    own = words(name, count * ROWS * m).reshape(count, -1)
    return np.stack([net.sample_evenly(batch) for batch in own])


def unconnected(sizes: tuple[int, ...]) -> LoglinearNet:
    """Attributes that have nothing to do with each other."""
    domain = Domain(
        tuple(Attribute(f"a{i}", tuple(range(size)), "nominal", (0,) * size) for i, size in enumerate(sizes))
    )
    return LoglinearNet(
        domain,
        np.arange(len(sizes), dtype=np.int64),
        tuple(np.arange(size, dtype=np.uint16) for size in sizes),
        tuple(within_buckets(np.arange(size, dtype=np.uint16), np.ones(size)) for size in sizes),
        tuple((LogTable((), (900 * np.arange(size)).astype(np.int32)),) for size in sizes),
    )


def cell(codes: Codes, net: LoglinearNet) -> NDArray[np.int64]:
    return np.ravel_multi_index(tuple(np.moveaxis(codes.astype(np.int64), -1, 0)), net.domain.cardinalities)


def frequencies(net: LoglinearNet, name: str) -> NDArray[np.float64]:
    """Shares of whole records, from many that are independent."""
    cells = cell(net.sample(words(name, 3 * 2_000_000)), net)
    return np.bincount(cells, minlength=int(np.prod(net.domain.cardinalities))) / len(cells)


def test_each_record_of_a_batch_has_the_law_of_the_network() -> None:
    net = random_net("even", 3, largest=4, spread=5_000)
    share, count = frequencies(net, "law"), 12_000
    cells = cell(batches(net, "batches", count), net)
    for row in (0, 1, 7, 15, 16, 30, ROWS - 1):
        found = np.bincount(cells[:, row], minlength=len(share))
        assert (np.abs(found - count * share) < 7 * np.sqrt(count * share * 1.02 + 1)).all()


def test_what_is_independent_stays_so_in_pairs_and_triples() -> None:
    net = unconnected((4, 4, 3))
    n = 200_000
    codes = net.sample_evenly(words("independent", 3 * n)).astype(np.int64)
    margins = [np.bincount(codes[:, i]) / n for i in range(3)]
    expected = n * np.einsum("i,j,k->ijk", *margins).ravel()
    assert (np.abs(np.bincount(cell(codes, net), minlength=48) - expected) < 7 * np.sqrt(expected)).all()


def test_one_order_for_all_blocks_would_tie_what_is_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    net = unconnected((2, 2, 2))
    n = 20_000

    def excess(drawn: Codes) -> float:
        pairs = np.bincount(2 * drawn[:, 0].astype(np.int64) + drawn[:, 1], minlength=4)
        expected = np.outer(np.bincount(drawn[:, 0]), np.bincount(drawn[:, 1])).ravel() / n
        return float((np.abs(pairs - expected) / np.sqrt(expected)).max())

    own = words("tied", 3 * n)
    assert excess(net.sample_evenly(own)) < 4
    same = own.reshape(-1, 3).copy()
    same[:, 1] = same[:, 0]
    assert excess(net.sample_evenly(same.ravel())) > 40


def test_a_block_has_each_sixteenth_once() -> None:
    net = unconnected((BLOCK,))
    even = LoglinearNet(net.domain, net.order, net.buckets, net.within, ((LogTable((), np.zeros(16, np.int32)),),))
    blocks = even.sample_evenly(words("sixteenths", 16 * 500)).reshape(500, 16)
    assert (np.sort(blocks, axis=1) == np.arange(16)).all()
    assert len(np.unique(blocks, axis=0)) > 150
    assert not (np.sort(even.sample(words("sixteenths", 16 * 500)).reshape(500, 16), axis=1) == np.arange(16)).all()


def test_tables_of_records_are_nearer_to_the_network() -> None:
    net = random_net("nearer", 3, largest=4, spread=5_000)
    share, n = frequencies(net, "law"), 4_000

    def distance(codes: Codes) -> float:
        return float(np.abs(np.bincount(cell(codes, net), minlength=len(share)) / n - share).sum())

    own = [words(f"nearer {number}", 3 * n) for number in range(20)]
    even = np.mean([distance(net.sample_evenly(each)) for each in own])
    independent = np.mean([distance(net.sample(each)) for each in own])
    assert even < 0.9 * independent


def test_few_records_have_few_strata() -> None:
    net = random_net("few", 5, largest=4)
    for rows in (1, 15, 16, 200):
        order = net.order.tolist()
        found = strata_module.strata(
            net.factors, [net.size(i) for i in range(5)], order, {a: p for p, a in enumerate(order)}, rows
        )
        assert np.diff(found.start).max(initial=0) <= max(1, rows // BLOCK)
        assert len(net.sample_evenly(words("few", 5 * rows))) == rows
