"""Figures of pages are those that benchmarks have kept: commands write the pages."""

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from benchmarks import (
    audit_epsilon,
    chosen_buckets,
    enumeration,
    evaluation,
    goals,
    growth,
    guarantees,
    inference,
    mechanisms,
    peers,
)
from benchmarks.attack_lab import lab
from benchmarks.measuring import kept_figures

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
WRITERS = [
    mechanisms,
    peers,
    inference,
    chosen_buckets,
    goals,
    growth,
    evaluation,
    audit_epsilon,
    guarantees,
    enumeration,
]
MARKED = re.compile(r"<!-- figures: begin;[^>]*-->\n\n(.*?)\n\n<!-- figures: end -->", re.DOTALL)


def kept(name: str) -> Any:
    """What a benchmark has kept."""
    return json.loads((BENCHMARKS / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("benchmark", WRITERS, ids=lambda module: module.__name__)
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


def pages() -> dict[Path, list[Callable[[str], str]]]:
    """Pages with figures, and what writes each."""
    found: dict[Path, list[Callable[[str], str]]] = {}
    for benchmark in WRITERS:
        own = kept(benchmark.__name__.rpartition(".")[2])
        found.setdefault(benchmark.PAGE, []).append(lambda text, of=benchmark, own=own: of.page(text, own))
        if hasattr(benchmark, "short"):
            found.setdefault(benchmark.README, []).append(lambda text, of=benchmark, own=own: of.short(text, own))
    found[goals.README].append(lambda text: goals.page(text, kept("goals"), goals.PAGES[goals.README]))
    found[lab.PAGE] = [partial(lab.page, found=kept_figures(lab.KEPT))]
    found[guarantees.GUIDE] = [partial(guarantees.guide, found=kept("guarantees"))]
    return found


def test_every_table_between_marks_is_written_by_a_command() -> None:
    """Whatever was edited by hand between two marks, the commands write what they have kept."""
    marked = {path for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")] if MARKED.search(path.read_text())}
    assert marked == set(pages())
    for path, writers in pages().items():
        text = path.read_text(encoding="utf-8")
        for table in MARKED.finditer(text):
            written = f"{text[: table.start(1)]}edited by hand{text[table.end(1) :]}"
            for write in writers:
                written = write(written)
            assert written == text, table[0].partition("\n")[0]
