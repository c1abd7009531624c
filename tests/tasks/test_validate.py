import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pandera import config

from deniable.foundation.errors import InvalidInput, Refused
from deniable.record.exact_stops import LEFT_OUT, of_a_person
from flows.cli import running
from stores.tables.tables import VALID as MARK
from stores.tables.tables import malformed_rows
from stores.vault.exact_counts import RefusedByCounts
from tasks.data.clean import clean
from tasks.data.ingest import ingest
from tasks.data.validate import Findings, examine, validate
from tests.small_release import QUICK, SPEC, write_small_release
from tests.tasks.hand_made import INVALID, MISSING, OUT_OF_SCOPE, UNREADABLE, VALID, workspace_of, write_people

ALL = [*VALID, *MISSING, *OUT_OF_SCOPE, *INVALID, *UNREADABLE]


def checked(spec: Path) -> pd.DataFrame:
    """The rows of a spec's table, recoded and marked."""
    with workspace_of(spec) as workspace:
        return pd.read_parquet(validate(workspace, ingest(workspace)).path)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_rows_are_recoded_and_marked_valid_or_not(tmp_path: Path, suffix: str) -> None:
    rows = checked(write_people(tmp_path, ALL, suffix=suffix))
    assert rows[MARK].tolist() == [True] * 2 + [False] * 8
    assert rows[rows[MARK]].drop(columns=MARK).to_dict("list") == {
        "age": [30.0, 40.0],
        "sex": [1.0, 2.0],
        "job": ["clerk", "nurse"],
        "rich": [0.0, 1.0],
    }


def findings(spec: Path) -> dict[str, Any]:
    """The report of a spec's table."""
    found = Findings()
    with workspace_of(spec) as workspace:
        for start in range(0, 100, 4):
            frame = pd.read_parquet(ingest(workspace).path)[start : start + 4].reset_index(drop=True)
            if frame.empty:
                break
            examine(workspace.spec.schema, frame, found)
    return found.report()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_failures_are_counted_by_column_and_check_over_all_chunks(tmp_path: Path, suffix: str) -> None:
    assert findings(write_people(tmp_path, ALL, suffix=suffix)) == {
        "rows": 10,
        "valid": 2,
        "out_of_universe": 1,
        "missing": 3,
        "invalid": 4,
        "malformed": 0,
        "empty": 0,
        "missing_cells": {"job": 1, "sex": 1, "rich": 1},
        "invalid_cells": {
            "job isin": 1,
            "age in_range": 2,
            "sex isin": 1,
            "age number": 1,
            "rich number": 1,
            "rich isin": 1,
        },
    }


def test_a_report_has_no_value_of_a_record(tmp_path: Path) -> None:
    said = json.dumps(findings(write_people(tmp_path, ALL)))
    assert not [value for value in ("pilot", "120", "much", "old", "Hal") if value in said]


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"max_invalid_share": 0.44}, "at most 44.000% of the rows in scope may be invalid, got more;"),
        (
            {"max_invalid_share": 0.45, "max_dropped_share": 0.77},
            "at most 77.000% of the rows in scope may be left out",
        ),
    ],
)
def test_too_many_rows_left_out_stop_the_release_and_their_counts_stay_in_the_vault(
    tmp_path: Path, limits: dict[str, float], said: str
) -> None:
    spec = write_people(tmp_path, ALL, **limits)
    with workspace_of(spec) as workspace, pytest.raises(RefusedByCounts) as caught:
        validate(workspace, ingest(workspace))
    assert said in str(caught.value)
    assert not [name for name in ("age", "sex", "job", "44.444", "77.778", "pilot") if name in caught.value.sentence]
    counts = caught.value.counts().splitlines()
    assert counts[0].startswith(
        "7 of 9 rows in scope (77.778%) are left out: 3 lack a value, 4 have an invalid one, 0 have too few or too many"
    )
    assert "invalid, age in_range: 2" in counts
    assert "missing, job: 1" in counts
    assert "pilot" not in caught.value.counts()
    assert caught.value.details.is_relative_to(workspace.vault)
    assert caught.value.details.stat().st_mode & 0o777 == 0o600
    assert not (workspace.vault / "checked.parquet").exists()
    assert caught.value.__cause__ is None
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - made here, as a cluster sends it
    assert (str(again), again.counts()) == (str(caught.value), caught.value.counts())


def test_as_many_rows_left_out_as_are_allowed_pass(tmp_path: Path) -> None:
    assert len(checked(write_people(tmp_path, ALL, max_invalid_share=1, max_dropped_share="7/9"))) == 10


def test_the_command_shows_the_counts_to_whoever_may_read_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with workspace_of(write_people(tmp_path, ALL, max_dropped_share=0)) as workspace, pytest.raises(Refused) as caught:
        validate(workspace, ingest(workspace))
    running._tell_counts(caught.value)
    assert capsys.readouterr().err.startswith(
        "Internal, for cleared staff:\n7 of 9 rows in scope (77.778%) are left out"
    )
    caught.value.details.unlink()
    running._tell_counts(caught.value)
    running._tell_counts(Refused("no counts."))
    assert capsys.readouterr().err == ""


def test_a_share_of_invalid_rows_that_is_allowed_passes(tmp_path: Path) -> None:
    assert len(checked(write_people(tmp_path, ALL, max_invalid_share="4/9"))) == 10


def test_rows_out_of_scope_and_missing_values_are_no_mistakes(tmp_path: Path) -> None:
    assert checked(write_people(tmp_path, VALID + MISSING + OUT_OF_SCOPE, max_invalid_share=0))[MARK].sum() == 2


def test_rows_that_are_no_rows_are_mistakes(tmp_path: Path) -> None:
    spec = write_people(tmp_path, VALID, text="10,Kim,nurse\n", max_invalid_share=0.3)
    with workspace_of(spec) as workspace, pytest.raises(RefusedByCounts) as caught:
        validate(workspace, ingest(workspace))
    assert "1 have too few or too many fields" in caught.value.counts()


def test_a_table_out_of_scope_has_nothing_invalid(tmp_path: Path) -> None:
    assert not checked(write_people(tmp_path, OUT_OF_SCOPE * 4, max_invalid_share=0))[MARK].any()


@pytest.mark.parametrize(
    ("variable", "value"), [("PANDERA_VALIDATION_ENABLED", "False"), ("PANDERA_VALIDATION_DEPTH", "SCHEMA_ONLY")]
)
def test_the_environment_cannot_switch_validation_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    config.reset_config_context(config._config_from_env_vars())
    try:
        assert checked(write_people(tmp_path, ALL))[MARK].sum() == 2
    finally:
        config.reset_config_context()


def test_a_recoding_that_forgets_a_column_is_refused(tmp_path: Path) -> None:
    spec = write_people(tmp_path, VALID)
    dataset = tmp_path / "hand_made.py"
    dataset.write_text(dataset.read_text().replace("person.assign(rich=", "person.assign(poor="))
    with workspace_of(spec) as workspace, pytest.raises(InvalidInput, match="must fit the source"):
        validate(workspace, ingest(workspace))


def test_a_check_of_a_whole_column_is_refused(tmp_path: Path) -> None:
    spec = write_people(tmp_path, VALID)
    dataset = tmp_path / "hand_made.py"
    dataset.write_text(
        f"{dataset.read_text()}\n"
        "from pandera.pandas import Check\n"
        "schema.columns['age'].checks.append(Check(lambda column: bool(column.mean() < 3), name='young'))\n"
    )
    with workspace_of(spec) as workspace, pytest.raises(InvalidInput, match="young of age does not"):
        validate(workspace, ingest(workspace))


def test_a_check_that_fails_to_run_is_refused_without_its_message(tmp_path: Path) -> None:
    spec = write_people(tmp_path, VALID)
    dataset = tmp_path / "hand_made.py"
    dataset.write_text(
        f"{dataset.read_text()}\n"
        "from pandera.pandas import Check\n"
        "schema.columns['job'].checks.append(Check(lambda column: column.astype(int) > 3, name='many'))\n"
    )
    with workspace_of(spec) as workspace, pytest.raises(InvalidInput, match="many of job does not") as caught:
        validate(workspace, ingest(workspace))
    assert "clerk" not in str(caught.value)


def test_no_column_is_worse_for_being_wrong_altogether(tmp_path: Path) -> None:
    found = Findings()
    with workspace_of(write_people(tmp_path, VALID)) as workspace:
        frame = pd.DataFrame({"age": ["x"] * 1000, "sex": np.ones(1000), "job": "clerk", "wage": 1})
        examine(workspace.spec.schema, frame, found)
    assert (found.invalid, found.out_of_universe) == (1000, 0)


OF_EVERY_REASON = """
import pandas as pd

from schemas.rules import impossible
from schemas.table import nominal, numeric, table


def grown_up(person: pd.DataFrame) -> pd.Series:
    '''Persons of 18 or more.'''
    return person["age"] >= 18


schema = table(
    {"age": numeric(0, 99, width=10), "sex": nominal(["f", "m"], missing=["?"])},
    description="Made-up people.",
    target="sex",
    universe=grown_up,
    person="id",
    reads={"age": int, "sex": str, "id": str},
    rules=[impossible({"age": range(90, 100), "sex": ["m"]}, source="page 1")],
)
"""
ROWS_BY_REASON: dict[str, list[list[str]]] = {
    "out_of_universe": [["a", "17", "f"]],
    "missing": [["b", "30", "?"], ["c", "30", ""]],
    "invalid": [["d", "30", "x"], ["e", "120", "f"]],
    "broken_rule": [["f", "95", "m"]],
    "malformed": [["g", "30", "f", "f"]],
}
OF_PEOPLE = [["", "30", "f"], ["h", "40", "f"], ["h", "41", "f"]]


def test_every_row_that_is_left_out_has_a_stated_reason_and_every_reason_leaves_rows_out(tmp_path: Path) -> None:
    good, bad = [["y", "30", "f"], ["z", "95", "f"]], [row for rows in ROWS_BY_REASON.values() for row in rows]
    asked = {"quasi_identifiers": ["age"], "sensitive": ["sex"], "known": ["age"]}
    spec = write_small_release(
        tmp_path / "spec",
        people=[*good, *bad, *OF_PEOPLE],
        names=["id", "age", "sex"],
        schema=OF_EVERY_REASON,
        **QUICK,
        max_invalid_share=1,
        evaluation={**SPEC["evaluation"], **asked},
    )
    assert set(ROWS_BY_REASON) == {reason.name for reason in LEFT_OUT}
    with workspace_of(spec) as workspace:
        snapshot = ingest(workspace)
        marked = validate(workspace, snapshot)
        assert malformed_rows(snapshot.path) == len(ROWS_BY_REASON["malformed"])
        marks = pd.read_parquet(marked.path)[MARK].tolist()
        bad_marks = [False] * (len(bad) - len(ROWS_BY_REASON["malformed"]))
        assert marks == [True, True, *bad_marks, False, True, True]
        assert clean(workspace, marked).rows == 3, "one of two rows of a person, and none without an identifier"
    assert of_a_person({"column": "id", "most_records": 1}).startswith("rows without id, and of the other rows")
