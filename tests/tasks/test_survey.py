"""A survey is published from responses alone, verifies, and no longer does once anything in it is changed."""

import base64
import json
from collections.abc import Callable
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import pytest

from deniable.folder_on_disk import FolderOnDisk
from deniable.foundation.errors import InvalidInput, Refused
from deniable.local.responding import respond, written_line
from deniable.local.survey import read_survey
from deniable.privacy import neighbours
from deniable.record.attestation import SURVEY, Envelope, Statement, statement
from deniable.verification.release import RECORD, ReleaseReport, Trust, verify_release
from deniable.verification.survey import is_survey, survey_lines, verify_survey
from stores.keys.signing_keys import signing_key
from stores.keys.trust_file import trusted_keys
from tasks.survey.collect_responses import collect_responses
from tasks.survey.estimate_shares import estimate_shares
from tasks.survey.publish_survey import publish_survey
from tests.relation_words import words_of_others
from tests.unit.test_local import ANSWERS, DOCUMENT, key

LEVEL = Fraction(95, 100)
TEXT = json.dumps(DOCUMENT)


def publish(state: Path, text: str = TEXT, respondents: int = 40) -> Path:
    survey = read_survey(text)
    lines = [written_line(survey, key(n), respond(survey, ANSWERS, key(n))) for n in range(respondents)]
    responses = state.parent / "responses.jsonl"
    responses.write_text("\n".join([*lines, lines[0], "no line"]) + "\n", encoding="utf-8")
    collected = collect_responses(survey, responses)
    with pytest.MonkeyPatch.context() as patch:
        # The run is recorded in the state folder of the survey, not in that of the tests.
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        return publish_survey(state, survey, text, collected, estimate_shares(survey, collected, LEVEL), LEVEL)


def verified(state: Path, folder: Path) -> ReleaseReport:
    return verify_survey(FolderOnDisk(folder), Trust(trusted_keys(state), "in the test"))


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("survey") / "state"


@pytest.fixture(scope="module")
def folder(state: Path) -> Path:
    return publish(state)


def signed_anew(folder: Path, state: Path, change: Callable[[dict[str, object]], object]) -> None:
    """The maker's own lie: files and record are changed, and signed by the trusted key."""
    told = Statement.from_payload(Envelope.from_text((folder / RECORD).read_bytes()).payload)
    predicate = json.loads(json.dumps(told.predicate))
    change(predicate)
    subjects = {name: sha256((folder / name).read_bytes()).hexdigest() for name in told.subjects}
    envelope = signing_key(state).sign(statement(subjects, predicate, version=SURVEY))
    (folder / RECORD).write_text(envelope.to_text(), encoding="ascii")


def test_a_survey_verifies_and_states_its_local_guarantee(state: Path, folder: Path) -> None:
    report = verified(state, folder)
    assert report.holds, report.lines
    assert is_survey(FolderOnDisk(folder))
    assert not verify_release(FolderOnDisk(folder), Trust(trusted_keys(state), "in the test")).holds
    told = (folder / "PRIVACY.md").read_text(encoding="utf-8")
    assert "Local differential privacy, epsilon 4.198 for all responses of one respondent together, delta 0." in told
    assert "responses of 40 respondents" in told
    predicate = Statement.from_payload(Envelope.from_text((folder / RECORD).read_bytes()).payload).predicate
    assert predicate["left_out"] == {"repeated": 1, "unreadable": 1}
    assert "respondents 40" in list(survey_lines(predicate))


def test_a_statement_speaks_of_answers_alone_and_that_someone_took_part_is_read_off(folder: Path) -> None:
    told = (folder / "PRIVACY.md").read_text(encoding="utf-8")
    assert words_of_others(neighbours.ANSWERS, told) == []
    assert words_of_others(neighbours.RECORD, told)
    assert neighbours.ANSWERS.left_out[0] in told
    assert neighbours.ANSWERS.hidden in " ".join(told.split())
    assert neighbours.COMPUTATIONAL in " ".join(told.split())
    # Anyone who knows that 39 others took part knows that one more did.
    lines = (folder / "responses.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) - 1 - 39 == 1


def test_a_statement_of_the_first_version_holds_as_it_did(state: Path, folder: Path, tmp_path: Path) -> None:
    copy = _copy(folder, tmp_path)
    told = (copy / "PRIVACY.md").read_text(encoding="utf-8")
    first, more, _ = told.partition("\n## The terms")
    assert more
    (copy / "PRIVACY.md").write_text(first, encoding="utf-8")
    signed_anew(copy, state, lambda _: None)
    report = verified(state, copy)
    assert report.holds, report.lines


def test_no_pseudonym_and_no_order_of_arrival_is_published(folder: Path) -> None:
    rows = (folder / "responses.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "smokes,cheats,diet,party"
    assert len(rows) == 41
    published = "".join(path.read_text(encoding="utf-8") for path in folder.iterdir() if path.name != RECORD)
    assert 'respondent"' not in published


def test_a_survey_is_published_once(state: Path, folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(Refused, match="a survey is published once"):
        publish(state, respondents=41)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def _copy(folder: Path, tmp_path: Path) -> Path:
    other = tmp_path / "copy"
    other.mkdir()
    for path in folder.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    return other


@pytest.mark.parametrize("name", ["survey.json", "responses.csv", "estimates.csv", "PRIVACY.md", RECORD])
def test_a_changed_or_missing_file_is_found(state: Path, folder: Path, tmp_path: Path, name: str) -> None:
    copy = _copy(folder, tmp_path)
    content = (copy / name).read_bytes()
    (copy / name).write_bytes(content[:-2] + b"9\n")
    assert not verified(state, copy).holds
    (copy / name).unlink()
    assert not verified(state, copy).holds


def _in(file: str, before: str, after: str) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        text = (folder / file).read_text(encoding="utf-8")
        assert before in text
        (folder / file).write_text(text.replace(before, after, 1), encoding="utf-8")

    return change


def _next_share(folder: Path) -> None:
    lines = (folder / "estimates.csv").read_text(encoding="utf-8").splitlines()
    cells = lines[1].split(",")
    cells[3] = repr(float(cells[3]) + 1e-6)
    (folder / "estimates.csv").write_text("\n".join([lines[0], ",".join(cells), *lines[2:]]) + "\n", encoding="utf-8")


def _shorter_interval(folder: Path) -> None:
    lines = (folder / "estimates.csv").read_text(encoding="utf-8").splitlines()
    row = next(n for n, line in enumerate(lines[1:], 1) if 0 < float(line.split(",")[6]) < 1)
    cells = lines[row].split(",")
    cells[6] = repr(float(cells[6]) + 1e-3)
    lines[row] = ",".join(cells)
    (folder / "estimates.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _backwards(folder: Path) -> None:
    header, *rows = (folder / "responses.csv").read_text(encoding="utf-8").splitlines()
    (folder / "responses.csv").write_text("\n".join([header, *reversed(rows)]) + "\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "record", "says"),
    [
        (_in("PRIVACY.md", "epsilon 4.198", "epsilon 1.198"), None, "PRIVACY.md must say"),
        (_in("survey.json", '"3/4"', '"2/3"'), None, "survey must be that"),
        (_next_share, None, "another share"),
        (_shorter_interval, None, "an interval that is not the exact one"),
        (_backwards, None, "must be sorted"),
        (None, lambda record: record["guarantee"].update(ratio="2"), "guarantee must be what follows"),
        (None, lambda record: record.update(respondents=39), "respondents is 39"),
        (None, lambda record: record.update(level="99/100"), "an interval that is not the exact one"),
        (None, lambda record: record.update(more=1), "and nothing else"),
        (None, lambda record: record.pop("level"), "and nothing else"),
        (None, lambda record: record.update(rendering="internal"), "rendering must be public"),
    ],
)
def test_a_lie_that_its_maker_signed_is_found(
    state: Path,
    folder: Path,
    tmp_path: Path,
    file: Callable[[Path], object] | None,
    record: Callable[[dict[str, object]], object] | None,
    says: str,
) -> None:
    copy = _copy(folder, tmp_path)
    if file is not None:
        file(copy)
    signed_anew(copy, state, record or (lambda _: None))
    report = verified(state, copy)
    assert any(says in fault for check in report.checks for fault in check.faults), report.lines


def test_responses_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    survey = read_survey(TEXT)
    with pytest.raises(InvalidInput, match="must be a readable file"):
        collect_responses(survey, tmp_path / "missing")
    (tmp_path / "bytes").write_bytes(base64.b64encode(b"x" * 100) + b"\xff\n")
    with pytest.raises(InvalidInput, match="must have responses, got none"):
        collect_responses(survey, tmp_path / "bytes")
