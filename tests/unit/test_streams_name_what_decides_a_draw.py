"""Two draws that differ in anything that decides their law have streams of their own, even under the same key."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.keys import Parameter, ReleaseKey, WordStream
from deniable.learners.aim.plan import RoundsPlan
from deniable.learners.aim.queries import PrivateQueries
from deniable.learners.aim.workload import Workload
from deniable.learners.loglinear import learning
from deniable.learners.loglinear.estimation.counting import RowCounter
from deniable.learners.loglinear.mechanism import learn_network
from deniable.learners.loglinear.plan import LoglinearRecipe
from deniable.learners.mst.measuring import Queries
from deniable.learners.mst.plan import Layout, MstRecipe

DOMAIN = Domain(
    tuple(Attribute(f"a{i}", tuple(range(size)), "nominal", tuple(range(size))) for i, size in enumerate((2, 3, 4)))
)
BUDGET = (Fraction(1), Fraction(1, 10**6))


class Opened:
    """Opens streams, and notes what each was opened with."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, *, mechanism: str, parameters: dict[str, Parameter]) -> WordStream:
        self.seen.append((mechanism, dict(parameters)))
        return ReleaseKey(bytes(32)).stream(step="test", mechanism=mechanism, inputs="", parameters=parameters)


def test_queries_of_aim_name_turn_question_and_amounts() -> None:
    plan, opened = RoundsPlan.of(DOMAIN, Workload.of(DOMAIN, "pairs"), *BUDGET), Opened()
    queries = PrivateQueries(plan, opened)
    queries.measure((0, 2), np.full((2, 4), 3), plan.one_way_variance * 100)
    queries.choose([1, 2, 3], 7, Fraction(1, 1000))
    assert opened.seen == [
        (
            "counts",
            {
                "turn": 1,
                "attributes": ["a0", "a2"],
                "variance": plan.one_way_variance * 100,
                "domain": DOMAIN.digest,
            },
        ),
        (
            "choice",
            {
                "turn": 2,
                "candidates": 3,
                "epsilon": Fraction(1, 1000),
                "sensitivity": 7,
                "domain": DOMAIN.digest,
            },
        ),
    ]


def test_queries_of_mst_name_turn_question_buckets_and_amounts() -> None:
    plan, opened = MstRecipe(*BUDGET).calibrate(DOMAIN, Layout.of_tree(DOMAIN)), Opened()
    queries = Queries(plan, opened)
    queries.measure_one(1, np.full(3, 5))
    picked = queries.choose([4, 9], [(0, 1), (1, 2)])
    buckets = [np.array([0, 1, 1], np.uint16), np.array([0, 0, 1, 1], np.uint16)]
    queries.measure_several((1, 2), np.full((2, 2), 5), buckets, "tree")
    assert picked in {0, 1}
    assert opened.seen == [
        (
            "counts",
            {
                "turn": 1,
                "attributes": ["a1"],
                "buckets": [],
                "variance": plan.one_way_variance,
                "domain": DOMAIN.digest,
            },
        ),
        (
            "choice",
            {
                "turn": 2,
                "candidates": [["a0", "a1"], ["a1", "a2"]],
                "epsilon": plan.choice_epsilon,
                "domain": DOMAIN.digest,
            },
        ),
        (
            "counts",
            {
                "turn": 3,
                "attributes": ["a1", "a2"],
                "buckets": [[0, 1, 1], [0, 0, 1, 1]],
                "variance": plan.variance_of(0),
                "domain": DOMAIN.digest,
            },
        ),
    ]


def test_records_of_intermediate_models_have_words_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DRAFT_RECORDS", "OTHERS_RECORDS", "FINAL_RECORDS", "FEWEST_RECORDS"):
        monkeypatch.setattr(learning, name, 50)
    rows = np.random.default_rng(list(b"words")).integers(0, (2, 3, 4), size=(400, 3)).astype(np.uint16)
    opened, plan = Opened(), LoglinearRecipe(Fraction(10), Fraction(0)).calibrate(DOMAIN)
    learn_network(plan, RowCounter(lambda: [rows]), opened)
    words = [tuple(parameters.items()) for mechanism, parameters in opened.seen if mechanism == "population"]
    assert len(words) > 1
    assert len(set(words)) == len(words)
