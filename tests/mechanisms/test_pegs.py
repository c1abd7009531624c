"""The perturbed Gibbs sampler: keys, published figures worked out again, and what a spec may say."""

from copy import deepcopy
from fractions import Fraction
from math import exp, expm1, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable.foundation.errors import InvalidInput
from deniable.foundation.noise import DiscreteLaplace
from deniable.learners.pegs.draws import draws
from deniable.learners.pegs.orders import noisy_pairs, orders_by_information, pair_tables
from deniable.learners.pegs.plan import (
    DrawsPlan,
    key_of,
    order_events,
    others_in_order,
    public_orders,
    urns_document,
)
from deniable.learners.pegs.spec import Entry
from deniable.learners.pegs.verification import check_urns
from deniable.plausible_deniability.privacy_tests import bucket, pass_probability, theorem_1
from deniable.privacy.loss import DiscreteLaplaceEvent
from deniable.privacy.urn_costs import UNIT
from schemas.spec.accounts import accounts_of
from schemas.spec.release_spec import load_spec
from tests.contracts.test_release_spec import changed
from tests.drawn_noise import OneStream
from tests.small_release import write_small_release
from tests.urn_law import Record, all_records, block_probability, plain_domain

FALSE_ALARM = 1e-9
DOMAIN = plain_domain(2, 2, 3)
ORDERS = ((1, 2), (0, 2), (1, 0))
ROWS: list[Record] = [(0, 0, 0), (0, 0, 1), (0, 1, 1), (1, 0, 1), (1, 1, 1), (1, 1, 2), (0, 1, 2), (1, 1, 1)]
PER_DRAW: dict[str, Any] = {"guarantee": "per_draw", "records": 400, "chunk_candidates": 128}
PEGS: dict[str, Any] = {"kind": "pegs", "epsilon": 1}
SPLIT = {"seeds": 0.5, "parameters": 0.3, "holdout": 0.2}


def keys() -> list[tuple[int, ...]]:
    return [key_of(DOMAIN, order, 4) for order in ORDERS]


def probability(seed: Record, block: list[Record], alpha: float, most: int = 1) -> float:
    return float(block_probability(ROWS, DOMAIN, keys(), lambda *_: Fraction(alpha), seed, block, most=most))


def test_a_key_ends_at_the_first_attribute_that_does_not_fit() -> None:
    assert keys() == [(1,), (0,), (1, 0)]
    assert key_of(plain_domain(2, 5, 2, 2), (1, 2, 3), 9) == (1,), "the third would fit, but none is skipped"
    assert key_of(DOMAIN, (2, 1), 1) == ()


def test_the_laws_of_records_and_blocks_are_those_worked_out_by_hand() -> None:
    alpha = 1 / expm1(1 / 3)
    assert alpha == pytest.approx(2.527726473157129)
    assert probability((0, 0, 0), [(1, 1, 2)], alpha) == pytest.approx(0.08910868831246402)
    assert probability((0, 0, 0), [(0, 0, 0)], alpha) == pytest.approx(0.10345357588099842)
    assert sum(probability((0, 0, 0), [out], alpha) for out in all_records(DOMAIN)) == pytest.approx(1)
    block = [(1, 1, 2), (1, 1, 1)]
    assert probability((0, 0, 0), block, 0.7) == pytest.approx(0.008502633394126446)
    assert probability((0, 0, 0), block, 0.7, most=2) == pytest.approx(0.01658274863290952)


def test_the_plan_has_the_prior_of_the_paper() -> None:
    plan = DrawsPlan(DOMAIN, 1, Fraction(1))
    assert [prior / UNIT for prior in plan.priors] == pytest.approx([2.527726473157129] * 3, abs=1e-6)
    uneven = [1 / expm1(epsilon) for epsilon in (0.5, 0.3, 0.2)]
    assert uneven == pytest.approx([1.5414940825367982, 2.8582959135100827, 4.516655566126994])


def test_ratios_of_blocks_stay_below_the_bounds_of_the_theorem() -> None:
    """The largest ratios found at random, as worked out before, and the bounds that they keep to."""
    rng = np.random.default_rng(1)
    records = all_records(DOMAIN)
    for length, most, bound in ((1, 1, (1 + 1 / 0.7) ** 3), (3, 1, (1 + 1 / 0.7) ** 3), (3, 2, (1 + 2 / 0.7) ** 3)):
        found = 1.0
        for _ in range(300):
            rows = [records[i] for i in rng.integers(len(records), size=rng.integers(12))]
            seed, added, *block = (records[i] for i in rng.integers(len(records), size=2 + length))
            there, without = (
                block_probability(table, DOMAIN, keys(), lambda *_: Fraction(7, 10), seed, block, most=most)
                for table in ([*rows, added], rows)
            )
            found = max(found, float(there / without), float(without / there))
        assert 2 < found <= bound


def test_public_orders_may_be_given_for_some_attributes() -> None:
    assert public_orders(DOMAIN, {"a2": ["a1"]}) == ((1, 2), (0, 2), (1,))
    assert public_orders(DOMAIN, None) == others_in_order(DOMAIN)
    for wrong in (["a2"], ["a0", "a0"], ["planet"]):
        with pytest.raises(InvalidInput, match=r"must name other attributes|must be one of"):
            public_orders(DOMAIN, {"a2": wrong})


def test_a_spec_plans_as_many_draws_as_records(tmp_path: Path) -> None:
    spec = load_spec(write_small_release(tmp_path, split=SPLIT, learner=PEGS, synthesis=PER_DRAW))
    accounts = accounts_of(spec)
    (step,) = accounts.steps
    assert (step.step, step.part, step.events[0].outputs) == ("draw_records", "parameters", 400)
    assert accounts.draws is not None
    assert 399.99 < accounts.draws.epsilon <= 400
    assert accounts.total is not None
    assert accounts.total.is_vacuous


def test_at_a_delta_many_small_draws_cost_less_than_their_sum(tmp_path: Path) -> None:
    drawn = {**PER_DRAW, "delta": 1e-6}
    asked = {"split": SPLIT, "learner": {**PEGS, "epsilon": 0.05}, "synthesis": drawn}
    accounts = accounts_of(load_spec(write_small_release(tmp_path, **asked)))
    assert accounts.draws is not None
    assert accounts.draws.epsilon < 400 * 0.05 / 3


@pytest.mark.parametrize(
    ("learner", "synthesis", "said"),
    [
        ({}, {"guarantee": "seedless"}, "synthesis: must have the guarantee per_draw for a learner of kind pegs"),
        ({"orders": {"sex": ["sex"]}}, {}, "learner.orders: the order for sex must name other attributes"),
        (
            {"seed_weights": {"sex": [1]}},
            {},
            "learner.seed_weights: must have a weight for each of the 2 values of sex",
        ),
        ({"seed_weights": {"planet": [1]}}, {}, "learner.seed_weights: must name attributes, got planet"),
        ({"draws_per_row": 2}, {}, "must have draws_per_row at most block"),
        ({"epsilon": 0}, {}, "learner.epsilon: must be greater than 0"),
        ({}, {"records": 0}, "synthesis.records: must be"),
    ],
)
def test_a_wrong_entry_is_refused(
    tmp_path: Path, learner: dict[str, Any], synthesis: dict[str, Any], said: str
) -> None:
    assert said in changed(tmp_path, split=SPLIT, learner=PEGS | learner, synthesis=PER_DRAW | synthesis)


def test_a_model_is_not_drawn_from_per_draw(tmp_path: Path) -> None:
    said = "synthesis: must have the guarantee tested_seeds or histogram_seeds or seedless for a learner of kind cfs"
    assert said in changed(tmp_path, synthesis=PER_DRAW)


def test_tested_seeds_are_refused_and_the_reason_is_given(tmp_path: Path) -> None:
    said = changed(tmp_path, split=SPLIT, learner=PEGS)
    assert "must have the guarantee per_draw for a learner of kind pegs, got tested_seeds; confidential seeds" in said
    assert "choose pegs_noisy, whose counts have noise" in said
    # A sampler without confidential seeds needs no reason.
    assert "seeds need" not in changed(tmp_path, split=SPLIT, learner=PEGS, synthesis={"guarantee": "seedless"})


def test_a_test_of_private_seeds_with_exact_tables_costs_more_than_both_charges() -> None:
    """One record in the tables moves half of the seeds into another bucket: what passed surely now surely fails."""
    domain, keyed = plain_domain(2, 2), [(1,), ()]
    one = Fraction(1)
    half = 20
    seeds, k, eps0 = [(0, 0)] * half + [(0, 1)] * half, 30, Fraction(2)
    record: Record = (0, 1)

    def released(rows: list[Record]) -> float:
        given = [block_probability(rows, domain, keyed, lambda *_: one, seed, [record]) for seed in seeds]
        buckets = [bucket(each, 3) for each in given]
        passes = pass_probability([buckets.count(own) for own in buckets], k=k, eps0=eps0)
        return float(sum(float(each) * chance for each, chance in zip(given, passes, strict=True)) / len(seeds))

    tables = 2 * log(2)  # ln(1 + 1/alpha) for each of two tables
    seeds_too = theorem_1(k=k, gamma=3, eps0=eps0, t=k - 5).epsilon
    before, after = released([]), released([record])
    assert before > 0.24
    assert before / after > exp(tables + seeds_too)
    # Were buckets to depend on released numbers alone, the tables would cost what they are charged.
    alone = [
        sum(block_probability(rows, domain, keyed, lambda *_: one, seed, [record]) for seed in seeds)
        for rows in ([], [record])
    ]
    assert abs(log(alone[1] / alone[0])) <= tables


def planned(size: int = 2, chunk: int = 100, **asked: Any) -> None:
    draws(Entry.model_validate({**PEGS, **asked}), plain_domain(size, size, size), records=1000, chunk=chunk)


def test_what_cannot_be_drawn_is_refused_before_data_are_read() -> None:
    planned(block=25)
    with pytest.raises(InvalidInput, match="chunk_candidates must be a multiple of the 30 records of a block"):
        planned(block=30)
    with pytest.raises(InvalidInput, match="cells together, got up to"):
        planned(size=100, key_cells=1_000_000)
    with pytest.raises(InvalidInput, match="must fit into 64 bits"):
        planned(size=60_000, key_cells=1, epsilon=1e-6, block=1000, chunk=1000, draws_per_row=1000)


def p_value(noise: NDArray[np.int64], scale: Fraction) -> float:
    law, reach = DiscreteLaplace(scale), 12
    middle = range(1 - reach, reach)
    expected = [law.tail(reach), *(law.probability(z) for z in middle), law.tail(reach)]
    clipped = np.clip(noise, -reach, reach)
    observed = [(clipped == z).sum() for z in range(-reach, reach + 1)]
    return float(stats.chisquare(observed, np.array(expected) * len(noise)).pvalue)


def test_measured_orders_have_the_noise_that_is_charged() -> None:
    (event,) = order_events(DOMAIN, Fraction(1, 2))
    assert isinstance(event, DiscreteLaplaceEvent)
    assert (event.outputs, event.sensitivity, event.scale) == (3, 1, 6)
    tally = pair_tables(DOMAIN)
    tally.add(np.asarray(ROWS, np.uint16))
    opened = OneStream("pairs")
    made = [noisy_pairs(DOMAIN, Fraction(1, 2), tally.tables, opened) for _ in range(3000)]
    truth = np.concatenate([table.ravel() for table in tally.tables])
    noise = np.array([np.concatenate([table.ravel() for table in tables]) - truth for tables in made])
    assert p_value(noise.ravel(), event.scale) > FALSE_ALARM
    assert p_value(noise.ravel(), event.scale * Fraction(9, 10)) < FALSE_ALARM, "narrower noise would be noticed"


def test_one_record_is_in_one_cell_of_each_table_of_a_pair() -> None:
    without, there = pair_tables(DOMAIN), pair_tables(DOMAIN)
    without.add(np.asarray(ROWS[:-1], np.uint16))
    there.add(np.asarray(ROWS, np.uint16))
    changes = [np.abs(one - other).sum() for one, other in zip(there.tables, without.tables, strict=True)]
    assert changes == [1, 1, 1]


def test_the_most_informative_come_first() -> None:
    tables = (np.array([[50, 0], [0, 50]]), np.array([[20, 20, 10], [10, 20, 20]]), np.array([[-3, -1, -9]] * 2))
    assert orders_by_information(DOMAIN, tables) == ((1, 2), (0, 2), (0, 1))


def test_orders_are_public_or_measured(tmp_path: Path) -> None:
    both = {"orders": {"sex": ["age"]}, "structure": {"epsilon": 1}}
    split = {"seeds": 0.3, "structure": 0.2, "parameters": 0.3, "holdout": 0.2}
    assert "must state orders, or structure to measure them" in changed(
        tmp_path, split=split, learner=PEGS | both, synthesis=PER_DRAW
    )


@pytest.mark.parametrize("measured", [False, True])
def test_keys_that_do_not_follow_from_the_spec_are_found(*, measured: bool) -> None:
    asked = {
        "orders": None if measured else {"a2": ["a1", "a0"]},
        "structure": {"epsilon": "1"} if measured else None,
        "key_cells": 4,
        "seed_weights": {"a1": [1, 2]},
        "block": 2,
        "draws_per_row": 1,
    }
    described = {
        "target": None,
        "attributes": [
            {
                "name": each.name,
                "kind": each.kind,
                "values": [{"value": v, "bucket": b} for v, b in zip(each.values, each.buckets, strict=True)],
            }
            for each in DOMAIN.attributes
        ],
    }
    right = urns_document(DOMAIN, [(1,), (0,), (1, 0)], {"a1": [1, 2]}, block=2, draws_per_row=1)

    def faults(document: dict[str, Any]) -> list[str]:
        record = {"spec": {"document": {"learner": asked}}}
        return [fault for check in check_urns(record, described, document) for fault in check.faults]

    assert faults(right) == []
    for changed_one in ({"block": 3}, {"more": 1}, {"attributes": right["attributes"][::-1]}):
        assert faults({**right, **changed_one}), changed_one
    for key in (["a2"], ["a0"], ["a1", "a2", "a0"]):
        altered = deepcopy(right)
        altered["attributes"][0]["key"] = key
        assert bool(faults(altered)) == (key != ["a2"] or not measured), key
