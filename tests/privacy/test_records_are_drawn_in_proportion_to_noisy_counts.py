"""Records have the law that a noisy histogram and a network define, and no other, in whatever parts they are drawn."""

from fractions import Fraction
from itertools import product
from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey, WordStream
from deniable.learners.cfs.parameters import integer_weights
from deniable.models.bayes_net import BayesNet
from deniable.models.graph import Graph
from deniable.models.sequential_kernels import factor_of
from deniable.samplers.histogram_seeds.noisy_histogram import PrefixHistogram
from deniable.samplers.histogram_seeds.sampling import PrefixSampler
from tests.loglinear_nets import random_net

FALSE_ALARM = 1e-9
RECORDS = 200_000

DOMAIN = Domain(
    (
        Attribute("c", (0, 1), "nominal", (0, 1)),
        Attribute("a", (0, 1), "nominal", (0, 1)),
        Attribute("b", (0, 1, 2), "nominal", (0, 1, 1)),
    )
)
ORDER = (1, 2, 0)
PARENTS = ((1, 2), (), (1,))
TABLES = {
    "a": np.array([[0.7, 0.3]]),
    "b": np.array([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]]),
    "c": np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.5, 0.5]]),
}
CELLS = {1: [[0], [1]], 2: [[0, 0], [0, 2], [1, 1]], 3: [[0, 0, 1], [0, 2, 0], [1, 1, 1]]}
COUNTS = {1: [400, 100], 2: [120, 30, 51], 3: [20, 21, 90]}


def net(**changed: NDArray[np.float64]) -> BayesNet:
    tables = TABLES | changed
    graph = Graph(PARENTS, ORDER, ((0.0, 0.0), (), (0.0,)))
    return BayesNet(DOMAIN, graph, tuple(integer_weights(tables[name]) for name in DOMAIN.names))


def histogram(length: int, *, counts: list[int] | None = None, rows: int | None = None) -> PrefixHistogram:
    numbers = np.array(COUNTS[length] if counts is None else counts, np.int64)
    cells = np.array(CELLS[length], np.uint16)[: len(numbers)]
    return PrefixHistogram(DOMAIN, ORDER[:length], cells, numbers, rows)


@numba.njit
def factor(net: Any, position: int, record: Codes) -> float:
    return factor_of(net, position, record)


def stream(name: str) -> WordStream:
    return ReleaseKey(bytes(range(32))).stream(step="test", mechanism=name, inputs="", parameters={})


def conditional(record: tuple[int, ...], position: int, tables: dict[str, NDArray[np.float64]]) -> float:
    """Probability of one value of a record (a, b, c) given those before it, from the tables by hand."""
    a, b, c = record
    bucket = (0, 1, 1)[b]
    return float((tables["a"][0, a], tables["b"][a, b], tables["c"][2 * a + bucket, c])[position])


def mass_elsewhere(released: PrefixHistogram, tables: dict[str, NDArray[np.float64]]) -> float:
    """Probability with which the network draws a prefix that was not kept."""
    kept = {tuple(cell) for cell in released.cells.tolist()}
    return sum(
        float(np.prod([conditional(record, position, tables) for position in range(3)]))
        for record in product(range(2), range(3), range(2))
        if record[: released.length] not in kept
    )


def law(released: PrefixHistogram, *, everywhere: bool = False, **changed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probability of each record (a, b, c): its prefix by its count, the rest by the tables; or all by the tables.

    With `everywhere` the network draws what was given back without a look at which prefixes were kept.
    """
    tables = TABLES | changed
    outside = mass_elsewhere(released, tables)
    given_back = released.seedless_weight if everywhere or outside > 1e-12 else 0
    total = Fraction(int(released.counts.sum()) + given_back)
    shares = {
        tuple(cell): count / total
        for cell, count in zip(released.cells.tolist(), released.counts.tolist(), strict=True)
    }
    found = []
    for record in product(range(2), range(3), range(2)):
        factors = [conditional(record, position, tables) for position in range(3)]
        prefix = record[: released.length]
        by_prefix = float(shares.get(prefix, 0)) * np.prod(factors[released.length :])
        own = float(given_back / total) * np.prod(factors)
        if not everywhere:
            own = 0.0 if prefix in shares or not given_back else own / outside
        found.append(by_prefix + own)
    return np.array(found)


def drawn(sampler: PrefixSampler, name: str, records: int = RECORDS) -> NDArray[np.int64]:
    """Numbers of the records drawn, in the order of `law`."""
    codes = sampler.sample(stream(name).take(records * sampler.words_per_record))
    counts = np.zeros((2, 3, 2), np.int64)
    np.add.at(counts, tuple(codes[:, list(ORDER)].T), 1)
    return counts.ravel()


def p_value(counts: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    possible = probabilities > 0
    if counts[~possible].any():
        return 0.0
    return float(stats.chisquare(counts[possible], counts.sum() * probabilities[possible]).pvalue)


@pytest.mark.parametrize("rows", [None, 700])
@pytest.mark.parametrize("length", [1, 2, 3])
def test_prefixes_are_drawn_by_their_counts_and_the_rest_by_the_network(length: int, rows: int | None) -> None:
    released = histogram(length, rows=rows)
    counts = drawn(PrefixSampler(net(), released), f"law {length} {rows}")
    assert p_value(counts, law(released)) > FALSE_ALARM
    # the same records refuse the laws of a model that is a little different
    more = [COUNTS[length][0] * 11 // 10 + 2, *COUNTS[length][1:]]
    assert p_value(counts, law(histogram(length, counts=more, rows=rows))) < FALSE_ALARM
    fewer = [*COUNTS[length][:-1], COUNTS[length][-1] * 9 // 10]
    assert p_value(counts, law(histogram(length, counts=fewer, rows=rows))) < FALSE_ALARM
    if rows is not None and length > 1:
        assert p_value(counts, law(histogram(length, rows=rows + 70))) < FALSE_ALARM
        assert p_value(counts, law(released, everywhere=True)) < FALSE_ALARM
    if length < 3:
        tilted = np.array([[0.88, 0.12], [0.42, 0.58], [0.22, 0.78], [0.52, 0.48]])
        assert p_value(counts, law(released, c=tilted)) < FALSE_ALARM


@pytest.mark.parametrize("rows", [None, -3, 12])
def test_if_no_prefix_is_left_records_are_those_of_the_network(rows: int | None) -> None:
    released = histogram(2, counts=[], rows=rows)
    sampler = PrefixSampler(net(), released)
    counts = drawn(sampler, f"empty {rows}")
    alone = np.array(
        [
            np.prod([conditional(record, p, TABLES) for p in range(3)])
            for record in product(range(2), range(3), range(2))
        ]
    )
    assert p_value(counts, alone) > FALSE_ALARM
    assert p_value(counts, law(histogram(2))) < FALSE_ALARM


def test_without_attributes_a_prefix_says_nothing() -> None:
    released = PrefixHistogram(DOMAIN, (), np.zeros((1, 0), np.uint16), np.array([500]))
    sampler = PrefixSampler(net(), released)
    assert p_value(drawn(sampler, "no attributes"), law(histogram(1, counts=[]))) > FALSE_ALARM


@pytest.mark.parametrize("rows", [None, 700])
@pytest.mark.parametrize("length", [1, 2, 3])
def test_the_density_is_that_of_the_definition_and_adds_up_to_one(length: int, rows: int | None) -> None:
    released = histogram(length, rows=rows)
    model = PrefixSampler(net(), released)
    seeds = np.zeros((4, 3), np.uint16)
    found = [
        model.probabilities(np.array(record, np.uint16), seeds) for record in product(range(2), range(3), range(2))
    ]
    # the network's probabilities are those of the tables to 2^-32
    assert np.allclose(found, law(released)[:, None], rtol=1e-8, atol=0)
    assert np.sum(found) == pytest.approx(4, rel=1e-12)
    assert model.dependence == "none"


@pytest.mark.parametrize("rows", [None, 700])
def test_one_stream_gives_the_same_records_however_it_is_divided(rows: int | None) -> None:
    sampler = PrefixSampler(net(), histogram(2, rows=rows))
    width = sampler.words_per_record
    whole = sampler.sample(stream("parts").take(1_000 * width))
    continued = stream("parts")
    parts = [sampler.sample(continued.take(size * width)) for size in (1, 0, 617, 382)]
    assert np.array_equal(whole, np.concatenate(parts))
    words = stream("parts").take(1_000 * width)
    position, records = 0, []
    for _ in range(50):
        record, position = sampler.draw(np.zeros(3, np.uint16), words, position)
        records.append(record)
    assert np.array_equal(net().in_order(whole[:50]), np.array(records))
    assert position == 50 * width
    assert not np.array_equal(whole, sampler.sample(stream("other").take(1_000 * width)))


def test_each_word_draws_one_thing() -> None:
    """Words of zeros draw first prefixes and first values; one word of ones moves what it draws and nothing else."""
    sampler = PrefixSampler(net(), histogram(1))
    width = sampler.words_per_record
    words = np.zeros((width, width), np.uint32)
    np.fill_diagonal(words, 2**32 - 1)
    # a prefix by two words, then b, then c
    assert net().in_order(sampler.sample(words.ravel())).tolist() == [[1, 0, 0], [0, 0, 0], [0, 2, 0], [0, 0, 1]]


def test_each_word_draws_one_thing_elsewhere_too() -> None:
    """The prefixes (0, 0), (0, 2) and (1, 1) were kept: with a = 0 there is b = 1 alone, with a = 1 there are two."""
    sampler = PrefixSampler(net(), histogram(2, rows=700))
    width = sampler.words_per_record
    words = np.zeros((width + 1, width), np.uint32)
    words[:, 0] = 2**32 - 1  # what comes last is what was given back
    np.fill_diagonal(words[1:, 1:], 2**32 - 1)
    words[-1, 2:4] = 2**32 - 1
    found = net().in_order(sampler.sample(words.ravel())).tolist()
    assert found == [[0, 1, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 2, 0]]


def test_nothing_is_given_back_where_the_network_draws_no_other_prefix() -> None:
    """Both values of a are kept."""
    sampler = PrefixSampler(net(), histogram(1, rows=700))
    assert sampler.words_per_record == 4
    assert p_value(drawn(sampler, "all kept"), law(histogram(1))) > FALSE_ALARM


@pytest.mark.parametrize("number", range(4))
def test_a_log_linear_network_draws_elsewhere_by_its_density(number: int) -> None:
    alone = random_net(f"elsewhere {number}", 3, largest=4, spread=3_000)
    sizes = [alone.domain.cardinalities[i] for i in alone.order]
    every = np.array(list(product(*map(range, sizes))), np.uint16)
    prefixes = np.unique(every[:, :2], axis=0)
    kept = prefixes[:: 2 + number % 2]
    columns = tuple(alone.order[:2].tolist())
    released = PrefixHistogram(alone.domain, columns, kept, np.arange(1, len(kept) + 1) * 10, rows=10_000)
    sampler = PrefixSampler(alone, released)
    records = alone.in_order(sampler.sample(stream(f"net {number}").take(RECORDS * sampler.words_per_record)))
    found = np.zeros(sizes, np.int64)
    np.add.at(found, tuple(records.T), 1)
    density = np.array([sampler.probabilities(record, every[:1])[0] for record in every])
    assert density.sum() == pytest.approx(1, rel=1e-9)
    assert p_value(found.ravel(), density) > FALSE_ALARM
    given_back = Fraction(released.seedless_weight, 10_000)
    own = np.array([np.prod([factor(alone.arrays, p, record) for p in range(3)]) for record in every])
    outside = ~(every[:, None, :2] == kept).all(axis=2).any(axis=1)
    if len(kept) < len(prefixes):
        expected = float(given_back) * own[outside] / own[outside].sum()
        assert np.allclose(density[outside], expected, rtol=1e-6, atol=1e-8)


def test_what_was_given_back_begins_with_no_prefix_that_was_kept() -> None:
    released = histogram(2, counts=[1, 1, 1], rows=1_000_000)
    sampler = PrefixSampler(net(), released)
    records = net().in_order(sampler.sample(stream("given back").take(20_000 * sampler.words_per_record)))
    kept = {tuple(cell) for cell in released.cells.tolist()}
    assert sum(tuple(record[:2]) in kept for record in records.tolist()) < 10
    plain = net().in_order(net().sample(stream("plain").take(20_000 * 3)))
    assert sum(tuple(record[:2]) in kept for record in plain.tolist()) > 5_000


def test_a_record_asks_for_more_words() -> None:
    sampler = PrefixSampler(net(), histogram(2))
    words = stream("short").take(sampler.words_per_record)
    assert sampler.draw(np.zeros(3, np.uint16), words, 1)[1] == -1


def many_prefixes(cells: int) -> tuple[BayesNet, PrefixHistogram]:
    """A histogram of very uneven counts, some of them huge."""
    domain = Domain((Attribute("x", tuple(range(65_000)), "nominal", (0,) * 65_000),))
    weights = integer_weights(np.full((1, 65_000), 1 / 65_000))
    alone = BayesNet(domain, Graph(((),), (0,), ((),)), (weights,))
    words = stream(f"counts {cells}").take(cells).astype(np.int64)
    counts = 1 + words // 2 ** (words % 32)
    counts[cells // 2] = 2**50 if cells > 3 else 1
    return alone, PrefixHistogram(domain, (0,), np.arange(cells, dtype=np.uint16)[:, None], counts)


@pytest.mark.parametrize("cells", [1, 2, 3, 1000, 65_000])
def test_shares_are_the_counts_over_their_total_to_the_last_bit(cells: int) -> None:
    alone, released = many_prefixes(cells)
    sampler = PrefixSampler(alone, released)
    total = int(released.counts.sum())
    assert sum(sampler.shares) == 2**64
    for share, count in zip(sampler.shares, released.counts.tolist(), strict=True):
        assert abs(share * total - count * 2**64) < total


@pytest.mark.parametrize("cells", [1, 2, 3, 1000, 65_000])
def test_the_first_and_the_last_number_of_each_share_draw_its_prefix(cells: int) -> None:
    alone, released = many_prefixes(cells)
    sampler = PrefixSampler(alone, released)
    bounds = np.concatenate([np.zeros(1, np.uint64), sampler.arrays.bounds])
    last = np.concatenate([sampler.arrays.bounds - np.uint64(1), np.full(1, 2**64 - 1, np.uint64)])
    for numbers in (bounds, last):
        words = np.stack([numbers >> np.uint64(32), numbers & np.uint64(2**32 - 1)], axis=1).astype(np.uint32)
        assert np.array_equal(sampler.sample(words.ravel())[:, 0], np.arange(cells))


def test_a_histogram_of_other_attributes_is_refused() -> None:
    turned = PrefixHistogram(DOMAIN, (2, 1), np.array([[0, 0]], np.uint16), np.array([20]))
    with pytest.raises(InvalidInput, match="first attributes of the network's order"):
        PrefixSampler(net(), turned)
