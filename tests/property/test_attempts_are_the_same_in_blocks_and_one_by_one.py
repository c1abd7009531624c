"""Attempts made a block at a time release the records of attempts made one by one, whatever the network's kind."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.keys import ReleaseKey, WordStream
from deniable.learners.cfs.parameters import integer_weights
from deniable.models.bayes_net import UNIT, BayesNet
from deniable.models.graph import Graph, topological_order
from deniable.models.graphical.fitting import NoisyTable, fit
from deniable.models.graphical.junction_tree_net import JunctionTreeNet
from deniable.models.loglinear import factors as factors_module
from deniable.models.loglinear import net as net_module
from deniable.models.sequential_kernels import Network
from deniable.plausible_deniability import mechanism_one as synthesis
from deniable.plausible_deniability.mechanism_one import (
    Counting,
    MechanismOne,
    synthesize,
    synthesize_by_scan,
    synthesize_counted,
)
from deniable.plausible_deniability.mechanism_one_kernels import ATTEMPTS_A_BLOCK, BlockArrays, _fetch
from deniable.plausible_deniability.plausible_seeds import (
    SeedIndex,
    _intervals,
    count_plausible,
    count_plausible_by_scan,
    probability_classes,
)
from deniable.plausible_deniability.privacy_tests import PrivacyTest
from deniable.plausible_deniability.resampling import SeedResampler
from deniable.plausible_deniability.scored_counts import draw_scored
from deniable.privacy.common_events import WORDS
from tests.domains_with_rules import random_constrained_net
from tests.loglinear_nets import random_net

ATTEMPTS = 3 * ATTEMPTS_A_BLOCK + 17


def stream(name: str) -> WordStream:
    return ReleaseKey(bytes(range(32))).stream(step="test", mechanism=name, inputs="", parameters={})


def random_bayes_net(name: str, m: int) -> BayesNet:
    """Attributes of one to forty values, of which a tenth cannot be, and of up to two parents."""
    draw = np.random.default_rng(list(name.encode()))
    sizes = [int(size) for size in draw.choice([1, 2, 3, 5, 40], size=m)]
    domain = Domain(
        tuple(
            Attribute(f"x{i}", tuple(range(size)), "nominal", tuple(v // 3 for v in range(size)))
            for i, size in enumerate(sizes)
        )
    )
    parents = tuple(tuple(sorted({int(j) for j in draw.integers(0, i, 2)})) if i else () for i in range(m))
    weights = []
    for size, those in zip(sizes, parents, strict=True):
        rows = int(np.prod([domain.bucket_counts[j] for j in those], dtype=int))
        table = draw.random((rows, size)) ** 3 * (draw.random((rows, size)) < 0.9)
        table[:, 0] += 1e-6
        weights.append(integer_weights(table / table.sum(axis=1, keepdims=True)))
    return BayesNet(domain, Graph(parents, topological_order(domain, parents), ((),) * m), tuple(weights))


def scored_one_by_one(count: int, below: int, words: WordStream) -> int:
    """How many of some seeds have a number below a bound, whose bits are taken for all seeds at once, highest first."""
    numbers, open_seeds = [0] * count, list(range(count))
    for bit in range(31, -1, -1):
        if not open_seeds or below % (1 << bit + 1) == 0:
            break
        taken = words.take(-(-len(open_seeds) // 32)).tolist()
        for place, seed in enumerate(open_seeds):
            numbers[seed] |= (taken[place // 32] >> place % 32 & 1) << bit
        open_seeds = [seed for seed in open_seeds if numbers[seed] >> bit == below >> bit]
    return sum(number < below for number in numbers)


def one_by_one(
    model: SeedResampler,
    index: SeedIndex,
    attempt: MechanismOne,
    words: WordStream,
    attempts: int,
    counting: Counting | None = None,
    scored: WordStream | None = None,
) -> Codes:
    classes, scratch = probability_classes(attempt.test.gamma, len(model.net.domain)), index.scratch()
    seeds = index.arrays.seeds

    def exact(candidate: Codes, seed: int, level: int) -> int:
        if attempt.given_omega:
            copied = int(model.choice.levels[level])
            assert (seeds[seed, :copied] == candidate[:copied]).all()
            return int((seeds[:, :copied] == candidate[:copied]).all(axis=1).sum())
        return int(count_plausible(model.net.arrays, index.arrays, classes, candidate, seed, scratch))

    def count(candidate: Codes, seed: int, level: int) -> int:
        found = exact(candidate, seed, level)
        if counting is None or scored is None:
            return found
        among = scored_one_by_one(found, int(counting.check_probability * WORDS), scored)
        return among if counting.max_plausible is None else min(among, counting.max_plausible)

    made = (synthesis._make_attempt(model, seeds, attempt, count, words, model.level_drawn) for _ in range(attempts))
    released = [record for record in made if record is not None]
    return model.net.in_columns(np.asarray(released, np.uint16).reshape(-1, len(model.net.domain)))


def require_same(net: Network, seeds: Codes, omega: dict[int, int], test: PrivacyTest, name: str) -> int:
    """Release both ways; the number of records."""
    model, index = SeedResampler(net, omega), SeedIndex.build(seeds, omega)
    attempt = MechanismOne(test, Fraction(1, 50), public_rows=len(seeds) + 20)
    made = synthesize(model, index, attempt, stream(name), ATTEMPTS)
    np.testing.assert_array_equal(made, one_by_one(model, index, attempt, stream(name), ATTEMPTS))
    return len(made)


# Each kind of network with both ratios and with both tests, not with all pairs of the two.
@pytest.mark.parametrize(("randomized", "gamma"), [(True, Fraction(11, 10)), (False, Fraction(4))])
@pytest.mark.parametrize(
    ("kind", "m", "omega"),
    [
        ("bayes", 6, {4: 1}),
        ("bayes", 6, {4: 1, 5: 2, 6: 1}),
        ("bayes", 6, {0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1}),
        ("bayes", 14, {9: 1, 13: 2}),
        ("bayes", 1, {0: 1, 1: 1}),
        ("loglinear", 6, {4: 1}),
        ("loglinear", 6, {2: 1, 4: 1, 6: 1}),
    ],
)
def test_blocks_release_the_same_records(
    kind: str, m: int, omega: dict[int, int], *, randomized: bool, gamma: Fraction
) -> None:
    name = f"{kind} {m} {omega} {gamma}"
    net = random_bayes_net(name, m) if kind == "bayes" else random_net(name, m)
    seeds = net.in_order(net.sample(stream(f"{name} seeds").take(2000 * m)))
    k = 40 if m < 14 else 3
    test = PrivacyTest(k, gamma, Fraction(1, 4) if randomized else None, randomized=randomized)
    assert 0 < require_same(net, seeds, omega, test, name) < ATTEMPTS


@pytest.mark.parametrize(
    "omega",
    [
        pytest.param({4: 1}, marks=pytest.mark.nightly),
        {4: 1, 5: 2, 6: 1},
        pytest.param({0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1}, marks=pytest.mark.nightly),
    ],
)
@pytest.mark.parametrize(
    ("given", "counting"),
    [
        (True, None),
        (True, Counting(Fraction(1, 4), 30)),
        (False, Counting(Fraction(WORDS * 3 // 7, WORDS))),
        (False, Counting(max_plausible=45)),
    ],
)
def test_blocks_count_given_omega_and_among_some_seeds_as_is_done_one_by_one(
    omega: dict[int, int], counting: Counting | None, *, given: bool
) -> None:
    name = f"counted {omega} {given}"
    net = random_bayes_net(name, 6)
    seeds = net.in_order(net.sample(stream(f"{name} seeds").take(2000 * 6)))
    model, index = SeedResampler(net, omega), SeedIndex.build(seeds, omega)
    test = PrivacyTest(20 if counting else 40, Fraction(4), Fraction(1, 4), randomized=True)
    attempt = MechanismOne(test, Fraction(1, 50), len(seeds) + 20, given_omega=given)
    if counting is None:
        made = synthesize(model, index, attempt, stream(name), ATTEMPTS)
        again = one_by_one(model, index, attempt, stream(name), ATTEMPTS)
    else:
        opened = stream(name), stream(f"{name} scored")
        made = synthesize_counted(model, index, attempt, *opened, ATTEMPTS, counting=counting)
        opened = stream(name), stream(f"{name} scored")
        again = one_by_one(model, index, attempt, opened[0], ATTEMPTS, counting, opened[1])
    np.testing.assert_array_equal(made, again)
    assert 0 < len(made) < ATTEMPTS


@pytest.mark.parametrize("below", [1, 3, 1 << 31, WORDS // 3, WORDS - 1])
def test_scored_seeds_are_those_with_a_number_below_the_bound(below: int) -> None:
    counts = np.asarray([0, 1, 31, 32, 33, 64, 5000, 0, 7, 100_000], np.int64)
    words, again = stream(f"below {below}"), stream(f"below {below}")
    expected = [scored_one_by_one(count, below, again) for count in counts.tolist()]
    draw_scored(counts, Fraction(below, WORDS), words)
    assert counts.tolist() == expected
    assert words.take(4).tolist() == again.take(4).tolist()


def junction_tree_net() -> JunctionTreeNet:
    draw = np.random.default_rng(list(b"junction"))
    sizes = (3, 2, 4, 1, 3)
    domain = Domain(
        tuple(Attribute(f"a{i}", tuple(range(size)), "nominal", (0,) * size) for i, size in enumerate(sizes))
    )
    cliques = [(0, 1, 2), (2, 4)]
    tables = [NoisyTable(own, draw.gamma(0.5, 400.0, [sizes[i] for i in own]), 5.0) for own in cliques]
    return JunctionTreeNet.of(domain, fit(sizes, tables, iterations=50).model)


@pytest.mark.parametrize(
    "kind",
    ["bayes", "junction", *(pytest.param(f"rules {n}", marks=[pytest.mark.nightly]) for n in (1, 2)), "rules 3"],
)
def test_the_scan_releases_the_same_records_with_every_kind_of_model(kind: str) -> None:
    net: Any = junction_tree_net() if kind == "junction" else random_constrained_net(kind)
    net = random_bayes_net("scan", 6) if kind == "bayes" else net
    m = len(net.domain)
    seeds = net.in_order(net.sample(stream(f"{kind} scanned").take(400 * m)))
    attempt = MechanismOne(PrivacyTest(20, Fraction(4), Fraction(1, 4), randomized=True), Fraction(1, 50), 420)
    # All attributes but one may be copied, or no more than one.
    for omega, attempts in (({1: 1, m - 1: 1, m: 1}, 200), ({m - 1: 1, m: 1}, 60)):
        model = SeedResampler(net, omega)
        fast = synthesize(model, SeedIndex.build(seeds, omega), attempt, stream(kind), attempts)
        slow = synthesize_by_scan(model, seeds, attempt, stream(kind), attempts)
        np.testing.assert_array_equal(fast, net.in_columns(slow))
        assert 0 < len(fast) < attempts


def test_a_candidate_whose_probability_is_too_small_for_a_float_has_no_plausible_seed() -> None:
    classes, seeds = probability_classes(Fraction(4), 40), np.zeros((5, 2), np.uint16)
    assert count_plausible_by_scan(lambda block: np.full(len(block), 0.5), seeds, 0, classes) == 5
    assert count_plausible_by_scan(lambda block: np.zeros(len(block)), seeds, 0, classes) == 0


@pytest.mark.parametrize(("merged", "ready"), [(0, 0), (1 << 20, 0), (0, 12), (0, 1 << 20)])
@pytest.mark.parametrize("omega", [{4: 1}, {2: 1, 4: 1, 6: 1}, {2: 100, 3: 7, 6: 400}])
def test_blocks_release_the_same_records_whatever_is_ready_made(
    omega: dict[int, int], merged: int, ready: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = random_net(f"loglinear 6 {omega} 4", 6)
    seeds = net.in_order(net.sample(stream("ready seeds").take(2000 * 6)))
    test = PrivacyTest(40, Fraction(4), Fraction(1, 4), randomized=True)
    every = synthesize(
        SeedResampler(net, omega), SeedIndex.build(seeds, omega), MechanismOne(test), stream("r"), ATTEMPTS
    )
    monkeypatch.setattr(factors_module, "_MERGED_CELLS", merged)
    monkeypatch.setattr(net_module, "_READY_CELLS", ready)
    again = replace(net)
    assert (again.arrays.ready < 0).any() == (ready < 1 << 20)
    assert 0 < require_same(again, seeds, omega, test, "ready") < ATTEMPTS
    slow = synthesize(
        SeedResampler(again, omega), SeedIndex.build(seeds, omega), MechanismOne(test), stream("r"), ATTEMPTS
    )
    np.testing.assert_array_equal(every, slow)


def test_only_what_an_attempt_may_copy_is_fetched() -> None:
    seeds = np.arange(1, 61, dtype=np.uint16).reshape(10, 6)
    block, index = BlockArrays.empty(6), SeedIndex.build(seeds, {6: 1, 4: 1})
    block.seed[:3] = 7, 2, 9
    _fetch.py_func(block, index.arrays, 2, 3)
    np.testing.assert_array_equal(block.records[:2, :3], seeds[[7, 2, 9], :2].T)
    assert not block.records[2:].any()


def test_probabilities_too_small_for_a_float_are_no_exception() -> None:
    """Twenty attributes, of which the seeds have the value of probability 2^-32: copying none of them has 2^-640."""
    m = 20
    domain = Domain(tuple(Attribute(f"x{i}", (0, 1), "nominal", (0, 1)) for i in range(m)))
    table = np.asarray([[UNIT - 1, 1]], np.uint64)
    net = BayesNet(domain, Graph(((),) * m, tuple(range(m)), ((),) * m), (table,) * m)
    draw = np.random.default_rng(list(b"rare"))
    seeds = (draw.random((300, m)) < 0.97).astype(np.uint16)
    omega = {1: 1, 2: 1, 18: 1, m: 1}
    test = PrivacyTest(30, Fraction(4), Fraction(1, 4), randomized=True)
    assert 0 < require_same(net, seeds, omega, test, "rare") < ATTEMPTS

    block, index = BlockArrays.empty(m), SeedIndex.build(seeds, omega)
    block.factors[:] = 2.0**-32
    own, first, beyond = np.zeros(4, np.int64), np.zeros(4, np.int64), np.zeros(4, np.int64)
    assert not _intervals(index.arrays, probability_classes(test.gamma, m), block.factors, own, 4, first, beyond)


@pytest.mark.parametrize("at_a_time", [1, 5, ATTEMPTS_A_BLOCK + 1])
def test_it_does_not_matter_how_many_words_there_are_at_a_time(monkeypatch: pytest.MonkeyPatch, at_a_time: int) -> None:
    """Words that run out in the middle of an attempt, as they hardly ever do otherwise."""
    net = random_bayes_net("words", 6)
    seeds = net.in_order(net.sample(stream("words seeds").take(2000 * 6)))
    monkeypatch.setattr(synthesis, "_AT_A_TIME", at_a_time)
    monkeypatch.setattr(synthesis, "_WORDS_BESIDE", 0)
    monkeypatch.setattr(synthesis, "_WORDS_AHEAD", 64)
    test = PrivacyTest(40, Fraction(4), Fraction(1, 4), randomized=True)
    assert require_same(net, seeds, {3: 1, 5: 1}, test, "words") > 0
