"""Finds the table schema that a spec names: one that ships, or a Python file next to the spec.

pandas and pandera are imported only when a schema is requested.
"""

import importlib
from difflib import get_close_matches
from functools import cache
from hashlib import sha256
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING

from deniable.foundation.checks import printable
from deniable.foundation.errors import InvalidInput, lacks_memory
from schemas import datasets
from schemas.regular_files import read_regular

if TYPE_CHECKING:
    from pandera.pandas import DataFrameSchema

_LONGEST_CODE = 16 << 20
_SHOWN = 200


def load_schema(dataset: str, folder: Path) -> "DataFrameSchema":
    """Load the schema of a dataset.

    Args:
        dataset: the name of a module of `schemas.datasets`, or a path to a .py file that defines `schema`.
        folder: the base of a relative path.

    Returns:
        The schema.

    Raises:
        InvalidInput: there is no such dataset, or its schema was not made by `schemas.table.table`.
    """
    return _load(dataset, folder, schema_code(dataset, folder))


@cache
def _load(dataset: str, folder: Path, _code: str) -> "DataFrameSchema":
    """Load a schema, cached by the content of its file."""
    module = _module_of_file(folder / dataset) if dataset.endswith(".py") else _module_that_ships(dataset)
    from pandera.pandas import DataFrameSchema  # noqa: PLC0415 - it imports pandas

    from schemas.table import domain_of  # noqa: PLC0415 - as above

    schema = getattr(module, "schema", None)
    if not isinstance(schema, DataFrameSchema):
        got = "does not" if schema is None else f"defines one of the type {type(schema).__name__}"
        raise InvalidInput(
            f"the dataset {dataset} must define `schema`, a table made by schemas.table.table, but {got}."
        )
    domain_of(schema)
    return schema


def _module_that_ships(name: str) -> ModuleType:
    """Import a dataset that ships."""
    shipped = [module.name for module in iter_modules(datasets.__path__)]
    if name not in shipped:
        close = get_close_matches(name, shipped, n=1)
        hint = f"did you mean {close[0]}?" if close else "or a path to a .py file."
        raise InvalidInput(f"the dataset must be one of {', '.join(shipped)}, got {name}; {hint}")
    return importlib.import_module(f"schemas.datasets.{name}")


def _module_of_file(path: Path) -> ModuleType:
    """Run a file that describes a dataset."""
    code = _content(path)
    if code is None:
        raise InvalidInput(f"the dataset must be a file that defines `schema`, but {path} does not exist.")
    module = ModuleType(f"dataset_{path.stem}")
    module.__file__ = str(path)
    try:
        # Not by an import, which could run the bytecode of an earlier version of the same size and second.
        exec(compile(code, str(path), "exec"), vars(module))  # noqa: S102 - the file is the user's own
    except KeyboardInterrupt:
        raise
    # This includes exits of the interpreter, which are silent and usually have status 0.
    except BaseException as error:
        if lacks_memory(error):
            raise
        msg = f"the dataset {path} must run to its end without an error, got {_in_short(error)}; correct it."
        raise InvalidInput(msg) from error
    return module


def _content(path: Path) -> bytes | None:
    """Content of the file that describes a dataset; None if there is none.

    Raises:
        InvalidInput: it is not a regular file, is too large, or cannot be read.
    """
    try:
        return read_regular(path, "the dataset", _LONGEST_CODE)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        msg = f"the dataset must be a readable file, got {path}: {error.strerror}."
    raise InvalidInput(msg)


def _in_short(error: BaseException) -> str:
    """The message of an error in a user's code, shortened unless it is ours, which may name many columns."""
    try:
        said = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - it is a user's code
        said = ""
    kind = type(error).__name__
    if isinstance(error, InvalidInput):
        return printable(said.rstrip("."))
    return printable(f"{kind}: {said[:_SHOWN]}" if said else kind)


def schema_code(dataset: str, folder: Path) -> str:
    """Digest of the file that describes a dataset: its recodes are code, and part of the definition of a release.

    Args:
        dataset: as in `load_schema`.
        folder: the base of a relative path.

    Returns:
        SHA-256 in hex; of the empty text if there is no such file.

    Raises:
        InvalidInput: it is not a regular file, or cannot be read.
    """
    shipped = Path(datasets.__path__[0]) / f"{dataset}.py"
    path = folder / dataset if dataset.endswith(".py") else shipped
    return sha256(_content(path) or b"").hexdigest()


@cache
def code_digest() -> str:
    """Digest of the code that makes releases: all modules and templates except infrastructure and flows."""
    hasher = sha256()
    root = Path(__file__).resolve().parent.parent
    for package in ("deniable", "schemas", "stores", "reports", "tasks"):
        for path in sorted(path for kind in ("*.py", "*.jinja") for path in (root / package).rglob(kind)):
            hasher.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return hasher.hexdigest()
