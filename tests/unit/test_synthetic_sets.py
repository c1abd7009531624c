"""Synthetic sets: combining rules, exact moments and the posterior, against vectors and against independent sums."""

import json
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import expm1, factorial, inf, lgamma, prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import stats

from benchmarks.synthetic_sets import PRIOR, coverage, print_verdict
from deniable.cli.dispatch import main
from deniable.cli.files import HOLDS, UNREADABLE
from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey, WordStream
from deniable.learners.multinomial_sets import given_sum
from deniable.learners.multinomial_sets.combining import (
    RULES,
    SYNTHESES,
    combine,
    fully_synthetic_freedom,
    partial_freedom,
)
from deniable.learners.multinomial_sets.draws import draws
from deniable.learners.multinomial_sets.exact import beta_binomial_law, binomial_law, moments, prior_weight
from deniable.learners.multinomial_sets.plan import MOST_SETS, SetsPlan, plan_of, urns_document
from deniable.learners.multinomial_sets.posterior import binary_posterior, multinomial_posterior
from deniable.learners.multinomial_sets.spec import Entry
from deniable.learners.multinomial_sets.verification import check_urns
from deniable.privacy.loss import ApproximateEvent
from deniable.privacy.rounding import rounded
from deniable.privacy.urn_costs import UNIT, prior_for
from tests.urn_law import plain_domain

KEY = ReleaseKey(bytes(range(32)))
FIVE = [0.30, 0.34, 0.28, 0.36, 0.32]
OWN = [q * (1 - q) / 100 for q in FIVE]


def test_the_posterior_is_that_of_the_vectors() -> None:
    one = binary_posterior([7], size=10, people=10, alpha=10 / expm1(2))
    assert one.mean_count == pytest.approx(6.784952795094474, abs=1e-9)
    assert one.mean == pytest.approx(0.6487460662578729, abs=1e-10)
    three = binary_posterior([7, 6, 8], size=10, people=10, alpha=10 / expm1(2 / 3))
    assert (three.mean_count, three.mean) == pytest.approx((8.18445476575637, 0.7653712304796976), abs=1e-9)
    many = multinomial_posterior([(6, 4, 2)], people=12, alpha=12 / expm1(2))
    assert many.mean.tolist() == pytest.approx([0.4497881286155253, 0.32981466444088137, 0.220397206943863], abs=1e-10)


def test_the_distribution_is_the_mixture_of_betas() -> None:
    for prior in ((1, 1), (3, 2)):
        found = binary_posterior([7, 2], size=10, people=12, alpha=0.3, prior=prior)
        for share in (0.0, 0.05, 0.3, 0.5, 0.9, 1.0):
            betas = [stats.beta.cdf(share, prior[0] + j, prior[1] + 12 - j) for j in range(13)]
            assert found.distribution(share) == pytest.approx(float(found.weights @ betas), abs=1e-12)
        low, high = found.interval(0.9)
        assert found.distribution(low) == pytest.approx(0.05, abs=1e-9)
        assert found.distribution(high) == pytest.approx(0.95, abs=1e-9)


def test_two_categories_are_a_case_of_several() -> None:
    two = binary_posterior([7, 3], size=10, people=12, alpha=0.7)
    same = multinomial_posterior([(7, 3), (3, 7)], people=12, alpha=0.7)
    assert same.mean[0] == pytest.approx(two.mean, abs=1e-12)
    assert same.deviation[0] == pytest.approx(two.deviation, abs=1e-9)
    shared = binary_posterior([7, 3], size=10, people=12, alpha=0.7, shared=True)
    assert shared.deviation > 1.05 * two.deviation  # the same alpha: one urn of 20 draws says less than two of 10
    pooled = multinomial_posterior([(7, 3), (3, 7)], people=12, alpha=0.7, shared=True)
    assert pooled.mean[0] == pytest.approx(shared.mean, abs=1e-12)
    large = multinomial_posterior([(4_000, 1_000)], people=5_000, alpha=0.5)
    right = binary_posterior([4_000], size=5_000, people=5_000, alpha=0.5)
    assert large.mean_counts[0] == pytest.approx(right.mean_count, abs=1e-6), "far from 0"
    assert large.deviation[0] == pytest.approx(right.deviation, rel=1e-8)


def test_the_posterior_of_shared_sets_is_that_of_one_set_of_all_records() -> None:
    one = binary_posterior([10], size=20, people=12, alpha=0.7)
    shared = binary_posterior([7, 3], size=10, people=12, alpha=0.7, shared=True)
    assert shared.weights == pytest.approx(one.weights)


def test_a_tiny_alpha_is_not_lost() -> None:
    """At epsilon 250 a set is nearly the table itself, and 2.7e-107 is lost against 1."""
    alpha = 100 / expm1(250)
    found = binary_posterior([0], size=100, people=100, alpha=alpha)
    assert np.argmax(found.weights) == 0
    assert np.isfinite(found.weights).all()
    exact = [Fraction(prod(range(100 - j, 200 - j)), prod(range(100, 200))) for j in range(101)]
    assert found.weights == pytest.approx([float(each / sum(exact)) for each in exact], rel=1e-9, abs=1e-150)


def enumerated(
    sets: Sequence[Sequence[int]], people: int, alpha: Fraction, prior: Sequence[int]
) -> tuple[list[Fraction], list[Fraction], list[Fraction], list[Fraction]]:
    """Means and variances of shares and of counts, as fractions, summed over all tables of so many people."""

    def rising(base: Fraction, times: int) -> Fraction:
        return prod((base + step for step in range(times)), start=Fraction(1))

    tables = [x for x in product(range(people + 1), repeat=len(prior)) if sum(x) == people]
    weights = [
        prod(
            rising(Fraction(a), j) / factorial(j) * prod(rising(j + alpha, counts[k]) for counts in sets)
            for k, (a, j) in enumerate(zip(prior, x, strict=True))
        )
        for x in tables
    ]
    whole, size = sum(weights), people + sum(prior)
    found: list[tuple[Fraction, ...]] = []
    for k, a in enumerate(prior):
        mean, square, share, shares = (
            sum((weight * value(x[k]) for weight, x in zip(weights, tables, strict=True)), start=Fraction(0)) / whole
            for value in (
                Fraction,
                lambda j: Fraction(j * j),
                lambda j, a=a: Fraction(a + j, size),
                lambda j, a=a: Fraction((a + j) * (a + j + 1), size * (size + 1)),
            )
        )
        found.append((share, shares - share**2, mean, square - mean**2))
    one, two, three, four = map(list, zip(*found, strict=True))
    return one, two, three, four


SMALL_POSTERIORS = {
    "one set": ([(6, 4, 2)], 12, Fraction(9, 10), (1, 1, 1)),
    "two sets, one of whose cells is empty": ([(6, 0, 2, 1), (3, 0, 4, 1)], 9, Fraction(1, 2), (1, 1, 1, 1)),
    "a prior that is not flat": ([(0, 5, 1)], 8, Fraction(7), (3, 1, 2)),
    "more people than records": ([(1, 0)], 40, Fraction(1, 3), (1, 1)),
    "fewer people than cells that were drawn": ([(3, 1, 2, 5), (1, 1, 1, 4)], 2, Fraction(1, 10**50), (1, 1, 1, 1)),
    "cells that are hardly empty": ([(2, 1, 1)], 6, Fraction(1, 10**50), (1, 1, 1)),
    "one person": ([(5, 9, 2)], 1, Fraction(2), (1, 1, 1)),
    "no records": ([(0, 0, 0)], 7, Fraction(1), (1, 1, 1)),
}


@pytest.mark.parametrize("case", SMALL_POSTERIORS)
def test_the_posterior_of_several_categories_is_that_of_an_enumeration(case: str) -> None:
    sets, people, alpha, prior = SMALL_POSTERIORS[case]
    found = multinomial_posterior(sets, people=people, alpha=float(alpha), prior=prior)
    right = enumerated(sets, people, alpha, prior)
    assert found.mean == pytest.approx([float(each) for each in right[0]], abs=1e-11)
    assert found.deviation == pytest.approx([float(each) ** 0.5 for each in right[1]], abs=1e-11)
    assert found.mean_counts == pytest.approx([float(each) for each in right[2]], abs=1e-11)
    assert found.count_deviation**2 == pytest.approx([float(each) for each in right[3]], abs=1e-11)
    wrong = multinomial_posterior(sets, people=people, alpha=float(alpha) * 1.1, prior=prior)
    is_moved = abs(wrong.mean_counts - found.mean_counts).max() > 1e-3 * found.count_deviation.max()
    assert is_moved or case == "no records" or alpha < 1e-9


def convolved(counts: Sequence[int], people: int, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Means and deviations of counts given one set, by convolving one cell after the other; no tilt, no transform."""
    numbers = np.arange(people + 1)
    logs = np.array(
        [[lgamma(j + alpha + own) - lgamma(j + alpha) - lgamma(alpha + own) for j in numbers] for own in counts]
    )
    factors = np.exp(logs)

    def sums(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        found = np.convolve(one, other)[: people + 1]
        return np.asarray(found / found.max())

    before = [np.where(numbers == 0, 1.0, 0.0)]
    for own in factors:
        before.append(sums(before[-1], own))
    after, found = before[0], []
    for own, first in zip(factors[::-1], before[-2::-1], strict=True):
        law = own * sums(first, after)[::-1]
        law = law / law.sum()
        mean = float(law @ numbers)
        found.append((mean, float(law @ (numbers - mean) ** 2) ** 0.5))
        after = sums(after, own)
    means, deviations = zip(*found[::-1], strict=True)
    return np.array(means), np.array(deviations)


def transferred(counts: Sequence[int], people: int, alpha: float, sweeps: int) -> np.ndarray:
    """Mean counts by moving one person at a time, from equal counts on: a chain that may not have converged."""
    cells, draw = len(counts), np.random.default_rng(3)
    x = np.full(cells, people // cells)
    total = np.zeros(cells)
    for sweep in range(sweeps + sweeps // 10):
        sources, targets, chances = (
            draw.integers(0, cells, people),
            draw.integers(0, cells, people),
            draw.random(people),
        )
        for source, target, chance in zip(sources.tolist(), targets.tolist(), chances.tolist(), strict=True):
            if source == target or not x[source]:
                continue
            loses = (x[source] - 1 + alpha) / (x[source] - 1 + alpha + counts[source])
            if chance < loses * (x[target] + alpha + counts[target]) / (x[target] + alpha):
                x[source] -= 1
                x[target] += 1
        total += x if sweep >= sweeps // 10 else 0
    return np.asarray(total / sweeps)


def test_a_chain_that_has_not_converged_is_off_by_more_than_a_deviation_and_the_sums_are_not() -> None:
    counts = (90, *(1 if cell % 3 == 0 else 0 for cell in range(1, 100)))
    found = multinomial_posterior([counts], people=100, alpha=0.2)
    means, deviations = convolved(counts, 100, 0.2)
    assert found.mean_counts == pytest.approx(means, abs=1e-9)
    assert found.count_deviation == pytest.approx(deviations, abs=1e-9)
    chain = transferred(counts, 100, 0.2, 100)
    assert abs(chain - means).max() > 1.5 * deviations[np.argmax(abs(chain - means))]


@pytest.mark.slow
def test_the_posterior_of_a_thousand_cells_is_there_and_is_always_the_same() -> None:
    draw = np.random.default_rng(2)
    sets = draw.multinomial(5_000, draw.dirichlet(np.full(1_008, 0.3)), 2)
    found = multinomial_posterior(sets.tolist(), people=20_000, alpha=400.0)
    again = multinomial_posterior(sets[::-1].tolist(), people=20_000, alpha=400.0)
    assert found.mean_counts.sum() == pytest.approx(20_000, abs=1e-6)
    assert found.mean.sum() == pytest.approx(1, abs=1e-12)
    assert (found.mean == again.mean).all(), "the order of the sets says nothing"
    assert (found.deviation > 0).all()
    shared = multinomial_posterior(sets.tolist(), people=20_000, alpha=400.0, shared=True)
    order = np.argsort(sets.sum(axis=0), kind="stable")
    assert (np.diff(shared.mean[order]) >= 0).all(), "cells with more records have larger shares"


@pytest.mark.parametrize("limit", ["MOST_PROBABILITIES", "MOST_VALUES"])
def test_what_would_not_fit_the_memory_is_refused_with_what_can_be_asked(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert multinomial_posterior([(5, 3, 2)], people=9_000, alpha=100.0).mean[0] > 1 / 3
    monkeypatch.setattr(given_sum, limit, 2_000)
    with pytest.raises(InvalidInput, match="9,000 people in 3 cells would take too much memory; ask for the shares"):
        multinomial_posterior([(5, 3, 2)], people=9_000, alpha=100.0)


@pytest.mark.parametrize(("share", "epsilon"), [(0.25, 1.0), (0.25, 3.0), (0.5, 2.0)])
@pytest.mark.parametrize("sets", [1, 2])
def test_intervals_cover_with_about_their_level_summed_over_everything(share: float, epsilon: float, sets: int) -> None:
    """Coverage over the sample and the synthesis, summed exactly at n = 20; combining rules miss it by far."""
    people = size = 20
    alpha = prior_weight(epsilon, sets, size)
    law = binomial_law(people, share)
    drawn = np.array([beta_binomial_law(size, alpha + x, alpha + people - x) for x in range(people + 1)])
    if sets == 1:
        outcomes = {(y,): float(law @ drawn[:, y]) for y in range(size + 1)}
    else:
        joint = np.einsum("x,xa,xb->ab", law, drawn, drawn)
        outcomes = {(a, b): float(joint[a, b]) for a in range(size + 1) for b in range(size + 1)}
    assert sum(outcomes.values()) == pytest.approx(1)
    covers = 0.0
    known: dict[tuple[int, ...], bool] = {}
    for counts, probability in outcomes.items():
        each = tuple(sorted(counts))
        if each not in known:
            found = binary_posterior(each, size=size, people=people, alpha=alpha)
            known[each] = 0.025 <= found.distribution(share) <= 0.975
        covers += probability * known[each]
    assert 0.93 <= covers <= 0.995


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_shares_in_the_middle_are_covered_more_often_and_those_at_the_ends_less(epsilon: float) -> None:
    """Exactly, of one set: on average over the prior a credible interval has its level, and so at no share both."""
    people = size = 20
    alpha = prior_weight(epsilon, 1, size)
    drawn = np.array([beta_binomial_law(size, alpha + x, alpha + people - x) for x in range(people + 1)])
    found = [binary_posterior((y,), size=size, people=people, alpha=alpha) for y in range(size + 1)]
    intervals = [each.interval() for each in found]

    def covers(share: float) -> float:
        law = binomial_law(people, share) @ drawn
        return float(sum(p for p, (low, high) in zip(law, intervals, strict=True) if low <= share <= high))

    grid = (np.arange(4000) + 0.5) / 4000
    assert np.mean([covers(share) for share in grid.tolist()]) == pytest.approx(0.95, abs=1e-3)
    assert covers(0.5) > 0.97
    assert covers(0.01) < 0.8
    if epsilon < 1:
        assert covers(0.5) == pytest.approx(1, abs=1e-9), "no interval is far from that of the prior, .025 to .975"


@pytest.mark.parametrize("share", [PRIOR, 0.25])
def test_the_benchmarks_coverage_is_as_stated_and_that_of_the_rule_is_not(share: float | None) -> None:
    """A hundred surveys whose sets the urns of the product draw; six standard errors, a false alarm of 2e-9."""
    star, covers, half = coverage(share, Fraction(2), 5, 100)
    assert abs(covers - 0.96) < 6 * (0.96 * 0.04 / 100) ** 0.5
    assert 0.1 < half < 0.4
    if share is not None:
        assert star is not None
        assert star < covers


def test_the_benchmark_says_which_coverage_is_beyond_the_stated(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_verdict({"prior | 1 | 1 | own": 0.95, "0.5 | 1 | 10 | own": 0.996}, 1000)
    assert "beyond 0.93 to 0.99:\n0.5 | 1 | 10 | own | 0.996" in capsys.readouterr().out
    assert not print_verdict({"prior | 1 | 1 | own": 0.88, "0.5 | 1 | 10 | own": 0.95}, 1000)
    assert "none" in capsys.readouterr().out
    assert not print_verdict({"prior | 1 | 1 | own": 1.0, "0.5 | 1 | 10 | own": 0.95}, 100_000)


def test_moments_are_those_of_the_tables() -> None:
    bias = {1: 0.3096014610110588, 2: 0.3844707106849976, 5: 0.45065616994377405, 10: 0.4750830013437611}
    spread = {1: 0.0048054538313980905, 2: 0.0021196104833605955, 5: 0.0006645588690037396, 10: 0.000292566453598625}
    for sets in (1, 2, 5, 10):
        found = moments(share=0.25, epsilon=2, sets=sets, people=100, size=100)
        assert found.mean == pytest.approx(bias[sets], abs=1e-9)
        assert found.variance == pytest.approx(spread[sets], abs=1e-12)
        assert found.alpha == pytest.approx(100 / expm1(2 / sets))
    for sets, variance in ((2, 0.003712871287128716), (5, 0.0026101485148514875), (10, 0.0022425742573236596)):
        found = moments(share=0.25, epsilon=250, sets=sets, people=100, size=100)
        assert found.variance == pytest.approx(variance, abs=1e-12)
        assert found.full is not None
        assert found.full == pytest.approx(variance, rel=0.02)  # unbiased where alpha is nothing


def test_moments_are_those_of_an_enumeration() -> None:
    """Means of two sets, and of the rules' variances, summed over the sample and both sets."""
    share, people, size, epsilon = 0.3, 6, 4, 1.5
    found = moments(share=share, epsilon=epsilon, sets=2, people=people, size=size)
    law = binomial_law(people, share)
    mean = square = missing = full = 0.0
    for x in range(people + 1):
        drawn = beta_binomial_law(size, found.alpha + x, found.alpha + people - x)
        for a in range(size + 1):
            for b in range(size + 1):
                weight = law[x] * drawn[a] * drawn[b]
                q = [a / size, b / size]
                v = [each * (1 - each) / size for each in q]
                middle = sum(q) / 2
                mean += weight * middle
                square += weight * middle**2
                missing += weight * combine(q, v, "T_m", size=size, people=people).variance
                full += weight * combine(q, v, "T_M", size=size, people=people).variance
    assert (found.mean, found.variance) == pytest.approx((mean, square - mean**2), abs=1e-12)
    assert (found.missing, found.full) == pytest.approx((missing, full), abs=1e-12)


def test_rules_give_what_the_vectors_say() -> None:
    by_rule = {rule: combine(FIVE, OWN, rule, size=1, people=1) for rule in RULES}
    assert {rule: each.variance for rule, each in by_rule.items()} == pytest.approx(
        {
            "T_m": 0.003368,
            "T_M": -0.000968,
            "T_M*": 0.002168,
            "partial": 0.002368,
            "T_s": 0.0026016,
            "T_p": 0.0030352,
        }
    )
    assert all(each.estimate == pytest.approx(0.32) for each in by_rule.values())
    assert by_rule["T_M"].interval is None
    assert by_rule["T_M*"].freedom == inf
    assert fully_synthetic_freedom(5, 0.001, 0.002168) == pytest.approx(2.602844444)
    assert partial_freedom(5, 0.001, 0.002168) == pytest.approx(560.7424)
    two = combine([0.2, 0.5], [0.0016, 0.0025], "T_M*", size=1, people=1)
    assert two.variance == pytest.approx(0.06545)
    assert two.freedom == 1.0
    assert fully_synthetic_freedom(2, 0.045, 0.00205) == pytest.approx(0.9401816186556927)
    assert combine([0.2, 0.5], [0.0016, 0.0025], "T_p", size=1, people=1).variance == pytest.approx(0.0041)


def test_no_rule_is_valid_for_sets_with_differential_privacy_and_each_names_what_is() -> None:
    for rule in RULES:
        found = combine(FIVE, OWN, rule, size=100, people=100)
        assert not found.valid
        assert "posterior" in found.why
    valid = {
        synthesis: [rule for rule in RULES if combine(FIVE, OWN, rule, size=100, people=100, synthesis=synthesis).valid]
        for synthesis in ("posterior_predictive", "partially_synthetic", "fitted_model")
    }
    assert valid == {
        "posterior_predictive": ["T_M", "T_M*", "T_p"],
        "partially_synthetic": ["partial"],
        "fitted_model": ["T_s", "T_p"],
    }
    wrong = combine(FIVE, OWN, "T_m", size=100, people=100, synthesis="partially_synthetic")
    assert wrong.why.endswith("use partial.")


def test_information_falls_with_the_number_of_sets_at_one_total_epsilon() -> None:
    """Half-widths at total epsilon 2, n = 100, share .25, expected counts: more sets say less, shared ones less so."""
    own, shared = [], []
    for sets in (1, 2, 5, 10):
        alpha = prior_weight(2, sets, 100)
        counts = [round(100 * (25 + alpha) / (100 + 2 * alpha))] * sets
        low, high = binary_posterior(counts, size=100, people=100, alpha=alpha).interval()
        own.append((high - low) / 2)
        together = prior_weight(2, sets, 100, shared=True)
        counts = [round(100 * (25 + together) / (100 + 2 * together))] * sets
        low, high = binary_posterior(counts, size=100, people=100, alpha=together, shared=True).interval()
        shared.append((high - low) / 2)
    assert own == sorted(own)
    assert shared == sorted(shared)
    assert own == pytest.approx([0.172, 0.187, 0.233, 0.279], abs=0.025)
    assert shared == pytest.approx([0.172, 0.175, 0.199, 0.231], abs=0.02)


@pytest.mark.parametrize(
    ("estimates", "rule", "says"),
    [
        ([0.5], "T_M", "T_M needs 2 or more sets, because it uses the variance between them, got 1"),
        ([], "T_s", "each set must have an estimate and its variance, got 0 and 0"),
        ([0.5, 0.6], "T_x", "the rule must be one of T_m"),
    ],
)
def test_sets_that_a_rule_cannot_use_are_refused(estimates: list[float], rule: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        combine(estimates, [0.1] * len(estimates), rule, size=10, people=10)  # type: ignore[arg-type]


def test_impossible_numbers_are_refused() -> None:
    for call, says in (
        (lambda: binary_posterior([11], size=10, people=10, alpha=1), "counts from 0 to their size, 10"),
        (lambda: binary_posterior([5], size=10, people=0, alpha=1), "number of people must be from 1"),
        (lambda: binary_posterior([5], size=10, people=10, alpha=0), "alpha must be above 0"),
        (lambda: multinomial_posterior([(5,)], people=10, alpha=1), "2 to 10,000 categories, got 1"),
        (lambda: multinomial_posterior([(5, 1), (1, 2, 3)], people=10, alpha=1), "the same 2 categories"),
        (lambda: prior_weight(0, 1, 10), "epsilon must be above 0"),
        (lambda: binary_posterior([5], size=10, people=10, alpha=1).interval(1), "level must be in"),
        (lambda: combine([0.1, 0.2], [-1, 1], "T_m", size=1, people=1), "must be 0 or more"),
    ):
        with pytest.raises(InvalidInput, match=says):
            call()


def _folder(path: Path, *, values: int, sets: int, shared: bool, people: int | None) -> Path:
    """A release folder of synthetic sets, as far as users of the sets read it."""
    schema = {
        "target": None,
        "attributes": [
            {
                "name": "answer",
                "kind": "nominal",
                "values": [{"value": "abcd"[n], "bucket": n} for n in range(values)],
            }
        ],
    }
    asked = {"sets": sets, "shared": shared, "epsilon": Fraction(2), "people": people}
    (path / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
    (path / "urns.json").write_text(json.dumps(urns_document(asked)), encoding="utf-8")
    (path / "synthetic.csv").write_text("answer\n" + "a\n" * 7 + "b\n" * 3 + "a\n" * 4 + "b\n" * 6, encoding="utf-8")
    return path


def test_a_user_of_the_sets_gets_the_posterior_from_the_release_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _folder(tmp_path, values=2, sets=2, shared=False, people=10)
    assert main(["data", "posterior", str(folder)]) == HOLDS
    shown = capsys.readouterr()
    alpha = prior_for(Fraction(1), 10) / UNIT
    found = binary_posterior([7, 4], size=10, people=10, alpha=alpha)
    low, high = found.interval()
    assert f"answer a: {rounded(found.mean)}, from {rounded(low)} to {rounded(high)}" in shown.out
    assert "2 sets of 10 records from 2 urns" in shown.out
    assert "Not verified" in shown.err
    assert main(["data", "posterior", str(folder), "--people", "12", "--level", "0.5"]) == HOLDS
    assert "12 people" in capsys.readouterr().out


def test_a_user_of_shared_sets_and_of_more_cells_gets_theirs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _folder(tmp_path, values=3, sets=2, shared=True, people=None)
    assert main(["data", "posterior", str(folder)]) == UNREADABLE
    assert "give --people N" in capsys.readouterr().err
    assert main(["data", "posterior", str(folder), "--people", "10"]) == HOLDS
    found = multinomial_posterior([(11, 9, 0)], people=10, alpha=prior_for(Fraction(2), 20) / UNIT)
    assert f"answer c: {rounded(float(found.mean[2]))}" in capsys.readouterr().out


def test_a_release_of_another_learner_has_no_such_posterior(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = _folder(tmp_path, values=2, sets=2, shared=False, people=10)
    (folder / "urns.json").write_text("{}", encoding="utf-8")
    assert main(["data", "posterior", str(folder)]) == UNREADABLE
    assert "must be one of the learner multinomial_sets" in capsys.readouterr().err
    folder = _folder(tmp_path, values=2, sets=3, shared=False, people=10)
    assert main(["data", "posterior", str(folder)]) == UNREADABLE
    assert "must be a multiple of the 3 sets" in capsys.readouterr().err


def test_the_rules_combine_a_file_of_estimates_and_say_whether_they_are_valid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "estimates.csv"
    file.write_text(
        "set,estimate,variance\n" + "".join(f"{k},{q},{v}\n" for k, (q, v) in enumerate(zip(FIVE, OWN, strict=True)))
    )
    asked = ["combine", str(file), "--size", "100", "--people", "100"]
    for rule in RULES:
        for synthesis in SYNTHESES:
            assert main([*asked, "--rule", rule, "--synthesis", synthesis]) == HOLDS
            shown = capsys.readouterr().out
            found = combine(FIVE, OWN, rule, size=100, people=100, synthesis=synthesis)
            assert shown.startswith(f"{rule} of 5 sets: {'valid' if found.valid else 'NOT VALID'}\n  estimate  0.32\n")
            assert f"  {found.why}\n" in shown
            if found.interval is None:
                assert f"none: the variance by this rule, {rounded(found.variance)}, is below 0" in shown
            else:
                low, high = found.interval
                assert f"  interval  {rounded(low)} to {rounded(high)}, level 0.95" in shown
    assert main([*asked, "--synthesis", "fitted_model"]) == HOLDS
    assert capsys.readouterr().out.count(" of 5 sets: ") == len(RULES)
    one = tmp_path / "one.csv"
    one.write_text("estimate,variance\n0.3,0.002\n")
    assert main(["data", "combine", str(one), "--size", "9", "--people", "9", "--synthesis", "fitted_model"]) == HOLDS
    assert [line[:3] for line in capsys.readouterr().out.splitlines() if " of 1 sets: " in line] == ["T_s", "T_p"]


def test_the_rules_combine_the_sets_of_a_release_and_none_is_valid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(_folder(tmp_path, values=2, sets=2, shared=False, people=10))
    assert main(["data", "combine", folder, "answer=a", "--rule", "T_M*"]) == HOLDS
    found = combine([0.7, 0.4], [0.021, 0.024], "T_M*", size=10, people=10)
    shown = capsys.readouterr().out
    assert shown.startswith("T_M* of 2 sets: NOT VALID\n")
    assert f"estimate  {rounded(found.estimate)}" in shown
    assert "deniable data posterior" in shown


@pytest.mark.parametrize(
    ("content", "more", "says"),
    [
        (
            "estimate\n1\n",
            ["--synthesis", "fitted_model", "--size", "9"],
            "must have the columns estimate and variance",
        ),
        ("estimate,variance\n1,x\n", ["--synthesis", "fitted_model", "--size", "9"], "as numbers"),
        ("estimate,variance\n1,nan\n", ["--synthesis", "fitted_model", "--size", "9"], "must be finite"),
        ("estimate,variance\n1,1\n", ["--synthesis", "fitted_model"], "needs --synthesis and --size, and no condition"),
        ("estimate,variance\n1,1\n", ["answer=a"], "needs --synthesis and --size, and no condition"),
        (None, [], "a release needs a condition"),
        (None, ["answer=x"], "answer has no value x"),
        (None, ["answer=a", "--size", "3"], "no --synthesis or --size"),
    ],
)
def test_what_cannot_be_combined_is_refused_in_a_sentence(
    tmp_path: Path, content: str | None, more: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sets = tmp_path / "estimates.csv"
    if content is None:
        sets = _folder(tmp_path, values=2, sets=2, shared=False, people=10)
    else:
        sets.write_text(content)
    assert main(["data", "combine", str(sets), *more, "--people", "10"]) == UNREADABLE
    told = capsys.readouterr()
    assert says in told.err
    assert told.out == ""
    assert len(told.err.strip().splitlines()) == 1


def test_every_set_has_a_stream_of_its_own() -> None:
    """Separate urns never see the same words; a shared one is opened once for both chunks."""
    domain = Domain((Attribute("answer", ("a", "b"), "nominal", (0, 1)),))
    for shared, number in ((False, 3), (True, 1)):
        opened = []

        def noting(opened: list[object] = opened, **asked: Any) -> WordStream:
            opened.append((asked["mechanism"], tuple(asked["parameters"].items()), asked["chunk"]))
            return KEY.stream(step="test", inputs="", **asked)

        asked = Entry(kind="multinomial_sets", epsilon=Fraction(3), sets=3, shared=shared)
        charged = draws(asked, domain, records=12, chunk=7)
        draw = charged.open(urns_document(dict(asked)), (np.array([3, 4]),), noting)
        assert len(draw(0, 7)) + len(draw(1, 5)) == 12
        assert len(opened) == len(set(opened)) == number


def test_one_cell_costs_nothing_two_do_and_more_than_ten_thousand_are_refused() -> None:
    assert SetsPlan(1, 3, 4, Fraction(1)).events == ()
    (event,) = SetsPlan(2, 3, 4, Fraction(1)).events
    assert isinstance(event, ApproximateEvent)
    assert event.outputs == 3
    asked = {"sets": 2, "shared": False, "epsilon": Fraction(2)}
    assert plan_of(asked, plain_domain(100, 100), 10).cells == 10_000
    with pytest.raises(InvalidInput, match="at most 10,000 cells, got 10,001"):
        plan_of(asked, plain_domain(73, 137), 10)


def test_fifty_sets_are_the_most() -> None:
    asked = {"kind": "multinomial_sets", "epsilon": 3}
    assert Entry.model_validate({**asked, "sets": MOST_SETS}).sets == 50
    with pytest.raises(ValidationError, match="less than or equal to 50"):
        Entry.model_validate({**asked, "sets": 51})


def test_urns_that_do_not_follow_from_the_spec_are_found() -> None:
    asked = {"sets": 2, "shared": False, "epsilon": Fraction(2), "people": 10}
    record = {"spec": {"document": {"learner": asked}}}
    document = urns_document(asked)
    assert check_urns(record, {}, document)[0].holds
    for changed in (
        {**document, "sets": 3},
        {**document, "shared": 0},
        {**document, "people": None},
        {**document, "epsilon": "3"},
        {**document, "counts": [1]},
        {name: value for name, value in document.items() if name != "unit"},
    ):
        assert not check_urns(record, {}, changed)[0].holds
