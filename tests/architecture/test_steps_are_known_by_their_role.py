"""Plan, costs, statement, verification and pages know the steps of a release by role; no part spells a step's name."""

import ast
from pathlib import Path

import pytest

from deniable.roles import Role

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDERS = ["deniable", "schemas", "stores", "reports", "tasks", "flows", "papers", "benchmarks"]
NAMES_THEM = "deniable/roles.py"
TIMED = "benchmarks/scaling.py"
"""A list of tasks in the order of a page, among which are steps."""


def spelled(source: str) -> list[str]:
    """The names of steps that a source text spells."""
    known = {*map(str, Role)}
    texts = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    return [text for text in texts if isinstance(text, str) and text in known]


@pytest.mark.slow
def test_no_part_of_the_product_spells_the_name_of_a_step() -> None:
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    found = {path.relative_to(ROOT).as_posix(): spelled(path.read_text(encoding="utf-8")) for path in paths}
    assert {path for path, names in found.items() if names} == {NAMES_THEM, TIMED}


def test_a_spelled_name_is_seen() -> None:
    assert spelled('cost = by_name["learn_structure"]') == ["learn_structure"]
    assert spelled("cost = by_name[Role.STRUCTURE]\nkind = 'learn_structure_of_trees'") == []
