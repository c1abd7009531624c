"""Writes files of SAS, which no Python library offers, by the C library inside pyreadstat (ReadStat's API).

Files of SAS itself differ in what this project does not depend on, such as compression.
"""

import ctypes
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyreadstat import _readstat_writer

_STRING, _DOUBLE = 0, 5


def write_sas(
    path: Path,
    columns: Mapping[str, Sequence[str | float | None]],
    formats: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> None:
    """Write a .sas7bdat file.

    Args:
        path: the file.
        columns: texts or numbers, of the same length. None is missing; of numbers, `.A` to `.Z` are SAS's own missing.
        formats: formats of SAS, by column.
        labels: labels of columns.
    """
    library, writer, written, _keep = _writer()
    variables = {
        name: _added(library, writer, name, values, (formats or {}).get(name, ""), (labels or {}).get(name, ""))
        for name, values in columns.items()
    }
    rows = len(next(iter(columns.values())))
    _do(library.readstat_begin_writing_sas7bdat(writer, None, ctypes.c_long(rows)))
    for row in zip(*columns.values(), strict=True):
        _do(library.readstat_begin_row(writer))
        for (variable, kind), value in zip(variables.values(), row, strict=True):
            _insert(library, writer, variable, kind, value)
        _do(library.readstat_end_row(writer))
    _do(library.readstat_end_writing(writer))
    library.readstat_writer_free(writer)
    path.write_bytes(written)


def write_catalog(path: Path, formats: Mapping[str, Mapping[float, str]]) -> None:
    """Write a catalog of formats, .sas7bcat, with the labels of values of each format."""
    library, writer, written, _keep = _writer()
    for name, labels in formats.items():
        labelled = ctypes.c_void_p(library.readstat_add_label_set(writer, _DOUBLE, name.encode()))
        for value, label in labels.items():
            library.readstat_label_double_value(labelled, ctypes.c_double(value), label.encode())
    _do(library.readstat_begin_writing_sas7bcat(writer, None))
    _do(library.readstat_end_writing(writer))
    library.readstat_writer_free(writer)
    path.write_bytes(written)


def _writer() -> tuple[ctypes.CDLL, ctypes.c_void_p, bytearray, Any]:
    """ReadStat, a writer of it, what it has written, and the function that keeps it and must not be collected."""
    library = ctypes.CDLL(_readstat_writer.__file__)
    for name in ("readstat_writer_init", "readstat_add_variable", "readstat_add_label_set"):
        getattr(library, name).restype = ctypes.c_void_p
    written = bytearray()

    @ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    def keep(data: int, length: int, _: object) -> int:
        written.extend(ctypes.string_at(data, length))
        return length

    writer = ctypes.c_void_p(library.readstat_writer_init())
    _do(library.readstat_set_data_writer(writer, keep))
    return library, writer, written, keep


def _added(
    library: ctypes.CDLL,
    writer: ctypes.c_void_p,
    name: str,
    values: Sequence[str | float | None],
    form: str,
    label: str,
) -> tuple[ctypes.c_void_p, int]:
    """A variable, and its type."""
    texts = [value.encode() for value in values if isinstance(value, str) and not value.startswith(".")]
    kind, width = (_STRING, max(map(len, texts))) if texts else (_DOUBLE, 0)
    variable = ctypes.c_void_p(library.readstat_add_variable(writer, name.encode(), kind, ctypes.c_size_t(width)))
    library.readstat_variable_set_format(variable, form.encode())
    library.readstat_variable_set_label(variable, label.encode())
    return variable, kind


def _insert(
    library: ctypes.CDLL, writer: ctypes.c_void_p, variable: ctypes.c_void_p, kind: int, value: str | float | None
) -> None:
    if kind == _STRING:
        _do(library.readstat_insert_string_value(writer, variable, str(value or "").encode()))
    elif value is None:
        _do(library.readstat_insert_missing_value(writer, variable))
    elif isinstance(value, str):
        _do(library.readstat_insert_tagged_missing_value(writer, variable, ctypes.c_char(value[1].encode())))
    else:
        _do(library.readstat_insert_double_value(writer, variable, ctypes.c_double(value)))


def _do(status: int) -> None:
    if status:
        raise RuntimeError(f"ReadStat returned {status}")
