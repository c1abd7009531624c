"""ZIP files with one table, which is unpacked into a scratch folder of the state folder for as long as it is read."""

import shutil
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

from deniable.foundation.errors import InvalidInput
from schemas.spec.source_kinds import ZIP, is_of, kind_of_source
from stores.vault.scratch import scratch_folder

_IS_ENCRYPTED: Final = 0x1
_PASSED_OVER: Final = ("__MACOSX", ".")
_MOST_MEMBERS: Final = 10_000


@contextmanager
def unpacked(path: Path, state: Path) -> Iterator[Path]:
    """The table in a ZIP file, as a file; any other file as it is.

    Args:
        path: the file.
        state: the state folder, in which it is unpacked.

    Yields:
        A file, which exists until the block ends.

    Raises:
        InvalidInput: it is no ZIP file with exactly one table that can be read.
    """
    if not is_of(ZIP, path.name):
        yield path
        return
    with ExitStack() as kept:
        try:
            place = _unpack(path, kept.enter_context(scratch_folder(state, "unpacked")))
        except OSError:
            raise InvalidInput(
                f"the source {path} is unpacked in the state folder {state} while it is read, and there is no room, or "
                "this user may not write there; make room, name another folder with --state, or unpack the source "
                "yourself and name the table."
            ) from None
        yield place


def _unpack(path: Path, folder: Path) -> Path:
    try:
        with zipfile.ZipFile(path) as archive:
            member = _only_table(path, archive)
            place = folder / PurePosixPath(member.filename).name
            with archive.open(member) as packed, place.open("wb") as plain:
                shutil.copyfileobj(packed, plain)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, zlib.error):
        raise InvalidInput(
            f"the source {path} must be a complete ZIP file, and is not; get it again, or unpack it yourself and name "
            "the table."
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
