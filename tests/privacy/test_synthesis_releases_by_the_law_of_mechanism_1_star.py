"""What is released has the law that the theorems are proved for; exact counting and the scan release alike."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest, chi2

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey, WordStream
from deniable.learners.cfs.parameters import integer_weights
from deniable.models.bayes_net import BayesNet
from deniable.models.graph import Graph, topological_order
from deniable.plausible_deniability.mechanism_one import Counting, MechanismOne, synthesize, synthesize_by_scan
from deniable.plausible_deniability.plausible_seeds import SeedIndex
from deniable.plausible_deniability.privacy_tests import PrivacyTest
from deniable.plausible_deniability.resampling import SeedResampler
from deniable.privacy.loss import PrivacyTestEvent

DOMAIN = Domain(
    (
        Attribute("a", (0, 1), "nominal", (0, 1)),
        Attribute("b", (0, 1, 2), "nominal", (0, 1, 1)),
        Attribute("c", (0, 1), "nominal", (0, 1)),
    )
)
PARENTS = ((), (0,), (1,))
NET = BayesNet(
    DOMAIN,
    Graph(PARENTS, topological_order(DOMAIN, PARENTS), ((), (0.5,), (0.5,))),
    tuple(
        integer_weights(np.array(table))
        for table in ([[0.7, 0.3]], [[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]], [[0.9, 0.1], [0.4, 0.6]])
    ),
)
SEEDS = np.array([[0, 0, 0]] * 5 + [[0, 1, 0]] * 3 + [[1, 2, 1]] * 4 + [[1, 0, 0]] + [[0, 2, 1]] * 2, np.uint16)
ATTEMPT = MechanismOne(
    PrivacyTest(k=4, gamma=Fraction(2), eps0=Fraction(1, 2), randomized=True),
    drop_probability=Fraction(1, 10),
    public_rows=20,
)
OMEGAS = ({2: 1}, {1: 1, 2: 2, 3: 1}, {0: 1, 1: 3}, {0: 1, 1: 1, 2: 1, 3: 1})


def stream(name: str) -> WordStream:
    return ReleaseKey(bytes(range(32))).stream(step="test", mechanism=name, inputs="", parameters={})


def scan_order(codes: Codes) -> Codes:
    return NET.in_order(codes)


def law(attempt: MechanismOne, omega: dict[int, int]) -> NDArray[np.float64]:
    """Probability of releasing each record, and last of releasing none, from the definition of Mechanism 1*."""
    model = SeedResampler(NET, omega)
    seeds = scan_order(SEEDS)
    places = max(len(seeds), attempt.public_rows)
    sizes = [DOMAIN.cardinalities[i] for i in NET.graph.order]
    released = []
    for values in product(*map(range, sizes)):
        probabilities = model.probabilities(np.array(values, np.uint16), seeds)
        classes = [None if p == 0 else bucket(p, attempt.test.gamma) for p in probabilities]
        chance = sum(
            p * attempt.test.pass_probability(classes.count(own))
            for p, own in zip(probabilities, classes, strict=True)
            if own is not None
        )
        released.append(float((1 - attempt.drop_probability) * Fraction(chance) / places))
    return np.array([*released, 1 - sum(released)])


def bucket(probability: float, gamma: Fraction) -> int:
    """The i with gamma^(-i-1) < p <= gamma^-i."""
    i = 0
    while probability <= float(gamma) ** -(i + 1):
        i += 1
    return i


def observed(records: Codes, attempts: int) -> NDArray[np.float64]:
    """Shares of the records in the order of `law`."""
    sizes = [DOMAIN.cardinalities[i] for i in NET.graph.order]
    counts = np.zeros(sizes)
    np.add.at(counts, tuple(scan_order(records).T), 1)
    return np.array([*counts.ravel(), attempts - len(records)])


def chi_squared(counts: NDArray[np.float64], probabilities: NDArray[np.float64]) -> float:
    """Pearson's statistic over its degrees of freedom; 2 to 3 is far out for a dozen cells and more."""
    possible = probabilities > 1e-12
    assert counts[~possible].sum() == 0
    expected = counts.sum() * probabilities[possible]
    return float(((counts[possible] - expected) ** 2 / expected).sum() / (possible.sum() - 1))


@pytest.mark.parametrize("omega", OMEGAS, ids=str)
def test_release_frequencies_are_those_of_the_definition(omega: dict[int, int]) -> None:
    attempts = 200_000
    index = SeedIndex.build(scan_order(SEEDS), omega)
    records = synthesize(SeedResampler(NET, omega), index, ATTEMPT, stream(f"law {omega}"), attempts)
    counts = observed(records, attempts)
    assert chi_squared(counts, law(ATTEMPT, omega)) < 6
    # the same records refuse the laws of a mechanism that is a little different
    for other in (
        MechanismOne(PrivacyTest(4, Fraction(2), Fraction(6, 10), randomized=True), Fraction(1, 10), 20),
        MechanismOne(PrivacyTest(5, Fraction(2), Fraction(1, 2), randomized=True), Fraction(1, 10), 20),
        MechanismOne(ATTEMPT.test, Fraction(12, 100), 20),
        MechanismOne(ATTEMPT.test, Fraction(1, 10), 21),
    ):
        assert chi_squared(counts, law(other, omega)) > 6


CHARGED = PrivacyTestEvent(
    query="candidates",
    part="seeds",
    outputs=400_000,
    k=12,
    gamma=Fraction(2),
    eps0=Fraction(1, 2),
    public_rows=20,
    drop_probability=Fraction(1, 10),
)
FALSE_ALARM = 1e-9


def charged_attempt(event: PrivacyTestEvent) -> MechanismOne:
    """What an event says is done, as it is done."""
    test = PrivacyTest(k=event.k, gamma=event.gamma, eps0=event.eps0, randomized=True)
    return MechanismOne(test, event.drop_probability, event.public_rows)


def chance(event: PrivacyTestEvent, seeds: int) -> float:
    """How often a candidate is released where all seeds are alike, from the numbers of the event alone."""
    decay, distance = np.exp(-float(event.eps0)), event.k - seeds
    passes = decay**distance / (1 + decay) if distance > 0 else 1 - decay ** (1 - distance) / (1 + decay)
    return float((1 - event.drop_probability) * Fraction(seeds, max(seeds, event.public_rows))) * float(passes)


def released_of(seeds: int, name: str, candidates: int) -> Callable[[], int]:
    """Draws candidates whose seeds are all alike, from one stream; the number of those that are released."""
    index = SeedIndex.build(np.zeros((seeds, 3), np.uint16), {1: 1})
    words, model = stream(name), SeedResampler(NET, {1: 1})
    return lambda: len(synthesize(model, index, charged_attempt(CHARGED), words, candidates))


@pytest.mark.parametrize("seeds", [8, 16])
def test_candidates_pass_as_often_as_their_event_says(seeds: int) -> None:
    released = released_of(seeds, f"passing {seeds}", CHARGED.outputs)()

    def p_value(event: PrivacyTestEvent) -> float:
        return float(binomtest(released, CHARGED.outputs, chance(event, seeds)).pvalue)

    assert p_value(CHARGED) > FALSE_ALARM
    for other in (
        replace(CHARGED, eps0=CHARGED.eps0 * Fraction(9, 10)),
        replace(CHARGED, eps0=CHARGED.eps0 * Fraction(11, 10)),
        replace(CHARGED, k=CHARGED.k + 1),
        replace(CHARGED, k=CHARGED.k - 1),
        replace(CHARGED, public_rows=CHARGED.public_rows + 4),
        replace(CHARGED, drop_probability=Fraction(0)),
    ):
        assert p_value(other) < FALSE_ALARM


def test_noise_of_one_candidate_says_nothing_of_another_s() -> None:
    """As many of a block pass as of candidates that are on their own; with one noise for all, nearly all or none."""
    seeds, each, blocks = 8, 250, 400
    draw = released_of(seeds, "blocks", each)
    passed = np.array([draw() for _ in range(blocks)])
    expected = each * chance(CHARGED, seeds)
    spread = float(((passed - expected) ** 2).sum() / (expected * (1 - chance(CHARGED, seeds))))
    assert chi2.sf(spread, blocks) > FALSE_ALARM
    together = np.where(np.arange(blocks) % 10 == 0, each, 0)
    assert chi2.sf(((together - expected) ** 2).sum() / expected, blocks) < FALSE_ALARM


@pytest.mark.parametrize("omega", OMEGAS, ids=str)
@pytest.mark.parametrize("randomized", [True, False])
def test_prefix_counts_and_the_scan_release_the_same_records(omega: dict[int, int], *, randomized: bool) -> None:
    test = PrivacyTest(4, Fraction(2), Fraction(1, 2) if randomized else None, randomized=randomized)
    attempt = MechanismOne(test, Fraction(1, 10), 20)
    model = SeedResampler(NET, omega)
    seeds = scan_order(SEEDS)
    name = f"scan {omega} {randomized}"
    fast = synthesize(model, SeedIndex.build(seeds, omega), attempt, stream(name), 600)
    slow = synthesize_by_scan(model, seeds, attempt, stream(name), 600)
    assert len(fast) > 20
    assert np.array_equal(scan_order(fast), slow)


def test_the_deterministic_test_releases_nothing_with_fewer_plausible_seeds_than_k() -> None:
    attempt = MechanismOne(PrivacyTest(4, Fraction(2), None, randomized=False))
    index = SeedIndex.build(scan_order(SEEDS), {1: 1})
    records = synthesize(SeedResampler(NET, {1: 1}), index, attempt, stream("deterministic"), 5_000)
    prefixes, counts = np.unique(scan_order(SEEDS)[:, :2], axis=0, return_counts=True)
    held = {tuple(prefix) for prefix, count in zip(prefixes, counts, strict=True) if count >= 4}
    assert {tuple(record[:2]) for record in scan_order(records)} == held
    assert 0 < len(held) < len(prefixes)


def test_a_scan_with_a_limit_decides_the_deterministic_test_alike() -> None:
    attempt = MechanismOne(PrivacyTest(4, Fraction(2), None, randomized=False))
    model = SeedResampler(NET, {2: 1})
    whole = synthesize_by_scan(model, scan_order(SEEDS), attempt, stream("early"), 300)
    early = synthesize_by_scan(
        model, scan_order(SEEDS), attempt, stream("early"), 300, counting=Counting(max_plausible=4)
    )
    some = synthesize_by_scan(
        model, scan_order(SEEDS), attempt, stream("early"), 300, counting=Counting(check_probability=Fraction(1, 4))
    )
    assert np.array_equal(whole, early)
    assert len(some) < len(whole)
    with pytest.raises(InvalidInput, match="max_plausible must be at least k"):
        synthesize_by_scan(model, scan_order(SEEDS), attempt, stream("early"), 1, counting=Counting(max_plausible=3))
    with pytest.raises(InvalidInput, match=r"a multiple of 2\^-32 in \(0, 1\], got 1/3"):
        Counting(check_probability=Fraction(1, 3))


def test_one_stream_gives_the_same_records_however_the_words_are_fetched() -> None:
    omega = {1: 1, 2: 2, 3: 1}
    index = SeedIndex.build(scan_order(SEEDS), omega)
    model = SeedResampler(NET, omega)
    whole = synthesize(model, index, ATTEMPT, stream("words"), 4_000)
    ahead = stream("words")
    ahead.peek(1_000_000)
    assert np.array_equal(whole, synthesize(model, index, ATTEMPT, ahead, 4_000))
    continued = stream("words")
    parts = [synthesize(model, index, ATTEMPT, continued, size) for size in (1_500, 2_500)]
    assert np.array_equal(whole, np.concatenate(parts))
