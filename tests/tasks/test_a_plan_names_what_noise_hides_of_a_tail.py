"""A plan says from which mean on the noise of one count in the tail of a number is less than a tenth of it."""

from pathlib import Path

import pytest

from flows.cli.planning import show_plan
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
