"""The record's description of the code: its commit, and whether the code that ran differs from it."""

import subprocess
from pathlib import Path

import pytest

from stores.vault.runtime_environment import code_that_runs, environment_here, state_of


def git(checkout: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *arguments], cwd=checkout, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clean checkout with a module, a note, and something that git is told to leave alone."""
    for name in ("deniable", "flows"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "module.py").write_text("1\n")
    (tmp_path / "notes.txt").write_text("1\n")
    (tmp_path / ".gitignore").write_text("ignored*\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "Begin")
    return tmp_path


def test_a_clean_checkout_is_its_commit(checkout: Path) -> None:
    assert state_of(checkout) == (git(checkout, "rev-parse", "HEAD"), False)


@pytest.mark.parametrize(
    ("name", "dirty"),
    [
        ("deniable/module.py", True),
        ("notes.txt", True),
        ("deniable/new.py", True),
        ("flows/deep/new.py", True),
        ("deniable/ignored.py", True),
        ("deniable/new.txt", False),
        ("elsewhere/new.py", False),
    ],
)
def test_a_checkout_is_dirty_where_something_changed_or_a_module_is_unknown(
    name: str, *, dirty: bool, checkout: Path
) -> None:
    path = checkout / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("2\n")
    assert state_of(checkout) == (git(checkout, "rev-parse", "HEAD"), dirty)


def test_another_repository_that_the_environment_names_is_not_asked(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path_factory.mktemp("other")
    git(other, "init", "--quiet")
    commit = git(checkout, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert state_of(checkout) == (commit, False)


def test_outside_a_checkout_and_without_git_there_is_no_commit(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert state_of(tmp_path_factory.mktemp("installed")) == (None, None)
    monkeypatch.setenv("PATH", "")
    assert state_of(checkout) == (None, None)


def test_a_repository_above_the_checkout_is_somebody_elses(checkout: Path) -> None:
    assert state_of(checkout / "deniable") == (None, None)


def test_the_record_says_what_ran_and_on_what() -> None:
    code, here = code_that_runs(), environment_here()
    assert len(code.package) == 64
    assert {"numpy", "cryptography", "pyarrow", "numba", "scipy"} <= here.packages.keys()
    assert not {"pytest", "ruff", "deniable"} & here.packages.keys()
    assert here.requirements is not None
