"""Recognises the format of a codebook, and reads it.

A codebook is a public document. No records are read here, not even those that follow the header of an ARFF file, or
the description in a file of a statistics program.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from deniable.foundation.errors import InvalidInput
from schemas.codebooks.ahrq_codebook import is_ahrq, read_ahrq, text_of_page
from schemas.codebooks.arff_header import header_of, read_arff
from schemas.codebooks.codebook import Codebook
from schemas.codebooks.csv_codebook import read_csv
from schemas.codebooks.ddi_codebook import read_ddi
from schemas.codebooks.json_metadata import read_metadata
from schemas.codebooks.label_syntax import read_spss, read_stata
from schemas.codebooks.statistics_labels import read_statistics
from schemas.regular_files import opened_regular, read_regular, require_regular
from schemas.source_libraries import library_for
from schemas.spec.source_kinds import SPREADSHEET, is_of
from schemas.statistics_programs.description import CATALOG, is_of_a_statistics_program

FORMATS = ("csv", "json", "yaml", "ddi", "arff", "spss", "stata", "ahrq", "statistics", "spreadsheet")
_OF_SUFFIX = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".xml": "ddi",
    ".arff": "arff",
    ".sps": "spss",
    ".do": "stata",
    ".dct": "stata",
}
_LONGEST = 64 << 20
_LONGEST_HEADER = 16 << 20
_LONGEST_LINE = 8 << 20
_MOST_SHOWN = 40
_WHAT = "the codebook"
_QUOTES_NOTHING = re.compile(r"(\S+, )?(line \d+: )?a codebook must ")
_LINE = re.compile(r"(?:\S+, )?(line \d+)\b")


def read_codebooks(paths: Sequence[Path], form: str | None = None, sheets: Sequence[str] = ()) -> Codebook:
    """Read a codebook from one or more files; later files complete the descriptions in earlier ones.

    Args:
        paths: the files.
        form: the format of all files, one of `FORMATS`; recognised by default.
        sheets: the sheets that describe the table, of each file that is a spreadsheet; its first one by default.

    Returns:
        The codebook, with its faults; `schemas.codebooks.drafting.draft_of` refuses it if it has any.

    Raises:
        InvalidInput: a file cannot be read, or its format is not recognised.
    """
    whole = Codebook()
    catalogs = [path for path in paths if path.suffix.lower() == CATALOG]
    for path in paths:
        if path in catalogs and len(paths) > len(catalogs):
            # It has the labels of the values in a file beside it.
            continue
        read = _read(path, form, catalogs, sheets)
        if not read.variables and not read.faults:
            read.faults.append(f"a codebook must describe variables, got none; check that {path} is one.")
        whole.complete(read.variables.values())
        whole.faults += [f"{path.name}, {fault}" if len(paths) > 1 else fault for fault in read.faults]
    return whole


def require_no_faults(faults: Sequence[str], what: str, *, quoting: bool = True) -> None:
    """Refuse a codebook with faults, all of them at once.

    Args:
        faults: the faults.
        what: the origin of the codebook.
        quoting: whether they may be shown. If the file may be the confidential table, only their lines are shown.

    Raises:
        InvalidInput: there are faults.
    """
    if not faults:
        return
    if not quoting:
        faults = list(_without_quotes(faults))
    shown = list(faults[:_MOST_SHOWN])
    if len(faults) > _MOST_SHOWN:
        shown.append(f"and {len(faults) - _MOST_SHOWN:,} more.")
    raise InvalidInput("\n  ".join([f"the codebook {what} is wrong, in {len(faults):,} of its entries:", *shown]))


def _without_quotes(faults: Sequence[str]) -> Iterator[str]:
    """The faults, without any content of the file."""
    hidden: list[str] = []
    for fault in faults:
        if _QUOTES_NOTHING.match(fault):
            yield fault
        else:
            found = _LINE.match(fault)
            hidden.append(found[1] if found else "an entry")
    if hidden:
        places = ", ".join(dict.fromkeys(hidden[:_MOST_SHOWN]))
        yield (
            f"{places}: what is wrong there is not shown, because the file may be the table itself; say where the "
            "table is with --source PATH."
        )


def _read(path: Path, form: str | None, catalogs: Sequence[Path], sheets: Sequence[str]) -> Codebook:
    """Read one file."""
    form = form or _OF_SUFFIX.get(path.suffix.lower())
    try:
        if form in {None, "statistics"} and is_of_a_statistics_program(path):
            with opened_regular(path, _WHAT):
                return read_statistics(path, next(iter(catalogs), None))
        if path in catalogs or form == "statistics":
            raise InvalidInput(
                f"the codebook must be a file of Stata, SPSS or SAS, with SAS's catalog beside it if there is one, got "
                f"{path}; name the .sas7bdat file first."
            )
        if form == "spreadsheet" or (form is None and is_of(SPREADSHEET, path.name)):
            return _of_sheets(path, sheets)
        if sheets:
            raise InvalidInput(f"--sheet names sheets of a spreadsheet, and {path} is none; leave it out.")
        if form == "arff":
            return read_arff(_header(path))
        content = read_regular(path, _WHAT, _LONGEST)
        if form == "ddi" or (form is None and content.lstrip().startswith(b"<?xml")):
            return read_ddi(content)
        return _of_text(_decoded(content), form, path)
    except FileNotFoundError:
        msg = f"the codebook must be a file, and {path} does not exist; correct its path."
    except OSError as error:
        msg = f"the codebook must be a readable file, got {path}: {error.strerror}."
    raise InvalidInput(msg)


def names_of_sheets(path: Path) -> tuple[str, ...]:
    """The names of the sheets of a spreadsheet; none if the file is no spreadsheet.

    Raises:
        InvalidInput: it is not complete.
    """
    if not is_of(SPREADSHEET, path.name) or not path.is_file():
        return ()
    library = library_for(f"the codebook {path}", "python_calamine")
    try:
        with opened_regular(path, _WHAT), library.load_workbook(str(path)) as book:
            return tuple(book.sheet_names)
    except library.CalamineError:
        raise InvalidInput(f"the codebook must be a complete spreadsheet, and {path} is not; save it again.") from None


def _of_sheets(path: Path, names: Sequence[str]) -> Codebook:
    """A codebook in sheets of a spreadsheet, each of which is like one in CSV; no other sheet is read."""
    require_regular(path, _WHAT)
    library = library_for(f"the codebook {path}", "python_calamine")
    whole = Codebook()
    try:
        with opened_regular(path, _WHAT), library.load_workbook(str(path)) as book:
            _require_sheets(path, names, book.sheet_names)
            for name in names or book.sheet_names[:1]:
                read = read_csv(_as_csv(book.get_sheet_by_name(name).to_python(skip_empty_area=True)))
                whole.complete(read.variables.values())
                whole.faults += [f"sheet {name}, {fault}" if len(names) > 1 else fault for fault in read.faults]
    except library.CalamineError:
        raise InvalidInput(f"the codebook must be a complete spreadsheet, and {path} is not; save it again.") from None
    return whole


def _require_sheets(path: Path, names: Sequence[str], there: Sequence[str]) -> None:
    missing = [name for name in names if name not in there]
    if missing:
        raise InvalidInput(
            f"--sheet must name sheets of {path}, got {', '.join(missing)}; it has {', '.join(there) or 'none'}."
        )


def _as_csv(rows: Sequence[Sequence[Any]]) -> str:
    written = io.StringIO()
    csv.writer(written).writerows([_cell(cell) for cell in row] for row in rows)
    return written.getvalue()


def _cell(cell: Any) -> str:
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _of_text(text: str, form: str | None, path: Path) -> Codebook:
    if "<html" in text[:2000].lower() or "<table" in text[:20000].lower():
        text = text_of_page(text)
    form = form or _found(text)
    if form is None:
        raise InvalidInput(
            f"the codebook must be in a format that is known, and that of {path} was not found; name it with --format: "
            f"{', '.join(FORMATS)}."
        )
    return _READERS[form](text)


def _found(text: str) -> str | None:
    """The format of a text whose file name does not reveal it."""
    low = text.lower()
    if text.lstrip().startswith("{"):
        return "json"
    for form, marks in (
        ("arff", ("@attribute",)),
        ("stata", ("label define", "label variable", "infix ", "_column(")),
        ("spss", ("value labels", "variable labels", "data list")),
    ):
        if any(mark in low for mark in marks):
            return form
    return "ahrq" if is_ahrq(text) else None


def _header(path: Path) -> str:
    """The header of an ARFF file; nothing after `@data` is read."""
    with opened_regular(path, _WHAT) as file:
        lines = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace")
        return header_of(_bounded(lines))


def _bounded(lines: io.TextIOWrapper) -> Iterator[str]:
    total = 0
    while line := lines.readline(_LONGEST_LINE):
        total += len(line)
        if total > _LONGEST_HEADER:
            raise InvalidInput(
                f"the header of an ARFF file must have at most {_LONGEST_HEADER >> 20} MiB before @data, got more."
            )
        yield line


def _decoded(content: bytes) -> str:
    """Text in UTF-8 or, if it is not UTF-8, in Windows' Western code page, as is common for codebooks."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def _read_json(text: str) -> Codebook:
    try:
        read = json.loads(text, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        read = None
    return _of_mapping(read, "JSON")


def _read_yaml(text: str) -> Codebook:
    try:
        read = YAML(typ="safe", pure=True).load(_without_aliases(text))
    except (YAMLError, RecursionError, ValueError):
        read = None
    return _of_mapping(read, "YAML")


def _without_aliases(text: str) -> str:
    """Refuse aliases, which can expand without end."""
    reader = YAML(typ="safe", pure=True)
    if any(getattr(event, "anchor", None) for event in reader.parse(text)):
        raise ValueError("aliases")
    return text


def _of_mapping(read: Any, what: str) -> Codebook:
    if not isinstance(read, dict):
        return Codebook(faults=[f"a description in {what} must be a mapping without aliases, and is not; correct it."])
    return read_metadata(read)


_READERS: dict[str, Callable[[str], Codebook]] = {
    "csv": read_csv,
    "json": _read_json,
    "yaml": _read_yaml,
    "spss": read_spss,
    "stata": read_stata,
    "ahrq": read_ahrq,
    "arff": lambda text: read_arff(header_of(text.splitlines(keepends=True))),
    "ddi": lambda text: read_ddi(text.encode()),
}
