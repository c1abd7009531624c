"""Only kernels call inner kernels, which have no wrapper for Python: a call by Python would end the process."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

KERNELS = {"kernel", "inner_kernel", "njit"}
FILES = [path for room in ("deniable", "tests", "benchmarks", "infra") for path in sorted((ROOT / room).rglob("*.py"))]
CALLED = "from deniable.kernels import inner_kernel\n\n@inner_kernel\ndef part(x):\n    return x\n\n"


def decorators(function: ast.FunctionDef) -> set[str]:
    return {node.id for each in function.decorator_list for node in ast.walk(each) if isinstance(node, ast.Name)} | {
        node.attr for each in function.decorator_list for node in ast.walk(each) if isinstance(node, ast.Attribute)
    }


def inner_kernels(tree: ast.Module) -> set[str]:
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and "inner_kernel" in decorators(node)}


def calls_by_python(tree: ast.Module, named: set[str]) -> Iterator[int]:
    """Lines outside kernels that use one of some names, or an attribute of such a name."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef) and decorators(node) & KERNELS:
            continue
        if (isinstance(node, ast.Name) and node.id in named) or (
            isinstance(node, ast.Attribute) and node.attr in named
        ):
            yield node.lineno
        waiting += ast.iter_child_nodes(node)


def known_in(tree: ast.Module, of_modules: dict[str, set[str]]) -> set[str]:
    """The inner kernels that a file defines, or that a module of which it imports something defines."""
    found = inner_kernels(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            imported = {each.name for each in node.names}
            found |= imported & of_modules.get(node.module, set())
            for name in imported:
                found |= of_modules.get(f"{node.module}.{name}", set())
    return found


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


@pytest.mark.slow
def test_no_inner_kernel_is_called_by_python() -> None:
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
    of_modules = {module_of(path): inner_kernels(tree) for path, tree in trees.items()}
    assert sum(map(len, of_modules.values())) > 20
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path, tree in trees.items()
        for line in calls_by_python(tree, known_in(tree, of_modules))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("more", "lines"), [("def f(x):\n    return part(x)\n", [8]), ("@kernel\ndef f(x):\n    return part(x)\n", [])]
)
def test_a_call_by_python_is_found_and_one_by_a_kernel_is_none(more: str, lines: list[int]) -> None:
    tree = ast.parse(CALLED + more)
    assert list(calls_by_python(tree, inner_kernels(tree))) == lines
