import json
from pathlib import Path

import pytest

from stores.ledger import remembered_costs
from stores.ledger.remembered_costs import CostsOnDisk


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "costs.json"


def test_costs_are_kept_for_the_next_process(place: Path) -> None:
    CostsOnDisk(place)["asked"] = 1.25
    assert dict(CostsOnDisk(place)) == {"asked": 1.25}


def test_what_two_processes_keep_is_kept(place: Path) -> None:
    one, other = CostsOnDisk(place), CostsOnDisk(place)
    one["asked"] = 1.25
    other["asked too"] = 0.5
    assert dict(CostsOnDisk(place)) == {"asked": 1.25, "asked too": 0.5}


def test_costs_of_other_code_are_not_used(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    CostsOnDisk(place)["asked"] = 1.25
    monkeypatch.setattr(remembered_costs, "_made_by", lambda: "another version")
    assert dict(CostsOnDisk(place)) == {}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"costs": {}}', "\x00\xff"])
def test_a_file_that_is_none_is_begun_anew(place: Path, text: str) -> None:
    place.parent.mkdir()
    place.write_text(text, encoding="utf-8")
    kept = CostsOnDisk(place)
    assert dict(kept) == {}
    kept["asked"] = 1.25
    assert dict(CostsOnDisk(place)) == {"asked": 1.25}


def test_what_is_no_number_is_left_out(place: Path) -> None:
    CostsOnDisk(place)["asked"] = 1.25
    kept = json.loads(place.read_text())
    kept["costs"] |= {"infinite": float("inf"), "text": "1.25", "nothing": None, "asked": 2}
    place.write_text(json.dumps(kept))
    assert dict(CostsOnDisk(place)) == {"asked": 2}


def test_a_folder_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    kept = CostsOnDisk(tmp_path / "cache" / "costs.json")
    kept["asked"] = 1.25
    assert kept["asked"] == 1.25


def test_a_file_never_grows_without_limit(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered_costs, "_MOST", 3)
    kept = CostsOnDisk(place)
    for number in range(10):
        kept[f"asked {number}"] = float(number)
    assert len(CostsOnDisk(place)) <= 3
    assert kept["asked 9"] == 9.0
