import json
import math
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.foundation.errors import InvalidInput
from deniable.plausible_deniability.privacy_tests import (
    PrivacyTest,
    attempt_guarantee,
    best_t,
    bucket,
    exact_delta,
    fail_probability,
    largest_release_gain,
    pass_probability,
    smallest_drop_probability,
    smallest_k,
    t_for_epsilon,
    theorem_1,
)

TEST_TWO = PrivacyTest(k=50, gamma=Fraction(4), eps0=Fraction(1), randomized=True)


@pytest.fixture(scope="module")
def vectors(shared: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared / "vectors" / "vectors.json").read_text())
    return found


def near(vector: str) -> Any:
    return pytest.approx(float(vector), rel=1e-11)


def test_pass_probabilities_of_the_papers_noise(vectors: dict[str, Any]) -> None:
    for count in (0, 49, 50, 51):
        assert pass_probability(count, k=50, eps0=1, law="laplace") == near(vectors[f"q({count};k=50,e0=1)"])


@pytest.mark.parametrize("eps0", [Fraction(1, 100), Fraction(1, 2), Fraction(3)])
def test_pass_probability_is_the_chance_of_the_noise(eps0: Fraction) -> None:
    a = math.exp(-eps0)
    noise = np.arange(-8000, 8001)
    mass = (1 - a) / (1 + a) * a ** np.abs(noise).astype(float)
    for count in (1, 3, 4, 5, 9):
        expected = mass[count >= 4 + noise].sum()
        assert pass_probability(count, k=4, eps0=eps0) == pytest.approx(expected, rel=1e-9)
        assert fail_probability(count, k=4, eps0=eps0) == pytest.approx(1 - expected, rel=1e-9)


@pytest.mark.parametrize("law", ["laplace", "discrete_laplace"])
def test_one_more_plausible_seed_changes_pass_and_fail_by_at_most_eps0(law: Any) -> None:
    counts = np.arange(200)
    passes = pass_probability(counts, k=50, eps0=0.3, law=law)
    fails = fail_probability(counts, k=50, eps0=0.3, law=law)
    assert (np.diff(passes) >= 0).all()
    assert (passes[1:] <= np.exp(0.3) * passes[:-1] * (1 + 1e-12)).all()
    assert (fails[1:] >= np.exp(-0.3) * fails[:-1] * (1 - 1e-12)).all()
    assert (passes <= np.exp(-0.3 * (50 - counts))).all()


def test_failing_is_told_from_never_failing_where_passing_rounds_to_one() -> None:
    assert pass_probability(200, k=50, eps0=1) == 1.0
    assert 0 < fail_probability(200, k=50, eps0=1) < 1e-60


def test_the_two_tests_decide_and_say_how_often() -> None:
    test_one = PrivacyTest(k=3, gamma=Fraction(2), eps0=None, randomized=False)
    assert [test_one.passes(count) for count in (2, 3, 4)] == [False, True, True]
    assert [test_one.pass_probability(count) for count in (2, 3, 4)] == [0.0, 1.0, 1.0]
    assert TEST_TWO.passes(49, noise=-1)
    assert not TEST_TWO.passes(50, noise=1)
    assert TEST_TWO.pass_probability(50) == pytest.approx(1 / (1 + math.exp(-1)))


@pytest.mark.parametrize(
    ("k", "gamma", "eps0", "randomized"),
    [(0, 4, 1, True), (50, 1, 1, True), (50, 4, None, True), (50, 4, 0, True), (50, 4, 1, False)],
)
def test_a_test_that_the_paper_does_not_know_is_refused(
    k: int,
    gamma: int,
    eps0: int | None,
    randomized: bool,  # noqa: FBT001
) -> None:
    with pytest.raises(InvalidInput):
        PrivacyTest(k, Fraction(gamma), None if eps0 is None else Fraction(eps0), randomized)


def test_bounds_of_buckets_belong_to_the_smaller_number() -> None:
    assert [bucket(p, 2) for p in (1, 0.51, 0.5, Fraction(1, 4), 0.26, 0.25 - 1e-17)] == [0, 0, 1, 2, 1, 2]
    assert bucket(math.nextafter(0.5, 1), 2) == 0
    assert bucket(math.nextafter(0.5, 0), 2) == 1


@pytest.mark.parametrize("gamma", [Fraction(3, 2), Fraction(2), Fraction(3), Fraction(4), Fraction(101, 100)])
def test_a_bucket_holds_what_lies_between_its_bounds(gamma: Fraction) -> None:
    for i, nudge in product((0, 1, 7, 200), (Fraction(1), 1 - Fraction(1, 2**80), (1 + 9 / gamma) / 10)):
        p = gamma**-i * nudge
        assert bucket(p, gamma) == i
        assert gamma ** (-i - 1) < p <= gamma**-i


def test_probabilities_below_the_smallest_float_have_a_bucket() -> None:
    assert bucket(Fraction(1, 3**5000), 3) == 5000


@pytest.mark.parametrize(("probability", "gamma"), [(0, 2), (-0.1, 2), (1.1, 2), (0.5, 1)])
def test_what_has_no_bucket_is_refused(probability: float, gamma: float) -> None:
    with pytest.raises(InvalidInput):
        bucket(probability, gamma)


@pytest.mark.parametrize(
    ("k", "gamma", "eps0", "t"),
    [(50, 4, "1.0", 36), (50, 4, "1.0", 25), (500, 4, "0.1", 360), (5000, 2, "0.01", 3600), (2, 2, "1.0", 1)],
)
def test_theorem_1(vectors: dict[str, Any], k: int, gamma: int, eps0: str, t: int) -> None:
    guarantee = theorem_1(k=k, gamma=gamma, eps0=Fraction(eps0), t=t)
    epsilon, delta = vectors[f"T1(k={k},g={gamma},e0={eps0},t={t})"]
    assert (guarantee.epsilon, guarantee.delta) == (near(epsilon), near(delta))


@pytest.mark.parametrize(
    ("k", "gamma", "eps0", "delta"), [(50, 4, "1", "1e-6"), (500, 4, "0.1", "1e-6"), (5000, 2, "0.01", "1e-12")]
)
def test_best_t(vectors: dict[str, Any], k: int, gamma: int, eps0: str, delta: str) -> None:
    t, epsilon, reached = vectors[f"best_t(k={k},g={gamma},e0={eps0},delta={delta})"]
    assert best_t(k=k, eps0=Fraction(eps0), delta=float(delta)) == t
    guarantee = theorem_1(k=k, gamma=gamma, eps0=Fraction(eps0), t=t)
    assert (guarantee.epsilon, guarantee.delta) == (near(epsilon), near(reached))


def test_one_record_spends_what_theorem_1_says() -> None:
    """The paper's parameters: k = 50, gamma = 4, eps0 = 1, t = 36."""
    guarantee = theorem_1(k=50, gamma=4, eps0=1, t=36)
    assert guarantee.epsilon == pytest.approx(1.1053605, abs=1e-7)
    assert guarantee.delta == pytest.approx(8.3153e-7, rel=1e-4)


@pytest.mark.parametrize("rows", [1, 2, 50])
def test_no_output_is_covered_by_no_less_dropping(rows: int) -> None:
    """Rows that surely pass, and one more that surely fails: its record is drawn once in n + 1."""
    epsilon = 0.5
    drop = smallest_drop_probability(epsilon=epsilon, rows=rows)

    def excess(probability: float) -> float:
        """Of "no output" with the row over e^epsilon times that without it, where only dropping has none."""
        return probability + (1 - probability) / (rows + 1) - math.exp(epsilon) * probability

    assert abs(excess(drop)) < 1e-15
    assert excess(0.99 * drop) > 0


def test_best_t_is_the_largest_that_keeps_to_delta() -> None:
    for k, eps0 in product((2, 7, 50), (0.1, 0.5, 1.0, 3.0)):
        for delta in (0.9, 0.5, 1e-3, math.exp(-eps0 * (k // 2))):
            fitting = [t for t in range(1, k) if theorem_1(k=k, gamma=2, eps0=eps0, t=t).delta <= delta]
            if fitting:
                assert best_t(k=k, eps0=eps0, delta=delta) == max(fitting)
            else:
                with pytest.raises(InvalidInput):
                    best_t(k=k, eps0=eps0, delta=delta)


def test_a_delta_that_k_cannot_reach_is_refused_with_the_k_that_can(vectors: dict[str, Any]) -> None:
    assert vectors["best_t(k=20,g=4,e0=0.1,delta=1e-6)"][1] == "infeasible"
    with pytest.raises(InvalidInput, match="at least 140 "):
        best_t(k=20, eps0=Fraction(1, 10), delta=1e-6)
    assert best_t(k=140, eps0=Fraction(1, 10), delta=1e-6) == 1


def test_t_for_an_epsilon(vectors: dict[str, Any]) -> None:
    assert t_for_epsilon(k=50, gamma=4, eps0=1, epsilon=1.2) == vectors["t_for_eps(50,4,1,eps=1.2)"]
    for epsilon in (1.09, 1.0801, 1.5, 3.0):
        fitting = [t for t in range(1, 50) if theorem_1(k=50, gamma=4, eps0=1, t=t).epsilon <= epsilon]
        assert t_for_epsilon(k=50, gamma=4, eps0=1, epsilon=epsilon) == min(fitting)


@pytest.mark.parametrize("epsilon", [0.9, 1.0, 1.078])
def test_an_epsilon_that_k_cannot_reach_is_refused(epsilon: float) -> None:
    with pytest.raises(InvalidInput, match=r"1\.078"):
        t_for_epsilon(k=50, gamma=4, eps0=1, epsilon=epsilon)


def test_k_for_a_delta(vectors: dict[str, Any]) -> None:
    assert smallest_k(t=36, eps0=1, delta=1e-6) == vectors["k_needed(delta=1e-6,e0=1,t=36)"]


@pytest.mark.parametrize(("gamma", "eps0", "t"), [(4, 1, 0), (4, 1, 50), (0.5, 1, 10), (4, 0, 10)])
def test_theorem_1_refuses_what_it_is_not_about(gamma: float, eps0: int, t: int) -> None:
    with pytest.raises(InvalidInput):
        theorem_1(k=50, gamma=gamma, eps0=eps0, t=t)


def test_equal_probabilities_cost_less() -> None:
    assert theorem_1(k=50, gamma=1, eps0=1, t=36).epsilon == pytest.approx(1 + math.log(1 + 1 / 36))


def test_exact_delta(vectors: dict[str, Any]) -> None:
    epsilon = theorem_1(k=50, gamma=4, eps0=1, t=36).epsilon
    for rows in (100, 10_000):
        found = exact_delta(epsilon=epsilon, rows=rows, k=50, gamma=4, eps0=1, law="laplace")
        assert found == near(vectors[f"delta_tight(eps=T1(50,4,1,36),n={rows})"])


@pytest.mark.parametrize("rows", [100, 10_000, 1_000_000])
def test_exact_epsilon_at_the_delta_of_theorem_1(vectors: dict[str, Any], rows: int) -> None:
    key = f"eps_tight(delta=8.315e-7; k=50,g=4,e0=1,n={rows}) against theorem 1.10536"
    delta = theorem_1(k=50, gamma=4, eps0=1, t=36).delta
    epsilon = float(vectors[key])
    over, under = (
        exact_delta(epsilon=epsilon + off, rows=rows, k=50, gamma=4, eps0=1, law="laplace") for off in (1e-5, -1e-5)
    )
    assert over < delta < under


def test_exact_delta_of_small_tables(vectors: dict[str, Any]) -> None:
    for k, gamma, eps0, epsilon, claimed, _, exact, _ in vectors["enum_table"]:
        found = max(
            exact_delta(epsilon=epsilon, rows=rows, k=int(k), gamma=gamma, eps0=eps0, law="laplace")
            for rows in (2, 3, 4)
        )
        assert found == pytest.approx(exact, abs=1e-4)
        assert found <= claimed + 5e-5


def test_counts_beyond_those_that_are_tried_do_not_gain_more() -> None:
    excess = np.array([0.0, 1e-9, 1e-3, 0.3, 2.0])
    tried = largest_release_gain(excess, k=5, gamma=4, eps0=1)
    many = largest_release_gain(excess, k=5, gamma=4, eps0=1, most=100_000)
    assert tried == pytest.approx(many, rel=1e-12)
    counts = np.arange(2000)
    now, after = (pass_probability(counts + more, k=5, eps0=1) for more in (0, 1))
    for place, beyond in enumerate(excess):
        plain = max((after * (1 + counts * x) - (1 + beyond) * counts * x * now).max() for x in (0.25, 4))
        assert tried[place] == pytest.approx(max(plain, 0), rel=1e-9)


def test_so_little_noise_that_its_cost_cannot_be_computed_is_refused() -> None:
    with pytest.raises(InvalidInput, match="raise eps0"):
        exact_delta(epsilon=1, rows=10**9, k=50, gamma=4, eps0=Fraction(1, 10**6))


def test_drop_probability_that_covers_no_output(vectors: dict[str, Any]) -> None:
    epsilon = theorem_1(k=50, gamma=4, eps0=1, t=36).epsilon
    assert smallest_drop_probability(epsilon=epsilon, rows=10_000) == near(vectors["rho_min for that (eps,n)"])


def test_that_nothing_is_released_spends_one_part_in_the_rows(vectors: dict[str, Any]) -> None:
    rows, epsilon = 10_000, theorem_1(k=50, gamma=4, eps0=1, t=36).epsilon
    alike, alone = (fail_probability(count, k=50, eps0=1, law="laplace") for count in (rows, 1))
    excess = (rows * alike + alone) / (rows + 1) - math.exp(epsilon) * alike
    assert excess == near(vectors["bot: Pr[F(D')=bot]-e^eps Pr[F(D)=bot], n=10^4 identical + 1 outlier"])
    drop = smallest_drop_probability(epsilon=epsilon, rows=rows)
    assert drop * (1 - math.exp(epsilon)) + (1 - drop) * excess <= 1e-18
    assert drop / 2 * (1 - math.exp(epsilon)) + (1 - drop / 2) * excess > 1e-5


def test_the_window_around_a_seed_is_not_the_bucket(vectors: dict[str, Any]) -> None:
    excess, delta = vectors["ratio-to-seed test: F(D')(y)-e^eps F(D)(y), n=10^4, against theorem delta"]
    assert theorem_1(k=50, gamma=4, eps0=1, t=36).delta == near(delta)
    q = {count: float(pass_probability(count, k=50, eps0=1, law="laplace")) for count in (30, 31, 61)}
    shares = 30 * (0.2 / 3.9 + 0.2 * 3.9)
    found = (shares * q[31] + 0.2 * q[61]) / 10_001 - math.exp(
        theorem_1(k=50, gamma=4, eps0=1, t=36).epsilon
    ) * shares * q[30] / 10_000
    assert found == near(excess)


def test_an_attempt_costs_at_least_what_a_row_more_changes_in_the_number_of_attempts() -> None:
    """Where no release is near its threshold, ln(1 + 1 / N0) is left; and each epsilon is given with six decimals."""
    rows = 1000
    found = attempt_guarantee(
        delta=0.4, k=60, gamma=Fraction(2), eps0=Fraction(1), public_rows=rows, drop_probability=Fraction(1, 4)
    )
    assert found.epsilon == math.ceil(math.log1p(1 / rows) * 1e6) / 1e6
