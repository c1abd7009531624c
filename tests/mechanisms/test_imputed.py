"""Perturbed multiple imputation: its law, its cost whatever is learnt, and the regression itself."""

from fractions import Fraction
from itertools import product
from math import exp, expm1
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import Parameter, ReleaseKey, WordStream
from deniable.foundation.tables import FirstRows
from deniable.learners.imputed.draws import PROGRESS, draws
from deniable.learners.imputed.plan import ONE, imputation_plan, prior_weight, require_mass
from deniable.learners.imputed.regression import FIXED_POINT, Features, fit, integer_probabilities
from deniable.learners.imputed.spec import Entry
from deniable.privacy.urn_costs import UNIT
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from tests.mechanisms.table import LEARNERS
from tests.small_release import write_small_release
from tests.urn_law import plain_domain

FALSE_ALARM = 1e-9
SHARES = [(0.9, 2, 1, 13, 0.5153770337684865), (0.9, 2, 50, 13, 0.8832680325838234)]
SHARES += [(0.6, 25, 10, 11, 0.07134032201555182), (1.0, 2, 1, 11, 0.5227116332606392)]
DOMAIN = plain_domain(2, 3, 2)


def drawn_with(shares: list[int], prior: int, value: int) -> Fraction:
    """Probability of a value, from integer weights and the prior weight."""
    return Fraction(shares[value] + prior, sum(shares) + len(shares) * prior)


@pytest.mark.parametrize(("share", "values", "epsilon", "attributes", "drawn"), SHARES)
def test_shares_are_mixed_with_even_draws(
    share: float, values: int, epsilon: int, attributes: int, drawn: float
) -> None:
    plan = imputation_plan(plain_domain(*[values] * attributes), 1, Fraction(epsilon))
    rest = (ONE - round(share * ONE)) // (values - 1)
    shares = [ONE - rest * (values - 1), *[rest] * (values - 1)]
    assert float(drawn_with(shares, prior_weight(plan.priors[0]), 0)) == pytest.approx(drawn, abs=1e-6)
    alpha = 1 / expm1(epsilon / attributes)
    assert (share + alpha) / (1 + values * alpha) == pytest.approx(drawn)


def test_no_two_tables_differ_by_more_than_the_charge() -> None:
    """Whatever two regressions say, and a mixture with half as many even draws does exceed the charge."""
    plan = imputation_plan(DOMAIN, 1, Fraction(1))
    bound = Fraction(exp(float(plan.block_epsilon)) * (1 + 1e-12))
    certain = {size: [[ONE * (i == j) for j in range(size)] for i in range(size)] for size in (2, 3)}

    def worst(divisor: int) -> Fraction:
        found = Fraction(1)
        for size, prior in zip(DOMAIN.cardinalities, plan.priors, strict=True):
            weight = prior_weight(prior) // divisor
            pairs = product(certain[size], certain[size], range(size))
            found *= max(drawn_with(one, weight, j) / drawn_with(other, weight, j) for one, other, j in pairs)
        return found

    assert bound * Fraction(999, 1000) < worst(1) <= bound
    assert worst(2) > bound


class Streams:
    """Opens one stream after another."""

    def __call__(self, *, mechanism: str, parameters: dict[str, Parameter], chunk: int) -> WordStream:
        key = ReleaseKey(bytes(range(32)))
        return key.stream(step="test", mechanism=mechanism, inputs="", parameters=parameters, chunk=chunk)


def test_records_are_drawn_by_their_law() -> None:
    entry, number = Entry.model_validate({"kind": "imputed", "epsilon": 9, "seed_weights": {"a1": [1, 4, 1]}}), 60_000
    plan = draws(entry, DOMAIN, records=number, chunk=number)
    fitted = [
        np.rint(np.random.default_rng(i).normal(size=(1 + 7 - size, size)) * 2 * FIXED_POINT).astype(np.int64)
        for i, size in enumerate(DOMAIN.cardinalities)
    ]
    names = [{"seed_weights": {"a1": [1, 4, 1]}.get(name, [])} for name in DOMAIN.names]
    drawn = plan.open({"attributes": names}, fitted, Streams())(0, number)
    observed = np.bincount(np.ravel_multi_index(tuple(drawn.T.astype(int)), DOMAIN.cardinalities), minlength=12)
    cells = np.indices(DOMAIN.cardinalities).reshape(3, -1).T.astype(np.uint16)
    priors = imputation_plan(DOMAIN, number, entry.epsilon).priors

    def law(factor: float) -> list[float]:
        starts = np.array([[1 / 12 * [1, 4, 1][seed[1]] / 6 * 3 * 1.0] for seed in cells]).ravel()
        starts /= starts.sum()
        reached = {tuple(cell): float(share) for cell, share in zip(cells.tolist(), starts, strict=True)}
        for attribute, prior in enumerate(priors):
            after = dict.fromkeys(reached, 0.0)
            for cell, share in reached.items():
                given = np.array([cell], np.uint16)
                shares = integer_probabilities(Features(DOMAIN, attribute), fitted[attribute], given)[0].tolist()
                for value in range(len(shares)):
                    there = (*cell[:attribute], value, *cell[attribute + 1 :])
                    after[there] += share * float(drawn_with(shares, int(prior_weight(prior) * factor), value))
            reached = after
        return [reached[tuple(cell)] * number for cell in cells.tolist()]

    assert stats.chisquare(observed, law(1)).pvalue > FALSE_ALARM
    assert stats.chisquare(observed, law(0.6)).pvalue < FALSE_ALARM, "fewer even draws would be noticed"


def people(rows: int) -> Any:
    rng = np.random.default_rng(list(b"imputed"))
    first, second = rng.integers(0, 2, rows), rng.integers(0, 3, rows)
    return np.stack([first, second, (rng.random(rows) < 0.15 + 0.6 * first) * 1], axis=1).astype(np.uint16)


def test_the_regression_is_about_as_good_as_the_librarys() -> None:
    codes = people(2000)
    features = Features(DOMAIN, 2)
    wanted = codes[:, 2].astype(int)
    design = np.zeros((len(codes), int(features.places[-1])))
    np.put_along_axis(design, features.indices(codes), 1, axis=1)
    own = integer_probabilities(features, fit(DOMAIN, 2, codes), codes) / ONE
    library = LogisticRegression(solver="saga", l1_ratio=0.5, C=1 / (2000 * 1e-3), max_iter=2000)
    library.fit(design[:, 1:], wanted)
    losses = [-np.log(shares[np.arange(2000), wanted]).mean() for shares in (own, library.predict_proba(design[:, 1:]))]
    alone = -np.log(np.bincount(wanted) / 2000)[wanted].mean()
    assert abs(losses[0] - losses[1]) < 0.005
    assert losses[0] < alone - 0.1


def test_probabilities_are_integers_that_sum_to_one() -> None:
    coefficients = np.array([[0, 1, 2], [300, -40, 5], [0, 0, 0], [60, 60, -60], [1, 1, 1]], np.int64) * FIXED_POINT
    shares = integer_probabilities(Features(DOMAIN, 1), coefficients, people(50))
    assert (shares.sum(axis=1) == 1 << 32).all()
    assert (shares >= 0).all()


def test_a_fit_without_records_and_of_one_value_draws_evenly() -> None:
    none = np.zeros((0, 3), np.uint16)
    assert not fit(DOMAIN, 1, none).any()
    assert fit(plain_domain(2, 1), 1, none[:, :2]).shape == (3, 1)
    assert fit(DOMAIN, 0, people(3)).shape == (6, 2)
    unseen = np.zeros((50, 3), np.uint16)
    assert (integer_probabilities(Features(DOMAIN, 1), fit(DOMAIN, 1, unseen), unseen) >= 0).all()


def test_only_the_first_records_are_kept_in_their_order() -> None:
    whole, parts = FirstRows(3, 70), [FirstRows(3, 70), FirstRows(3, 70)]
    codes = people(100)
    whole.add(codes)
    parts[0].add(codes[:60])
    parts[1].add(codes[60:])
    again = FirstRows(3, 70)
    again.restore(parts[1].arrays)
    parts[0].merge(again)
    assert (whole.codes == codes[:70]).all()
    assert (parts[0].codes == whole.codes).all()


class Work:
    """A counter of rows that notes the work reported to it, and stops after some of it."""

    def __init__(self, codes: Any, most: int = PROGRESS) -> None:
        self.codes, self.most, self.done = codes, most, [0]

    def count(self, empty: Any, _: str) -> Any:
        tally = empty()
        tally.add(self.codes)
        return tally

    def advance(self, amount: int) -> None:
        self.done.append(self.done[-1] + amount)
        if self.done[-1] > self.most:
            raise KeyboardInterrupt


@pytest.mark.parametrize("rows", [0, 3, 60])
def test_fits_report_all_their_work_little_by_little(rows: int) -> None:
    counter = Work(people(60)[:rows])
    draws(Entry.model_validate({"kind": "imputed", "epsilon": 1}), DOMAIN, records=1, chunk=1).count(counter, {})
    assert counter.done[-1] == PROGRESS
    assert counter.done == sorted(counter.done)
    assert rows < 4 or len(counter.done) > 100


def test_fits_end_where_a_release_is_stopped() -> None:
    counter = Work(people(60), most=PROGRESS // 2)
    with pytest.raises(KeyboardInterrupt):
        draws(Entry.model_validate({"kind": "imputed", "epsilon": 1}), DOMAIN, records=1, chunk=1).count(counter, {})
    assert counter.done[-1] <= PROGRESS // 2 + 2


def test_the_progress_of_a_release_counts_the_work_of_fits(tmp_path: Path) -> None:
    spec = load_spec(write_small_release(tmp_path, **LEARNERS["imputed"].asked))
    assert plan_release(spec).work == {"count_tables": PROGRESS, "synthesize": 400}


def test_a_record_may_cost_more_than_100_and_not_without_bound() -> None:
    assert Entry.model_validate({"kind": "imputed", "epsilon": 200}).epsilon == 200
    with pytest.raises(ValueError, match="must be from 1e-06 to 1000, got 1001"):
        Entry.model_validate({"kind": "imputed", "epsilon": 1001})


def test_a_spec_plans_as_many_draws_as_records_and_a_budget_too_small_is_refused(tmp_path: Path) -> None:
    accounts = plan_release(load_spec(write_small_release(tmp_path, **LEARNERS["imputed"].asked))).accounts
    (event,) = accounts.events
    assert event.outputs == 400
    assert event.epsilon == pytest.approx(2, rel=1e-6)
    assert UNIT < ONE
    with pytest.raises(InvalidInput, match="must fit into 64 bits"):
        draws(Entry.model_validate({"kind": "imputed", "epsilon": 1e-6}), plain_domain(60_000, 2), records=1, chunk=1)


def test_weights_of_2_to_the_62_are_accepted_and_larger_ones_refused() -> None:
    domain = plain_domain(2)
    assert prior_weight(1) == 1 << 12, "in units of 1 / 2^20 of 2^32"
    largest = ((1 << 62) - ONE) // 2 // prior_weight(1)
    require_mass(domain, _of(largest))
    with pytest.raises(InvalidInput, match="must fit into 64 bits"):
        require_mass(domain, _of(largest + 1))


def _of(prior: int) -> Any:
    """A plan for one attribute, with its prior."""
    return SimpleNamespace(priors=(prior,))
