"""Messages about titles, payments and a state folder are true, and are one sentence."""

import errno
import os
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from deniable.cli.dispatch import main
from deniable.foundation.errors import InvalidInput
from deniable.record.exact_stops import TOO_MANY_INVALID
from flows import replay
from flows.cli import running
from flows.cli.budget import show
from flows.cli.release import make
from flows.cli.release.discard import discard_release
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import load_spec
from stores.ledger import charging
from stores.ledger.database import LedgerUnavailable
from stores.record.replay_comparison import Finding
from stores.releases.resumable_releases import ResumableRelease
from stores.statement import statement as privacy_statement
from stores.statement.statement import TEMPLATES, as_text, statement_in_words
from stores.vault.decisions import take_decision
from stores.vault.exact_counts import refused_by_counts
from stores.vault.workspace import Workspace
from tests.small_release import write_small_release

HOSTILE = "<script>x</script> [a](http://b) `c` **d** _e_ | f & \\ ~g~ # h"


def test_a_title_is_shown_letter_by_letter_wherever_markdown_is_written(tmp_path: Path) -> None:
    spec = load_spec(write_small_release(tmp_path, people=[], title=HOSTILE))
    escaped = as_text(HOSTILE)
    assert r"\<script\>" in escaped
    assert r"\[a\](http" in escaped
    assert HOSTILE not in escaped
    said = statement_in_words("small-1", spec, plan_release(spec).accounts)
    assert escaped in said
    assert HOSTILE not in said
    templates = sorted((Path(privacy_statement.__file__).parent / "templates").glob("*.md.jinja"))
    assert len(templates) >= 9
    raw = [
        path.name
        for path in templates
        if any(word in path.read_text() for word in ("{{ title }}", "{{ record.release.title }}", "{{ about }}"))
    ]
    assert raw == []
    assert TEMPLATES.filters["as_text"] is as_text


@pytest.mark.parametrize(
    ("charged", "said"),
    [
        ([True], "small-1 is discarded. What was charged for it stays charged.\n"),
        ([False], "small-1 is discarded. Nothing was charged for it.\n"),
        (
            LedgerUnavailable("it must answer."),
            "small-1 is discarded. What was charged for it, if anything, stays charged.\n",
        ),
    ],
)
def test_only_what_was_charged_is_said_to_stay_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], charged: object, said: str
) -> None:
    begun = ResumableRelease("small-1", "people", "", "", finished=False, destroy_key=False)
    (tmp_path / "vault" / "small-1").mkdir(parents=True)
    monkeypatch.setattr("stores.releases.resumable_releases.find_release", lambda *_: begun)
    monkeypatch.setattr("stores.releases.life.find_release", lambda *_: begun)
    monkeypatch.setattr(charging, "is_charged", Mock(side_effect=charged))
    discard_release(tmp_path, "small-1")
    assert capsys.readouterr().out == said


@pytest.mark.parametrize(
    ("charged", "said"),
    [([True], "What small-1 has done and paid for is kept"), ([False], "What small-1 has done is kept")],
)
def test_a_release_that_failed_is_said_to_be_paid_for_only_if_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], charged: object, said: str
) -> None:
    begun = ResumableRelease("small-1", "people", "", "", finished=False, destroy_key=False)
    monkeypatch.setattr(running, "_prepared", lambda *_, **__: tmp_path)
    failed = Mock(side_effect=LedgerUnavailable("the ledger must answer, and does not."))
    monkeypatch.setattr(make, "COMMAND", replace(make.COMMAND, run=failed))
    monkeypatch.setattr("stores.releases.resumable_releases.unfinished_release", lambda *_: begun)
    monkeypatch.setattr(charging, "is_charged", Mock(side_effect=charged))
    monkeypatch.setattr(running, "end_in_order", lambda: None)
    assert main(["release", "make", str(write_small_release(tmp_path / "spec", people=[]))]) == running.FAILED
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_state_folder_that_turned_read_only_is_said_to_be_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    monkeypatch.setattr(running, "_prepared", lambda *_, **__: tmp_path)
    failed = Mock(side_effect=OSError(number, os.strerror(number), str(tmp_path / "x")))
    monkeypatch.setattr(show, "COMMAND", replace(show.COMMAND, run=failed))
    monkeypatch.setattr(running, "end_in_order", lambda: None)
    assert main(["budget", "show"]) == running.FAILED
    assert capsys.readouterr().err == (
        f"the state folder must be writable, and {tmp_path} no longer is; make it so, or name another with --state.\n"
    )


def test_an_unexpected_error_is_told_though_its_details_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "vault" / "last-error.txt").mkdir(parents=True)
    monkeypatch.setattr(running, "_prepared", lambda *_, **__: tmp_path)
    monkeypatch.setattr(show, "COMMAND", replace(show.COMMAND, run=Mock(side_effect=ZeroDivisionError())))
    monkeypatch.setattr(running, "end_in_order", lambda: None)
    assert main(["budget", "show"]) == running.FAILED
    said = capsys.readouterr().err
    assert "an unexpected error ended the command (ZeroDivisionError); its details must be written to" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(("by", "reason"), [("ines", "so\x1b[2J"), ("in\u202ees", "so"), ("x" * 1001, "so")])
def test_a_decision_is_signed_and_reasoned_in_visible_text(tmp_path: Path, by: str, reason: str) -> None:
    with pytest.raises(InvalidInput, match=r"^a decision must have a name and a reason that can be shown, and one of"):
        take_decision(tmp_path, Mock(), "approved", by=by, identity="account", reason=reason)
    assert list(tmp_path.iterdir()) == []


def test_a_replay_says_why_counts_stopped_it_and_shows_none_of_them(tmp_path: Path) -> None:
    spec = load_spec(write_small_release(tmp_path / "spec", people=[]))
    workspace = Workspace(state=tmp_path / "state", release_id="small-1", spec=spec, mlflow_run_id="none")
    refused = refused_by_counts(
        workspace, "validate", TOO_MANY_INVALID, "rows must be valid, got others", ["61 of 3,000 rows"]
    )
    finding = replay._failing("validate", refused, workspace)
    assert finding == Finding("validate", "failed", "rows must be valid, got others")
    assert "61" in refused.counts()


def test_the_details_of_an_unexpected_error_are_for_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(running, "_prepared", lambda *_, **__: tmp_path)
    monkeypatch.setattr(
        show, "COMMAND", replace(show.COMMAND, run=Mock(side_effect=ValueError("Quux of Upper Street")))
    )
    monkeypatch.setattr(running, "end_in_order", lambda: None)
    assert main(["budget", "show"]) == running.FAILED
    assert "Quux" not in capsys.readouterr().err
    written = tmp_path / "vault" / "last-error.txt"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [written]
    assert (written.stat().st_mode & 0o777, written.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert "Quux of Upper Street" in written.read_text()
