"""The cost of draws from urns: prior weights are rounded up, costs are upper bounds, and neither by much."""

import math
from fractions import Fraction

import pytest

from deniable.foundation.errors import InvalidInput
from deniable.learners.pegs.plan import DrawsPlan
from deniable.privacy.urn_costs import LARGEST_MASS, UNIT, prior_for, require_mass, urn_epsilon
from tests.urn_law import plain_domain

# alpha = r / (e^(epsilon / M) - 1), worked out in double precision.
ALPHAS = {
    (0.1, 1, 1): 9.50833194477505,
    (1, 1, 1): 0.5819767068693265,
    (1, 11, 1): 10.507574714288268,
    (1, 13, 1): 12.506409624324117,
    (10, 11, 1): 0.6747342005255907,
    (50, 11, 1): 0.010729241073243221,
    (1, 11, 10): 105.07574714288268,
    (1, 11, 1000): 10507.574714288268,
}


@pytest.mark.parametrize(("asked", "alpha"), ALPHAS.items())
def test_prior_weights_are_alpha_rounded_up(asked: tuple[float, int, int], alpha: float) -> None:
    epsilon, attributes, draws = asked
    prior = prior_for(Fraction(str(epsilon)) / attributes, draws)
    assert 0 <= prior / UNIT - alpha <= 1 / UNIT + 1e-9


@pytest.mark.parametrize("epsilon", ["0.000001", "0.01", "0.3", "1", "7", "100"])
@pytest.mark.parametrize("draws", [1, 2, 1000])
def test_the_cost_never_exceeds_the_budget_and_the_next_smaller_weight_would(epsilon: str, draws: int) -> None:
    budget = Fraction(epsilon)
    prior = prior_for(budget, draws)
    assert urn_epsilon(prior, draws) <= budget
    assert prior == 1 or urn_epsilon(prior - 1, draws) > budget


@pytest.mark.parametrize(("prior", "draws"), [(1, 1), (UNIT, 1), (3 * UNIT, 7), (10**15, 1)])
def test_a_cost_is_above_the_logarithm_by_less_than_1e_19(prior: int, draws: int) -> None:
    found = urn_epsilon(prior, draws)
    assert found.limit_denominator(10**20) == found
    assert float(found) == pytest.approx(math.log1p(draws * UNIT / prior), rel=1e-12)
    # e^found > 1 + r b / a > e^(found - 1e-19), by the series of the exponential in fractions
    assert exp_of(found) > 1 + Fraction(draws * UNIT, prior) > exp_of(found - Fraction(1, 10**19))


def exp_of(x: Fraction) -> Fraction:
    """e^x for 0 < x < 20, within 1e-30, by 120 terms of its series."""
    term = total = Fraction(1)
    for order in range(1, 120):
        term = term * x / order
        total += term
    return total


def test_a_polya_urn_costs_less_than_as_many_resets() -> None:
    assert 13 * float(urn_epsilon(10 * UNIT, 100)) == pytest.approx(31.17263854637882)
    assert 100 * 13 * float(urn_epsilon(10 * UNIT)) == pytest.approx(123.90323374562242)


@pytest.mark.parametrize(("prior", "draws"), [(0, 1), (1, 0)])
def test_an_urn_without_prior_weight_is_refused(prior: int, draws: int) -> None:
    with pytest.raises(InvalidInput, match="prior weight and draws of at least 1"):
        urn_epsilon(prior, draws)


def test_a_budget_that_nothing_meets_is_refused() -> None:
    for epsilon, said in ((Fraction(0), "above 0"), (Fraction(1, 10**18), "raise epsilon")):
        with pytest.raises(InvalidInput, match=said):
            prior_for(epsilon)


def test_a_block_costs_the_same_however_many_records_it_has_and_blocks_add_up() -> None:
    domain = plain_domain(2, 2, 1, 3)
    plans = [DrawsPlan(domain, 90, Fraction(1), block) for block in (1, 7, 90)]
    assert [plan.blocks for plan in plans] == [90, 13, 1]
    assert len({plan.block_epsilon for plan in plans}) == 1
    assert 0.99999 < plans[0].block_epsilon <= 1
    assert [plan.events[0].outputs for plan in plans] == [90, 13, 1]
    assert plans[0].priors[2] == 0, "one value, which says nothing of anyone"
    assert DrawsPlan(plain_domain(1, 1), 5, Fraction(1)).events == ()


def test_a_budget_by_values_is_divided_by_their_square_roots() -> None:
    plan = DrawsPlan(plain_domain(2, 8, 18), 1, Fraction(6), by_values=True)
    assert [float(urn_epsilon(prior)) for prior in plan.priors] == pytest.approx([1, 2, 3], rel=1e-5)
    assert plan.block_epsilon <= 6


def test_the_largest_mass_is_accepted_and_one_more_is_refused() -> None:
    draws = 1000
    largest = LARGEST_MASS - UNIT * (10**10 + draws)
    require_mass(largest, 1, draws)
    with pytest.raises(InvalidInput, match="must fit into 64 bits"):
        require_mass(largest + 1, 1, draws)
