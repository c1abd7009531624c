"""Describes a release in the words of other systems: catalogues, archives, lineage servers, statistical offices."""

import argparse
import os
from hashlib import sha256
from typing import TYPE_CHECKING

from deniable.catalogues.registry import FORMATS, Format, format_of
from deniable.cli.contract import Command
from deniable.cli.files import (
    HOLDS,
    KEYS_HELP,
    RELEASE_HELP,
    Unreadable,
    of_unreadable,
    say,
    trusted,
    write,
)
from deniable.console import show
from deniable.foundation.errors import InvalidInput

if TYPE_CHECKING:
    from deniable.catalogues.described import Described
    from deniable.foundation.checks import Check
    from deniable.verification.release import Trust

_ALL = "all"
_STATEMENT, _PACKAGE = "privacy.json", "datapackage.json"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("release", metavar="RELEASE_DIR", help=RELEASE_HELP)
    parser.add_argument(
        "--as", dest="form", required=True, metavar="FORMAT", help=f"{', '.join(FORMATS)}, or {_ALL} of them"
    )
    parser.add_argument("--out", metavar="PATH", help=f"a file; with {_ALL} a folder (default: print it)")
    parser.add_argument("--address", metavar="URL", help="where the folder is published, for links to its files")
    parser.add_argument("--keys", metavar="FILE", help=KEYS_HELP)


def _run(asked: argparse.Namespace) -> int:
    forms = _forms(asked.form)
    if asked.form == _ALL and not asked.out:
        raise Unreadable(f"--as {_ALL} must have a folder for its files; name one with --out.")
    if asked.address and not asked.address.startswith(("https://", "http://")):
        raise Unreadable(f"--address must begin with https:// or http://, got {asked.address}; give the whole address.")
    try:
        check, release = _described(asked.release, trusted(asked), (asked.address or "").rstrip("/"))
    except (InvalidInput, KeyError, TypeError) as error:
        raise Unreadable(
            f"a release must have a whole record and its documents, got {asked.release}: {error}"
        ) from None
    except OSError as error:
        raise Unreadable(of_unreadable(asked.release, error)) from None
    if not check.holds or release is None:
        return say([check.line], holds=False)
    texts = {form.file: form.text(release) for form in forms}
    if asked.out is None:
        show([text.removesuffix("\n") for text in texts.values()])
        return HOLDS
    for name, text in texts.items():
        place = _place(asked.out, name, is_folder=asked.form == _ALL)
        write(place, text)
        show([f"{place} was written"])
    return HOLDS


def _forms(name: str) -> list[Format]:
    """The formats that a name stands for.

    Raises:
        Unreadable: it is no format.
    """
    try:
        return list(FORMATS.values()) if name == _ALL else [format_of(name)]
    except InvalidInput as error:
        raise Unreadable(str(error)) from None


def _place(out: str, name: str, *, is_folder: bool) -> str:
    """The path of a file, whose folder is made if several files are wanted."""
    if not is_folder:
        return out
    try:
        os.makedirs(out, exist_ok=True)  # noqa: PTH103
    except OSError as error:
        raise Unreadable(f"--out must be a folder, got {out}: {error.strerror}; name another.") from None
    return os.path.join(out, name)  # noqa: PTH118


def _described(path: str, trust: "Trust", address: str) -> "tuple[Check, Described | None]":
    """What a folder says about its release, if a trusted key signed it; its table is not read.

    Raises:
        InvalidInput: it is not the folder of a release, or a document was changed.
        OSError: it cannot be read.
    """
    from deniable.catalogues.described import Described  # noqa: PLC0415 - slow to import, as verification is
    from deniable.folder_on_disk import FolderOnDisk  # noqa: PLC0415
    from deniable.verification.release import RECORD, content_of, json_document, kind_of, record_in, signature_check  # noqa: PLC0415

    folder = FolderOnDisk(path)
    names = folder.members()
    envelope, statement = record_in(folder, names)
    if kind_of(folder) != "release":
        raise InvalidInput("surveys and discoveries cannot be described.")
    check = signature_check(envelope, statement.predicate, trust)
    if not check.holds:
        return check, None
    for name in (_STATEMENT, _PACKAGE):
        if sha256(content_of(folder, names, name).encode()).hexdigest() != statement.subjects.get(name):
            raise InvalidInput(f"{name} is not the file that was signed.")
    return check, Described(
        record=statement.predicate,
        digests=dict(statement.subjects),
        record_digest=sha256(content_of(folder, names, RECORD).encode()).hexdigest(),
        statement=json_document(folder, names, _STATEMENT),
        package=json_document(folder, names, _PACKAGE),
        address=address,
    )


COMMAND = Command(
    arguments=_add_arguments,
    run=_run,
    description="Describe a release in the words of another system, from its signed record, its statement and the "
    "description of its table. Nothing is measured, and the records are not read. The record's signature is checked "
    "first, and the documents against their digests; to check everything, use audit verify.",
)
