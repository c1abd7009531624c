"""A release of every kind is, byte for byte, what it was when its digests were noted (tests.golden.made)."""

import json
from pathlib import Path

import pytest

from tests.golden.made import NOTED, REFRESH, cases, compared, made

CASES = cases()
DIGESTS: dict[str, dict[str, str]] = json.loads(NOTED.read_text())


def test_every_kind_is_noted() -> None:
    assert set(DIGESTS) == {*CASES, REFRESH}


@pytest.mark.parametrize("case", CASES)
def test_a_release_is_what_it_was(case: str, tmp_path: Path) -> None:
    assert compared(made(tmp_path / "golden", CASES[case])) == compared(DIGESTS[case])


def test_under_another_key_all_is_different_but_what_is_public_before(tmp_path: Path) -> None:
    case = "loglinear seedless gaussian"
    other, noted = made(tmp_path / "golden", CASES[case], bytes(32)), compared(DIGESTS[case])
    same = {name for name in noted if other[name] == noted[name]}
    assert same == {"privacy.json", "schema.json"} & set(noted)
