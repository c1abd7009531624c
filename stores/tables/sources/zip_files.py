"""ZIP files with one table, which is unpacked into a private temporary folder for as long as it is read."""

import shutil
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Final

from deniable.foundation.errors import InvalidInput
from schemas.spec.source_kinds import ZIP, is_of, kind_of_source

_IS_ENCRYPTED: Final = 0x1
_PASSED_OVER: Final = ("__MACOSX", ".")
_MOST_MEMBERS: Final = 10_000


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """The table in a ZIP file, as a file; any other file as it is.

    Args:
        path: the file.

    Yields:
        A file, which exists until the block ends.

    Raises:
        InvalidInput: it is no ZIP file with exactly one table that can be read.
    """
    if not is_of(ZIP, path.name):
        yield path
        return
    with TemporaryDirectory(prefix="deniable-") as folder:
        yield _unpack(path, Path(folder))


def _unpack(path: Path, folder: Path) -> Path:
    try:
        with zipfile.ZipFile(path) as archive:
            member = _only_table(path, archive)
            place = folder / PurePosixPath(member.filename).name
            with archive.open(member) as packed, place.open("wb") as plain:
                shutil.copyfileobj(packed, plain)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, zlib.error):
        raise InvalidInput(
            f"the source {path} must be a complete ZIP file, and there must be room to unpack it in the folder for "
            "temporary files; get it again, or unpack it yourself and name the table."
        ) from None
    return place


def _only_table(path: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """The one table in an archive; notes beside it are passed over."""
    members = [
        member
        for member in archive.infolist()[:_MOST_MEMBERS]
        if not member.is_dir()
        and not any(part.startswith(_PASSED_OVER) for part in PurePosixPath(member.filename).parts)
    ]
    tables = [member for member in members if _is_table(member)]
    if len(tables) > 1:
        # A note is text, too.
        tables = [member for member in tables if not member.filename.lower().endswith(".txt")] or tables
    if len(tables) != 1:
        raise InvalidInput(
            f"the source {path} must hold one table, and holds {len(tables) or 'none'}; unpack it and name the table."
        )
    if tables[0].flag_bits & _IS_ENCRYPTED:
        raise InvalidInput(f"the source {path} must have no password, and has one; unpack it and name the table.")
    return tables[0]


def _is_table(member: zipfile.ZipInfo) -> bool:
    kind, parts = kind_of_source(member.filename), PurePosixPath(member.filename).parts
    is_hidden = any(part.startswith(_PASSED_OVER) for part in parts)
    return kind is not None and kind is not ZIP and not member.is_dir() and not is_hidden
