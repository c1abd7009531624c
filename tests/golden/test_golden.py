"""A release of every kind is, byte for byte, what it was when its digests were noted (tests.golden.made)."""

import json
from pathlib import Path

import pytest

from tests.golden.made import NOTED, REFRESH, cases, cases_at_night, cases_of_models, cases_of_rows, compared, made

CASES = cases()
COMPARED_ELSEWHERE = {*cases_of_rows().values(), *cases_of_models()}
"""By the contract of mechanisms and the test of models from seeds (tests/mechanisms)."""
DIGESTS: dict[str, dict[str, str]] = json.loads(NOTED.read_text())


def test_every_kind_is_noted() -> None:
    assert set(DIGESTS) == {*CASES, REFRESH}


def test_what_other_tests_make_and_what_the_night_makes_are_cases() -> None:
    assert set(CASES) > COMPARED_ELSEWHERE
    assert set(CASES) - COMPARED_ELSEWHERE > cases_at_night()


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=[pytest.mark.nightly] if case in cases_at_night() else [])
        for case in CASES
        if case not in COMPARED_ELSEWHERE
    ],
)
def test_a_release_is_what_it_was(case: str, tmp_path: Path) -> None:
    assert compared(made(tmp_path / "golden", CASES[case])) == compared(DIGESTS[case])


def test_under_another_key_all_is_different_but_what_is_public_before(tmp_path: Path) -> None:
    case = "loglinear seedless gaussian"
    other, noted = made(tmp_path / "golden", CASES[case], bytes(32)), compared(DIGESTS[case])
    same = {name for name in noted if other[name] == noted[name]}
    assert same == {"privacy.json", "schema.json"} & set(noted)
