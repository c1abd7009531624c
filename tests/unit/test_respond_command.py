"""A respondent answers a survey with the package alone; the key and the answers stay where they are."""

import io
import json
import os
from pathlib import Path

import pytest

from deniable.cli.dispatch import main
from deniable.cli.files import HOLDS, UNREADABLE
from tests.unit.test_local import ANSWERS, DOCUMENT


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "survey.json"
    path.write_text(json.dumps(DOCUMENT), encoding="utf-8")
    return path


def respond(survey: Path, *words: str | Path) -> int:
    return main(["data", "respond", str(survey), "--key", str(survey.parent / "own" / "key"), *map(str, words)])


def answers(survey: Path, **others: str) -> Path:
    path = survey.parent / "answers.json"
    path.write_text(json.dumps({**ANSWERS, **others}), encoding="utf-8")
    return path


def test_a_respondent_is_asked_each_question_and_writes_one_line(
    survey: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("2\nnine\n1\n2\n4\n"))
    assert respond(survey) == HOLDS
    shown = capsys.readouterr()
    line = json.loads(shown.out)
    assert set(line["responses"]) == set(ANSWERS)
    assert "Do you smoke?" in shown.err
    assert "A number from 1 to 2 is needed." in shown.err
    assert "epsilon 4.198 for all responses of one respondent together" in shown.err
    key = survey.parent / "own" / "key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert len(key.read_bytes()) == 32
    kept = (survey.parent / "own" / "key.given").read_text(encoding="utf-8")
    assert json.loads(kept)["line"] == shown.out.strip()


def test_who_has_responded_gives_the_same_responses_again_and_is_not_asked(
    survey: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert respond(survey, "--answers", answers(survey)) == HOLDS
    first = capsys.readouterr().out
    for other in ("meat", "fish", "plants"):
        assert respond(survey, "--answers", answers(survey, diet=other, smokes="no", party="a")) == HOLDS
        shown = capsys.readouterr()
        assert shown.out == first
    assert "You have responded to this survey" in shown.err
    assert "responded to 1 survey, epsilon 4.198 in total" in shown.err


def test_lines_are_appended_and_a_survey_of_another_title_is_another(
    survey: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = survey.parent / "responses.jsonl"
    assert respond(survey, "--answers", answers(survey), "--out", out) == HOLDS
    survey.write_text(json.dumps({**DOCUMENT, "title": "Habits, wave 2"}), encoding="utf-8")
    assert respond(survey, "--answers", answers(survey), "--out", out) == HOLDS
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert len({line["respondent"] for line in lines}) == 2
    assert "responded to 2 surveys, epsilon 8.395 in total" in capsys.readouterr().err


def test_a_key_that_others_can_read_is_refused(survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = survey.parent / "own" / "key"
    key.parent.mkdir()
    key.write_bytes(bytes(32))
    os.chmod(key, 0o644)  # noqa: PTH101
    assert respond(survey, "--answers", answers(survey)) == UNREADABLE
    assert "must be readable by you alone" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"diet": "secret bread"}, "the answer to diet must be one of meat, fish, plants, got another"),
        ({"more": "1"}, "answers must be to smokes, cheats, diet, party"),
    ],
)
def test_impossible_answers_are_refused_and_not_quoted(
    survey: Path, capsys: pytest.CaptureFixture[str], change: dict[str, str], says: str
) -> None:
    assert respond(survey, "--answers", answers(survey, **change)) == UNREADABLE
    shown = capsys.readouterr()
    assert says in shown.err
    assert "secret" not in shown.err
    assert shown.out == ""
    assert not (survey.parent / "own" / "key.given").exists()


def test_an_interview_that_ends_early_gives_nothing(
    survey: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("1\n"))
    assert respond(survey) == UNREADABLE
    assert capsys.readouterr().out == ""
    assert not (survey.parent / "own" / "key.given").exists()


def test_a_survey_that_is_none_is_refused(survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    survey.write_text("{}", encoding="utf-8")
    assert respond(survey) == UNREADABLE
    assert "the survey must have questions, survey, title" in capsys.readouterr().err
    assert respond(survey.parent / "missing.json") == UNREADABLE
    assert "must be a readable file" in capsys.readouterr().err
