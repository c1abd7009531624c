"""`import deniable`: a data frame becomes a release whose cost is known before, and which others can check and ask."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import deniable

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = {
    "sex": ["Female", "Male"],
    "age": deniable.Numeric(0, 99, width=10),
    "work": deniable.Ordered(["none", "part", "full"], missing="unknown"),
    "member": [True, False],
}
SCHEMA = deniable.Schema(COLUMNS)


def people(rows: int = 4000) -> dict[str, list[object]]:
    """A table without chance."""
    work = ["none", "part", "full", None]
    return {
        "sex": [("Female", "Male")[i % 2] for i in range(rows)],
        "age": [(7 * i) % 100 for i in range(rows)],
        "work": [work[(i // 3) % 4] for i in range(rows)],
        "member": [i % 5 == 0 for i in range(rows)],
        "name": [f"secret-{i}" for i in range(rows)],
    }


@pytest.fixture(scope="module")
def release() -> deniable.Release:
    return deniable.Synthesizer(SCHEMA, epsilon=8).fit(people())


@pytest.fixture
def folder(release: deniable.Release, tmp_path: Path) -> Path:
    release.save(tmp_path / "people", 500)
    return tmp_path / "people"


def test_every_frame_has_the_same_codes() -> None:
    from deniable.library.frames import codes_of_frame  # noqa: PLC0415 - not public

    table = people(40)
    frames = [table, pd.DataFrame(table), pa.table(table), {name: np.asarray(own) for name, own in table.items()}]
    first, *others = [codes_of_frame(frame, SCHEMA.domain).tolist() for frame in frames]
    assert first[3] == [1, 2, 1, 0]
    assert all(other == first for other in others)
    assert first[9][2] == SCHEMA.domain.attributes[2].written.index("")


@pytest.mark.slow
def test_the_cost_is_known_before_the_data_and_is_of_each_fit() -> None:
    synthesizer = deniable.Synthesizer(SCHEMA, epsilon=1, delta=1e-9, learner="marginals")
    assert 0.99 < synthesizer.plan.epsilon <= 1
    assert synthesizer.plan.delta <= 1e-9
    assert (synthesizer.fits, synthesizer.spent.epsilon) == (0, 0)
    first = synthesizer.fit(people())
    with pytest.raises(deniable.AlreadySpent, match="again=True"):
        synthesizer.fit(people())
    second = synthesizer.fit(people(), again=True)
    assert dict(first._learnt) != dict(second._learnt), "each fit has noise of its own"
    assert (synthesizer.fits, synthesizer.spent.epsilon) == (2, 2 * synthesizer.plan.epsilon)


def test_a_table_that_does_not_fit_the_schema_costs_nothing_and_is_not_quoted() -> None:
    synthesizer = deniable.Synthesizer(SCHEMA, epsilon=1, learner="marginals")
    table = people()
    table["sex"][17] = "Hidden"
    with pytest.raises(deniable.InvalidInput, match=r"sex have others or none") as refused:
        synthesizer.fit(table)
    assert "Hidden" not in str(refused.value)
    assert "17" not in str(refused.value)
    del table["age"]
    with pytest.raises(deniable.InvalidInput, match="lacks age"):
        synthesizer.fit(table)
    with pytest.raises(deniable.InvalidInput, match="data frame"):
        synthesizer.fit(7)
    assert synthesizer.fits == 0


def test_rows_outside_the_schema_can_be_left_out() -> None:
    from deniable.library.frames import codes_of_frame  # noqa: PLC0415 - not public

    table = people()
    table["sex"][:5] = ["Hidden"] * 5
    others = codes_of_frame(people(), SCHEMA.domain)[5:]
    np.testing.assert_array_equal(codes_of_frame(table, SCHEMA.domain, drop_invalid=True), others)
    deniable.Synthesizer(SCHEMA, epsilon=1, learner="marginals").fit(table, drop_invalid=True)


@pytest.mark.slow
def test_records_have_the_values_of_the_schema(release: deniable.Release) -> None:
    records = release.sample(300)
    frame = pd.DataFrame(dict(records))
    assert (frame.shape, records.rows) == ((300, 4), 300)
    assert set(frame["sex"]) <= {"Female", "Male"}
    assert set(frame["work"].dropna()) <= {"none", "part", "full"}
    assert frame["work"].isna().any()
    assert frame["age"].between(0, 99).all()
    assert frame["age"].nunique() > 10, "numbers are from within bins"
    assert pa.table(records).column_names == list(COLUMNS)
    assert records.csv_text != release.sample(300).csv_text


@pytest.mark.slow
def test_a_saved_release_verifies_and_answers(release: deniable.Release, folder: Path) -> None:
    report = deniable.verify(folder)
    assert report.holds, report.lines
    assert "nothing is signed" in report.lines[0]
    opened = deniable.open_release(folder)
    answer = opened.infer.share("work=full", given={"sex": "Female"}, level=0.9)
    assert answer.interval is not None
    # A third of the women; the standard deviation of the noise is a thousandth.
    assert abs(answer.estimate - 1 / 3) < 0.05
    assert opened.infer.notes
    assert answer.interval == release.infer.share("work=full", given="sex=Female", level=0.9).interval
    assert len(opened.infer.table("sex", "work").answers) == 8
    assert opened.schema.document == SCHEMA.document == deniable.Schema.read(folder / "schema.json").document
    said = (folder / "PRIVACY.md").read_text(encoding="utf-8")
    assert "nothing is signed" in said
    assert not any("secret-" in path.read_text(encoding="utf-8") for path in folder.iterdir())


@pytest.mark.parametrize("name", ["synthetic.csv", "measured.json", "privacy.json", "schema.json", "consistent.json"])
def test_an_altered_file_is_found(folder: Path, name: str) -> None:
    path = folder / name
    path.write_text(path.read_text(encoding="utf-8").replace("1", "2", 1), encoding="utf-8")
    assert not deniable.verify(folder).holds


def test_a_lower_stated_cost_is_found_even_with_the_right_digests(folder: Path) -> None:
    path = folder / "release.json"
    said = json.loads(path.read_text(encoding="utf-8"))
    said["cost"]["total"]["epsilon"] = 1.0
    path.write_text(json.dumps(said), encoding="utf-8")
    report = deniable.verify(folder)
    assert not report.holds
    assert any("cost.total.epsilon" in line for line in report.lines)


def altered(place: str, value: object) -> Callable[[dict[str, Any]], object]:
    """Put a value at a place of the description, or take out what is there if it is None."""
    *outer, last = place.split(".")

    def alter(described: dict[str, Any]) -> None:
        for part in outer:
            described = described[part]
        described[last] = value
        if value is None:
            del described[last]

    return alter


@pytest.mark.parametrize(
    ("place", "value", "check"),
    [
        ("format", "another", "release.json describes a release"),
        ("cost", None, "release.json describes a release"),
        ("spec.digest", "0" * 64, "spec, domain and number of records agree"),
        ("cost.steps", None, "the stated costs follow from the events"),
    ],
)
def test_each_check_of_a_description_fails_by_name(folder: Path, place: str, value: object, check: str) -> None:
    path = folder / "release.json"
    described = json.loads(path.read_text(encoding="utf-8"))
    altered(place, value)(described)
    path.write_text(json.dumps(described), encoding="utf-8")
    failed = [line for line in deniable.verify(folder).lines if check in line]
    assert failed
    assert not failed[0].startswith("ok"), failed


def test_a_release_is_saved_to_a_new_folder_alone(release: deniable.Release, folder: Path) -> None:
    with pytest.raises(deniable.InvalidInput, match="exists already"):
        release.save(folder, 10)
    with pytest.raises(deniable.InvalidInput, match="writable"):
        release.save(folder / "no" / "such", 10)
    assert [path.name for path in folder.parent.iterdir()] == ["people"]
    with pytest.raises(deniable.InvalidInput, match="readable folder"):
        deniable.verify(folder / "none")
    with pytest.raises(deniable.Refused, match="signed"):
        deniable.verify(folder, keys=folder / "keys.json")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"learner": "magic"}, "magic is none"),
        ({"learner": "pegs"}, "release flow"),
        ({"learner": "cfs"}, "leave epsilon out"),
        ({"epsilon": None}, "epsilon must be given"),
        ({"epsilon": -1}, "parameters.epsilon"),
        ({"learner": {"kind": "loglinear"}}, "epsilon must be left out"),
    ],
)
def test_a_synthesizer_that_cannot_be_planned_is_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(deniable.InvalidInput, match=message):
        deniable.Synthesizer(SCHEMA, **{"epsilon": 1, **wrong})  # type: ignore[arg-type]


def test_the_public_names_are_those_of_the_types() -> None:
    stub = (ROOT / "deniable" / "__init__.pyi").read_text(encoding="utf-8")
    assert sorted(deniable.__all__) == sorted(dir(deniable))
    for name in deniable.__all__:
        assert f"import {name} as {name}\n" in stub
        assert getattr(deniable, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Ledger'"):
        deniable.Ledger  # noqa: B018


WITHOUT_LEARNING = """
import sys

class Only:
    def find_spec(self, name, path=None, target=None):
        wheel = {"deniable", "numpy", "cryptography", "_cffi_backend"}
        if name.partition(".")[0] not in wheel | set(sys.stdlib_module_names):
            raise ImportError(name)

sys.meta_path.insert(0, Only())
import deniable
assert "numpy" not in sys.modules
assert deniable.verify(sys.argv[1]).holds
print(deniable.open_release(sys.argv[1]).infer.count("sex=Male").grade)
try:
    deniable.Synthesizer
except ImportError as error:
    print(error)
"""


@pytest.mark.slow
def test_verification_and_questions_need_numpy_and_cryptography_alone(folder: Path) -> None:
    command = [sys.executable, "-c", WITHOUT_LEARNING, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    grade, missing = done.stdout.splitlines()
    assert grade == "measured"
    assert "pip install 'deniable[learn]'" in missing
