"""The guide to adding a metric, followed: the figures of its page exist in a copy of the project that lacked them."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "developer" / "adding-a-metric.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```\{code-block\} \w+\n:caption: ([^\n]+)\n\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MODULE = "deniable/evaluation/metrics/jensen_shannon.py"
REGISTRY, TABLE = "deniable/evaluation/registry.py", "tests/contracts/test_metrics.py"
# The line after which a line goes.
AFTER = {REGISTRY: '    "marginal_distances",\n', TABLE: '    "marginal_distances": Row("tvd_2way", "independent"),\n'}
FIGURES = (
    "from deniable.evaluation import contract, registry; from schemas.spec import evaluation;"
    "figures = registry.figures_of(contract.Scope());"
    "print(*[name for name in figures if 'shannon' in name]);"
    "print(evaluation.unknown_thresholds(['jensen_shannon_max'], figures.values()))"
)


def blocks() -> dict[str, str]:
    return dict(BLOCK.findall(PAGE))


def test_the_page_shows_the_metric_as_it_is() -> None:
    assert blocks().keys() == {MODULE, REGISTRY, TABLE}
    assert (ROOT / MODULE).read_text(encoding="utf-8") == blocks()[MODULE]
    for name in (REGISTRY, TABLE):
        assert (ROOT / name).read_text(encoding="utf-8").count(AFTER[name] + blocks()[name]) == 1


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """What declares figures and checks thresholds, without the metric."""
    for room in ("deniable", "schemas"):
        shutil.copytree(ROOT / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__"))
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
            before, line, after = path.read_text(encoding="utf-8").partition(AFTER[name])
            text = before + line + body + after
        path.write_text(text, encoding="utf-8")


def said(root: Path) -> list[str]:
    """The figures of the metric, and what is wrong with a threshold for one of them."""
    command = [sys.executable, "-B", "-c", FIGURES]
    done = subprocess.run(command, cwd=root, env={"PYTHONPATH": str(root)}, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.slow
def test_the_metric_of_the_page_has_figures_and_thresholds_once_its_three_parts_are_there(copy: Path) -> None:
    figures, wrong = said(copy)
    assert figures == ""
    assert "jensen_shannon_max" in wrong
    follow(copy)
    figures, wrong = said(copy)
    assert figures.split()[:3] == ["jensen_shannon", "jensen_shannon_training", "jensen_shannon_baseline"]
    assert wrong == "[]"
    for name in (MODULE, REGISTRY, TABLE):
        assert (copy / name).read_text(encoding="utf-8") == (ROOT / name).read_text(encoding="utf-8")
