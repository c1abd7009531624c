"""Every word stands for the value that the density says it stands for, whatever is at hand ready made."""

import json
from fractions import Fraction
from typing import Any

import numba
import numpy as np
import pytest

from deniable.conditionals import draw_next, factor_of
from deniable.deniability import PrivacyTest
from deniable.domain import Codes
from deniable.errors import InvalidInput
from deniable.keys import ReleaseKey, WordStream
from deniable.loglinear import factors as factors_module
from deniable.loglinear import net as net_module
from deniable.loglinear.factors import LogTable
from deniable.loglinear.net import LoglinearNet
from deniable.plausible_seeds import SeedIndex
from deniable.resampling import SeedResampler
from deniable.synthesis import Attempt, synthesize, synthesize_by_scan
from tests.loglinear_nets import random_net

UNIT = 2**32


@numba.njit
def _draw(net: Any, position: int, record: Codes, word: int) -> int:
    return draw_next(net, position, record, word)


@numba.njit
def _factor(net: Any, position: int, record: Codes) -> float:
    return factor_of(net, position, record)


def stream(name: str) -> WordStream:
    return ReleaseKey(bytes(32)).stream(step="test", mechanism=name, inputs="", parameters={})


def masses(net: LoglinearNet, position: int, record: Codes) -> list[int]:
    """Number of words that stand for each value, by the density."""
    found = []
    for value in range(net.domain.cardinalities[net.order[position]]):
        changed = record.copy()
        changed[position] = value
        found.append(round(_factor(net.arrays, position, changed) * UNIT))
    return found


@pytest.mark.parametrize("number", range(12))
def test_each_word_stands_for_the_value_whose_share_it_is_in(number: int) -> None:
    net = random_net(f"shares {number}", 6, spread=[10, 12_000, 150_000][number % 3])
    records = net.in_order(net.sample(stream(f"{number}").take(6 * 3)))
    for record in records:
        for position in range(6):
            bucket = net.buckets[net.order[position]]
            found = masses(net, position, record)
            assert sum(found) == UNIT
            start = 0
            for value in np.lexsort((np.arange(len(bucket)), bucket)).tolist():
                if found[value]:
                    words = np.asarray([start, start + found[value] // 2, start + found[value] - 1], np.uint32)
                    assert {_draw(net.arrays, position, record, word) for word in words} == {value}
                start += found[value]


@pytest.mark.parametrize("number", range(6))
def test_the_fast_kernel_draws_what_single_words_stand_for(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    net = random_net(f"kernel {number}", 7)
    words = stream(f"kernel {number}").take(7 * 200)
    records = net.in_order(net.sample(words))
    for record, own in zip(records[:50], words.reshape(-1, 7), strict=False):
        made = np.zeros_like(record)
        for position in range(7):
            made[position] = _draw(net.arrays, position, made, own[position])
        assert made.tolist() == record.tolist()
    for merged, ready in ((0, 0), (1 << 20, 0), (1 << 20, 1 << 20), (0, 1 << 20)):
        monkeypatch.setattr(factors_module, "_MERGED_CELLS", merged)
        monkeypatch.setattr(net_module, "_READY_CELLS", ready)
        again = LoglinearNet(net.domain, net.order, net.buckets, net.within, net.factors)
        assert np.array_equal(again.in_order(again.sample(words)), records)


def test_records_follow_the_density() -> None:
    net = random_net("frequencies", 3, largest=4, spread=4_000)
    n = 400_000
    sample = net.in_order(net.sample(stream("frequencies").take(3 * n)))
    kinds, counts = np.unique(sample, axis=0, return_counts=True)
    expected = n * np.asarray([np.prod([_factor(net.arrays, p, kind) for p in range(3)]) for kind in kinds])
    assert expected.sum() > n * (1 - 1e-3)
    assert (np.abs(counts - expected) < 7 * np.sqrt(expected + 1)).all()


def test_plausible_seeds_are_counted_as_a_scan_counts_them() -> None:
    net = random_net("plausible", 6, largest=4, spread=3_000)
    seeds = net.in_order(net.sample(stream("seeds").take(6 * 500)))
    model = SeedResampler(net, {2: 1, 3: 2, 4: 1})
    index = SeedIndex.build(seeds, model.omega)
    attempt = Attempt(test=PrivacyTest(k=20, gamma=Fraction(4), eps0=Fraction(1), randomized=True))
    fast = synthesize(model, index, attempt, stream("attempts"), 400)
    slow = net.in_columns(synthesize_by_scan(model, seeds, attempt, stream("attempts"), 400))
    assert len(fast) > 20
    assert np.array_equal(fast, slow)


def test_a_network_is_read_back_from_its_document() -> None:
    net = random_net("document", 5)
    again = LoglinearNet.from_document(net.domain, json.loads(json.dumps(net.document())))
    words = stream("document").take(5 * 100)
    assert np.array_equal(net.sample(words), again.sample(words))
    with pytest.raises(InvalidInput, match="format"):
        LoglinearNet.from_document(net.domain, net.document() | {"format": "other"})


def test_what_is_no_network_is_refused() -> None:
    net = random_net("refused", 4)

    def changed(**new: object) -> LoglinearNet:
        parts = {"order": net.order, "buckets": net.buckets, "within": net.within, "factors": net.factors} | new
        return LoglinearNet(net.domain, **parts)  # type: ignore[arg-type]

    with pytest.raises(InvalidInput, match="each attribute once"):
        changed(order=np.zeros(4, np.int64))
    with pytest.raises(InvalidInput, match="add up to 2\\^30"):
        changed(within=(net.within[0] + 1, *net.within[1:]))
    first, last = int(net.order[0]), int(net.order[-1])
    backwards = list(net.factors)
    shape = (int(net.buckets[last].max()) + 1, int(net.buckets[first].max()) + 1)
    backwards[first] = (*net.factors[first], LogTable((last,), np.zeros(shape, np.int32)))
    with pytest.raises(InvalidInput, match="before it"):
        changed(factors=tuple(backwards))
    with pytest.raises(InvalidInput, match="shape"):
        changed(factors=tuple((LogTable((), np.zeros(99, np.int32)),) for _ in range(4)))
