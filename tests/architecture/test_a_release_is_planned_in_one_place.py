"""Steps and costs of a release follow from its plan alone, and no part of the product derives them beside it."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDERS = ["schemas", "stores", "reports", "tasks", "infra", "flows"]
THE_PLAN = "schemas/spec/plan.py"
DERIVES = {
    "deniable.learners.registry": {"steps_of", "draws_of"},
    "deniable.samplers.registry": {"sampler_of"},
    "deniable.learners.marginals.baseline": {"baseline_of"},
    "schemas.spec.accounts": {"account", "charged_cost", "cost_of"},
}
"""What a plan is made from, by module."""


def derived(source: str) -> set[str]:
    """The functions that a source text imports in order to plan."""
    return {
        f"{node.module}.{name.name}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for name in node.names
        if name.name in DERIVES.get(node.module, set())
    }


@pytest.mark.slow
def test_nothing_but_the_plan_derives_steps_or_costs() -> None:
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    found = {path.relative_to(ROOT).as_posix(): derived(path.read_text(encoding="utf-8")) for path in paths}
    planning = {f"{module}.{name}" for module, names in DERIVES.items() for name in names}
    assert {path: names for path, names in found.items() if names} == {THE_PLAN: planning}


def test_a_second_derivation_is_seen() -> None:
    assert derived("from deniable.learners.registry import LEARNERS, steps_of") == {
        "deniable.learners.registry.steps_of"
    }
    assert derived("def here():\n    from schemas.spec.accounts import Accounts, cost_of") == {
        "schemas.spec.accounts.cost_of"
    }
    assert derived("from schemas.spec.accounts import Accounts") == set()
