"""The guide to adding a command, followed: the command of its page works in a copy of the project that lacks it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "developer" / "adding-a-command.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```\{code-block\} \w+\n:caption: ([^\n]+)\n\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MODULE, REGISTRY, TABLE = "flows/cli/budget/spent.py", "flows/cli/registry.py", "tests/contracts/test_commands.py"
# Where a line goes.
BEFORE = '    "budget show": '


def blocks() -> dict[str, str]:
    return dict(BLOCK.findall(PAGE))


def test_the_page_shows_the_command_as_it_is() -> None:
    assert blocks().keys() == {MODULE, REGISTRY, TABLE}
    assert (ROOT / MODULE).read_text(encoding="utf-8") == blocks()[MODULE]
    for name in (REGISTRY, TABLE):
        assert (ROOT / name).read_text(encoding="utf-8").count(blocks()[name]) == 1


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The packages, and the tests' table, without the command."""
    for room in ("deniable", "flows", "infra", "stores", "schemas", "tasks", "reports"):
        shutil.copytree(ROOT / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__", "browser", "peers"))
    (tmp_path / "tests" / "contracts").mkdir(parents=True)
    shutil.copy(ROOT / TABLE, tmp_path / TABLE)
    (tmp_path / MODULE).unlink()
    for name in (REGISTRY, TABLE):
        path = tmp_path / name
        path.write_text(path.read_text(encoding="utf-8").replace(blocks()[name], ""), encoding="utf-8")
    return tmp_path


def follow(root: Path) -> None:
    """Do what the page says."""
    for name, body in blocks().items():
        path, text = root / name, body
        if path.exists():
            before, line, after = path.read_text(encoding="utf-8").partition(BEFORE)
            indent = before[before.rfind("\n") + 1 :]
            text = before.removesuffix(indent) + body + indent + line + after
        path.write_text(text, encoding="utf-8")


def run(root: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "DENIABLE"))}
    surroundings = kept | {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-m", *arguments], cwd=root, env=surroundings, capture_output=True, check=False, text=True
    )


@pytest.mark.slow
def test_the_command_of_the_page_works_once_its_three_parts_are_there(copy: Path) -> None:
    assert "did you mean deniable budget" in run(copy, "deniable", "budget", "spent").stderr
    follow(copy)
    state = ("--state", str(copy / "state"))
    assert run(copy, "deniable", "budget", "set", "people", "--epsilon", "3", "--delta", "0", *state).returncode == 0
    said = run(copy, "deniable", "budget", "spent", "people", *state)
    assert (said.returncode, said.stdout.splitlines()[0]) == (0, "people")
    assert said.stdout.endswith("nothing was charged\n")
    assert "spent" in run(copy, "deniable", "budget", "--help").stdout
    table = (copy / TABLE).read_text(encoding="utf-8")
    assert table == (ROOT / TABLE).read_text(encoding="utf-8")
