"""Records of a network exchange values until their pairs are near its tables, and nothing else about them changes."""

import json
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.foundation.domain import Codes
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey
from deniable.models.document_formats import LOGLINEAR, LOGLINEAR_WITHOUT_TABLES
from deniable.models.loglinear import matching
from deniable.models.loglinear.matching import SWEEPS, WHOLE, PairTable
from deniable.models.loglinear.net import LoglinearNet
from deniable.models.model_formats import model_from_document
from deniable.samplers.seedless import sampler as seedless
from deniable.samplers.seedless.spec import Entry
from tests.loglinear_nets import random_net

M = 6


def words(name: str, count: int) -> NDArray[np.uint32]:
    return ReleaseKey(bytes(32)).stream(step="test", mechanism=name, inputs="", parameters={}).take(count)


def network(number: int, *, guided: bool = False) -> LoglinearNet:
    """A network, and tables of 2,000 of its records of which half had each value exchanged with another's."""
    net = random_net(f"matching {number}", M, spread=6_000)
    if not guided:
        within = tuple(weights[:1] for weights in net.within)
        net = replace(net, guides=(None,) * M, within=within)
    codes, draw = net.sample(words(f"records {number}", M * 2_000)), np.random.default_rng(number)
    for column in codes.T:
        column[:1_000] = draw.permutation(column[:1_000])
    tables = []
    for first, second in ((0, 1), (0, 2), (1, 3), (2, 5), (3, 4)):
        counts = np.zeros((net.size(first), net.size(second)), np.int64)
        np.add.at(counts, (net.buckets[first][codes[:, first]], net.buckets[second][codes[:, second]]), 1)
        tables.append(PairTable((first, second), counts * WHOLE // len(codes)))
    return replace(net, tables=tuple(tables))


def distance(net: LoglinearNet, codes: Codes) -> float:
    """Mean total variation distance of the records' pairs from the network's tables."""
    found = []
    for table in net.tables:
        counts = np.zeros(table.shares.shape)
        first, second = (net.buckets[i][codes[:, i]] for i in table.attributes)
        np.add.at(counts, (first, second), 1 / len(codes))
        found.append(np.abs(counts - table.shares / WHOLE).sum() / 2)
    return float(np.mean(found))


def drawn(net: LoglinearNet, name: str, records: int) -> tuple[Codes, NDArray[np.uint32]]:
    """Records, and words to match them with."""
    return net.sample(words(name, M * records)), words(f"{name}, matched", net.words_of_matching(records))


@pytest.mark.parametrize("number", range(4))
def test_pairs_come_nearer_and_every_attribute_keeps_its_values(number: int) -> None:
    net = network(number)
    codes, more = drawn(net, f"records {number}", 2_000)
    before = codes.copy()
    found = net.matched(codes, more)
    assert np.array_equal(codes, before)
    assert np.array_equal(np.sort(found, axis=0), np.sort(codes, axis=0))
    assert distance(net, found) < 0.5 * distance(net, codes)
    assert not np.array_equal(found, net.matched(codes, words("other words", len(more))))


def by_hand(net: LoglinearNet, codes: Codes, more: NDArray[np.uint32]) -> Codes:
    """The same exchanges, each tried on whole tables."""
    found, taken = codes.copy(), iter(more.tolist())
    n = len(codes)
    expected = [table.shares * (16 * n) // WHOLE for table in net.tables]

    def misfit(records: Codes) -> int:
        total = 0
        for table, target in zip(net.tables, expected, strict=True):
            counts = np.zeros(table.shares.shape, np.int64)
            np.add.at(counts, tuple(net.buckets[i][records[:, i]] for i in table.attributes), 1)
            total += int(((1 << 24) // (target + 48) * (16 * counts - target) ** 2).sum())
        return total

    least = misfit(found)
    for _ in range(SWEEPS):
        for attribute in range(M):
            for _ in range(n // 2):
                word = next(taken)
                pair = [(word >> 16) * n >> 16, (word & 0xFFFF) * n >> 16]
                bucket = net.buckets[attribute][found[pair, attribute]]
                if bucket[0] == bucket[1]:
                    continue
                tried = found.copy()
                tried[pair, attribute] = tried[pair[::-1], attribute]
                if (now := misfit(tried)) < least:
                    found, least = tried, now
    assert next(taken, None) is None
    return found


def test_values_are_exchanged_where_whole_tables_say_so() -> None:
    for number in range(2):
        net = network(number)
        codes, more = drawn(net, f"by hand {number}", 40)
        assert np.array_equal(net.matched(codes, more), by_hand(net, codes, more))


def test_rows_are_matched_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "TOGETHER", 64)
    net = network(0)
    codes, more = drawn(net, "rows", 150)
    whole = net.matched(codes, more)
    begun = 0
    for row in (slice(0, 64), slice(64, 128), slice(128, 150)):
        taken = net.words_of_matching(len(codes[row]))
        assert np.array_equal(net.matched(codes[row], more[begun : begun + taken]), whole[row])
        begun += taken
    assert begun == len(more)


def test_attributes_that_agree_value_by_value_are_left_alone() -> None:
    net = network(2, guided=True)
    fixed = {i for i in range(M) if net.guides[i] is not None} | {guide for guide in net.guides if guide is not None}
    assert 0 < len(fixed) < M or len(fixed) == M
    codes, more = drawn(net, "guided", 500)
    found = net.matched(codes, more)
    for i in fixed:
        assert np.array_equal(found[:, i], codes[:, i])
    assert len(more) == SWEEPS * 250 * len({i for table in net.tables for i in table.attributes} - fixed)


def test_a_document_has_the_tables_and_one_of_before_has_none() -> None:
    net = network(1)
    document = json.loads(json.dumps(net.document()))
    again = model_from_document(net.domain, document)
    assert document["format"] == LOGLINEAR
    assert again.document() == document
    codes, more = drawn(net, "document", 300)
    assert np.array_equal(again.matched(codes, more), net.matched(codes, more))
    before = model_from_document(net.domain, {**document, "format": LOGLINEAR_WITHOUT_TABLES})
    assert before.words_of_matching(300) == 0
    assert np.array_equal(before.matched(codes, more[:0]), codes)
    assert np.array_equal(before.sample(words("before", 60)), net.sample(words("before", 60)))


@pytest.mark.parametrize(
    "change", [lambda shares: shares[:, :-1], lambda shares: shares - WHOLE, lambda shares: shares * 3]
)
def test_a_table_of_another_kind_is_refused(change: Any) -> None:
    net = network(1)
    first, *rest = net.tables
    with pytest.raises(InvalidInput, match="a table of a network"):
        replace(net, tables=(PairTable(first.attributes, change(first.shares)), *rest))


def drawn_in_chunks(net: LoglinearNet, records: int, order: tuple[int, ...] = (0, 1)) -> list[Codes]:
    """Two chunks of 200 records without seeds of a release of some number, drawn in some order."""
    open_stream = partial(ReleaseKey(bytes(32)).stream, step="synthesize", inputs="model")
    entry = Entry(guarantee="seedless", records=records, chunk_candidates=200)
    draw = seedless.sampler(entry, net.domain, lambda delta: delta).open(net, None, open_stream)
    made = {chunk: draw(chunk, 200) for chunk in order}
    return [made[chunk] for chunk in sorted(made)]


@pytest.mark.parametrize("number", range(2))
def test_records_without_seeds_are_raked_chunk_by_chunk_unless_there_are_many(number: int) -> None:
    net = network(number)
    open_stream = partial(ReleaseKey(bytes(32)).stream, step="synthesize", inputs="model")
    few, many = drawn_in_chunks(net, 400), drawn_in_chunks(net, seedless.MOST_RAKED + 1)
    assert all(np.array_equal(one, other) for one, other in zip(few, drawn_in_chunks(net, 400, (1, 0)), strict=True))
    for chunk, (one, other) in enumerate(zip(few, many, strict=True)):
        stream = open_stream(mechanism="sample", parameters={}, chunk=chunk)
        even = net.sample_evenly(stream.take(200 * M))
        assert np.array_equal(other, even)
        # Nearer than records that are only matched: the values of the attributes are chosen too, not only exchanged.
        only_matched = net.matched(even, words(f"only matched {chunk}", net.words_of_matching(200)))
        assert one.shape == other.shape
        assert distance(net, one) < distance(net, only_matched) < distance(net, other)


def test_records_of_a_network_of_many_attributes_without_tables_are_drawn_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net = replace(network(0), tables=())
    assert not net.has_pair_goals
    assert not net.pair_goals(net.sample(words("any", M * 10))).pairs
    monkeypatch.setattr(seedless, "MOST_ATTRIBUTES", M - 1)
    for one, other in zip(drawn_in_chunks(net, 400), drawn_in_chunks(net, seedless.MOST_RAKED + 1), strict=True):
        assert np.array_equal(one, other)


def test_records_of_a_network_without_tables_are_raked_to_those_of_more_records() -> None:
    net = replace(network(0), tables=())
    towards = net.sample(words("towards", M * 200_000))

    def away(codes: Codes) -> float:
        found = 0.0
        for i, j in combinations(range(M), 2):
            shape = (net.domain.cardinalities[i], net.domain.cardinalities[j])
            tables = [np.histogram2d(each[:, i], each[:, j], bins=shape)[0] / len(each) for each in (codes, towards)]
            found += float(np.abs(tables[0] - tables[1]).sum())
        return found

    for one, other in zip(drawn_in_chunks(net, 400), drawn_in_chunks(net, seedless.MOST_RAKED + 1), strict=True):
        assert one.shape == other.shape
        assert away(one) < 0.8 * away(other)


def test_goals_of_a_network_are_its_tables_by_bucket() -> None:
    net = network(1)
    codes = net.sample(words("goals", M * 50))
    goals = net.pair_goals(codes)
    assert net.has_pair_goals
    assert len(goals.pairs) == len(net.tables)
    for pair, shares, table in zip(goals.pairs, goals.shares, net.tables, strict=True):
        assert np.array_equal(shares, table.shares)
        for row, attribute in zip(pair, table.attributes, strict=True):
            assert np.array_equal(goals.codes[row], net.buckets[attribute][codes[:, attribute]])


def test_raked_records_of_the_smallest_chunks_are_as_many_as_were_asked_for() -> None:
    net = network(0)
    open_stream = partial(ReleaseKey(bytes(32)).stream, step="synthesize", inputs="model")
    draw = seedless.sampler(Entry(guarantee="seedless", records=3, chunk_candidates=2), net.domain, lambda delta: delta)
    for wanted in (1, 2, 3):
        assert draw.open(net, None, open_stream)(0, wanted).shape == (wanted, M)
