"""How a table is written as text: what separates its fields, where its columns are named, how it is encoded.

A dialect is declared in the spec's source. It is never assumed: if the first lines have another one, the source is
refused, and the refusal says what was seen there and which entry to write. No value of a record is quoted.
"""

import codecs
import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Final

UTF_8: Final = "utf-8"
TAB: Final = "\t"
_DELIMITERS: Final = {",": "commas", ";": "semicolons", TAB: "tabs", "|": "bars"}
_HEAD_BYTES = 1 << 18
_MOST_LINES = 60
_FEWEST_ROWS = 3
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True)
class Dialect:
    """A dialect of text tables.

    Attributes:
        delimiter: what separates the fields of a row.
        quote: what encloses a field.
        encoding: how characters are encoded.
        skip_rows: the number of lines above the one that names the columns.
        unit_rows: the number of lines below it that are no records, such as units.
        decimal: what separates decimals.
        thousands: what separates thousands; empty if nothing does.
    """

    delimiter: str = ","
    quote: str = '"'
    encoding: str = UTF_8
    skip_rows: int = 0
    unit_rows: int = 0
    decimal: str = "."
    thousands: str = ""

    @property
    def entries(self) -> dict[str, str | int]:
        """The entries of a spec's source that declare it."""
        return {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if getattr(self, each.name) != getattr(USUAL, each.name)
        }


USUAL: Final = Dialect()


@dataclass(frozen=True)
class Seen:
    """What the first lines of a file show.

    Attributes:
        dialect: the dialect in which they name the columns.
        names: the columns that they name.
        found: the number of wanted columns among them.
    """

    dialect: Dialect
    names: tuple[str, ...]
    found: int

    @property
    def words(self) -> str:
        """What was seen, in words."""
        line = f"line {self.dialect.skip_rows + 1}" if self.dialect.skip_rows else "the first line"
        split = f"if split at {_DELIMITERS[self.dialect.delimiter]}"
        encoded = "" if self.dialect.encoding == UTF_8 else f", and the file is written in {self.dialect.encoding}"
        columns = "1 column" if len(self.names) == 1 else f"{len(self.names)} columns"
        return f"{line} has {columns} {split}{encoded}"


def usual_dialect(path: Path) -> Dialect:
    """The dialect of a file of that name for which a spec declares none."""
    return replace(USUAL, delimiter=TAB) if path.name.endswith((".tsv", ".tsv.gz")) else USUAL


def source_line(entries: dict[str, str | int]) -> str:
    """The line of a spec that declares a source, from its entries."""
    return f"source: {{{', '.join(f'{name}: {_in_yaml(value)}' for name, value in entries.items())}}}"


def head_of(path: Path) -> bytes:
    """The first bytes of a file, compressed or not; empty if it cannot be read."""
    try:
        opened = gzip.open if path.suffix == ".gz" else Path.open
        with opened(path, "rb") as stream:
            return bytes(stream.read(_HEAD_BYTES))
    except (OSError, EOFError, zlib.error):
        return b""


def seen_in(head: bytes, wanted: Sequence[str], declared: Dialect) -> Seen | None:
    """The dialect in which the first lines of a file name the most of the wanted columns.

    Args:
        head: the first bytes of the file.
        wanted: names of columns.
        declared: the declared dialect, which is preferred to one that names as many.

    Returns:
        What was seen; None if no line names one of the columns. If none are wanted, it is the line that the declared
        dialect names.
    """
    encoding = encoding_of(head, declared.encoding)
    try:
        text = codecs.getincrementaldecoder(_codec(encoding))().decode(head)
    except UnicodeError:
        return None
    wanted_names = {name.strip() for name in wanted}
    if not wanted:
        rows = list(_rows(text, declared.delimiter, declared.quote))
        named = next((names for skipped, names in rows if skipped >= declared.skip_rows and any(names)), ())
        return Seen(replace(declared, encoding=encoding), named, 0)
    best: Seen | None = None
    for delimiter in dict.fromkeys((declared.delimiter, *_DELIMITERS)):
        for skipped, names in _rows(text, delimiter, declared.quote):
            found = len(wanted_names.intersection(names))
            is_declared = skipped == declared.skip_rows and delimiter == declared.delimiter
            if found and (best is None or found > best.found or (found == best.found and is_declared)):
                dialect = replace(declared, delimiter=delimiter, encoding=encoding, skip_rows=skipped)
                best = Seen(dialect, names, found)
    return best


def uneven_rows(head: bytes, dialect: Dialect) -> str | None:
    """What is wrong if all of the first rows have the same number of fields, and the row of names has another.

    Args:
        head: the first bytes of a file.
        dialect: how it is written.

    Returns:
        What must hold, what was seen and what to do; None if nothing is wrong.
    """
    text = codecs.getincrementaldecoder(_codec(dialect.encoding))(errors="replace").decode(head)
    rows = [row for before, row in _rows(text, dialect.delimiter, dialect.quote) if row and before >= dialect.skip_rows]
    # The last row may have been cut off.
    named, widths = rows[0] if rows else (), {len(row) for row in rows[1 + dialect.unit_rows : -1]}
    if len(rows) < _FEWEST_ROWS + 2 or len(widths) != 1 or widths == {len(named)}:
        return None
    width = widths.pop()
    what = f"as many fields as columns are named, and {len(named)} are named and the first rows have {width}"
    if width == len(named) - 1 and not named[-1]:
        return f"{what}: line {dialect.skip_rows + 1} ends in a separator; remove it"
    if width == len(named) + 1:
        return f"{what}: either the rows end in a separator, or their first field, such as R's row names, has no name"
    return f"{what}; check which character separates the fields"


def encoding_of(head: bytes, declared: str = UTF_8) -> str:
    """The encoding of some bytes: the declared one if they can be, otherwise the one that they show."""
    if head.startswith(_UTF_16):
        return "utf-16"
    try:
        codecs.getincrementaldecoder(_codec(declared))().decode(head)
    except UnicodeError:
        # Latin-1 has no printable character there, and Windows' code page has some.
        return "windows-1252" if any(0x80 <= byte < 0xA0 for byte in head) else "latin-1"
    return declared


def _codec(encoding: str) -> str:
    return "utf-8-sig" if encoding == UTF_8 else encoding


def _rows(text: str, delimiter: str, quote: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The first rows of a text, each with the number of lines before it."""
    rows = csv.reader(io.StringIO(text), delimiter=delimiter, quotechar=quote, skipinitialspace=True)
    before = 0
    try:
        for row in rows:
            if before >= _MOST_LINES:
                return
            yield before, tuple(name.strip() for name in row)
            before = rows.line_num
    except csv.Error:
        return


def _in_yaml(value: str | int) -> str:
    is_plain = isinstance(value, int) or value.replace("-", "").isalnum()
    return str(value) if is_plain else json.dumps(value, ensure_ascii=False)
