"""What a file of Stata, SPSS or SAS says about its columns: names, types, labels, codes for missing values.

The reader is pyreadstat, of the extra `sources`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from deniable.foundation.errors import InvalidInput
from schemas.source_libraries import library_for
from schemas.spec.source_kinds import STATISTICS, is_of
from schemas.statistics_programs.times import Clock, clock_of

_READERS: Final = {
    ".sav": ("spss", "read_sav"),
    ".zsav": ("spss", "read_sav"),
    ".por": ("spss", "read_por"),
    ".dta": ("stata", "read_dta"),
    ".sas7bdat": ("sas", "read_sas7bdat"),
    ".sas7bcat": ("sas", "read_sas7bcat"),
    ".xpt": ("sas", "read_xport"),
}
_WITH_RANGES: Final = (".sav", ".zsav")
"""Files that declare codes for missing values apart from the values."""
_OF_ONE_ENCODING: Final = (".por",)
CATALOG: Final = ".sas7bcat"
"""How the names of SAS's catalogs of formats end."""
_LARGEST_RANGE: Final = 1000
_ENCODINGS: Final = {"latin-1": "ISO-8859-1", "windows-1252": "WINDOWS-1252", "utf-8": "UTF-8", "utf-16": "UTF-16"}
_DECIMALS: Final = re.compile(r"(?:F|COMMA|DOT|DOLLAR|PCT)\d+(?:\.(\d*))?|%-?\d*\.(\d+)fc?")


@dataclass(frozen=True)
class DescribedColumn:
    """A column as its file describes it.

    Attributes:
        name: its name.
        label: its label; empty if there is none.
        type: `string`, `int8`, `int16`, `int32`, `float` or `double`.
        clock: what its numbers count, if they are days or moments.
        decimals: the decimals with which its numbers are shown; None if the file does not say.
        measure: `nominal`, `ordinal`, `scale` or `unknown`.
        labels: the labels of its values.
        missing: codes for missing values.
    """

    name: str
    label: str = ""
    type: str = "double"
    clock: Clock | None = None
    decimals: int | None = None
    measure: str = "unknown"
    labels: Mapping[Any, str] = field(default_factory=dict)
    missing: tuple[Any, ...] = ()

    @property
    def is_text(self) -> bool:
        """Whether it holds text."""
        return self.type == "string"


def is_of_a_statistics_program(path: Path) -> bool:
    """Whether a file is of a statistics program, by its name."""
    return is_of(STATISTICS, path.name)


def read_of_program(path: Path, name: str, encoding: str | None = None, **options: Any) -> tuple[dict[str, Any], Any]:
    """Read a part of a file of a statistics program.

    Args:
        path: its path.
        name: its name in messages.
        encoding: how its characters are encoded; None if the file says so itself.
        options: which part is read, as pyreadstat calls it.

    Returns:
        The values of each column, and the description of all.

    Raises:
        InvalidInput: it cannot be read, or its reader is not installed. Nothing of the file is quoted.
    """
    library = library_for(name, "pyreadstat")
    suffix = path.suffix.lower()
    reader: Callable[..., tuple[dict[str, Any], Any]] = getattr(library, _READERS[suffix][1])
    stated = {} if encoding is None or suffix in _OF_ONE_ENCODING else {"encoding": _ENCODINGS[encoding]}
    if suffix != CATALOG:
        # Times are converted here, because the library knows fewer of the programs' formats.
        options["disable_datetime_conversion"] = True
    try:
        return reader(str(path), output_format="dict", **stated, **options)
    except (library.ReadstatError, library.PyreadstatError, UnicodeError, ValueError, OverflowError) as error:
        if isinstance(error, UnicodeError) or "encoding" in str(error).lower():
            raise InvalidInput(
                f"the characters of {name} must be of the encoding that it declares, and are not; state `encoding: "
                "windows-1252`, `encoding: latin-1` or `encoding: utf-8` in the spec's source."
            ) from None
        raise InvalidInput(
            f"{name} must be a complete file of the program that its name says, and is not; save it again."
        ) from None


def described_columns(
    path: Path, name: str, encoding: str | None = None, *, catalog: Path | None = None
) -> tuple[DescribedColumn, ...]:
    """The columns of a file; no record is read.

    Args:
        path: its path.
        name: its name in messages.
        encoding: how its characters are encoded; None if the file says so itself.
        catalog: SAS's catalog of formats, which has the labels of values; of other programs it is not used.

    Raises:
        InvalidInput: it cannot be read.
    """
    suffix = path.suffix.lower()
    options = {"user_missing": True} if suffix in _WITH_RANGES else {}
    _, told = read_of_program(path, name, encoding, metadataonly=True, **options)
    program = _READERS[suffix][0]
    forms = {column: told.original_variable_types.get(column) or "" for column in told.column_names}
    of_formats = {} if catalog is None or program != "sas" else _labels_of_formats(catalog)
    types = {column: told.readstat_variable_types.get(column) or "double" for column in told.column_names}
    return tuple(
        DescribedColumn(
            name=column,
            label=told.column_names_to_labels.get(column) or "",
            type=types[column],
            clock=None if types[column] == "string" else clock_of(program, forms[column]),
            decimals=_decimals(forms[column]),
            measure=told.variable_measure.get(column) or "unknown",
            labels=told.variable_value_labels.get(column) or of_formats.get(_format_name(forms[column])) or {},
            missing=tuple(_missing(told.missing_ranges.get(column) or ())),
        )
        for column in told.column_names
    )


def _labels_of_formats(catalog: Path) -> dict[str, Mapping[Any, str]]:
    """The labels of values of each format in a catalog of SAS."""
    _, told = read_of_program(catalog, f"the catalog {catalog}")
    return {_format_name(name): labels for name, labels in told.value_labels.items()}


def _format_name(form: str) -> str:
    """The name of a format of SAS, without width and decimals: `$SEX` of `$SEX8.`."""
    return form.rstrip("0123456789.").upper()


def _decimals(form: str) -> int | None:
    """The decimals of SPSS's F8.2 and Stata's %9.2f; general formats state none."""
    found = _DECIMALS.fullmatch(form)
    return None if found is None else int(found[1] or found[2] or 0)


def _missing(ranges: Iterable[Mapping[str, Any]]) -> Iterator[Any]:
    """The codes of ranges of missing values, if they are few."""
    for each in ranges:
        low, high = each["lo"], each["hi"]
        if low == high:
            yield low
        elif isinstance(low, float) and isinstance(high, float) and high - low <= _LARGEST_RANGE and low.is_integer():
            yield from (float(code) for code in range(int(low), int(high) + 1))
