"""A release that was withdrawn is told by its agency's status file, offline, and by nothing that somebody else made."""

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from shutil import copytree

import pytest

from deniable.cli.dispatch import main
from deniable.cli.files import DOES_NOT_HOLD, HOLDS
from deniable.ledger.verification import records_of, verify
from deniable.record.attestation import Envelope
from deniable.record.standing import STATUS_FILE, Status
from stores.keys.signing_keys import new_key, signing_key
from stores.ledger.charging import note_publication
from stores.ledger.ledger import kept_lines, ledger_place
from stores.releases.status_file import renew_status_file, status_file_place, write_status_file
from tests.whole_release import drawn_release

STANDS = "the release was not withdrawn"


@dataclass(frozen=True)
class Agency:
    """Two public releases of one dataset."""

    state: Path

    def run(self, *words: str) -> int:
        return main([*words, "--state", str(self.state)])

    def verify(self, name: str, *words: str) -> int:
        folder = self.state / "releases" / name
        return main(["audit", "verify", str(folder), "--keys", str(self.state / "keys" / "trusted.json"), *words])

    @property
    def status(self) -> Status:
        return Status.from_envelope(Envelope.from_text(status_file_place(self.state).read_bytes()))


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("became")
    for name in ("people-1", "people-2"):
        drawn = drawn_release(folder, name)
        note_publication(drawn.workspace, drawn.publish())
    return folder / "state"


@pytest.fixture
def agency(two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agency:
    monkeypatch.setenv("DENIABLE_OPERATOR", "Ada")
    return Agency(Path(copytree(two, tmp_path / "state")))


def line_of(said: str) -> str:
    (line,) = [line for line in said.splitlines() if STANDS in line]
    return line


def test_a_withdrawn_release_is_told_by_the_file_beside_it(agency: Agency, capsys: pytest.CaptureFixture[str]) -> None:
    assert agency.verify("people-1") == HOLDS
    assert STANDS not in capsys.readouterr().out
    assert agency.run("release", "withdraw", "people-1", "--reason", "a column was  coded wrongly") == 0
    said = capsys.readouterr().out
    assert "people-1 is withdrawn for good." in said
    assert f"Publish {status_file_place(agency.state)}" in said
    assert agency.verify("people-1") == DOES_NOT_HOLD
    line = line_of(capsys.readouterr().out)
    assert line.startswith("FAILED")
    assert f"people-1 was withdrawn on {datetime.now(UTC):%Y-%m-%d}: a column was coded wrongly" in line
    assert agency.verify("people-2") == HOLDS
    assert line_of(capsys.readouterr().out).startswith("ok    ")

    # The ledger says so too, who did it included, and the public file does not name them.
    assert verify(records_of(kept_lines(ledger_place(agency.state)))).holds
    assert '"by":"Ada"' in kept_lines(ledger_place(agency.state))[-1]
    assert "Ada" not in json.dumps(json.loads(agency.status.to_payload()))
    assert agency.run("release", "withdraw", "people-1", "--reason", "again") == 1
    assert "was withdrawn before, and cannot be withdrawn now" in capsys.readouterr().err


def test_a_superseded_release_still_verifies_and_names_the_one_to_use(
    agency: Agency, capsys: pytest.CaptureFixture[str]
) -> None:
    assert agency.run("release", "withdraw", "people-1", "--reason", "more people", "--replaced-by", "people-2") == 0
    assert agency.verify("people-1") == HOLDS
    assert "by people-2: more people" in line_of(capsys.readouterr().out)
    assert agency.run("release", "status", "people-2", "--reviewed", "looked at after a year") == 0
    assert agency.run("release", "status") == 0
    first, second = capsys.readouterr().out.splitlines()[-2:]
    assert first.startswith("people-1  superseded on ")
    assert second == f"people-2  in force, last reviewed on {datetime.now(UTC):%Y-%m-%d}"


def test_a_status_file_that_is_late_or_too_early_shows_nothing_and_a_withdrawal_counts_for_ever(
    agency: Agency, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert agency.run("release", "status", "--write", "--days", "1") == 0
    assert agency.verify("people-1") == HOLDS
    assert line_of(capsys.readouterr().out).startswith("ok    ")

    later = f"{datetime.now(UTC) + timedelta(days=2):%Y-%m-%d}"
    monkeypatch.setattr("deniable.cli.audit.verify.today", lambda: later)
    assert agency.verify("people-1") == HOLDS
    late = line_of(capsys.readouterr().out)
    assert late.startswith("--    ")
    assert "ask for a later one" in late
    assert agency.run("release", "withdraw", "people-1", "--reason", "wrong") == 0
    assert agency.verify("people-1") == DOES_NOT_HOLD


def test_a_status_file_is_written_for_as_many_days_as_the_one_before(agency: Agency) -> None:
    def days() -> int:
        return (date.fromisoformat(agency.status.fresh_until) - datetime.now(UTC).date()).days

    assert agency.run("release", "status", "--write") == 0
    assert days() == 90
    assert agency.run("release", "status", "--write", "--days", "400") == 0
    assert agency.run("release", "status", "people-1", "--reviewed", "looked at") == 0
    assert days() == 400
    renew_status_file(agency.state)
    assert days() == 400
    status_file_place(agency.state).write_text("damaged")
    assert agency.run("release", "status", "--write") == 0
    assert days() == 90


def test_what_another_key_signed_or_somebody_changed_is_not_believed(
    agency: Agency, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert agency.run("release", "withdraw", "people-1", "--reason", "wrong") == 0
    place = status_file_place(agency.state)
    honest = json.loads(place.read_text())
    payload = b64decode(honest["payload"])
    lenient = payload.replace(b'"withdrawn"', b'"in force"')
    assert lenient != payload
    forged = b64encode(lenient).decode()
    place.write_text(place.read_text().replace(honest["payload"], forged))
    assert agency.verify("people-1") == DOES_NOT_HOLD
    assert "payload or signature was altered" in line_of(capsys.readouterr().out)
    place.write_text(new_key(tmp_path / "elsewhere", owner="a forger").sign(lenient).to_text())
    assert agency.verify("people-1") == DOES_NOT_HOLD
    assert STATUS_FILE in line_of(capsys.readouterr().out)
    place.write_bytes((agency.state / "releases" / "people-1" / "record.dsse.json").read_bytes())
    assert agency.verify("people-1") == DOES_NOT_HOLD
    assert "got the record of something else" in line_of(capsys.readouterr().out)


def test_a_file_that_lists_the_release_with_another_table_is_found(
    agency: Agency, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_status_file(agency.state)
    others = tuple(replace(each, table="ab" * 32) for each in agency.status.releases)
    other = tmp_path / "other.json"
    other.write_text(signing_key(agency.state).sign(replace(agency.status, releases=others).to_payload()).to_text())
    assert agency.verify("people-1", "--status", str(other)) == DOES_NOT_HOLD
    assert "lists people-1 with another table" in line_of(capsys.readouterr().out)


def test_the_status_file_is_for_everybody_and_its_last_day_counts(
    agency: Agency, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert write_status_file(agency.state, 3).stat().st_mode & 0o777 == 0o644
    monkeypatch.setattr("deniable.cli.audit.verify.today", lambda: agency.status.fresh_until)
    assert agency.verify("people-1") == HOLDS
    assert line_of(capsys.readouterr().out).startswith("ok    ")


def test_a_file_of_before_the_release_does_not_list_it_and_is_renewed_when_there_is_one(
    agency: Agency, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert renew_status_file(agency.state) is None
    write_status_file(agency.state)
    status = agency.status
    assert [each.release for each in status.releases] == ["people-1", "people-2"]
    early = tmp_path / "early.json"
    early.write_text(place_without(agency, "people-2"))
    assert agency.verify("people-2", "--status", str(early)) == HOLDS
    assert line_of(capsys.readouterr().out).startswith("--    ")
    assert renew_status_file(agency.state) == status_file_place(agency.state)


def place_without(agency: Agency, name: str) -> str:
    """A status file, signed by the agency, of before a release."""
    before = replace(agency.status, releases=tuple(each for each in agency.status.releases if each.release != name))
    return signing_key(agency.state).sign(before.to_payload()).to_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("withdraw", "people-9", "--reason", "wrong"), "must be public to be withdrawn"),
        (("withdraw", "people-1", "--reason", "  "), "has a reason, which is published"),
        (("withdraw", "people-1", "--reason", "x", "--replaced-by", "people-9"), "is not public, and cannot replace"),
        (("status", "people-9"), "the ledger knows of no people-9"),
        (("status", "--reviewed", "fine"), "a review is of one release"),
        (("status", "--days", "3"), "add --write"),
        (("status", "--write", "--days", "0"), "for 1 to 3660 days, got 0"),
    ],
)
def test_what_cannot_be_done_is_a_sentence_and_writes_nothing(
    agency: Agency, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    before = kept_lines(ledger_place(agency.state))
    assert agency.run("release", *words) == 1
    assert said in capsys.readouterr().err
    assert kept_lines(ledger_place(agency.state)) == before
    assert not status_file_place(agency.state).exists()


def test_without_a_ledger_nothing_is_known_and_none_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["release", "status", "--state", str(tmp_path / "nothing")]) == 1
    assert "there is none" in capsys.readouterr().err
    assert not (tmp_path / "nothing" / "ledger").exists()
