"""Entropy l-diversity: the prior mass of rows, the law of draws, and that nobody takes it for differential privacy."""

from fractions import Fraction
from itertools import product
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable.foundation.keys import ReleaseKey
from deniable.foundation.tables import FamilyCounts
from deniable.learners.diverse import diversity as diversity_module
from deniable.learners.diverse.diversity import diverse_priors, entropy
from deniable.learners.diverse.draws import draws
from deniable.learners.diverse.spec import Entry
from deniable.learners.pegs.draws import urns_of
from deniable.learners.pegs.plan import urns_document
from deniable.ledger.budget import BudgetExceeded
from deniable.ledger.entries import Cost, Policy
from deniable.ledger.state import LedgerState
from deniable.models.urns import EVEN, draw_blocks
from deniable.privacy.urn_costs import UNIT
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from stores.ledger.charging import planned_charges
from tests.charging import TIME, chain
from tests.contracts.test_release_spec import changed
from tests.mechanisms.table import LEARNERS
from tests.small_release import write_small_release
from tests.urn_law import Record, all_records, block_probability, plain_domain

FALSE_ALARM = 1e-9
ASKED: dict[str, Any] = LEARNERS["diverse"].asked
ALPHAS: list[tuple[tuple[int, ...], float, float | None]] = [
    ((9, 1), 1.8, 3.8733596141598268),
    ((10, 0, 0), 2, 1.7220608411860765),
    ((4, 3, 3), 2, 0.0),
    ((1, 0), 2, None),
    ((5, 3, 2), 2.9, 1.415031160203345),
    ((50, 1, 1, 0), 3, 12.770873199062699),
    ((0, 0), 2, 0.0),
    ((3, 3), 2, 0.0),
]


@pytest.mark.parametrize(("counts", "diversity", "alpha"), ALPHAS)
def test_the_prior_mass_of_a_row_is_the_smallest_that_makes_it_diverse(
    counts: tuple[int, ...], diversity: float, alpha: float | None
) -> None:
    (found,) = diverse_priors(np.array([counts]), diversity)
    if alpha is None:
        assert found == EVEN
        return
    assert 0 <= found / UNIT - alpha <= 1.1 / UNIT
    assert entropy(np.array([counts]), np.array([found / UNIT]))[0] >= log(diversity) - 1e-9
    if alpha:
        assert entropy(np.array([counts]), np.array([(found - 2) / UNIT]))[0] < log(diversity)


def test_a_row_without_mass_has_the_entropy_of_the_uniform_distribution_and_divides_nothing_by_zero() -> None:
    with np.errstate(all="raise"):
        found = entropy(np.array([[0, 0, 0], [2, 0, 0]]), np.zeros(2))
    assert found == pytest.approx([log(3), 0], abs=1e-15)


def test_the_largest_prior_weight_is_used_where_no_smaller_one_will_do() -> None:
    """The largest weight is 2^40 records; from there on, rows are drawn evenly."""
    large = np.array([[1 << 37, 0]])
    (at_the_limit,) = entropy(large, np.array([2.0**40]))
    # The float whose logarithm, less the allowance for rounding, is that entropy.
    diversity = exp(at_the_limit + diversity_module._ROUNDING)
    near = [diversity + steps * 2.0**-52 for steps in range(-8, 9)]
    exact = [each for each in near if log(each) - diversity_module._ROUNDING == at_the_limit]
    (within,) = diverse_priors(large, exact[0])
    assert (UNIT << 40) * (1 - 1e-12) < within <= UNIT << 40
    assert diverse_priors(large, exact[0] + 1e-9).tolist() == [EVEN]
    (found,) = diverse_priors(large, exact[0] - 0.003)
    assert UNIT << 39 < found < UNIT << 40


def test_rows_that_are_drawn_evenly_are_counted_in_all_attributes() -> None:
    domain = plain_domain(2, 2)
    # A row of one value is diverse at no prior weight for l = 2; there is one in each attribute.
    tables = [np.array([[3, 0]]), np.array([[1, 1], [4, 0]])]
    entry = Entry.model_validate({**ASKED["learner"], "diversity": 2, "sensitive": None}, context={"domain": domain})
    charged = draws(entry, domain, records=4, chunk=4)
    assert charged.internal is not None
    assert charged.internal(tables) == {"rows_drawn_evenly": 2.0}


def test_rows_are_worked_out_together_as_they_are_apart() -> None:
    rows = np.array([[10, 0, 0], [4, 3, 3], [5, 3, 2], [0, 0, 0], [100_000, 1, 0]])
    assert diverse_priors(rows, 2.5).tolist() == [int(diverse_priors(row[None], 2.5)[0]) for row in rows]


def test_the_sampler_draws_by_the_law_of_its_priors() -> None:
    domain = plain_domain(2, 3)
    keys = ((), (0,))
    rows: list[Record] = [(0, 0)] * 8 + [(1, 1), (1, 1), (1, 2)]
    counts = FamilyCounts(domain, keys)
    counts.add(np.asarray(rows, np.uint16))
    priors = [np.zeros(1, np.int64), diverse_priors(counts.tables[1], 2)]
    urns = urns_of(domain, urns_document(domain, keys, {}), counts.tables, priors)
    stream = ReleaseKey(bytes(range(32))).stream(step="test", mechanism="diverse", inputs="", parameters={})
    drawn, number = draw_blocks(stream, urns, 40_000), 40_000
    observed = np.bincount(drawn[:, 0] * 3 + drawn[:, 1].astype(int), minlength=6)

    def expected(diversity: float) -> list[float]:
        def prior(attribute: int, of_row: list[int]) -> Fraction:
            return Fraction(int(diverse_priors(np.array([of_row]), diversity)[0]), UNIT) if attribute else Fraction(0)

        law = [block_probability(rows, domain, keys, prior, (0, 0), [out]) for out in all_records(domain)]
        assert sum(law) == 1
        return [float(share * number) for share in law]

    assert stats.chisquare(observed, expected(2)).pvalue > FALSE_ALARM
    assert stats.chisquare(observed, expected(2.2)).pvalue < FALSE_ALARM, "another diversity would be noticed"


def test_one_record_may_change_what_is_drawn_without_bound() -> None:
    """Why this is no differential privacy: a value that nobody has is never drawn from a row that is diverse."""
    domain, keys = plain_domain(3), ((),)

    def prior(_: int, counts: list[int]) -> Fraction:
        return Fraction(int(diverse_priors(np.array([counts]), 1.5)[0]), UNIT)

    for rows, added in product([[(0,)] * 5 + [(1,)] * 5], [(2,)]):
        without = block_probability(rows, domain, keys, prior, (0,), [(2,)])
        there = block_probability([*rows, added], domain, keys, prior, (0,), [(2,)])
        assert without == 0
        assert there > 0


def test_no_cost_is_stated_and_the_ledger_is_charged_delta_1(tmp_path: Path) -> None:
    accounts = plan_release(load_spec(write_small_release(tmp_path, **ASKED))).accounts
    assert accounts.total is None
    assert accounts.draws is None
    (step,) = accounts.steps
    assert (step.charged.epsilon, step.charged.delta) == (0, 1)
    assert [event.delta for event in step.events] == [1]


def test_a_ledger_that_promises_anything_refuses_it(tmp_path: Path) -> None:
    spec = load_spec(write_small_release(tmp_path, **ASKED))
    charges = planned_charges(spec, plan_release(spec).accounts)

    def books(delta: str) -> LedgerState:
        kept, limit = LedgerState(), Cost(epsilon=Fraction(100), delta=Fraction(delta))
        for entry in chain(Policy(dataset=spec.dataset_name, limit=limit, set_by="test")):
            kept.enter(entry)
        return kept

    with pytest.raises(BudgetExceeded, match=r"has no differential privacy in draw_records \(delta 1\)"):
        books("0.999").require_room(charges, TIME)
    books("1").require_room(charges, TIME)


@pytest.mark.parametrize(
    ("learner", "said"),
    [
        (
            {"accept_no_differential_privacy": False},
            "must be true for this learner, which gives no differential privacy",
        ),
        ({"diversity": 2.5}, "got employed with 2; name the sensitive ones, or lower diversity"),
        ({"diversity": 1}, "learner.diversity: must be greater than 1"),
        (
            {"sensitive": ["planet"]},
            "learner.sensitive.0: must name attributes of the schema, age, sex, school, employed; got planet",
        ),
    ],
)
def test_a_wrong_entry_is_refused(tmp_path: Path, learner: dict[str, Any], said: str) -> None:
    asked = {**ASKED, "learner": ASKED["learner"] | learner}
    assert said in changed(tmp_path, **asked)
