"""Every output law of a test on some rows keeps to its curves; one on the first rows in a random order does not."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import ceil, comb, log1p

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, binomtest, hypergeom

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey
from deniable.learners.cfs.parameters import integer_weights
from deniable.models.bayes_net import BayesNet
from deniable.models.graph import Graph
from deniable.plausible_deniability import sampled_tests
from deniable.plausible_deniability.mechanism_one import Counting, MechanismOne, synthesize_by_scan, synthesize_counted
from deniable.plausible_deniability.plausible_seeds import SeedIndex
from deniable.plausible_deniability.privacy_tests import PrivacyTest, pass_probability
from deniable.plausible_deniability.resampling import SeedResampler
from deniable.plausible_deniability.sampled_tests import law_of, sampled_curves
from deniable.plausible_deniability.seed_accounting import (
    attempt_curves,
    compose_candidates,
    record_guarantee,
    theorem_a_epsilon,
)
from deniable.privacy import common_events
from deniable.privacy.common_events import WORDS, check_probability
from deniable.privacy.loss import PrivacyTestEvent, SampledTestEvent, from_record
from tests.output_law import (
    MULTIPLICITY,
    Laws,
    Mechanism,
    nearest_to,
    random_models,
    require_below,
    same_bucket,
    worst,
)

MODELS = random_models("sampled tests", 60)
EPSILONS = np.array([0.0, 0.05, 0.1, 0.3, 0.7, 1.2, 2.0])
FALSE_ALARM = 1e-9


def event(
    k: int, gamma: int, eps0: Fraction, places: int, drop: Fraction, check: Fraction, most: int = 0
) -> SampledTestEvent:
    return SampledTestEvent(
        query="candidates",
        part="seeds",
        outputs=1,
        k=k,
        gamma=Fraction(gamma),
        eps0=eps0,
        public_rows=places,
        drop_probability=drop,
        check_probability=check,
        max_plausible=most,
    )


GRID = [
    event(k, gamma, eps0, places, Fraction(1, 10), check, most)
    for k, gamma, eps0, most in (
        (1, 2, Fraction(1), 0),
        (2, 2, Fraction(1), 0),
        (2, 2, Fraction(1), 2),
        (1, 4, Fraction(3), 2),
        (2, 4, Fraction(1, 2), 3),
    )
    for places in (1, 3, 6)
    for check in (Fraction(1, 4), Fraction(3, 4))
]


@dataclass(frozen=True)
class OnSome:
    """The privacy test on a random selection of the rows, by its definition."""

    attempt: SampledTestEvent

    @property
    def gamma(self) -> Fraction:
        return self.attempt.gamma

    def pass_probability(self, count: int) -> float:
        p = float(self.attempt.check_probability)
        found = np.arange(count + 1)
        chances = [comb(count, each) * p**each * (1 - p) ** (count - each) for each in found]
        counted = np.minimum(found, self.attempt.max_plausible or count)
        return float((np.asarray(chances) * pass_probability(counted, k=self.attempt.k, eps0=self.attempt.eps0)).sum())


def laws_of(attempt: SampledTestEvent) -> list[Laws]:
    mechanism = Mechanism(OnSome(attempt), drop_probability=float(attempt.drop_probability), places=attempt.public_rows)
    return [mechanism.laws(model) for model in MODELS]


@pytest.mark.parametrize("attempt", GRID)
def test_one_attempt_stays_below_the_curves(attempt: SampledTestEvent) -> None:
    require_below(attempt_curves(attempt, EPSILONS), laws_of(attempt), EPSILONS)


def test_the_curves_are_nearly_met() -> None:
    found = [nearest_to(attempt_curves(attempt, EPSILONS), laws_of(attempt), EPSILONS) for attempt in GRID]
    added, removed = (max(side) for side in zip(*found, strict=True))
    assert added > 0.95
    assert removed > 0.6


@pytest.mark.parametrize("attempt", GRID[::3])
def test_the_curves_are_those_of_theorem_a(attempt: SampledTestEvent) -> None:
    """Written out: the maxima over counts up to 200, of the law by its definition."""
    test, places, drop = OnSome(attempt), attempt.public_rows, float(attempt.drop_probability)
    q = [test.pass_probability(count) for count in range(202)]
    counts, gamma = range(201), float(attempt.gamma)
    added, removed = attempt_curves(attempt, EPSILONS)
    for place, a in enumerate(np.exp(EPSILONS).tolist()):
        u = max(0.0, *(q[c + 1] * (1 + c * x) - a * c * x * q[c] for c in counts for x in (1 / gamma, gamma)))
        w = max(0.0, *(c * gamma * ((1 - q[c]) - a * places / (places + 1) * (1 - q[c + 1])) for c in counts))
        s = max(0.0, 1 + 1 / places - a)
        silent = max(0.0, (1 - drop) / places - drop * (a - 1))
        assert added[place] == pytest.approx(min(1.0, (1 - drop) * u / places + silent), rel=1e-4, abs=1e-9)
        failing = max(0.0, (1 - drop) * (1 / places + s + w / places) - drop * (a - 1))
        assert removed[place] == pytest.approx(min(1.0, (1 - drop) * s + failing), rel=1e-4, abs=1e-9)


def test_the_record_of_one_attempt_stays_within_its_guarantee() -> None:
    met, tried = 0.0, 0
    for attempt in GRID:
        laws = [law[:, :-1] for law in laws_of(attempt)]
        for delta in (0.05, 0.1, 0.2, 0.4):
            try:
                epsilon = record_guarantee(attempt, delta).epsilon
            except InvalidInput:
                continue
            found = max(worst(epsilon, laws))
            assert found <= delta + 1e-12
            met, tried = max(met, found / delta), tried + 1
    assert tried > len(GRID)
    assert met > 0.9


class InRandomOrder(Mechanism):
    """The paper's early end: the first `checked` rows in a random order are scored; a row more displaces others."""

    checked: int = 2

    def laws(self, model: NDArray[np.float64], multiplicity: NDArray[np.int64] = MULTIPLICITY) -> Laws:
        counts = np.einsum("tk,rsk->trs", multiplicity, same_bucket(model, self.test.gamma))
        rows = multiplicity.sum(axis=1)
        passes = np.array(
            [
                [self._passes(int(count), int(total)) for count in range(int(counts.max()) + 1)]
                for total in range(int(rows.max()) + 1)
            ]
        )
        seeds = np.maximum(rows, max(self.places, 1))
        released = np.einsum("ts,sr,trs->tr", multiplicity, model, passes[rows[:, None, None], counts]) / seeds[:, None]
        released *= 1 - self.drop_probability
        return np.hstack((released, 1 - released.sum(axis=1, keepdims=True)))

    def _passes(self, count: int, rows: int) -> float:
        if count > rows:
            return 0.0
        found = np.arange(min(count, self.checked) + 1)
        chances = hypergeom.pmf(found, rows, count, min(self.checked, rows)) if rows else np.ones(1)
        return float((chances * [self.test.pass_probability(int(each)) for each in found]).sum())


def test_the_first_rows_in_a_random_order_exceed_both_charges() -> None:
    """Neither the curves without an early end nor those of independent scoring cover it."""
    checked = InRandomOrder.checked
    test = PrivacyTest(k=2, gamma=Fraction(2), eps0=Fraction(4), randomized=True)
    drop, places = Fraction(3, 10), 6
    mechanism = InRandomOrder(test, drop_probability=float(drop), places=places)
    laws = [mechanism.laws(model) for model in MODELS]
    whole = PrivacyTestEvent(
        query="candidates",
        part="seeds",
        outputs=1,
        k=2,
        gamma=Fraction(2),
        eps0=Fraction(4),
        public_rows=places,
        drop_probability=drop,
    )
    some = event(2, 2, Fraction(4), places, drop, Fraction(checked, places))
    for charged in (whole, some):
        added, removed = attempt_curves(charged, EPSILONS)
        found = np.array([worst(epsilon, laws) for epsilon in EPSILONS.tolist()]).T
        assert ((found[0] > 1.1 * added) | (found[1] > 1.1 * removed)).any()


@pytest.mark.parametrize("most", [2, 3])
def test_a_limit_on_the_count_alone_costs_nothing(most: int) -> None:
    for eps0 in (Fraction(1, 2), Fraction(1), Fraction(3)):
        for places in (1, 3, 6):
            whole = PrivacyTestEvent(
                query="candidates",
                part="seeds",
                outputs=1,
                k=2,
                gamma=Fraction(2),
                eps0=eps0,
                public_rows=places,
                drop_probability=Fraction(1, 10),
            )
            laws = [
                Mechanism(_Limited(whole, most), drop_probability=0.1, places=places).laws(model) for model in MODELS
            ]
            added, removed = attempt_curves(whole, EPSILONS)
            for place, epsilon in enumerate(EPSILONS.tolist()):
                found = worst(epsilon, laws)
                assert found[0] <= added[place] + 1e-12
                assert found[1] <= removed[place] + 1e-12


@dataclass(frozen=True)
class _Limited:
    attempt: PrivacyTestEvent
    most: int

    @property
    def gamma(self) -> Fraction:
        return self.attempt.gamma

    def pass_probability(self, count: int) -> float:
        return float(pass_probability(min(count, self.most), k=self.attempt.k, eps0=self.attempt.eps0))


@pytest.mark.parametrize("most", [0, 60])
def test_the_law_is_that_of_binomial_counts(most: int) -> None:
    attempt = event(50, 4, Fraction(1, 2), 1000, Fraction(1, 100), Fraction(1, 10), most)
    law = law_of(attempt)
    p = float(attempt.check_probability)
    for c in (0, 1, 10, 300, 500, 700):
        found = np.arange(c + 1)
        counted = np.minimum(found, most) if most else found
        passing = pass_probability(counted, k=50, eps0=attempt.eps0)
        assert law.passes[c] == pytest.approx(float((binom.pmf(found, c, p) * passing).sum()), rel=1e-8)
    assert law.fails == pytest.approx(1 - law.passes, abs=1e-9)
    assert law.rises == pytest.approx(np.diff(law.passes), abs=1e-9)
    assert all(later >= earlier * (1 - 1e-12) for earlier, later in pairwise(law.passes))
    # What is left beyond the last count is nothing.
    last = binom.cdf((most or 50 + 120) - 1, len(law.rises), p)
    assert last <= np.exp(-60)


def test_to_score_fewer_rows_costs_less_and_asks_for_more_plausible_seeds() -> None:
    whole = replace(event(40, 4, Fraction(1, 2), 10_000, Fraction(1, 50), Fraction(1, 2)), outputs=1000)
    tenth = replace(whole, check_probability=Fraction(1, 10))
    assert theorem_a_epsilon(tenth, 1e-6) < theorem_a_epsilon(whole, 1e-6) < np.inf
    assert list(compose_candidates(whole, 1e-6)) == ["theorem_a"]
    assert law_of(tenth).passes[80] < 1e-6
    assert law_of(whole).passes[80] > 0.1


@pytest.mark.parametrize("by_index", [True, False])
def test_the_program_decides_by_the_law(*, by_index: bool) -> None:
    """All seeds alike: a candidate is released as often as the event says, and not as often as for other events."""
    seeds, candidates = 24, 20_000
    charged = event(8, 2, Fraction(1, 2), 30, Fraction(1, 10), Fraction(3, 8), 9)
    domain = Domain(tuple(Attribute(name, (0, 1), "nominal", (0, 1)) for name in "abc"))
    even = tuple(integer_weights(np.array([[0.5, 0.5]])) for _ in domain.names)
    model = SeedResampler(BayesNet(domain, Graph.without_edges(domain), even), {1: 1})
    attempt = MechanismOne(
        PrivacyTest(k=8, gamma=Fraction(2), eps0=Fraction(1, 2), randomized=True), Fraction(1, 10), 30
    )
    opened = partial(ReleaseKey(bytes(range(32))).stream, step="test", inputs="", parameters={"seeds": seeds})
    stream, scored = opened(mechanism="sampled"), opened(mechanism="scored")
    counting = Counting(check_probability=charged.check_probability, max_plausible=9)
    rows = np.zeros((seeds, 3), np.uint16)
    made = (
        synthesize_counted(model, SeedIndex.build(rows, {1: 1}), attempt, stream, scored, candidates, counting=counting)
        if by_index
        else synthesize_by_scan(model, rows, attempt, stream, candidates, counting=counting)
    )

    def p_value(other: SampledTestEvent, scored: int = seeds) -> float:
        passes = OnSome(other).pass_probability(scored)
        chance = (1 - float(other.drop_probability)) * seeds / max(seeds, other.public_rows) * passes
        return float(binomtest(len(made), candidates, chance).pvalue)

    assert p_value(charged) > FALSE_ALARM
    for other in (
        replace(charged, check_probability=charged.check_probability * Fraction(9, 10)),
        replace(charged, check_probability=charged.check_probability * Fraction(11, 10)),
        replace(charged, max_plausible=8),
        replace(charged, eps0=charged.eps0 * 2),
        replace(charged, k=9),
    ):
        assert p_value(other) < FALSE_ALARM
    # Had the seed always been scored, more would have passed.
    always = sum(
        float(binom.pmf(each, seeds - 1, 3 / 8)) * float(pass_probability(min(each + 1, 9), k=8, eps0=0.5))
        for each in range(seeds)
    )
    assert binomtest(len(made), candidates, 0.9 * seeds / 30 * always).pvalue < FALSE_ALARM


def test_words_decide_which_seeds_are_scored_one_by_one() -> None:
    stream = ReleaseKey(bytes(32)).stream(step="test", inputs="", mechanism="scored", parameters={})
    seeds = np.arange(2000, dtype=np.uint16)[:, None]
    counting = Counting(check_probability=Fraction(1 << 30, WORDS))
    picked = [counting.scored(seeds, stream) for _ in range(50)]
    numbers = np.concatenate([each.ravel() for each in picked if each is not None])
    assert binomtest(len(numbers), 100_000, 0.25).pvalue > FALSE_ALARM
    assert not np.array_equal(picked[0], picked[1])
    assert Counting().scored(seeds, stream) is None


def test_the_event_has_the_probability_that_is_drawn_with() -> None:
    asked = {"candidates": 5, "k": 8, "gamma": Fraction(2), "eps0": Fraction(1), "drop_probability": Fraction(0)}
    made = common_events.tested_candidates(
        **asked, public_rows=1000, prefixes=2, max_plausible=9, max_check_plausible=100
    )
    assert isinstance(made, SampledTestEvent)
    assert made.check_probability == Fraction(100 * WORDS // 1000, WORDS) == check_probability(100, 1000)
    assert made.check_probability <= Fraction(1, 10) < made.check_probability + Fraction(1, WORDS)
    assert made.max_plausible == 9
    assert from_record(made.to_record()) == made
    limited = common_events.tested_candidates(**asked, public_rows=1000, prefixes=2, max_plausible=9)
    assert limited == common_events.tested_candidates(**asked, public_rows=1000, prefixes=2)
    with pytest.raises(InvalidInput, match=r"probability of scoring a row must be in \(0, 1\), got 1"):
        replace(made, check_probability=Fraction(1))
    with pytest.raises(InvalidInput, match="max_plausible must be at least k = 8, got 7"):
        replace(made, max_plausible=7)


@pytest.mark.parametrize("attempt", GRID[:4])
def test_beyond_its_last_count_a_law_falls_no_faster_than_at_it(
    attempt: SampledTestEvent,
) -> None:
    """There q(c + 1) is at most 1, q(c) at least that of the last count, and c at least their number."""
    passes = law_of(attempt).passes
    for heights, slopes in sampled_tests._lines(attempt):
        x = slopes[1] / passes[1]
        assert max(x, 1 / x) == pytest.approx(float(attempt.ratio), rel=1e-5)
        assert heights[-1] == pytest.approx(1, rel=1e-5)
        assert slopes[-1] == pytest.approx(x * (len(passes) - 1) * passes[-1], rel=1e-5)


def test_the_epsilon_of_a_record_has_six_decimals_and_is_no_larger_than_it_must_be() -> None:
    attempt = replace(GRID[0], public_rows=1000)
    found = record_guarantee(attempt, 0.4).epsilon
    assert found == ceil(log1p(1 / 1000) * 10**6) / 10**6


def test_bounds_include_what_was_cut_off_and_all_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    # So far below k, nothing passes but by what was cut off.
    tested = event(500, 4, Fraction(1), 10_000, Fraction(1, 100), Fraction(1, 2))
    added, _ = sampled_curves(tested, np.array([40.0]))
    assert added[0] >= 0.99 * sampled_tests._TAIL
    tested = event(50, 4, Fraction(1), 1000, Fraction(1, 100), Fraction(1, 2))
    exact = [bound * (1 - sampled_tests._ROUNDING) for bound in sampled_curves(tested, EPSILONS)]
    monkeypatch.setattr(sampled_tests, "_ROUNDING", 0.1)
    for bound, least in zip(sampled_curves(tested, EPSILONS), exact, strict=True):
        assert np.all(bound >= np.minimum(1, 1.1 * least))
