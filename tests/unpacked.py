"""Searches files for forbidden contents, however packed: in archives, databases, tables and wrapped records."""

import base64
import gzip
import io
import re
import sqlite3
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pandas as pd

_BASE64 = re.compile(rb"[A-Za-z0-9+/]{64,}={0,2}")
_BITS_OF_A_CHARACTER = 6


def files_below(*folders: Path) -> list[Path]:
    """Return all files in some folders."""
    return [path for folder in folders for path in folder.rglob("*") if path.is_file()]


def unpacked(content: bytes, depth: int = 4) -> Iterator[bytes]:
    """Yield a file's bytes and, recursively, everything packed into it."""
    yield content
    if depth == 0:
        return
    inner: list[bytes] = []
    if content[:2] == b"\x1f\x8b":
        inner.append(gzip.decompress(content))
    elif content[:4] == b"PK\x03\x04":
        # Other tests leave damaged archives; the readable part of these is read as it is.
        with suppress(zipfile.BadZipFile), zipfile.ZipFile(io.BytesIO(content)) as archive:
            inner += [archive.read(name) for name in archive.namelist()]
    elif content[:4] == b"PAR1":
        frame = pd.read_parquet(io.BytesIO(content))
        inner.append(frame.to_csv(index=False).encode())
    elif content[:15] == b"SQLite format 3":
        inner.append(database_text(content))
    else:
        for match in _BASE64.findall(content):
            body = match.rstrip(b"=")
            # One character more than a multiple of four encodes nothing.
            body = body[:-1] if len(body) % 4 == 1 else body
            inner.append(base64.b64decode(body + b"=" * (-len(body) % 4)))
    for packed in inner:
        yield from unpacked(packed, depth - 1)


def database_text(content: bytes) -> bytes:
    """Return every row of every table of a database as text."""
    database = sqlite3.connect(":memory:")
    # A copy in memory cannot have a separate log.
    database.deserialize(content[:18] + b"\x01\x01" + content[20:])
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    lines = []
    for table in tables:
        rows = database.execute(f'SELECT * FROM "{table}"')  # noqa: S608 - names of our own database
        lines += [b"\t".join(cell if isinstance(cell, bytes) else str(cell).encode() for cell in row) for row in rows]
    return b"\n".join(lines)


def forms_of_secret(secret: bytes) -> list[bytes]:
    """Return the forms of a secret: plain, in hexadecimal, in base64 at any offset, as numbers."""
    forms = [secret, secret.hex().encode(), secret.hex().upper().encode(), str(secret).encode()]
    for before in range(3):
        text = base64.b64encode(bytes(before) + secret)
        # The first and the last character also contain bits of the surrounding text.
        first = -(-8 * before // _BITS_OF_A_CHARACTER)
        inner = text[first : 8 * (before + len(secret)) // _BITS_OF_A_CHARACTER]
        forms += [inner, inner.translate(bytes.maketrans(b"+/", b"-_"))]
    return [*forms, ", ".join(map(str, secret)).encode(), ",".join(map(str, secret)).encode()]


def files_with(secret: bytes, *folders: Path) -> set[Path]:
    """Return the files that contain a secret in any form."""
    [found] = files_with_each([secret], *folders)
    return found


def files_with_each(secrets: Sequence[bytes], *folders: Path) -> list[set[Path]]:
    """Return the files that contain each secret in any form; each file is unpacked once."""
    forms = [forms_of_secret(secret) for secret in secrets]
    found: list[set[Path]] = [set() for _ in secrets]
    for path in files_below(*folders):
        for text in unpacked(path.read_bytes()):
            for those, files in zip(forms, found, strict=True):
                if any(form in text for form in those):
                    files.add(path)
    return found
