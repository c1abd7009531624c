"""`make bench-wide`: rules that nobody declared, independent attributes beside the learner, and what is kept."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.development_tables import _coded
from benchmarks.utility import Budget, Half
from benchmarks.wide_tables import Scored, _alone, _page, append, independent, read_kept
from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.noise import DiscreteGaussian, DiscreteLaplace
from deniable.learners.loglinear.plan import LoglinearRecipe

SIZES = {"a": 4, "b": 2, "c": 30}
DOMAIN = Domain(
    tuple(Attribute(name, tuple(range(size)), "nominal", tuple(range(size))) for name, size in SIZES.items()),
    target="b",
)


def halves(rows: int = 4000) -> Half:
    """A half in which `b` is 1 only where `a` is 3, and `c` is anything; values of `a` are scored two by two."""
    draw = np.random.default_rng(list(b"wide tables"))
    a, c = draw.integers(4, size=rows), draw.integers(30, size=rows)
    people = pd.DataFrame({"a": a, "b": (a > 2) & (draw.random(rows) < 0.5), "c": c}).astype(int)
    meta = {"columns": {"a": {"size": 4, "eval_coarsen": 2}, "b": {"size": 2}, "c": {"size": 30}}}
    return Half(meta, DOMAIN, people, people)


def test_a_rule_that_nobody_declared_is_broken_by_records_that_have_what_never_met() -> None:
    half = halves()
    records = half.train.to_numpy().astype(np.uint16)
    assert Scored(half, None).rules_broken(records) == [0.0], "of three pairs one has a rule"
    broken = records.copy()
    broken[:40, :2] = [1, 1]
    broken[40:80, :2] = [2, 1]  # which is scored with 3
    assert Scored(half, None).rules_broken(broken) == [0.01]
    # Fewer than 20 would be expected to have both.
    few = Half(half.meta, DOMAIN, half.train[:70], half.holdout)
    assert Scored(few, None).rules_broken(broken) == []


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**9)])
def test_independent_attributes_divide_the_whole_budget(delta: Fraction) -> None:
    plan = LoglinearRecipe(Fraction(1), delta, "laplace" if delta == 0 else "gaussian").calibrate(DOMAIN)
    laws = [_alone(plan, shares) for shares in plan.layout.one_way_shares]
    if delta:
        rho = sum(1 / (2 * law.sigma_squared) for law in laws if isinstance(law, DiscreteGaussian))
        assert float(rho) == pytest.approx(plan.layout.rho_of(float(plan.amount)), rel=1e-6)
    else:
        assert sum(1 / law.scale for law in laws if isinstance(law, DiscreteLaplace)) == 1


def test_independent_attributes_have_the_values_of_the_half_and_no_dependence() -> None:
    half = halves()
    records, _ = independent(half, Budget(Fraction(50), Fraction(1, 10**9)), 1)
    real = half.train.to_numpy()
    assert records.shape == real.shape
    for i, size in enumerate(DOMAIN.cardinalities):
        one, other = (np.bincount(codes[:, i], minlength=size) / len(real) for codes in (records, real))
        assert np.abs(one - other).sum() / 2 < 0.01
    # An eighth of the people have b = 1, and half have a below 2.
    assert Scored(half, None).rules_broken(records) == pytest.approx([1 / 16], abs=0.02)


def test_a_table_is_coded_by_left_edges_and_halved(tmp_path: Path) -> None:
    table = pd.DataFrame({"n": ["-5", "0", "1.5", "3", "99"], "t": ["b", "a", "c", "?", "a"]})
    coded = _coded(table, {"n": (0, 2, 4), "t": None}, "t", {"n": 2})
    assert coded.rows.to_numpy().T.tolist() == [[0, 0, 0, 1, 2], [2, 1, 3, 0, 1]]
    coded.halved("table", tmp_path)
    half = Half.read(tmp_path, "table")
    assert half.domain.cardinalities == (3, 4)
    assert half.domain.target == "t"
    assert half.meta["columns"]["n"]["eval_coarsen"] == 2
    rows = [tuple(row) for part in (half.train, half.holdout) for row in part.to_numpy().tolist()]
    assert [len(half.train), len(half.holdout)] == [2, 2]
    assert len(set(rows)) == 4, "one row of five is in neither half, and none is in both"


def test_what_is_kept_is_of_one_version_of_the_learner(tmp_path: Path) -> None:
    path = tmp_path / "var" / "kept.jsonl"
    assert read_kept(path) == {}
    append(path, (4, "zip", "loglinear", "1", 2), {"tvd2": 0.25})
    append(path, (5, "zip", "loglinear", "1", 2), {"tvd2": 0.125})
    assert read_kept(path) == {
        (4, "zip", "loglinear", "1", 2): {"tvd2": 0.25},
        (5, "zip", "loglinear", "1", 2): {"tvd2": 0.125},
    }


def test_the_page_says_which_goals_are_reached() -> None:
    lines = _page("meps", [{"tvd2": 0.04, "disc_acc": 0.74}, {"tvd2": 0.05, "disc_acc": 0.76}]).splitlines()
    assert lines[2:] == [
        "| pairs | 0.0450 | 0.0071 | 0.048, reached |",
        "| told apart | 0.7500 | 0.0141 | 0.72, missed |",
    ]
