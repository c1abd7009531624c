"""Figures of pages are those that benchmarks have kept: commands write the pages."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from benchmarks import goals, growth, inference, mechanisms, peers

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"


def kept(name: str) -> Any:
    """What a benchmark has kept."""
    return json.loads((BENCHMARKS / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("benchmark", [mechanisms, peers, inference, goals, growth], ids=lambda module: module.__name__)
def test_a_page_is_what_its_command_writes(benchmark: ModuleType) -> None:
    text = benchmark.PAGE.read_text(encoding="utf-8")
    found = kept(benchmark.__name__.rpartition(".")[2])
    assert benchmark.page(text, found) == text
    name, figures = next((name, own) for name, own in found.items() if own)
    assert benchmark.page(text, {other: own for other, own in found.items() if other != name}) != text, figures


@pytest.mark.parametrize("benchmark", [mechanisms, peers], ids=lambda module: module.__name__)
def test_the_readme_has_what_the_commands_write(benchmark: ModuleType) -> None:
    text = benchmark.README.read_text(encoding="utf-8")
    found = kept(benchmark.__name__.rpartition(".")[2])
    assert benchmark.short(text, found) == text
    assert benchmark.short(text, {}) != text
