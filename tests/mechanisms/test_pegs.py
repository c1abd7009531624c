"""The perturbed Gibbs sampler: keys, published figures worked out again, and what a spec may say."""

from copy import deepcopy
from fractions import Fraction
from itertools import product
from math import exp, expm1, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey, WordStream
from deniable.foundation.noise import DiscreteLaplace
from deniable.learners.pegs.draws import draws
from deniable.learners.pegs.orders import noisy_pairs, orders_by_information, pair_tables
from deniable.learners.pegs.plan import (
    DrawsPlan,
    bucketed_pairs,
    faults_of_seeds,
    key_of,
    keys_in_spec,
    more_of_urns,
    order_events,
    others_in_order,
    pair_scale,
    public_orders,
    urns_document,
)
from deniable.learners.pegs.spec import Entry
from deniable.learners.pegs.steps import steps
from deniable.learners.pegs.verification import check_urns
from deniable.plausible_deniability.privacy_tests import bucket, pass_probability, theorem_1
from deniable.privacy.loss import DiscreteLaplaceEvent
from deniable.privacy.urn_costs import UNIT, prior_for
from schemas.spec.plan import plan_release
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
    accounts = plan_release(spec).accounts
    (step,) = accounts.steps
    assert (step.step, step.part, step.events[0].outputs) == ("draw_records", "parameters", 400)
    assert accounts.draws is not None
    assert 399.99 < accounts.draws.epsilon <= 400
    assert accounts.total is not None
    assert accounts.total.is_vacuous


def test_a_block_may_cost_as_much_as_its_records(tmp_path: Path) -> None:
    asked = PEGS | {"epsilon": 200, "block": 8}
    changes = {"split": SPLIT, "learner": asked, "budget": {"epsilon": 10_000, "delta": 0.1}}
    accounts = plan_release(load_spec(write_small_release(tmp_path, synthesis=PER_DRAW, **changes))).accounts
    (event,) = accounts.events
    # The smallest prior weight of four attributes is reached before 200.
    assert float(event.epsilon_per_output) == pytest.approx(4 * np.log1p(2**20))


def test_at_a_delta_many_small_draws_cost_less_than_their_sum(tmp_path: Path) -> None:
    drawn = {**PER_DRAW, "delta": 1e-6}
    asked = {"split": SPLIT, "learner": {**PEGS, "epsilon": 0.05}, "synthesis": drawn}
    accounts = plan_release(load_spec(write_small_release(tmp_path, **asked))).accounts
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
        (
            {"seed_weights": {"planet": [1]}},
            {},
            "must name attributes of the schema, age, sex, school, employed; got planet",
        ),
        ({"draws_per_row": 2}, {}, "must have draws_per_row at most block"),
        ({"draws_per_row": 7, "block": 2, "sweeps": 3}, {}, "must have draws_per_row at most the 6 passes of a block"),
        ({"block": 500, "sweeps": 3}, {}, "must have at most 1000 passes in a block, got 1500"),
        ({"alpha_shape": {"sex": [1]}}, {}, "must have a weight for each of the 2 values of sex"),
        (
            {"seed_file": {"path": "public.csv"}, "seed_weights": {"sex": [1, 1]}},
            {},
            "must have seed_weights or a seed_file",
        ),
        (
            {"seed_file": {"path": "public.csv"}, "structure": {"epsilon": 1}},
            {},
            "must have public orders with a seed_file",
        ),
        ({"seed_file": {"path": "public.txt"}}, {}, "learner.seed_file.path"),
        ({"epsilon": 0}, {}, "learner.epsilon: must be greater than 0"),
        ({"epsilon": 1001}, {}, "must have an epsilon of at most 1000, 1000 for each record of a block, got 1001"),
        ({"epsilon": 10001, "block": 10}, {}, "must have an epsilon of at most 10000, 1000 for each record"),
        ({}, {"records": 0}, "synthesis.records: must be"),
    ],
)
def test_a_wrong_entry_is_refused(
    tmp_path: Path, learner: dict[str, Any], synthesis: dict[str, Any], said: str
) -> None:
    assert said in changed(tmp_path, split=SPLIT, learner=PEGS | learner, synthesis=PER_DRAW | synthesis)


def test_a_model_is_not_drawn_from_per_draw(tmp_path: Path) -> None:
    names = "tested_seeds or poisson_seeds or histogram_seeds or seedless"
    said = f"synthesis: must have the guarantee {names} for a learner of kind cfs"
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


class Counted:
    """Counts records of a test."""

    def __init__(self, rows: list[Record]) -> None:
        self.rows = np.array(rows, np.uint16)

    def count(self, empty: Any, _: str) -> Any:
        tally = empty()
        tally.add(self.rows)
        return tally

    def advance(self, amount: int) -> None:
        """Nobody waits."""


def drawn(
    domain: Domain, rows: list[Record], records: int, *, seeds: list[Record] | None = None, **asked: Any
) -> NDArray[np.uint16]:
    """Records that a spec's learner draws, in two chunks."""
    entry = Entry.model_validate({**PEGS, **asked})
    keyed = keys_in_spec(domain, entry.orders, entry.key_cells)
    more = {} if seeds is None else {"seeds": [list(seed) for seed in seeds]}
    document = urns_document(domain, keyed, {}, **more_of_urns(dict(entry)), **more)
    chunk = records // 2
    plan = draws(entry, domain, records=records, chunk=chunk)
    key = ReleaseKey(bytes(range(32)))

    def opened(*, mechanism: str, parameters: Any, chunk: int) -> WordStream:
        return key.stream(step="test", mechanism=mechanism, inputs="", parameters=parameters, chunk=chunk)

    draw = plan.open(document, plan.count(Counted(rows), document), opened)
    return np.concatenate([draw(0, chunk), draw(1, chunk)])


def test_the_last_of_several_sweeps_is_kept_and_has_its_law() -> None:
    """Chi-squared at a false-alarm rate of 1e-9; the law of one sweep is rejected."""
    domain, rows = plain_domain(2, 2), [(0, 0)] * 6 + [(1, 1)] * 5 + [(0, 1)]
    found = drawn(domain, rows, 120_000, epsilon=4, sweeps=2, draws_per_row=2, key_cells=2)
    alpha = Fraction(prior_for(Fraction(2), 2), UNIT)
    keyed, records = [(1,), (0,)], all_records(domain)

    def law(sweeps: int) -> list[float]:
        def of(seed: Record, record: Record) -> Fraction:
            if sweeps == 1:
                return block_probability(rows, domain, keyed, lambda *_: alpha, seed, [record], most=2)
            paths = ([first, record] for first in records)
            return sum(
                (block_probability(rows, domain, keyed, lambda *_: alpha, seed, path, most=2) for path in paths),
                start=Fraction(0),
            )

        return [float(sum(of(seed, record) for seed in records) / len(records)) for record in records]

    observed = np.array([(found == record).all(axis=1).sum() for record in records])
    assert stats.chisquare(observed, np.array(law(2)) * len(found)).pvalue > FALSE_ALARM
    assert stats.chisquare(observed, np.array(law(1)) * len(found)).pvalue < FALSE_ALARM


@pytest.mark.parametrize("sweeps", [2, 3])
def test_a_record_of_several_sweeps_costs_no_more_than_its_block(sweeps: int) -> None:
    """The kept record is a function of all sweeps, which are a block: exact laws, over all records and seeds."""
    domain, keyed, alpha = plain_domain(2, 2), [(1,), (0,)], Fraction(7, 10)
    records = all_records(domain)

    def law(rows: list[Record], seed: Record, weight: Fraction = alpha) -> dict[Record, Fraction]:
        found = dict.fromkeys(records, Fraction(0))
        for path in product(records, repeat=sweeps):
            found[path[-1]] += block_probability(rows, domain, keyed, lambda *_: weight, seed, list(path), most=sweeps)
        return found

    bound = float((1 + sweeps / alpha) ** 2)
    worst, twin = 0.0, 0.0
    for rows in ([], [(0, 0)], [(0, 0), (1, 1)]):
        for record in records:
            for seed in records:
                for weight in (alpha, alpha / 10):
                    one, other = law(rows, seed, weight), law([*rows, record], seed, weight)
                    ratio = max(max(other[each] / one[each], one[each] / other[each]) for each in records)
                    worst, twin = (
                        (max(worst, float(ratio)), twin) if weight == alpha else (worst, max(twin, float(ratio)))
                    )
    assert 1.5 < worst <= bound
    assert twin > bound, "a tenth of the prior weight must be found"


def test_public_records_shape_the_prior_weights_at_no_cost() -> None:
    shaped = {"alpha_shape": {"a2": [0, 0, 10**6]}}
    found = drawn(DOMAIN, ROWS, 2000, **shaped)
    assert (found[:, 2] == 2).mean() > 0.99
    assert (found[:, 0] == 1).mean() < 0.9
    plans = [
        draws(Entry.model_validate({**PEGS, **asked}), DOMAIN, records=10, chunk=10).events for asked in ({}, shaped)
    ]
    assert plans[0] == plans[1]
    # Weights that wrapped around would draw records as they are.
    far = Entry.model_validate({**PEGS, **shaped}).model_copy(update={"alpha_shape": {"a2": (0, 0, 5 * 10**12)}})
    with pytest.raises(InvalidInput, match="must fit into 64 bits"):
        draws(far, DOMAIN, records=10, chunk=10)


def test_orders_begin_with_what_tells_most() -> None:
    """Of the pairs 01, 02 and 12, the first are independent, and the second are the same."""
    tables = [np.array(each, np.int64) for each in ([[50, 50], [50, 50]], [[90, 0], [0, 90]], [[60, 30], [30, 60]])]
    assert orders_by_information(plain_domain(2, 2, 2), tables) == ((2, 1), (2, 0), (0, 1))


def test_pairs_of_attributes_with_several_buckets_are_counted() -> None:
    assert bucketed_pairs(plain_domain(2, 1, 3, 2)) == ((0, 2), (0, 3), (2, 3))
    assert pair_scale(plain_domain(2, 1, 3, 2), Fraction(1, 2)) == 6
    # Without a pair nothing is drawn, and the scale is one that noise can have.
    assert pair_scale(plain_domain(2, 1), Fraction(1, 2)) == 2


def test_attributes_with_shapes_may_be_named_in_any_order() -> None:
    """The same release in other words is the same draw, which is charged once."""
    shapes = {"a2": [0, 0, 1], "a0": [1, 2], "a1": [2, 1]}
    entries = [PEGS | {"alpha_shape": dict(order)} for order in (shapes.items(), reversed(shapes.items()))]
    one, other = (draws(Entry.model_validate(each), DOMAIN, records=10, chunk=10).parameters for each in entries)
    assert one == other
    assert "alpha_shape" in one


def test_records_begin_at_seeds_of_the_pool() -> None:
    domain, rows = plain_domain(2, 2), [(0, 0)] * 400 + [(1, 1)] * 400
    asked: dict[str, Any] = {"epsilon": 20, "key_cells": 2, "seed_file": {"path": "public.csv", "sha256": "0" * 64}}
    for value in (0, 1):
        found = drawn(domain, rows, 2000, seeds=[(0, value), (1, value)], **asked)
        assert (found[:, 0] == value).mean() > 0.95, "the first attribute follows the second one of the seed"
    half = drawn(domain, rows, 20_000, seeds=[(0, 0), (0, 1), (0, 1), (0, 1)], **asked)
    assert stats.binomtest(int((half[:, 0] == 1).sum()), 20_000, 0.75).pvalue > 1e-4
    with pytest.raises(InvalidInput, match=r"add the lines that `deniable mechanisms select SPEC` prints"):
        steps(Entry.model_validate({**PEGS, "seed_file": {"path": "public.csv"}}), domain, lambda delta: delta)


@pytest.mark.parametrize(
    "seeds", [[], None, [[0, 0]], [[0, 0, 3]], [[0, 0, -1]], [[0, 0, True]], [[0, 0, 0]] * 10_001, ["000"]]
)
def test_seeds_that_are_no_records_are_found(seeds: Any) -> None:
    assert list(faults_of_seeds(DOMAIN, seeds)) != []
    assert list(faults_of_seeds(DOMAIN, [[0, 1, 2]])) == []


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
