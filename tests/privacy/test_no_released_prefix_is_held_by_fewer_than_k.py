"""With the floor of plausible deniability all that is ever copied is shared by k people; with delta alone it is not."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy import stats

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.keys import ReleaseKey
from deniable.foundation.noise import DiscreteLaplace
from deniable.learners.cfs.parameters import integer_weights
from deniable.models.bayes_net import BayesNet
from deniable.models.graph import Graph
from deniable.samplers.histogram_seeds.noisy_histogram import (
    HistogramMechanism,
    HistogramRecipe,
    PrefixCounts,
    PrefixHistogram,
)
from deniable.samplers.histogram_seeds.sampling import PrefixSampler

K = 10
CELLS = 5_000
DOMAIN = Domain(
    (
        Attribute("place", tuple(range(CELLS)), "nominal", (0,) * CELLS),
        Attribute("answer", ("no", "yes"), "nominal", (0, 1)),
    )
)
RUNS = 400
FALSE_ALARM = 1e-9


def place_sizes() -> np.ndarray:
    """People at each place: nearly all places have one too few, some have enough, some are empty."""
    sizes = np.full(CELLS, K - 1)
    sizes[::10] = np.arange(CELLS // 10) % (6 * K)
    return sizes


SIZES = place_sizes()
ROWS = int(SIZES.sum())


def counts() -> PrefixCounts:
    found = PrefixCounts(DOMAIN, (0, 1), 1)
    places = np.repeat(np.arange(CELLS), SIZES)
    found.add(np.stack([places, places % 2], axis=1).astype(np.uint16))
    return found


COUNTS = counts()


def recipe(beta: Fraction) -> HistogramRecipe:
    return HistogramRecipe(epsilon=Fraction(1), delta=Fraction(1, 10**4), k=K, beta=beta, max_rows=ROWS)


def run(mechanism: HistogramMechanism, name: str, number: int) -> PrefixHistogram:
    open_stream = partial(ReleaseKey(bytes(range(32))).stream, step=name, inputs=f"table {number}")
    return mechanism.run(COUNTS, open_stream)


def held_by_too_few(histogram: PrefixHistogram) -> bool:
    return bool((SIZES[histogram.cells[:, 0]] < K).any())


def failing_runs(mechanism: HistogramMechanism, name: str) -> int:
    return sum(held_by_too_few(run(mechanism, name, number)) for number in range(RUNS))


def exact_failure(threshold: int, sizes: np.ndarray) -> float:
    """Probability that some cell of fewer than k people is kept."""
    noise = DiscreteLaplace(Fraction(1))
    small = sizes[(sizes > 0) & (sizes < K)].tolist()
    return float(-np.expm1(sum(np.log1p(-noise.tail(threshold - size)) for size in small)))


def test_with_the_floor_no_prefix_of_fewer_than_k_people_is_kept() -> None:
    mechanism = recipe(Fraction(1, 10**9)).calibrate()
    assert failing_runs(mechanism, "floor") == 0
    assert len(run(mechanism, "floor", 0).cells) > 100


def test_with_the_threshold_for_delta_alone_some_are() -> None:
    plain = HistogramRecipe(epsilon=Fraction(1), delta=Fraction(1, 10**4)).calibrate()
    assert failing_runs(plain, "plain") > RUNS / 2


@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(1, 20)])
def test_some_are_in_no_more_runs_than_beta_allows_and_as_many_as_are_computed(beta: Fraction) -> None:
    mechanism = recipe(beta).calibrate()
    expected = exact_failure(mechanism.threshold, SIZES)
    failures = failing_runs(mechanism, f"beta {beta}")
    assert stats.binomtest(failures, RUNS, float(beta), alternative="greater").pvalue > FALSE_ALARM
    assert stats.binomtest(failures, RUNS, expected).pvalue > FALSE_ALARM
    # a floor for fewer people would not have done
    lower = HistogramMechanism(mechanism.recipe, mechanism.threshold - 6)
    failures = failing_runs(lower, f"lower {beta}")
    assert stats.binomtest(failures, RUNS, float(beta), alternative="greater").pvalue < FALSE_ALARM


@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(1, 1000), Fraction(1, 10**9)])
def test_the_probability_of_failure_is_at_most_beta_on_every_table(beta: Fraction) -> None:
    threshold = recipe(beta).calibrate().threshold
    for size in range(1, K):
        worst = np.full(ROWS // size, size)
        assert exact_failure(threshold, worst) <= beta
    assert exact_failure(threshold, SIZES) <= beta
    # as many cells as rows, each of k - 1 people: more than can be, and all that the floor leaves room for
    assert exact_failure(threshold, np.full(ROWS, K - 1)) <= beta
    assert exact_failure(threshold - 1, np.full(ROWS, K - 1)) > beta * Fraction(7, 10)


def test_every_record_drawn_has_k_plausible_seeds_in_the_true_table() -> None:
    net = BayesNet(
        DOMAIN,
        Graph(((), ()), (0, 1), ((), ())),
        (integer_weights(np.full((1, CELLS), 1 / CELLS)), integer_weights(np.array([[0.3, 0.7]]))),
    )
    words = ReleaseKey(bytes(32)).stream(step="records", mechanism="sample", inputs="", parameters={})
    fewest = {}
    for name, mechanism in (
        ("floor", recipe(Fraction(1, 10**9)).calibrate()),
        ("plain", HistogramRecipe(epsilon=Fraction(1), delta=Fraction(1, 10**4)).calibrate()),
    ):
        sampler = PrefixSampler(net, run(mechanism, name, 0))
        records = sampler.sample(words.take(200_000 * sampler.words_per_record))
        fewest[name] = int(SIZES[records[:, 0]].min())
    assert fewest["floor"] >= K
    assert fewest["plain"] < K
