"""A codebook of 80 variables in AHRQ's codebook form becomes a schema that a table fits, and a release that is "
"planned."""

from pathlib import Path

import pytest

from deniable.cli.dispatch import main
from schemas.spec.release_spec import load_spec
from tests.meps_codebook import VARIABLES, codebook_text, write_people


def test_eighty_variables_of_a_codebook_of_ahrq_are_drafted_checked_and_planned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "meps.txt").write_text(codebook_text())
    write_people(tmp_path / "people.csv", 2_000)
    state = ("--state", str(tmp_path / "state"))
    status = main(["table", "draft", "meps.txt", "--source", "people.csv", "--check-header", *state])
    said = capsys.readouterr().out
    assert status == 0
    assert "meps.py: 80 columns (56 nominal, 24 numeric)" in said
    assert "80 of 80 are in it" in said
    assert "never read: 2 columns of the table" in said
    spec = load_spec(tmp_path / "meps.yaml")
    assert spec.domain.names == tuple(variable.name for variable in VARIABLES)
    assert len((tmp_path / "meps.yaml").read_text().splitlines()) <= 10
    assert main(["table", "check", "meps.yaml", *state]) == 0
    assert "All 80 columns fit in every row" in capsys.readouterr().out
    assert main(["release", "plan", "meps.yaml", *state]) == 0
    assert "The budget allows this release." in capsys.readouterr().out
