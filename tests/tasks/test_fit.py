import stat
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from schemas.spec.release_spec import load_spec
from tasks.data.fit import Fit, fit_of, forget_examples, write_examples
from tests.tasks.hand_made import INVALID, MISSING, OUT_OF_SCOPE, UNREADABLE, VALID, write_people

ALL = [*VALID, *MISSING, *OUT_OF_SCOPE, *INVALID, *UNREADABLE]


def fit(tmp_path: Path, suffix: str = ".csv") -> Fit:
    return fit_of(load_spec(write_people(tmp_path, ALL, suffix=suffix)), tmp_path)


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


def test_a_code_without_a_group_is_out_of_the_domain_and_not_no_number(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text(
        "from schemas.table import nominal, table\n"
        "schema = table({'site': nominal([1, 2], by={'a': 1, 'b': 2}), 'n': nominal([1, 2])})\n"
    )
    (tmp_path / "t.csv").write_text("site,n\na,1\nc,x\nb,2\n")
    (tmp_path / "t.yaml").write_text("name: t\ndataset: t.py\nsource: t.csv\nepsilon: 1\n")
    found = fit_of(load_spec(tmp_path / "t.yaml"), tmp_path)
    assert found.by_finding == {"site": {"out of domain": 1}, "n": {"not a number": 1}}
    assert found.examples["site", "out of domain"] == {"c": 1}
    assert found.valid == 2
    assert +found.lost_by == {}, "neither column alone costs the row"


def test_what_an_earlier_check_left_is_removed(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    place = write_examples(fit(tmp_path), vault, "people")
    forget_examples(vault, "another")
    assert place.exists()
    forget_examples(vault, "people")
    assert not place.exists()
    forget_examples(vault, "people")


def test_a_large_code_is_the_same_beside_nulls(tmp_path: Path) -> None:
    code = 2**53 + 1
    (tmp_path / "t.py").write_text(
        "from schemas.table import nominal, numeric, table\n"
        f"schema = table({{'code': nominal(['{code}', '7'], missing_as='none'), 'n': numeric(0, 9, missing_as=-1)}})\n"
    )
    pq.write_table(pa.table({"code": [code, None, 7], "n": [1, None, 2]}), tmp_path / "t.parquet")
    (tmp_path / "t.yaml").write_text("name: t\ndataset: t.py\nsource: t.parquet\nepsilon: 1\n")
    found = fit_of(load_spec(tmp_path / "t.yaml"), tmp_path)
    assert (found.rows, found.valid) == (3, 3)
