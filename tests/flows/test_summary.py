"""The summary at a release's end states the number of records out of those requested, and paths that can be copied."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from flows.cli.making import print_summary
from flows.released import Released
from schemas.references import Audience, Reference
from schemas.spec.evaluation import EvaluationFigures
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from stores.ledger.charging import open_ledger, policy_of
from stores.vault.workspace import Workspace
from tests.small_release import write_small_release

FOUND = EvaluationFigures(figures={}, series={}, verdicts=())
PLACE = "people of the [bold]town and of the country beyond it, whatever they are called"


def summary(folder: Path, *, records: int = 400, width: int = 80) -> str:
    """What is printed of a small release of 400 records wanted."""
    spec = load_spec(write_small_release(folder / "spec", people=[]))
    workspace = Workspace(state=folder / PLACE, release_id="small-1", spec=spec, mlflow_run_id="none")
    workspace.state.mkdir()
    assert spec.budget is not None
    open_ledger(workspace).set_policy(policy_of(spec, spec.budget))
    paper = io.StringIO()
    released = Released(
        workspace=workspace,
        published=_reference("synthetic.parquet", Audience.PUBLIC, records),
        passed=records,
        utility=FOUND,
        risk=FOUND,
        verdicts=(),
        accounts=plan_release(spec).accounts,
        report=_reference(str(workspace.shelf / "report.html"), Audience.INTERNAL),
        record=_reference(str(workspace.shelf / "record.dsse.json"), Audience.INTERNAL),
    )
    print_summary(released, Console(file=paper, width=width, highlight=False))
    return paper.getvalue()


def _reference(path: str, audience: Audience, rows: int | None = None) -> Reference:
    return Reference(name="made", path=Path(path), digest="0" * 64, rows=rows, audience=audience)


def test_the_records_wanted_are_named_where_fewer_passed(tmp_path: Path) -> None:
    assert "353 of 400 records requested" in summary(tmp_path, records=353)


def test_the_records_wanted_are_not_named_where_there_are_as_many(tmp_path: Path) -> None:
    said = summary(tmp_path)
    assert "400 records" in said
    assert "records requested" not in said


@pytest.mark.parametrize("width", [30, 80, 400])
def test_paths_stand_in_one_line_however_narrow_the_terminal(tmp_path: Path, width: int) -> None:
    lines = summary(tmp_path, width=width).splitlines()
    state = tmp_path / PLACE
    assert f"public         {state}/releases/small-1" in lines
    assert f"internal       {state}/shelf/small-1/report.html" in lines
    verify = f"deniable audit verify '{state}/releases/small-1' --keys '{state}/keys/trusted.json'"
    assert f"to verify it   {verify}" in lines
    assert f"to view it     deniable servers ui --state '{state}'" in lines
