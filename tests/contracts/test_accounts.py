"""What a release costs, from its spec alone."""

from itertools import product
from math import exp, log
from pathlib import Path
from typing import Any

import pytest

from deniable.privacy.composition import sequential
from schemas.spec.accounts import Accounts
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from tests.extent import spread
from tests.small_release import SPEC, write_small_release

HISTOGRAM = {
    "guarantee": "histogram_seeds",
    "omega": 2,
    "epsilon": 0.7,
    "delta": 1e-9,
    "records": 500,
    "chunk_candidates": 256,
}
SEEDLESS = {"guarantee": "seedless", "records": 500, "chunk_candidates": 256}
SHARED = {"shared": 0.8, "holdout": 0.2}


def accounts(folder: Path, **changes: Any) -> Accounts:
    return plan_release(load_spec(write_small_release(folder, people=[], **changes))).accounts


def test_disjoint_parts_are_combined_by_the_joint_split(tmp_path: Path) -> None:
    cost = accounts(tmp_path, synthesis=HISTOGRAM)
    assert cost.structure is not None
    assert cost.histogram is not None
    assert cost.total is not None
    grown = 0.15 * (exp(cost.structure.epsilon) - 1) + 0.15 * (exp(cost.parameters.epsilon) - 1)
    assert cost.model.epsilon == pytest.approx(log(1 + grown))
    assert cost.total.epsilon == pytest.approx(log(1 + grown + 0.5 * (exp(cost.histogram.epsilon) - 1)))


def test_steps_that_read_the_same_rows_cost_at_most_their_sum_and_more_than_the_largest(tmp_path: Path) -> None:
    cost = accounts(tmp_path, split=SHARED, synthesis=HISTOGRAM)
    added = sequential([step.guarantee for step in cost.steps if step.guarantee is not None])
    assert cost.total is not None
    assert cost.total.epsilon <= log(1 + 0.8 * (exp(added.epsilon) - 1)) + 1e-12
    largest = max(step.guarantee.epsilon for step in cost.steps if step.guarantee is not None)
    assert cost.total.epsilon > log(1 + 0.8 * (exp(largest) - 1))
    assert {step.part for step in cost.steps} == {event.part for event in cost.events} == {"shared"}


DELTAS = list(product(("0.8", "0.7", "0.35"), ("1e-9", "1e-10", "3.3e-7"), ("loglinear", "marginals")))


@pytest.mark.parametrize(("shared", "delta", "kind"), spread(DELTAS, least=6))
def test_a_delta_is_that_of_the_whole_release_and_all_of_it_is_used(
    tmp_path: Path, shared: str, delta: str, kind: str
) -> None:
    learner = {"kind": kind, "noise": "gaussian", "parameters": {"epsilon": 1, "delta": float(delta)}}
    split = {"shared": float(shared), "holdout": 0.2}
    cost = accounts(tmp_path, split=split, learner=learner, synthesis=SEEDLESS)
    assert cost.total is not None
    assert float(delta) * (1 - 1e-8) <= cost.total.delta <= float(delta)
    assert cost.parameters.delta > cost.total.delta


def test_deltas_of_steps_that_read_the_same_rows_add_up_to_that_of_the_release(tmp_path: Path) -> None:
    learner = SPEC["learner"] | {"noise": "gaussian"}
    cost = accounts(tmp_path, split=SHARED, learner=learner, synthesis=HISTOGRAM | {"delta": 1e-6})
    assert cost.total is not None
    assert cost.histogram is not None
    spent = 2e-6 + 0.8 * cost.histogram.delta
    assert spent * (1 - 1e-8) <= cost.total.delta <= spent * (1 + 1e-15) <= 3e-6


def test_of_steps_that_read_parts_of_their_own_the_largest_delta_is_that_of_the_release(tmp_path: Path) -> None:
    learner = SPEC["learner"] | {"noise": "gaussian"}
    cost = accounts(tmp_path, learner=learner, synthesis=SEEDLESS)
    assert cost.total is not None
    assert 1e-6 * (1 - 1e-8) <= cost.total.delta <= 1e-6
    with_seeds = accounts(tmp_path, learner=learner, synthesis=HISTOGRAM | {"delta": 1e-9})
    assert with_seeds.total is not None
    assert 1e-6 * (1 - 1e-8) <= with_seeds.total.delta <= 1e-6


def test_records_without_seeds_cost_no_more_than_the_model(tmp_path: Path) -> None:
    cost = accounts(tmp_path, synthesis=SEEDLESS)
    assert cost.total == cost.model
    assert cost.candidates is cost.histogram is cost.record is None


def test_the_number_of_records_changes_the_price_of_tested_seeds_only(tmp_path: Path) -> None:
    def total(synthesis: dict[str, Any], records: int) -> float:
        more = {"candidates": 2 * records} if "candidates" in synthesis else {}
        cost = accounts(tmp_path, synthesis=synthesis | {"records": records} | more).total
        assert cost is not None
        return cost.epsilon

    assert total(HISTOGRAM, 100) == total(HISTOGRAM, 1_000_000)
    assert total(SEEDLESS, 100) == total(SEEDLESS, 1_000_000)
    assert total(SPEC["synthesis"], 100) < total(SPEC["synthesis"], 1_000)


def test_privacy_test_one_has_no_total(tmp_path: Path) -> None:
    cost = accounts(tmp_path, synthesis=SPEC["synthesis"] | {"test": 1, "accept_no_differential_privacy": True})
    assert cost.total is cost.candidates is cost.record is None
    assert cost.model.epsilon < 2
