"""An auditor checks an exported ledger with the package alone."""

import subprocess
import sys
from pathlib import Path

import pytest

from deniable.cli.dispatch import main
from deniable.cli.files import DOES_NOT_HOLD, HOLDS, UNREADABLE
from tests.charging import a_ledger

ENTRIES = a_ledger()


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.jsonl"
    path.write_text("".join(f"{entry.to_line()}\n" for entry in ENTRIES), encoding="utf-8")
    return path


def test_a_ledger_that_holds_exits_with_0_and_says_what_was_checked(
    exported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "ledger", str(exported), "--head", ENTRIES[-1].digest, "--count", "8"]) == HOLDS
    lines = capsys.readouterr().out.splitlines()
    assert [line[:6] for line in lines[:5]] == ["ok    "] * 5
    assert lines[-1].startswith("The ledger holds: 8 entries")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"0.5"', '"0.4"'),
        ("\n", "\n\n"),
        ('"kind":"genesis"', '"kind":"genesis","kind":"genesis"'),
        ('{"content"', '[{"content"'),
        ('"number":3', '"number":NaN'),
    ],
)
def test_a_ledger_that_was_edited_exits_with_1_and_names_the_entry(
    exported: Path, capsys: pytest.CaptureFixture[str], old: str, new: str
) -> None:
    exported.write_text(exported.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    assert main(["audit", "ledger", str(exported)]) == DOES_NOT_HOLD
    out = capsys.readouterr().out
    assert "FAILED  no entry was altered" in out
    assert ": entry " in out
    assert "THE LEDGER DOES NOT HOLD" in out


def test_a_ledger_that_was_cut_off_exits_with_1(exported: Path) -> None:
    lines = exported.read_text(encoding="utf-8").splitlines(keepends=True)
    exported.write_text("".join(lines[:-1]), encoding="utf-8")
    assert main(["audit", "ledger", str(exported)]) == HOLDS
    assert main(["audit", "ledger", str(exported), "--head", ENTRIES[-1].digest]) == DOES_NOT_HOLD


def test_an_empty_file_is_no_ledger(exported: Path) -> None:
    exported.write_text("", encoding="utf-8")
    assert main(["audit", "ledger", str(exported)]) == DOES_NOT_HOLD


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "ledger", str(tmp_path / "absent")]) == UNREADABLE
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    assert main(["audit", "ledger", str(tmp_path / "binary")]) == UNREADABLE
    assert "the ledger must be a readable file, got" in capsys.readouterr().err


def test_it_needs_nothing_of_the_pipeline(exported: Path) -> None:
    program = (
        "import sys; from deniable.cli.dispatch import main; status = main(sys.argv[1:]); "
        "print(sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr); sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "verify-ledger", str(exported)], check=True, capture_output=True, text=True
    )
    # Budgets are signed, which takes cryptography; nothing of the pipeline is needed.
    for package in ("pandas", "prefect", "mlflow", "pydantic", "sqlalchemy", "numba", "dp_accounting"):
        assert f"'{package}'" not in done.stderr
