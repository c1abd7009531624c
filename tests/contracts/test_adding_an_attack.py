"""The guide to adding an attack, followed: the figures of its page exist in a copy of the project that lacked them."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "developer" / "adding-an-attack.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```\{code-block\} \w+\n:caption: ([^\n]+)\n\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MODULE = "deniable/evaluation/attacks/reproduced_people.py"
REGISTRY, TABLE = "deniable/evaluation/registry.py", "tests/contracts/test_metrics.py"
# The line after which a line goes.
AFTER = {REGISTRY: '    "exact_matches",\n', TABLE: '    "exact_matches": Row("exact_match_excess", "copies"),\n'}
FIGURES = (
    "from deniable.evaluation import contract, registry;"
    "figures = registry.figures_of(contract.Scope());"
    "print(*[name for name in figures if name.startswith('reproduced_') and 'group' not in name])"
)


def blocks() -> dict[str, str]:
    return dict(BLOCK.findall(PAGE))


def test_the_page_shows_the_attack_as_it_is() -> None:
    assert blocks().keys() == {MODULE, REGISTRY, TABLE}
    assert (ROOT / MODULE).read_text(encoding="utf-8") == blocks()[MODULE]
    for name in (REGISTRY, TABLE):
        assert (ROOT / name).read_text(encoding="utf-8").count(AFTER[name] + blocks()[name]) == 1


def said(root: Path) -> str:
    """The figures of the attack."""
    command = [sys.executable, "-B", "-c", FIGURES]
    done = subprocess.run(command, cwd=root, env={"PYTHONPATH": str(root)}, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.slow
def test_the_attack_of_the_page_has_figures_once_its_parts_are_there(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "deniable", tmp_path / "deniable", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / MODULE).unlink()
    line = blocks()[REGISTRY]
    registry = tmp_path / REGISTRY
    registry.write_text(registry.read_text(encoding="utf-8").replace(AFTER[REGISTRY] + line, AFTER[REGISTRY]))
    assert said(tmp_path) == ""
    (tmp_path / MODULE).write_text(blocks()[MODULE], encoding="utf-8")
    before, after_line, after = registry.read_text(encoding="utf-8").partition(AFTER[REGISTRY])
    registry.write_text(before + after_line + line + after, encoding="utf-8")
    assert said(tmp_path).split() == ["reproduced_training", "reproduced_holdout", "reproduced_excess"]
    assert registry.read_text(encoding="utf-8") == (ROOT / REGISTRY).read_text(encoding="utf-8")
