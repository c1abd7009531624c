"""Where files, memory or characters are scarce, a command succeeds, or ends in one sentence and not with status 0."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.flows.command import environment
from tests.small_release import SCHEMA, write_small_release

ROOT = Path(__file__).resolve().parents[2]


def limited(limit: str, *arguments: str | Path, home: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run a command in a shell that has set a limit."""
    return subprocess.run(
        ["sh", "-c", f'{limit}; exec "$0" -m flows "$@"', sys.executable, *map(str, arguments)],
        env={**environment(home), "PYTHONPATH": str(ROOT), **variables},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )


def test_too_few_open_files_are_told_before_anything_is_done(tmp_path: Path) -> None:
    done = limited("ulimit -n 24", "unfinished", "--state", tmp_path / "state", home=tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        "a command must be allowed 256 open files, and is allowed 24; raise the limit (ulimit -n).\n"
    )
    assert not (tmp_path / "state").exists()


def test_a_soft_limit_on_open_files_is_raised(tmp_path: Path) -> None:
    done = limited("ulimit -S -n 24", "unfinished", "--state", tmp_path / "state", home=tmp_path)
    assert (done.returncode, done.stdout) == (0, "No release is unfinished.\n"), done.stderr


@pytest.mark.parametrize(
    "statement", ["bytearray(1 << 62)", "raise ImportError('some.so: failed to map segment from shared object')"]
)
def test_too_little_memory_is_told_in_one_sentence(statement: str, tmp_path: Path) -> None:
    """The description of a table is the first code of a command that may need much, here more than any machine has."""
    spec = write_small_release(tmp_path / "spec", schema=f"{SCHEMA}\n{statement}\n")
    done = limited(":", "plan", spec, "--state", tmp_path / "state", home=tmp_path)
    assert done.returncode == 1
    assert done.stderr == "the machine has too little free memory; free some, or run the command on a larger machine.\n"


def test_names_are_printed_in_a_locale_without_their_characters(tmp_path: Path) -> None:
    spec = write_small_release(tmp_path / "spec", title="Zürich 東京")
    posix = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = limited(":", "plan", spec, "--state", tmp_path / "state", home=tmp_path, **posix)
    assert done.returncode == 0, done.stderr
    assert "Z\\xfcrich \\u6771\\u4eac" in done.stdout
