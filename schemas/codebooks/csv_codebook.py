"""Codebooks in CSV: one line per variable, or one line per value.

The columns are found by their names: `variable`, and of `type`, `label`, `values`, `labels` (of values), `missing`,
`also`, `step`, `low`, `high`, `pattern`, `start`, `width`, `end` those that there are, or other usual names for them.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

from schemas.codebooks.codebook import Codebook, Entry, Kind, Place, Variable, one_line
from schemas.codebooks.value_lists import entries_of, number, range_of, separated, with_labels

_NAMES = {
    "variable": "variable variablename variablefieldname name column columnname field fieldname attribute item",
    "type": "type kind datatype variabletype fieldtype measure level measurementlevel scale",
    "label": "label fieldlabel",
    "description": "description variablelabel variabledescription columndescription title question definition meaning",
    "values": "values value code codes categories category choices range domain allowedvalues levels "
    "choicescalculationsorsliderlabels validvalues",
    "labels": "labels valuelabels valuelabel codelabel codelabels valuedescription meanings",
    "missing": "missing missingcode missingcodes missingvalue missingvalues missingvaluecodes navalues na",
    "also": "also special specialcode specialcodes othercodes",
    "step": "step by increment precision",
    "low": "low min minimum lowest textvalidationmin",
    "high": "high max maximum highest textvalidationmax",
    "pattern": "pattern format dateformat",
    "start": "start startposition startcolumn firstposition firstcolumn begin",
    "width": "width length fieldwidth columnwidth",
    "end": "end endposition endcolumn lastposition lastcolumn",
}
_CANONICAL = {each: name for name, others in _NAMES.items() for each in others.split()}

_KINDS: dict[Kind, str] = {
    "nominal": "nominal categorical category categories factor enum enumeration code coded choice radio dropdown "
    "select binary discrete char character",
    "ordered": "ordered ordinal orderedfactor likert",
    "numeric": "numeric number numerical num int integer long float double decimal real continuous count interval "
    "ratio quantitative amount",
    "boolean": "boolean bool logical yesno truefalse",
    "date": "date datetime timestamp day",
    "time": "time timeofday clock clocktime",
    "identifier": "identifier id key primarykey recordid",
    "person": "person personid subject subjectid patientid",
    "icd9": "icd9 icd9cm",
    "icd10": "icd10 icd10cm",
    "text": "text freetext string str memo notes note comment",
}
_KIND_OF: dict[str, Kind] = {each: kind for kind, words in _KINDS.items() for each in words.split()}
_WHOLE = {"int", "integer", "long", "count"}
_MEASURED = {"float", "double", "decimal", "real", "continuous"}
_DELIMITERS = ",;\t|"
_DAYS = re.compile(r"^(\S+)\s+(?:to|\.\.\.?|-|\u2013)\s+(\S+)$")
_TIMES = re.compile(r"^(\d{1,2}:\d\d)\s+(?:to|\.\.\.?|-|\u2013)\s+(\d{1,2}:\d\d)$", re.ASCII)
_ISO_DAYS = re.compile(r"^\d{4}-\d\d-\d\d\s+(?:to|\.\.\.?|-|\u2013)\s+\d{4}-\d\d-\d\d$")
_MOST_LINES = 2_000_000


def kind_of(word: str) -> tuple[Kind | None, bool | None]:
    """The kind denoted by a word in a codebook, and whether its numbers are integers; None if not stated."""
    plain = _plain(word)
    return _KIND_OF.get(plain), True if plain in _WHOLE else False if plain in _MEASURED else None


def known_kinds() -> str:
    """The kinds, listed for a sentence, with the words for integers and for other numbers."""
    return ", ".join(each for kind in _KINDS for each in (kind, *(("integer", "float") if kind == "numeric" else ())))


def read_csv(text: str) -> Codebook:
    """Read a codebook in CSV.

    Args:
        text: its content.
    """
    codebook = Codebook()
    first = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=first.count)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    try:
        header = next(lines, [])
        places = _places(header, codebook)
        if codebook.faults:
            return codebook
        cells = list(_cells(lines, places, codebook))
    except csv.Error as error:
        codebook.faults.append(_fault_of_csv(str(error), lines.line_num))
        return codebook
    by_value = _is_by_value(cells)
    for line, first_of, rest in _grouped(cells, codebook):
        variable = _variable(line, first_of, codebook, by_value=by_value)
        entries = list(variable.entries)
        for number_of, each in rest:
            entries += _entries(number_of, each, codebook, variable.kind, by_value=True)[0]
        codebook.add(replace(variable, entries=tuple(entries)), f"line {line}")
    return codebook


def _fault_of_csv(said: str, line: int) -> str:
    """The fault of a text that cannot be split into cells; the text is not quoted."""
    if "field larger" in said:
        return (
            f"line {line}: a codebook must have cells of at most {csv.field_size_limit():,} characters, got a longer "
            "one; shorten it, or close the quote before it."
        )
    return "a codebook must be CSV, and a quote in it is never closed; close it."


def _places(header: list[str], codebook: Codebook) -> dict[str, int]:
    """The entry in each column. Names of columns are not quoted: a file named by mistake may have a record there."""
    places: dict[str, int] = {}
    for place, name in enumerate(header):
        meant = _CANONICAL.get(_plain(name))
        if meant in places:
            codebook.faults.append(
                f"line 1: a codebook must have one column for each entry, got two for {meant}; rename or remove one."
            )
        elif meant is not None:
            places[meant] = place
    # A table of people may have a column `name`, but does not describe variables.
    if "variable" not in places or not places.keys() & {"type", "values", "low", "label", "labels", "description"}:
        codebook.faults.append(
            "line 1: a codebook in CSV must have a column named variable, and of type, values, label, labels, missing, "
            "also, step, low and high those that it needs; name its columns in its first line. The table of records is "
            "not a codebook."
        )
    return places


def _cells(
    lines: Iterator[list[str]], places: Mapping[str, int], codebook: Codebook
) -> Iterator[tuple[int, dict[str, str]]]:
    """The non-empty lines, numbered as in the file, each with its cells by entry."""
    width = max(places.values()) + 1
    for line, fields in enumerate(lines, 2):
        if line > _MOST_LINES:
            codebook.faults.append(f"a codebook must have at most {_MOST_LINES:,} lines, got more; remove some.")
            return
        if not any(field.strip() for field in fields):
            continue
        padded = [*fields, *[""] * (width - len(fields))]
        cells = {name: padded[place].strip() for name, place in places.items()}
        # Messages quote the name.
        yield line, {**cells, "variable": one_line(cells["variable"])}


def _is_by_value(cells: list[tuple[int, dict[str, str]]]) -> bool:
    """Whether the codebook has one line per value."""
    names = [each["variable"] for _, each in cells]
    return any(not name or name == before for before, name in pairwise(names))


def _grouped(
    cells: list[tuple[int, dict[str, str]]], codebook: Codebook
) -> Iterator[tuple[int, dict[str, str], list[tuple[int, dict[str, str]]]]]:
    """The lines of each variable: the first, and those that follow without a name or with the same name."""
    group: list[tuple[int, dict[str, str]]] = []
    for line, each in cells:
        if group and each["variable"] in {"", group[0][1]["variable"]}:
            group.append((line, each))
            continue
        if group:
            yield *group[0], group[1:]
        group = [(line, each)]
        if not each["variable"]:
            codebook.faults.append(f"line {line}: a variable must have a name, got none; add it, or remove the line.")
            group = []
    if group:
        yield *group[0], group[1:]


def _variable(line: int, cells: dict[str, str], codebook: Codebook, *, by_value: bool) -> Variable:
    """The variable that a line describes."""
    kind, whole = None, None
    if word := cells.get("type", ""):
        kind, whole = kind_of(word)
        if kind is None:
            codebook.faults.append(
                f"line {line}: the type of {cells['variable']} must be one of {known_kinds()}, got {one_line(word)}; "
                f"correct it."
            )
    elif _ISO_DAYS.match(cells.get("values", "")):
        kind = "date"
    entries, step = _entries(line, cells, codebook, kind, by_value=by_value)
    low, high = cells.get("low", ""), cells.get("high", "")
    if low or high:
        numbers = number(low), number(high)
        if kind not in {"date", "time"} and None in numbers:
            codebook.faults.append(
                f"line {line}: {cells['variable']} must have two numbers as low and high, got {one_line(low)!r} "
                f"and {one_line(high)!r}; correct them."
            )
        else:
            entries = (*entries, Entry(value=low, high=high))
    if stated := cells.get("step", ""):
        step = number(stated)
        if step is None or step <= 0:
            codebook.faults.append(
                f"line {line}: the step of {cells['variable']} must be a number above 0, got {one_line(stated)}; "
                f"correct it."
            )
    place = _place(line, cells, codebook)
    own_label = cells.get("description", "") or (
        "" if _labels_values(cells, by_value=by_value) else cells.get("label", "")
    )
    return Variable(
        name=cells["variable"],
        kind=kind,
        label=one_line(own_label),
        entries=entries,
        missing=tuple(separated(cells.get("missing", ""))),
        also=entries_of(cells.get("also", ""), ranges=False)[0],
        step=step,
        whole=whole,
        pattern=cells.get("pattern") or None,
        place=place,
    )


def _place(line: int, cells: dict[str, str], codebook: Codebook) -> Place | None:
    """Where a variable is in a line of text without separators; None if its line states no position."""
    start, width, end = (cells.get(name, "") for name in ("start", "width", "end"))
    if not start:
        return None
    stated = [int(each) if each.isascii() and each.isdecimal() else 0 for each in (start, width, end)]
    size = stated[1] or stated[2] - stated[0] + 1
    if not stated[0] or size < 1 or (width and not stated[1]) or (stated[2] and size != stated[2] - stated[0] + 1):
        codebook.faults.append(
            f"line {line}: {cells['variable']} must have a first position, and a width or a last position that agree, "
            f"got {one_line(start)!r}, {one_line(width)!r} and {one_line(end)!r}; correct them."
        )
        return None
    return Place(stated[0], size)


def _labels_values(cells: dict[str, str], *, by_value: bool) -> bool:
    """Whether the column `label` describes the value on its line, not the variable."""
    return by_value and "labels" not in cells and bool(cells.get("values"))


def _entries(
    line: int, cells: dict[str, str], codebook: Codebook, kind: Kind | None, *, by_value: bool
) -> tuple[tuple[Entry, ...], Decimal | None]:
    """The values on a line, and the step of numbers if one is stated."""
    cell = cells.get("values", "")
    if by_value:
        label = cells.get("labels", "") or (cells.get("label", "") if _labels_values(cells, by_value=True) else "")
        if not cell:
            return (), None
        found = range_of(cell) if kind in {None, "numeric"} else None
        if found is not None:
            return (replace(found[0], label=label or found[0].label),), found[1]
        if label:
            return (Entry(value=cell, label=one_line(label)),), None
    entries, step = stated_entries(cell, kind)
    if not by_value and (written := cells.get("labels", "")):
        labels = separated(written, commas=not any(mark in cell for mark in "|;\n"))
        labelled = with_labels(entries, [one_line(label) for label in labels])
        if labelled is None:
            codebook.faults.append(
                f"line {line}: {cells['variable']} must have as many labels as values, got {len(labels)} for "
                f"{len(entries)}; separate both by bars, in the same order."
            )
        else:
            entries = labelled
    return entries, step


def stated_entries(cell: str, kind: Kind | None) -> tuple[tuple[Entry, ...], Decimal | None]:
    """The values or the range that a cell states for a kind, and the step if one is stated."""
    if kind in {"date", "time"}:
        found = (_DAYS if kind == "date" else _TIMES).match(cell)
        return ((Entry(value=found[1], high=found[2]),) if found else entries_of(cell, ranges=False)[0]), None
    entries, step = entries_of(cell, ranges=kind in {None, "numeric"})
    if kind is None and sum(entry.high is not None for entry in entries) > 1:
        # Several ranges without a type are groups, such as age groups.
        return entries_of(cell, ranges=False)
    return entries, step


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())
