"""Candidates per second and core, and the speed of the exact privacy test relative to a scan."""

from fractions import Fraction
from functools import partial

from benchmarks import wide
from benchmarks.measuring import Result, core_seconds
from benchmarks.population import DOMAIN, network, people, stream
from deniable.foundation.domain import Codes
from deniable.foundation.keys import ReleaseKey
from deniable.learners.loglinear.estimation.counting import RowCounter
from deniable.learners.loglinear.mechanism import learn_network
from deniable.learners.loglinear.plan import LoglinearRecipe
from deniable.plausible_deniability.mechanism_one import MechanismOne, synthesize
from deniable.plausible_deniability.plausible_seeds import (
    SeedIndex,
    count_plausible,
    count_plausible_by_scan,
    probability_classes,
)
from deniable.plausible_deniability.privacy_tests import PrivacyTest
from deniable.plausible_deniability.resampling import SeedResampler

SEEDS = 1_000_000
CANDIDATES = 300_000
CHUNK = 65_536
LEARNT_FROM = 200_000
ATTEMPT = MechanismOne(PrivacyTest(50, Fraction(4), Fraction(1), randomized=True), Fraction(1, 100), 500_000)
OMEGAS = {"omega 9": {9: 1}, "omega 9, 10 or 11": {9: 1, 10: 1, 11: 1}, "omega 5 to 11": dict.fromkeys(range(5, 12), 1)}


def measure() -> list[Result]:
    """Time Mechanism 1* on eleven attributes with a million seeds."""
    net = network()
    seeds = net.in_order(people(SEEDS))
    results = []
    for name, omega in OMEGAS.items():
        model = SeedResampler(net, omega)
        indexing = core_seconds(lambda omega=omega: SeedIndex.build(seeds, omega), repeats=2)  # type: ignore[misc]
        index = SeedIndex.build(seeds, omega)
        seconds = core_seconds(
            lambda model=model, index=index: synthesize(model, index, ATTEMPT, stream("run"), CANDIDATES)  # type: ignore[misc]
        )
        results.append(
            Result(
                f"candidates drawn and tested a second and core, {len(DOMAIN)} attributes, {SEEDS:,} seeds, {name}",
                f"{CANDIDATES / seconds:,.0f} (index: {indexing:.2f} s)",
                "5,000,000",
            )
        )
        if len(omega) > 1:
            results.append(_against_the_scan(model, index, seeds, name))
    return results + [_seedless(attributes) for attributes in (11, 15)]


def _seedless(attributes: int) -> Result:
    """Learn a log-linear network from artificial people, and time drawing records from it."""
    plan = LoglinearRecipe(epsilon=Fraction(1), delta=Fraction(1, 10**9), noise="gaussian").calibrate(
        wide.domain(attributes)
    )
    codes = wide.network(attributes).sample(stream("wide").take(LEARNT_FROM * attributes))
    open_stream = partial(ReleaseKey(bytes(32)).stream, step="benchmark", inputs="")
    net, _ = learn_network(plan, RowCounter(lambda: [codes]), open_stream)
    seconds = core_seconds(lambda: net.sample_evenly(stream("run").take(CHUNK * attributes)))
    return Result(
        f"records drawn from a log-linear network a second and core, without matching, {attributes} attributes",
        f"{CHUNK / seconds:,.0f}",
        "2,000,000",
    )


def _against_the_scan(model: SeedResampler, index: SeedIndex, seeds: Codes, name: str) -> Result:
    """Count the plausible seeds of the same candidates by prefixes and by scanning; they must agree."""
    candidates = 200
    classes = probability_classes(ATTEMPT.test.gamma, len(DOMAIN))
    words = stream("candidates").take(64 * candidates)
    drawn = [model.draw(seeds[seed], words[64 * seed : 64 * (seed + 1)], 0)[0] for seed in range(candidates)]
    scratch = index.scratch()

    def by_prefixes() -> list[int]:
        return [
            int(count_plausible(model.net.arrays, index.arrays, classes, drawn[seed], seed, scratch))
            for seed in range(candidates)
        ]

    def by_scan(those: int) -> list[int]:
        return [
            count_plausible_by_scan(
                lambda block, seed=seed: model.probabilities(drawn[seed], block),  # type: ignore[misc]
                seeds,
                seed,
                classes,
            )
            for seed in range(those)
        ]

    some = 5
    if by_scan(some) != by_prefixes()[:some]:
        raise AssertionError("the scan and the prefix counts must agree")
    exact = core_seconds(by_prefixes) / candidates
    scan = core_seconds(lambda: by_scan(some), repeats=2) / some
    return Result(
        f"the exact test against the scan, called one by one, {name}", f"{scan / exact:,.0f} times", "1,000 times"
    )
