"""Every word stands for the value that the density says it stands for, whatever is at hand ready made."""

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numba
import numpy as np
import pytest

from deniable.foundation.domain import Codes
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey, WordStream
from deniable.learners.loglinear.quantization import within_buckets
from deniable.models.loglinear import factors as factors_module
from deniable.models.loglinear import kernels
from deniable.models.loglinear import net as net_module
from deniable.models.loglinear.factors import LogTable
from deniable.models.loglinear.kernels import LoglinearArrays
from deniable.models.loglinear.net import LoglinearNet
from deniable.models.loglinear.stratified_sampling import no_strata
from deniable.models.sequential_kernels import draw_next, factor_of
from deniable.plausible_deniability.mechanism_one import MechanismOne, synthesize, synthesize_by_scan
from deniable.plausible_deniability.plausible_seeds import SeedIndex
from deniable.plausible_deniability.privacy_tests import PrivacyTest
from deniable.plausible_deniability.resampling import SeedResampler
from tests.extent import drawn
from tests.loglinear_nets import blind, guided, random_net

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


def shares_net(number: int) -> LoglinearNet:
    return random_net(f"shares {number}", 6, spread=[10, 12_000, 150_000][number % 3])


def words_of_other_values(net: LoglinearNet, sampled: LoglinearNet, number: int) -> int:
    """Words, of those at both ends and in the midst of each value's share, that a sampler takes for another value."""
    wrong = 0
    for record in net.in_order(net.sample(stream(f"{number}").take(6 * 3))):
        for position in range(6):
            bucket = net.buckets[net.order[position]]
            found = masses(net, position, record)
            assert sum(found) == UNIT
            start = 0
            for value in np.lexsort((np.arange(len(bucket)), bucket)).tolist():
                if found[value]:
                    words = np.asarray([start, start + found[value] // 2, start + found[value] - 1], np.uint32)
                    wrong += sum(_draw(sampled.arrays, position, record, word) != value for word in words)
                start += found[value]
    return wrong


@pytest.mark.parametrize("number", range(12))
def test_each_word_stands_for_the_value_whose_share_it_is_in(number: int) -> None:
    net = shares_net(number)
    assert words_of_other_values(net, net, number) == 0


def test_a_sampler_that_ignored_guides_would_be_found() -> None:
    found = [words_of_other_values(shares_net(number), blind(shares_net(number)), number) for number in range(12)]
    assert sum(wrong > 0 for wrong in found) >= 6
    nets = [random_net(f"kernel {number}", 7) for number in range(6)]
    words = stream("blind").take(7 * 200)
    assert sum(not np.array_equal(net.sample(words), blind(net).sample(words)) for net in nets) >= 3


def test_values_follow_the_weights_of_their_guides_bucket() -> None:
    net = random_net("guides", 6)
    records = net.sample(stream("guides").take(6 * 50))
    checked = 0
    for i, guide in enumerate(net.guides):
        position = net.order.tolist().index(i)
        for record in records:
            row = 0 if guide is None else net.buckets[guide][record[guide]]
            found = np.asarray(masses(net, position, net.in_order(record[None])[0]))
            for bucket in range(net.size(i)):
                own = net.buckets[i] == bucket
                expected = net.within[i][row, own] / 2**30 * found[own].sum()
                assert (np.abs(found[own] - expected) <= 1).all()
                checked += guide is not None and own.sum() > 1 and row > 0
    assert checked > 50


def test_a_recoding_with_a_guide_is_never_contradicted() -> None:
    recoded = np.asarray([0, 0, 5, 1, 2, 2, 3, 6, 4, 4, 4, 7], np.uint16)
    buckets = np.asarray([0, 1, 0, 2, 1, 2, 2, 0], np.uint16)
    logs = np.where(buckets[recoded][:, None] == np.arange(3), 0, -150_000).astype(np.int32)
    net = guided(kinds=12, recoded=recoded, buckets=buckets, factor=LogTable((0,), logs))
    words = stream("recoding").take(2 * 100_000)
    for codes in (net.sample(words), net.sample_evenly(words)):
        assert np.array_equal(recoded[codes[:, 0]], codes[:, 1])
        assert set(codes[:, 1].tolist()) == set(range(8))
    for codes in (blind(net).sample(words), blind(net).sample_evenly(words)):
        assert (recoded[codes[:, 0]] != codes[:, 1]).mean() > 0.3
    for value in range(12):
        found = masses(net, 1, np.asarray([value, 0], np.uint16))
        others = buckets == buckets[recoded[value]]
        others[recoded[value]] = False
        assert found[recoded[value]] > UNIT - 200
        assert not np.asarray(found)[others].any()


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
        again = replace(net)
        assert np.array_equal(again.in_order(again.sample(words)), records)


@pytest.mark.parametrize("values", [7, 8, 9, 33, 34, 400])
def test_the_fast_kernel_finds_values_in_buckets_of_any_size(values: int) -> None:
    rng = np.random.default_rng(values)
    buckets = np.sort(rng.integers(0, 2, 3 + values) * (np.arange(3 + values) >= values)).astype(np.uint16)
    net = guided(kinds=5, recoded=rng.integers(0, len(buckets), 5).astype(np.uint16), buckets=buckets)
    shape = (5, len(buckets))
    spread = within_buckets(buckets, rng.random(shape) ** 9 * (rng.random(shape) < 0.9))
    net = replace(net, within=(net.within[0], spread))
    words = stream(f"values {values}").take(2 * 1000)
    records = net.sample(words)
    for record, own in zip(records, words.reshape(-1, 2), strict=True):
        assert _draw(net.arrays, 1, record.copy(), own[1]) == record[1]
    assert len(set(records[:, 1].tolist())) > min(values, 100) / 2


@pytest.mark.parametrize("number", range(4))
def test_the_fast_kernel_draws_exactly_at_the_ends_of_shares(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """There sums of floats are on the wrong side of the word as often as not, so that integers must decide."""
    monkeypatch.setattr(factors_module, "_MERGED_CELLS", 0)
    monkeypatch.setattr(net_module, "_READY_CELLS", 0)
    net = random_net(f"ends {number}", 7, largest=[9, 30][number % 2], spread=8_000)
    assert (net.arrays.slack[net.arrays.ready < 0] > 0).all()
    drawn = stream(f"ends {number}").take(7 * 40).reshape(-1, 7)
    words, wanted = [], []
    for record, own in zip(net.in_order(net.sample(drawn.ravel())), drawn, strict=True):
        for position in range(7):
            bucket, found, start = net.buckets[net.order[position]], masses(net, position, record), 0
            for value in np.lexsort((np.arange(len(bucket)), bucket)).tolist():
                for word in {start, start + found[value] // 2, start + found[value] - 1} if found[value] else ():
                    words.append([*own[:position], word, *own[position + 1 :]])
                    wanted.append((position, value))
                start += found[value]
    records = net.in_order(net.sample(np.asarray(words, np.uint32).ravel()))
    assert [(position, record[position]) for record, (position, _) in zip(records, wanted, strict=True)] == wanted


@pytest.mark.parametrize("spread", ["independent", "evenly"])
def test_records_are_the_same_wherever_integers_decide(spread: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Always, where floats are doubtful, where they are not far from it, and for all records that floats draw first."""
    monkeypatch.setattr(factors_module, "_MERGED_CELLS", 0)
    monkeypatch.setattr(net_module, "_READY_CELLS", 0)
    net, rows = random_net(f"doubts {spread}", 7, largest=30, spread=8_000), 3_000
    own = stream(f"doubts {spread}").take(7 * rows)
    strata = net.strata if spread == "evenly" else no_strata()
    found = []
    for slack in (0.0, net.arrays.slack, 1 / 64, 1.0):
        arrays = net.arrays._replace(slack=np.broadcast_to(np.float32(slack), 7).copy())
        found.append(np.empty((rows, 7), np.uint16))
        kernels.sample(arrays, strata, own, net.order, found[-1][:, :0], found[-1])
    assert all(np.array_equal(found[0], other) for other in found[1:])
    assert len(np.unique(found[0], axis=0)) > rows / 2


def largest_errors(net: LoglinearNet) -> list[float]:
    """How far floats may place a boundary of each position from where it is, by the proof: half of the bound."""
    groups = np.diff(net.arrays.group_start)
    sizes = net.arrays.size.astype(float)
    return ((2 * groups + sizes + 8) * 2.0**-24 + 3 * sizes**2 / 2**30).tolist()


def wrong(net: LoglinearNet) -> LoglinearArrays:
    """The arrays of a network whose factors are wrong by so much that some boundaries are by as much as may be.

    Every other bucket has larger factors in the first of each position's tables: a boundary moves by at most a quarter
    of what they are larger by.
    """
    arrays, factors = net.arrays, net.arrays.factors.copy()
    for position, error in enumerate(largest_errors(net)):
        size = int(arrays.size[position])
        first = arrays.group_start[position]
        start, end = arrays.table_start[first], [*arrays.table_start.tolist(), len(factors)][first + 1]
        width = 2 if size <= 2 else 4 if size <= 4 else -(-size // 8) * 8
        rows = factors[start : start + (end - start) // width * width].reshape(-1, width)
        rows[:, ::2] *= np.float32(1 + 4 * 0.98 * error)
    return arrays._replace(factors=factors)


@pytest.mark.slow
def test_every_word_near_a_boundary_is_drawn_as_by_integers_and_a_fourth_of_the_bound_is_too_little(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of floats that are wrong by as much as the proof of the bound allows."""
    monkeypatch.setattr(factors_module, "_MERGED_CELLS", 0)
    monkeypatch.setattr(net_module, "_READY_CELLS", 0)
    net = random_net("near boundaries", 7, largest=9, spread=4_000)
    own = stream("near boundaries").take(7 * drawn(4, least=1)).reshape(-1, 7)
    words, errors = [], largest_errors(net)
    for record, given in zip(net.in_order(net.sample(own.ravel())), own, strict=True):
        for position in range(7):
            width = round(1.1 * errors[position] * UNIT)
            near = np.arange(-width, width)
            ends = np.cumsum(in_buckets(net, position, record))[:-1]
            words.append(np.repeat(given[None], len(ends) * len(near), axis=0))
            words[-1][:, position] = (ends[:, None] + near).ravel() % UNIT
    asked = np.concatenate(words)
    found = {}
    for bound in (0, 1, Fraction(1, 4), Fraction(1, 64)):
        arrays = wrong(net)
        arrays = arrays._replace(slack=(arrays.slack * np.float32(bound)).astype(np.float32))
        found[bound] = np.empty(asked.shape, np.uint16)
        kernels.sample(arrays, no_strata(), asked.ravel(), net.order, found[bound][:, :0], found[bound])
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[Fraction(1, 4)])
    assert not np.array_equal(found[0], found[Fraction(1, 64)])


def in_buckets(net: LoglinearNet, position: int, record: Any) -> Any:
    """The masses of a position's buckets, out of 2^32, given a record."""
    found, bucket = masses(net, position, record), net.buckets[net.order[position]]
    return np.bincount(bucket, np.asarray(found, float)).astype(np.int64)


def test_what_floats_cannot_hold_is_drawn_in_integers_only() -> None:
    table = np.zeros((3, 8), np.int32)
    assert kernels.slack_of(8, 32, [table, table + 90 * kernels.STEPS]) > 0
    assert kernels.slack_of(8, 32, [table - 1, table + 90 * kernels.STEPS]) == 0
    assert kernels.slack_of(8, 33, [table]) == 0
    assert kernels.slack_of(65, 1, [table]) == 0


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
    attempt = MechanismOne(test=PrivacyTest(k=20, gamma=Fraction(4), eps0=Fraction(1), randomized=True))
    fast = synthesize(model, index, attempt, stream("attempts"), 400)
    slow = net.in_columns(synthesize_by_scan(model, seeds, attempt, stream("attempts"), 400))
    assert len(fast) > 20
    assert np.array_equal(fast, slow)


def test_a_network_is_read_back_from_its_document() -> None:
    net = random_net("document", 5)
    assert any(guide is not None for guide in net.guides)
    again = LoglinearNet.from_document(net.domain, json.loads(json.dumps(net.document())))
    assert again.guides == net.guides
    assert again.document() == net.document()
    words = stream("document").take(5 * 100)
    assert np.array_equal(net.sample(words), again.sample(words))
    with pytest.raises(InvalidInput, match="format"):
        LoglinearNet.from_document(net.domain, net.document() | {"format": "other"})


def test_what_is_no_network_is_refused() -> None:
    net = random_net("refused", 4)

    def changed(**new: object) -> LoglinearNet:
        return replace(net, **new)  # type: ignore[arg-type]

    with pytest.raises(InvalidInput, match="each attribute once"):
        changed(order=np.zeros(4, np.int64))
    with pytest.raises(InvalidInput, match="sum to 2\\^30"):
        changed(within=(net.within[0] + 1, *net.within[1:]))
    recoding = guided(kinds=3, recoded=np.asarray([0, 1, 1], np.uint16), buckets=np.zeros(2, np.uint16))
    for within in (recoding.within[1][:2], recoding.within[1][:, :1], recoding.within[1].ravel()):
        with pytest.raises(InvalidInput, match=r"weights of shape \(3, 2\)"):
            replace(recoding, within=(recoding.within[0], within))
    for row in ([2**30, 1], [2**30 + 1, -1]):
        with pytest.raises(InvalidInput, match="sum to 2\\^30"):
            replace(recoding, within=(recoding.within[0], np.asarray([[2**30, 0], [0, 2**30], row])))
    for guides in ((1, 0), (None, 1), (None, 2), (0, None)):
        with pytest.raises(InvalidInput, match=r"guide of [uv] must be one that comes before it"):
            replace(recoding, guides=guides)
    with pytest.raises(InvalidInput, match=r"weights of shape \(1, 2\)"):
        replace(recoding, guides=(None, None))
    with pytest.raises(InvalidInput, match="its guide"):
        replace(recoding, guides=(None,))
    first, last = int(net.order[0]), int(net.order[-1])
    backwards = list(net.factors)
    shape = (int(net.buckets[last].max()) + 1, int(net.buckets[first].max()) + 1)
    backwards[first] = (*net.factors[first], LogTable((last,), np.zeros(shape, np.int32)))
    with pytest.raises(InvalidInput, match="before it"):
        changed(factors=tuple(backwards))
    with pytest.raises(InvalidInput, match="shape"):
        changed(factors=tuple((LogTable((), np.zeros(99, np.int32)),) for _ in range(4)))


def test_bounds_side_by_side_are_those_of_whole_numbers() -> None:
    """Quotients of floats are corrected: also where they are whole, just below and just above, and at both ends."""
    rng = np.random.default_rng(5)
    totals = np.concatenate([np.array([1, 2, 3, 1 << 29, (1 << 30) - 1, 1 << 30]), rng.integers(1, 1 << 30, 2000)])
    parts = np.concatenate([np.minimum(totals, part) for part in (0, 1, 1 << 29)] + [totals - 1, totals, totals // 2])
    totals = np.tile(totals, 6)
    # Odd totals, of which some part times 2^32 leaves a remainder of 1, and another all but 1.
    odd = rng.integers(1 << 28, 1 << 29, 500) * 2 + 1
    inverse = np.asarray([pow(1 << 32, -1, total) for total in odd.tolist()])
    totals = np.concatenate([totals, odd, odd])
    parts = np.concatenate([parts, inverse, odd - inverse])
    # Every share begins before the total and ends after 0.
    leasts, ends = np.empty(len(parts), np.uint32), np.empty(len(parts), np.uint32)
    befores, afters = np.minimum(parts, totals - 1), np.maximum(parts, 1)
    kernels._shares_of_words(befores, afters, totals, len(parts), leasts, ends)
    for found, sums in ((leasts.astype(np.int64), befores), (ends.astype(np.int64) + 1, afters)):
        whole = [-(-(part << 32) // total) for part, total in zip(sums.tolist(), totals.tolist(), strict=True)]
        assert found.tolist() == whole
