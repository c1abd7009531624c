"""No sum of floats is left to BLAS, which adds in an order that depends on the processor and the number of threads."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PRODUCTS = {
    "dot",
    "inner",
    "vdot",
    "matmul",
    "tensordot",
    "multi_dot",
    "lstsq",
    "solve",
    "svd",
    "linalg",
    "cov",
    "corrcoef",
}


def products(source: str) -> list[str]:
    """What BLAS would work out, as it is written."""
    return [ast.unparse(node) for node in ast.walk(ast.parse(source)) if _is_product(node)]


def _is_product(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp | ast.AugAssign):
        return isinstance(node.op, ast.MatMult)
    if isinstance(node, ast.Attribute):
        return node.attr in PRODUCTS
    return isinstance(node, ast.Call) and any(word.arg == "optimize" for word in node.keywords)


@pytest.mark.slow
def test_no_sum_of_floats_is_left_to_blas() -> None:
    found = {
        (str(path.relative_to(ROOT)), product)
        for path in (ROOT / "deniable").rglob("*.py")
        for product in products(path.read_text())
    }
    assert found == set()


@pytest.mark.parametrize(
    "source",
    ["a @ b", "a @= b", "np.dot(a, b)", "a.dot(b)", "np.linalg.norm(a)", "np.einsum('i,i', a, b, optimize=True)"],
)
def test_each_way_to_blas_is_seen(source: str) -> None:
    assert products(source)


def test_sums_of_its_own_are_left_to_numpy() -> None:
    assert products("(a * b).sum() + np.einsum('i,i', a, b)") == []
