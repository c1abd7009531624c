"""Finds the table schema that a spec names: one that ships, or a Python file beside the spec.

pandas and pandera are imported only when a schema is asked for.
"""

import importlib
from difflib import get_close_matches
from functools import cache
from hashlib import sha256
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING

from deniable.errors import InvalidInput
from schemas import datasets

if TYPE_CHECKING:
    from pandera.pandas import DataFrameSchema


def load_schema(dataset: str, folder: Path) -> "DataFrameSchema":
    """Load the schema of a dataset.

    Args:
        dataset: the name of a module of `schemas.datasets`, or a path to a .py file that defines `schema`.
        folder: what a relative path is relative to.

    Returns:
        The schema.

    Raises:
        InvalidInput: there is no such dataset, or what it defines was not made by `schemas.table.table`.
    """
    return _load(dataset, folder, schema_code(dataset, folder))


@cache
def _load(dataset: str, folder: Path, _code: str) -> "DataFrameSchema":
    """Load a schema once for each content that its file has had."""
    module = _module_of_file(folder / dataset) if dataset.endswith(".py") else _module_that_ships(dataset)
    from schemas.table import domain_of  # noqa: PLC0415 - it imports pandas

    schema: DataFrameSchema | None = getattr(module, "schema", None)
    if schema is None:
        raise InvalidInput(
            f"the dataset {dataset} must define `schema`, a table made by schemas.table.table, and does not."
        )
    domain_of(schema)
    return schema


def _module_that_ships(name: str) -> ModuleType:
    """Import one of the datasets that ship."""
    shipped = [module.name for module in iter_modules(datasets.__path__)]
    if name not in shipped:
        close = get_close_matches(name, shipped, n=1)
        hint = f"did you mean {close[0]}?" if close else "or a path to a .py file."
        raise InvalidInput(f"the dataset must be one of {', '.join(shipped)}, got {name}; {hint}")
    return importlib.import_module(f"schemas.datasets.{name}")


def _module_of_file(path: Path) -> ModuleType:
    """Run a file that describes a dataset."""
    if not path.is_file():
        raise InvalidInput(f"the dataset must be a file that defines `schema`, but {path} does not exist.")
    module = ModuleType(f"dataset_{path.stem}")
    module.__file__ = str(path)
    try:
        # Not by an import: that would run the bytecode of an earlier text of the same size and second.
        exec(compile(path.read_bytes(), str(path), "exec"), vars(module))  # noqa: S102 - the file is the user's own
    except Exception as error:
        raise InvalidInput(
            f"the dataset {path} must run without an error, got {type(error).__name__}: {error}"
        ) from error
    return module


def schema_code(dataset: str, folder: Path) -> str:
    """Digest of the file that describes a dataset: its recodes are code, and belong to what a release is of.

    Args:
        dataset: as in `load_schema`.
        folder: what a relative path is relative to.

    Returns:
        SHA-256 in hex; of nothing where there is no such file.
    """
    shipped = Path(datasets.__path__[0]) / f"{dataset}.py"
    path = folder / dataset if dataset.endswith(".py") else shipped
    return sha256(path.read_bytes() if path.is_file() else b"").hexdigest()


@cache
def code_digest() -> str:
    """Digest of the code that makes releases: modules and templates of the mathematics, schemas, stores and tasks."""
    hasher = sha256()
    root = Path(__file__).resolve().parent.parent
    for package in ("deniable", "schemas", "stores", "tasks"):
        for path in sorted(path for kind in ("*.py", "*.jinja") for path in (root / package).rglob(kind)):
            hasher.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return hasher.hexdigest()
