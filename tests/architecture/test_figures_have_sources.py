"""Figures of pages are those that benchmarks have kept: commands write the pages, and the README rounds them."""

import json
import re
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from benchmarks import goals, growth, inference, mechanisms

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
_COLUMNS = ("tvd2", "tvd3", "rf_acc", "disc_acc")
_HEADS = {"adult": "| Adult, 15 attributes |", "acs13": "| ACS 2013, 11 attributes |"}
_OWN = re.compile(r"Deniable \(`(\w+)`\)")


def kept(name: str) -> Any:
    """What a benchmark has kept."""
    return json.loads((BENCHMARKS / f"{name}.json").read_text(encoding="utf-8"))


def rows(text: str, head: str) -> list[list[str]]:
    """The rows of one table, without marks of emphasis."""
    table = text[text.index(head) :].split("\n\n", maxsplit=1)[0].splitlines()[2:]
    return [[cell.strip().strip("*").replace("**", "") for cell in line.strip("|").split("|")] for line in table]


def expected(dataset: str, name: str, ours: Any, peers: Any) -> list[str]:
    """What the cells of a row must be."""
    if own := _OWN.fullmatch(name):
        found = ours[dataset][own[1]]
        scores, fit = [found["figures"][column][0] for column in _COLUMNS], found["fit"]
    else:
        found = peers[dataset][name]
        scores, fit = [found[column] for column in _COLUMNS], found.get("fit")
    shown = [str(Decimal(str(score)).quantize(Decimal("0.001"), ROUND_HALF_UP)).removeprefix("0") for score in scores]
    return [*shown, "" if fit is None else f"{fit:.1f}" if fit < 10 else f"{fit:.0f}"]


def wrong_rows(text: str) -> list[tuple[str, list[str], list[str]]]:
    """Rows of the README's two tables that differ from what was kept, and what they must be."""
    ours, peers = kept("mechanisms"), kept("peers")["figures"]
    return [
        (name, cells, right)
        for dataset, head in _HEADS.items()
        for name, *cells in rows(text, head)
        if cells != (right := expected(dataset, name, ours, peers))
    ]


def test_the_readme_rounds_what_was_measured() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(len(rows(readme, head)) > 5 for head in _HEADS.values())
    assert wrong_rows(readme) == []
    name, *cells = rows(readme, _HEADS["adult"])[1]
    altered = readme.replace(f"| {name} | {cells[0]} |", f"| {name} | .001 |")
    assert [found for found, _, _ in wrong_rows(altered)] == [name]


@pytest.mark.parametrize("benchmark", [mechanisms, inference, goals, growth], ids=lambda module: module.__name__)
def test_a_page_is_what_its_command_writes(benchmark: ModuleType) -> None:
    text = benchmark.PAGE.read_text(encoding="utf-8")
    found = kept(benchmark.__name__.rpartition(".")[2])
    assert benchmark.page(text, found) == text
    name, figures = next((name, own) for name, own in found.items() if own)
    assert benchmark.page(text, {other: own for other, own in found.items() if other != name}) != text, figures
