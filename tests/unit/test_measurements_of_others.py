"""Noisy tables that others published become measurements, estimates, a model and records, or are refused."""

import copy
import csv
import io
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.cli.dispatch import main
from deniable.cli.files import HOLDS, UNREADABLE
from deniable.data_user import read_release
from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from deniable.from_measurements import MadeOfOthers, made_of_others
from deniable.inference.estimation import Inference
from deniable.measurements.document import Measurements
from deniable.measurements.estimates import check_consistent
from deniable.measurements.from_others import measurements_of_others
from tests.conftest import ROOT
from tests.published import InMemory

EXAMPLE = ROOT / "examples/noisy_marginals/village.json"
Document = dict[str, Any]


@pytest.fixture(scope="module")
def made() -> MadeOfOthers:
    return made_of_others(EXAMPLE.read_text(encoding="utf-8"), 20_000)


def document() -> Document:
    found: Document = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    return found


def test_the_folder_answers_questions_and_its_files_follow_from_the_tables(made: MadeOfOthers) -> None:
    files = {name: text.encode() for name, text in made.files.items()}
    found = read_release(InMemory(files))
    assert isinstance(found.inference, Inference)
    answer = found.inference.share("land=yes", "trade=farmer")
    assert answer.grade == "measured"
    assert answer.interval is not None
    assert answer.interval.low < 2145 / (2145 + 3368) < answer.interval.high
    described, measured, estimates = (
        json.loads(files[f"{name}.json"]) for name in ("schema", "measured", "consistent")
    )
    assert check_consistent(described, measured, estimates).faults == ()
    assert made.files["intervals.csv"].count("\n") > 30


def test_records_have_the_shares_of_the_tables_and_are_the_same_again(made: MadeOfOthers) -> None:
    rows = list(csv.DictReader(io.StringIO(made.files["synthetic.csv"])))
    assert len(rows) == 20_000
    for table in document()["tables"]:
        values = [
            [str(v) for own in document()["attributes"] if own["name"] == name for v in own["values"]]
            for name in table["attributes"]
        ]
        counts = np.zeros([len(each) for each in values])
        for row in rows:
            counts[tuple(own.index(row[name]) for own, name in zip(values, table["attributes"], strict=True))] += 1
        assert np.abs(counts / 20_000 - np.asarray(table["counts"]) / 20_015).max() < 0.01
    assert made_of_others(EXAMPLE.read_text(encoding="utf-8"), 20_000).files == made.files


def test_tables_are_read_in_any_order_of_attributes_by_values_and_by_buckets() -> None:
    asked = document()
    asked["attributes"][0]["buckets"] = [0, 0, 1, 1]
    turned = np.asarray(asked["tables"][2]["counts"]).T.tolist()
    asked["tables"][2] |= {"attributes": ["land", "trade"], "counts": turned}
    by_bucket = np.asarray(asked["tables"][3]["counts"]).reshape(2, 2, 2).sum(axis=1).tolist()
    asked["tables"][3] |= {"by_buckets": ["age"], "counts": by_bucket}
    asked["tables"].append(asked["tables"][0])
    found = measurements_of_others(asked)
    right = measurements_of_others(document())
    assert found.tables[2].attributes == right.tables[2].attributes == (2, 3)
    assert (found.tables[2].values == right.tables[2].values).all()
    assert len(found.tables) == 4
    assert found.tables[0].variance == pytest.approx(right.tables[0].variance / 2)
    assert found.tables[3].by_values == (3,)
    again = Measurements.from_document(found.domain, json.loads(json.dumps(found.document())))
    assert again.document() == found.document()
    made = made_of_others(json.dumps(asked), 1_000)
    assert made.cells < 28
    assert Domain.from_document(json.loads(made.files["schema.json"])).attributes == found.domain.attributes


def test_counts_with_decimals_are_rounded_and_their_noise_is_that_much_wider() -> None:
    asked = document()
    asked["tables"][0]["counts"] = [7097.4, 5958.5, 3987.0, 2973.6]
    table = measurements_of_others(asked).tables[0]
    assert table.releases[0].sums.tolist() == [7097, 5958, 3987, 2974]
    assert table.releases[0].noise.amount == 100 + Fraction(1, 12)


CHANGES: list[tuple[str, Callable[[Document], object]]] = [
    ("must have the format", lambda own: own.update(format="others/1")),
    ("no other entries", lambda own: own.update(more=1)),
    ("at least one table", lambda own: own.update(tables=[])),
    ("must be of attributes of the file", lambda own: own["tables"][0].update(attributes=["income"])),
    ("name each of its attributes once", lambda own: own["tables"][1].update(attributes=["age", "age"])),
    ("must have the shape", lambda own: own["tables"][0].update(counts=[1, 2, 3])),
    ("documented form", lambda own: own["tables"][0].update(counts=[[1], [2, 3]])),
    ("must be numbers", lambda own: own["tables"][0].update(counts=["a", "b", "c", "d"])),
    ("must state its law", lambda own: own["tables"][0].update(noise={"law": "laplace"})),
    ("law", lambda own: own["tables"][0].update(noise={"law": "cauchy", "scale": "1"})),
    ("fraction above 0", lambda own: own["tables"][0].update(noise={"law": "laplace", "scale": "0"})),
    (
        "must be whole numbers if their noise is laplace",
        lambda own: own["tables"][0].update(noise={"law": "laplace", "scale": "9"}, counts=[1.5, 2, 3, 4]),
    ),
    ("sampling must be", lambda own: own.update(sampling="quota")),
    ("documented form", lambda own: own["attributes"][0].pop("values")),
    ("distinct", lambda own: own["attributes"][0].update(values=["a", "a", "b", "c"])),
    ("name, kind, values", lambda own: own["attributes"][0].update(label="x")),
]


@pytest.mark.parametrize(("said", "change"), CHANGES)
def test_what_cannot_be_read_is_refused_in_a_sentence(said: str, change: Callable[[Document], object]) -> None:
    asked = copy.deepcopy(document())
    change(asked)
    with pytest.raises(InvalidInput, match=said):
        measurements_of_others(asked)


def test_the_command_writes_a_new_folder_and_refuses_an_old_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "village"
    assert main(["data", "from-measurements", str(EXAMPLE), str(out), "--records", "50"]) == HOLDS
    assert {path.name for path in out.iterdir()} >= {"synthetic.csv", "measured.json", "intervals.csv", "README.md"}
    assert main(["data", "from-measurements", str(EXAMPLE), str(out)]) == UNREADABLE
    assert "must be a new one" in capsys.readouterr().err
    assert main(["data", "infer", str(out), "mean", "age"]) == UNREADABLE
    for text, records, said in (
        ("{", "10", "must be JSON"),
        ('{"format": "others/1", "format": "others/2"}', "10", "must be unambiguous JSON"),
        ("[]", "10", "JSON object"),
        ("{}", "0", "number of records"),
    ):
        (tmp_path / "wrong.json").write_text(text)
        other = str(tmp_path / "other")
        assert (
            main(["data", "from-measurements", str(tmp_path / "wrong.json"), other, "--records", records]) == UNREADABLE
        )
        assert said in capsys.readouterr().err


def test_a_model_that_would_be_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.from_measurements.MOST_CELLS", 10)
    with pytest.raises(InvalidInput, match="at most 10 cells, got 28"):
        made_of_others(EXAMPLE.read_text(encoding="utf-8"), 10)
