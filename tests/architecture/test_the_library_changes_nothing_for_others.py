"""A program that imports `deniable` finds every other library, and its own process, as they were."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

# What a program relies on; libraries that `deniable` needs may add filters and loggers when they are imported first.
STRANGER = """
import gc, importlib, locale, logging, os, pkgutil, signal, sys, threading, warnings
import matplotlib, numba, numpy as np, pandas as pd, scipy.stats
from matplotlib import pyplot

def of_the_process():
    numbers = {name: repr(value) for name, value in vars(numba.config).items() if name.isupper()}
    return {
        "environment": dict(os.environ), "folder": os.getcwd(), "paths": list(sys.path),
        "importers": [repr(each) for each in sys.meta_path],
        "signals": {int(each): repr(signal.getsignal(each)) for each in signal.valid_signals()},
        "locale": locale.setlocale(locale.LC_ALL), "warnings": [repr(each) for each in warnings.filters],
        "hooks": [repr(each) for each in (sys.excepthook, sys.displayhook, sys.unraisablehook, threading.excepthook)],
        "logging": (logging.root.level, logging.root.handlers, logging.root.manager.disable),
        "limits": (sys.getrecursionlimit(), sys.getswitchinterval(), sys.get_int_max_str_digits()),
        "garbage": (gc.get_threshold(), gc.isenabled(), gc.get_freeze_count()), "threads": threading.active_count(),
        "NumPy": (np.geterr(), np.get_printoptions()), "pandas": pd.get_option("display.max_rows"),
        "matplotlib": {name: repr(value) for name, value in matplotlib.rcParams.items()}, "numba": numbers,
    }

def of_other_libraries():
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] not in ("deniable", "__main__"):
            for word, value in list(vars(module).items()):
                yield f"{name}.{word}", value
                if isinstance(value, type):
                    yield from ((f"{name}.{word}.{part}", each) for part, each in list(vars(value).items()))

def use_other_libraries():
    square = np.array([[2.0, 1.0], [1.0, 3.0]])
    product = numba.njit(lambda a, b: a @ b)(square, square)
    assert product.tolist() == [[5.0, 5.0], [5.0, 10.0]], product
    length = numba.njit(lambda a: np.linalg.norm(a))(square)
    assert length == np.sqrt(15), length
    assert numba.np.arraymath._HAVE_BLAS, "numba asks once, and then has no covariances"
    assert np.allclose(np.linalg.inv(square) @ square, np.eye(2))
    assert pd.DataFrame(square).cov().shape == (2, 2)
    pyplot.plot([1, 2], [3, 4])
    pyplot.close()

BEFORE
before = of_the_process()
import deniable
for name in deniable.__all__:
    getattr(deniable, name)
for module in pkgutil.walk_packages(deniable.__path__, "deniable."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
AFTER
now = of_the_process()
changed = [name for name, value in before.items() if now[name] != value]
makers = [(name, str(getattr(value, "__module__", ""))) for name, value in of_other_libraries()]
replaced = [name for name, maker in makers if maker.partition(".")[0] == "deniable"]
print(*changed, *replaced)
use_other_libraries()
"""
OWN_PATCH = """
import numba.np.linalg
def own(): raise ImportError
own.__module__ = "deniable.kernels"
numba.np.linalg.ensure_blas = own
"""


def meet(before: str = "", after: str = "") -> subprocess.CompletedProcess[str]:
    """Run the stranger's program, with more before or after its imports of everything of `deniable`."""
    code = STRANGER.replace("BEFORE", before).replace("AFTER", after)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)


def replacements(source: str) -> list[str]:
    """Statements that give an imported module, or something in it, another value."""
    tree = ast.parse(source)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    imported = {(each.asname or each.name).partition(".")[0] for node in imports for each in node.names}
    return [ast.unparse(node) for node in ast.walk(tree) if imported.intersection(_changed_by(node))]


def _changed_by(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"setattr", "delattr"}:
        return [_owner(node.args[0])]
    targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else []
    if isinstance(node, ast.AugAssign | ast.AnnAssign):
        targets = [node.target]
    return [_owner(target) for target in targets if isinstance(target, ast.Attribute | ast.Subscript)]


def _owner(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


@pytest.mark.slow
@pytest.mark.nightly
def test_a_stranger_finds_numba_numpy_pandas_and_matplotlib_as_they_were() -> None:
    met = meet()
    assert (met.returncode, met.stdout.split()) == (0, []), met.stderr


@pytest.mark.nightly
def test_a_stranger_sees_what_was_changed() -> None:
    met = meet(after=f"{OWN_PATCH}\nnp.seterr(all='raise')\nos.environ['OTHERS_SEE'] = 'this'")
    assert met.stdout.split() == ["environment", "NumPy", "numba.np.linalg.ensure_blas"]
    assert met.returncode != 0
    assert "ImportError" in met.stderr


def test_the_library_replaces_nothing_in_another() -> None:
    found = {
        (str(path.relative_to(ROOT)), statement)
        for path in (ROOT / "deniable").rglob("*.py")
        for statement in replacements(path.read_text())
    }
    assert found == set()


@pytest.mark.parametrize(
    "statement",
    [
        "linalg.ensure_blas = own",
        "linalg.__dict__['ensure_blas'] = own",
        "linalg.config.DEBUG += 1",
        "setattr(linalg, 'ensure_blas', own)",
        "del linalg.ensure_blas",
    ],
)
def test_each_way_to_replace_something_is_seen(statement: str) -> None:
    assert replacements(f"from numba.np import linalg\n{statement}") == [statement]
