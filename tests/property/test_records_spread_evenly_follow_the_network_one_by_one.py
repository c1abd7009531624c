"""Records drawn evenly: each has the network's law, what is independent stays so, together they are nearer to it."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.keys import ReleaseKey
from deniable.learners.loglinear.quantization import within_buckets
from deniable.models.loglinear import stratified_sampling as strata_module
from deniable.models.loglinear.factors import LogTable
from deniable.models.loglinear.net import LoglinearNet
from deniable.models.loglinear.stratified_sampling import TOGETHER
from tests.loglinear_nets import blind, guided, random_net

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
        (None,) * len(sizes),
        tuple(within_buckets(np.arange(size, dtype=np.uint16), np.ones((1, size))) for size in sizes),
        tuple((LogTable((), (900 * np.arange(size)).astype(np.int32)),) for size in sizes),
    )


def cell(codes: Codes, net: LoglinearNet) -> NDArray[np.int64]:
    return np.ravel_multi_index(tuple(np.moveaxis(codes.astype(np.int64), -1, 0)), net.domain.cardinalities)


def frequencies(net: LoglinearNet, name: str) -> NDArray[np.float64]:
    """Shares of whole records, from many that are independent."""
    cells = cell(net.sample(words(name, 3 * 2_000_000)), net)
    return np.bincount(cells, minlength=int(np.prod(net.domain.cardinalities))) / len(cells)


@pytest.mark.slow
def test_each_record_of_a_batch_has_the_law_of_the_network() -> None:
    net = random_net("even", 3, largest=4, spread=5_000)
    share, count = frequencies(net, "law"), 12_000
    cells = cell(batches(net, "batches", count), net)
    for row in (0, 1, 7, 15, 16, 30, ROWS - 1):
        found = np.bincount(cells[:, row], minlength=len(share))
        assert (np.abs(found - count * share) < 7 * np.sqrt(count * share * 1.02 + 1)).all()


@pytest.mark.slow
def test_a_guide_that_no_stratum_is_made_of_is_followed_by_each_record() -> None:
    net = guided(kinds=5, recoded=np.asarray([3, 1, 0, 2, 1], np.uint16), buckets=np.asarray([0, 1, 1, 0], np.uint16))
    share = np.zeros((5, 4))
    for kind, (own, other) in enumerate([(3, (1, 2)), (1, (0, 3)), (0, (1, 2)), (2, (0, 3)), (1, (0, 3))]):
        share[kind, own] = 1 / 10
        share[kind, list(other)] = 1 / 20
    count = 12_000

    def most_deviations(found: LoglinearNet) -> float:
        cells = cell(batches(found, "guided", count), found)
        expected = count * share.ravel()
        deviations = [
            np.abs(np.bincount(cells[:, row], minlength=20) - expected) / np.sqrt(expected + 1)
            for row in (0, 1, 7, 15, 16, 30, ROWS - 1)
        ]
        return float(np.max(deviations))

    assert most_deviations(net) < 7
    assert most_deviations(blind(net)) > 20


def test_what_is_independent_stays_so_in_pairs_and_triples() -> None:
    net = unconnected((4, 4, 3))
    n = 200_000
    codes = net.sample_evenly(words("independent", 3 * n)).astype(np.int64)
    margins = [np.bincount(codes[:, i]) / n for i in range(3)]
    expected = n * np.einsum("i,j,k->ijk", *margins).ravel()
    assert (np.abs(np.bincount(cell(codes, net), minlength=48) - expected) < 7 * np.sqrt(expected)).all()


def test_one_scrambling_for_all_attributes_would_tie_what_is_independent() -> None:
    net = unconnected((2, 2, 2))
    n = 20_000

    def excess(drawn: Codes) -> float:
        pairs = np.bincount(2 * drawn[:, 0].astype(np.int64) + drawn[:, 1], minlength=4)
        expected = np.outer(np.bincount(drawn[:, 0]), np.bincount(drawn[:, 1])).ravel() / n
        return float((np.abs(pairs - expected) / np.sqrt(expected)).max())

    own = words("tied", 3 * n)
    assert excess(net.sample_evenly(own)) < 4
    same = own.reshape(3, -1).copy()
    same[1] = same[0]
    assert excess(net.sample_evenly(same.ravel())) > 40


def test_what_stands_in_the_same_row_is_tied_by_it_no_more_than_by_chance() -> None:
    """Two attributes with the same parents, which tell all records apart: one shift for all would tie them."""
    sizes, n = (128, 128, 2, 2), 16_000
    apart = unconnected(sizes)
    both = tuple(LogTable((0, 1), np.zeros((128, 128, 2), np.int32)) for _ in range(2))
    factors = ((apart.factors[0][0],), (apart.factors[1][0],), (both[0],), (both[1],))
    net = replace(apart, factors=factors)
    own = [net.sample_evenly(words(f"row {number}", 4 * n)).astype(np.int64) for number in range(40)]
    agree = np.asarray([(codes[:, 2] == codes[:, 3]).sum() for codes in own])
    assert np.mean((agree - n / 2) ** 2) < 3.5 * n / 4


def evenly_distributed(values: int) -> LoglinearNet:
    net = unconnected((values,))
    flat = LogTable((), np.zeros(values, np.int32))
    return replace(net, factors=((flat,),))


def test_sixteen_records_have_each_sixteenth_once() -> None:
    net = evenly_distributed(16)
    own = words("sixteenths", 16 * 500).reshape(500, 16)
    batches = np.stack([net.sample_evenly(batch)[:, 0] for batch in own])
    assert (np.sort(batches, axis=1) == np.arange(16)).all()
    assert len(np.unique(batches, axis=0)) > 490
    assert not (np.sort(net.sample(own.ravel()).reshape(500, 16), axis=1) == np.arange(16)).all()


def test_more_records_than_a_row_holds_are_drawn_row_by_row() -> None:
    codes = evenly_distributed(64).sample_evenly(words("rows", 2 * TOGETHER + 64))
    for start, end in ((0, TOGETHER), (TOGETHER, 2 * TOGETHER), (2 * TOGETHER, len(codes))):
        assert (np.bincount(codes[start:end, 0], minlength=64) == (end - start) // 64).all()


def test_tables_of_records_are_nearer_to_the_network() -> None:
    net = random_net("nearer", 3, largest=4, spread=5_000)
    share, n = frequencies(net, "law"), 4_000

    def distance(codes: Codes) -> float:
        return float(np.abs(np.bincount(cell(codes, net), minlength=len(share)) / n - share).sum())

    own = [words(f"nearer {number}", 3 * n) for number in range(20)]
    even = np.mean([distance(net.sample_evenly(each)) for each in own])
    independent = np.mean([distance(net.sample(each)) for each in own])
    assert even < 0.9 * independent


def test_prefixes_are_kept_and_completed_by_the_law_of_the_network_given_them() -> None:
    """Each completion has the network's distribution given its prefix, in each place of the row."""
    apart, draw = unconnected((3, 2, 3, 2)), np.random.default_rng(7)
    tables = [LogTable((0, 1), draw.integers(-9_000, 9_000, size=(3, 2, size)).astype(np.int32)) for size in (3, 2)]
    net = replace(apart, factors=(*apart.factors[:2], *((table,) for table in tables)))
    count, rest = 4_000, (3, 2)
    records = net.sample(words("independent completions", 4 * 1_000_000)).astype(np.int64)
    completions = np.ravel_multi_index((records[:, 2], records[:, 3]), rest)
    prefixes = np.resize(np.unique(records[:, :2], axis=0), (ROWS, 2)).astype(np.uint16)
    own = words("completions", count * ROWS * 2).reshape(count, -1)
    drawn = np.stack([net.complete_evenly(prefixes, batch) for batch in own]).astype(np.int64)
    assert (drawn[:, :, :2] == prefixes).all()
    everywhere, told_apart = np.bincount(completions, minlength=6) / len(records), 0
    for row in (0, 1, 5, 15, 16, ROWS - 1):
        same = (records[:, :2] == prefixes[row]).all(axis=1)
        share = np.bincount(completions[same], minlength=6) / same.sum()
        found = np.bincount(np.ravel_multi_index((drawn[:, row, 2], drawn[:, row, 3]), rest), minlength=6)
        deviation = np.sqrt(count * share * (1 + count / same.sum()) + 1)
        assert (np.abs(found - count * share) < 7 * deviation).all()
        told_apart += bool((np.abs(found - count * everywhere) > 7 * deviation).any())
    # Positive control: whoever completes all prefixes alike is noticed.
    assert told_apart >= 4


def test_completions_vary_less_than_independent_ones() -> None:
    net = evenly_distributed_pairs()
    prefixes = np.repeat(np.arange(2, dtype=np.uint16), 16)[:, None]
    own = words("even completions", 32 * 200).reshape(200, 32)
    for batch in own:
        codes = net.complete_evenly(prefixes, batch)
        assert np.array_equal(codes[:, 0], prefixes[:, 0])
        assert (np.bincount(codes[:, 1], minlength=16) == 2).all()


def evenly_distributed_pairs() -> LoglinearNet:
    net = unconnected((2, 16))
    return replace(net, factors=tuple((LogTable((), np.zeros(size, np.int32)),) for size in net.domain.cardinalities))


def test_strata_fit_into_the_row_strongest_parents_first() -> None:
    net = random_net("few", 5, largest=4)
    order = net.order.tolist()
    sizes = [net.size(i) for i in range(5)]
    place = {a: p for p, a in enumerate(order)}
    found = strata_module.strata(net.factors, sizes, order, place)
    for position in range(5):
        own = slice(found.parent_start[position], found.parent_start[position + 1])
        last = sum(
            (sizes[order[p]] - 1) * stride for p, stride in zip(found.parent[own], found.stride[own], strict=True)
        )
        assert last + found.room[position] <= TOGETHER
        assert list(found.stride[own]) == sorted(found.stride[own], reverse=True)


@pytest.mark.parametrize("rows", [0, 1, 15, 16, 200])
def test_few_records_are_drawn_too(rows: int) -> None:
    net = random_net("few", 5, largest=4)
    assert len(net.sample_evenly(words("few", 5 * rows))) == rows
