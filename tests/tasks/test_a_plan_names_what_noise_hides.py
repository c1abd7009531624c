"""A plan says what noise hides: tails of numbers, and analyses that it makes hopeless."""

from pathlib import Path

import pytest

from flows.cli.planning import show_plan
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from tests.small_release import QUICK, SCHEMA, write_small_release

WAGES = SCHEMA.replace('"school":', '"wage": numeric(0, 99_900, step=100),\n        "school":')


def planned(folder: Path, capsys: pytest.CaptureFixture[str], records: int) -> str:
    learner = {"kind": "loglinear", "noise": "gaussian", "parameters": {"epsilon": 1, "delta": 1e-6}}
    changes = {**QUICK, "learner": learner, "synthesis__records": records, "synthesis__chunk_candidates": records}
    show_plan(load_spec(write_small_release(folder / "spec", people=[], schema=WAGES, **changes)), folder / "state")
    return " ".join(capsys.readouterr().out.split())


def test_a_plan_names_the_tail_and_warns_where_its_noise_may_be_more_than_a_tenth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = planned(tmp_path / "few", capsys, 400)
    assert "tail wage: one count beyond 51,200 has noise of about" in few
    assert "so that of 400 records a mean below 17,000 may be off by more than 10 %" in few
    assert "caution noise in the tail of wage may be more than 10 % of the mean" in few
    assert "tail age" not in few
    many = planned(tmp_path / "many", capsys, 10_000_000)
    assert "so that of 10,000,000 records a mean below" in many
    assert "caution noise in the tail" not in many


def test_a_plan_warns_where_noise_alone_makes_a_declared_analysis_hopeless(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Records learnt from 814 rows by 66 columns had a correlation of -.09 where real people have .92."""
    columns = ", ".join(f'"c{i}": numeric(0, 9)' for i in range(66))
    schema = f"from schemas.table import numeric, table\nschema = table({{{columns}}}, description='x', target='c0')\n"
    evaluation = {"classifiers": ["tree"], "analyses": [{"regress": "c1 ~ c2"}], "quasi_identifiers": ["c1"]}
    evaluation |= {"train_rows": 400, "sensitive": ["c3"], "known": ["c1"]}
    learner = {"kind": "loglinear", "noise": "gaussian", "parameters": {"epsilon": 1, "delta": 1e-6}}
    told = {}
    for records in (814, 100_000):
        changes = {**QUICK, "learner": learner, "synthesis__records": records, "evaluation": evaluation}
        path = write_small_release(tmp_path / f"{records}", people=[], schema=schema, **changes)
        [plan] = [step for step in plan_release(load_spec(path)).steps if step.pair_noise is not None]
        assert plan.pair_noise is not None
        show_plan(load_spec(path), tmp_path / "state")
        told[records] = " ".join(capsys.readouterr().out.split())
        # No correlation of two halves is known better than by four cells of such noise.
        assert (2 * plan.pair_noise / records > 0.15) == ("these are lost" in told[records])
    assert "and these are lost: regression of c1 on c2; raise epsilon" in told[814]
    assert "so that of 814 records any correlation is off by" in told[814]
    assert "these are lost" not in told[100_000]
