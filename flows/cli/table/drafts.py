"""The two files of a draft, a schema and a spec: their names, and writing both or neither."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.foundation.errors import InvalidInput

if TYPE_CHECKING:
    from schemas.spec.release_spec import ReleaseSpec

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_LONGEST_NAME = 100


def require_name(name: str) -> None:
    """Require a valid name of a release."""
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise InvalidInput(
            f"the name of a release must be small letters, digits, - and _, and begin with a letter or digit, got "
            f"{name!r}; give another with --name."
        )


def read_epsilon(stated: str) -> str:
    """Return the text of an epsilon after checking it."""
    if not re.fullmatch(r"\d{1,3}(\.\d{1,6})?|\.\d{1,6}", stated) or not float(stated):
        raise InvalidInput(f"epsilon must be a number above 0 such as 1 or 0.5, got {stated!r}; correct it.")
    return stated


def relative_source(source: str, folder: Path) -> str:
    """Return the path of a table for a spec: relative to the spec's folder, unless it was stated as absolute.

    Args:
        source: the path as it was stated, or an address in an object store.
        folder: the folder of the spec.
    """
    if "://" in source:
        return source
    return os.path.relpath(source, folder) if not Path(source).is_absolute() else source


def files_of_draft(folder: Path, name: str, *, replace: bool) -> tuple[Path, Path]:
    """Return the files of a schema and a spec.

    Raises:
        InvalidInput: one exists, and may not be replaced.
    """
    files = folder / f"{name}.py", folder / f"{name}.yaml"
    there = [str(path) for path in files if path.exists()]
    if there and not replace:
        raise InvalidInput(
            f"a draft must not replace what a person wrote, and {' and '.join(there)} exists; give another --name, or "
            f"--replace."
        )
    return files


def write_and_load(
    files: tuple[Path, Path], texts: tuple[str, str], *, sources: Sequence[str], quoting: bool = True
) -> "ReleaseSpec":
    """Write a schema and a spec, and load both; either both are written and load, or nothing changes.

    Args:
        files: the two files, in one folder.
        texts: their texts.
        sources: names of the files that they were made from.
        quoting: whether messages may quote these.

    Raises:
        InvalidInput: the folder cannot be written, or they do not load.
    """
    from schemas.spec.release_spec import load_spec  # noqa: PLC0415 - other commands do without it

    before = [path.read_bytes() if path.exists() else None for path in files]
    folder = files[0].parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in zip(files, texts, strict=True):
            path.write_text(text, encoding="utf-8")
        return load_spec(files[1])
    except BaseException as error:
        for path, content in zip(files, before, strict=True):
            with suppress(OSError):
                path.unlink(missing_ok=True) if content is None else path.write_bytes(content)
        if isinstance(error, InvalidInput) and not quoting:
            msg = (
                f"a draft must load, and that of {' and '.join(sources)} does not; why is not shown, because the file "
                "may be the table itself: say where the table is with --source PATH."
            )
            raise InvalidInput(msg) from None
        if isinstance(error, OSError):
            msg = f"the folder of a draft must be writable, got {folder}: {error.strerror}; name another."
            raise InvalidInput(msg) from None
        raise
