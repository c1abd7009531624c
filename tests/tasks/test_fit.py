import stat
from pathlib import Path

import pytest

from schemas.spec.release_spec import load_spec
from tasks.data.fit import Fit, fit_of, write_examples
from tests.tasks.hand_made import INVALID, MISSING, OUT_OF_SCOPE, UNREADABLE, VALID, write_people

ALL = [*VALID, *MISSING, *OUT_OF_SCOPE, *INVALID, *UNREADABLE]


def fit(tmp_path: Path, suffix: str = ".csv") -> Fit:
    return fit_of(load_spec(write_people(tmp_path, ALL, suffix=suffix)), tmp_path / "cache", tmp_path / "vault")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_what_does_not_fit_is_counted_by_column_and_finding(tmp_path: Path, suffix: str) -> None:
    found = fit(tmp_path, suffix)
    assert (found.rows, found.valid, found.out_of_universe) == (10, 2, 1)
    assert found.by_finding == {
        "sex": {"missing": 1, "out of domain": 1},
        "job": {"missing": 1, "out of domain": 1},
        "rich": {"missing": 1, "not a number": 1},
        "age": {"out of range": 1, "not a number": 1},
    }


def test_rows_that_one_column_alone_costs_are_counted(tmp_path: Path) -> None:
    # Ivy is of no known sex and too old.
    assert fit(tmp_path).lost_by == {"sex": 1, "job": 2, "rich": 2, "age": 1}


def test_values_that_do_not_fit_go_to_the_vault_alone(tmp_path: Path) -> None:
    place = write_examples(fit(tmp_path), tmp_path / "vault", "people")
    assert place == tmp_path / "vault" / "checks" / "people.csv"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    lines = place.read_text().splitlines()
    assert lines[0] == "column,finding,value,rows"
    assert "job,out of domain,pilot,1" in lines
    assert "age,not a number,old,1" in lines
