"""Writes drafts of a schema and of a short spec from a codebook, for a person to read and correct.

Texts of the codebook become Python literals, so that none of them can be executed.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from schemas.codebooks.codebook import Codebook, Place, one_line
from schemas.codebooks.reading import require_no_faults
from schemas.codebooks.settling import Described, LeftOut, settle

if TYPE_CHECKING:
    from deniable.foundation.domain import Person

_WIDEST = 116
LEFT_OUT = "# Left out:"
"""The line before the variables that a draft does not describe."""
CAN_BE_PROPOSED = "# Open columns can be described by `deniable table discover`, at a separate cost."
"""The last line of a draft with open columns."""
_FUNCTIONS = ("nominal", "ordered", "boolean", "numeric", "dates", "identifier")


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A draft of a schema.

    Attributes:
        columns: the columns that it describes, in the codebook's order.
        left_out: variables of the codebook that are omitted, with the reasons.
    """

    columns: tuple[Described, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def attributes(self) -> tuple[Described, ...]:
        """The columns that are released."""
        return tuple(column for column in self.columns if column.form != "identifier")

    @property
    def open_categories(self) -> tuple[str, ...]:
        """Variables omitted because the codebook states no values."""
        return tuple(each.name for each in self.left_out if each.lacks == "values")

    @property
    def open_numbers(self) -> tuple[str, ...]:
        """Variables omitted because the codebook states no range."""
        return tuple(each.name for each in self.left_out if each.lacks == "range")

    @property
    def open_columns(self) -> dict[str, str]:
        """The same variables as columns that a schema declares open, each with the text that declares it."""
        functions = {"values": "open_values", "range": "open_range"}
        return {
            each.name: f"{functions[each.lacks]}({f'missing={_list(each.missing)}' if each.missing else ''})"
            for each in self.left_out
            if each.lacks in functions
        }

    @property
    def identifiers(self) -> tuple[str, ...]:
        """Columns that are never released."""
        return tuple(column.name for column in self.columns if column.form == "identifier")

    @property
    def person(self) -> str | None:
        """The identifier of people who may have several records; None if the codebook names none."""
        return next((column.name for column in self.columns if column.is_person), None)


def draft_of(codebook: Codebook, what: str, wanted: Sequence[str] = (), *, quoting: bool = True) -> Draft:
    """Decide how a schema describes the variables of a codebook.

    Args:
        codebook: the codebook.
        what: its origin, for messages.
        wanted: names of the requested variables, in order; all by default.
        quoting: whether messages may quote the codebook, which they must not if it may be the table itself.

    Raises:
        InvalidInput: the codebook has faults, contradicts itself, or has no such variable; the message has a line for
            each fault.
    """
    unknown = () if not quoting else _unknown(wanted, codebook.variables)
    faults = [*codebook.faults, *unknown]
    if not quoting and (lacking := [name for name in wanted if name not in codebook.variables]):
        # The names were given by the user.
        faults += [f"a codebook must describe {one_line(name)}, and does not; correct its name." for name in lacking]
    settled: list[Described | LeftOut] = []
    for name in wanted or codebook.variables:
        if name in codebook.variables:
            try:
                settled.append(settle(codebook.variables[name]))
            except ValueError as error:
                faults.append(str(error))
    require_no_faults(faults, what, quoting=quoting)
    return Draft(
        columns=tuple(each for each in settled if isinstance(each, Described)),
        left_out=tuple(each for each in settled if isinstance(each, LeftOut)),
    )


def _unknown(wanted: Iterable[str], known: Collection[str]) -> Iterator[str]:
    for name in wanted:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]}?" if close else "correct its name."
            yield f"the codebook must describe {one_line(name)}, and does not; {hint}"


def schema_text(
    draft: Draft,
    *,
    sources: Sequence[str],
    description: str = "",
    person: "Person | None" = None,
    missing_as: str | None = None,
) -> str:
    """The text of a schema.

    Args:
        draft: the columns.
        sources: names of the codebook's files.
        description: description of the table.
        person: what distinguishes people, if they may have several records, and how many of each are used.
        missing_as: the name of a value for empty fields in the columns for which the codebook states no codes for
            missing; None leaves their rows out.
    """
    drafted_from = " and ".join(one_line(source).replace('"', "'").replace("\\", "/") for source in sources)
    lines = [
        f'"""Drafted from {drafted_from}: read it, and correct what is wrong.',
        "",
        "It was written from the codebook alone. Values and ranges must never be taken from the confidential table.",
        '"""',
        "",
        *_imported(draft),
        "",
        "schema = table(",
        "    {",
    ]
    for column in draft.columns:
        if column.remark:
            lines.append(f"        # {column.remark}")
        lines += column_lines(column)
    lines.append("    },")
    if description:
        lines.append(f"    description={_literal(description)},")
    if person is not None:
        lines.append(f"    person={_literal(person.column)},")
        if person.most_records > 1:
            lines.append(f"    most_records={person.most_records},")
    if missing_as is not None:
        lines.append(f"    missing_as={_literal(missing_as)},  # of empty fields, whose rows are kept")
    lines += open_lines(draft.open_columns)
    lines.append(")")
    if draft.left_out:
        lines += ["", LEFT_OUT]
        lines += [f"{left_out_line(each.name)}{each.reason}." for each in draft.left_out]
    if draft.open_categories or draft.open_numbers:
        lines.append(CAN_BE_PROPOSED)
    return "\n".join(lines) + "\n"


def left_out_line(name: str) -> str:
    """The beginning of the line about an omitted variable."""
    return f"#   {one_line(name)}: "


def open_lines(columns: Mapping[str, str]) -> list[str]:
    """The lines of a schema that declare columns open; none if there are none.

    Args:
        columns: the text that declares each, by name.
    """
    if not columns:
        return []
    return ["    open_columns={", *(f"        {_literal(name)}: {text}," for name, text in columns.items()), "    },"]


def _imported(draft: Draft) -> Iterator[str]:
    """The imports of a schema."""
    systems = sorted({column.groups for column in draft.columns if column.groups is not None})
    if systems:
        names = sorted(
            [*(f"{system.upper()}_CHAPTERS" for system in systems), *(f"{system}_chapter" for system in systems)]
        )
        yield f"from schemas.hierarchies import {', '.join(names)}"
    opens = (text.partition("(")[0] for text in draft.open_columns.values())
    functions: set[str] = {"table", *(column.form for column in draft.columns), *opens}
    yield f"from schemas.table import {', '.join(sorted(functions))}"


def spec_text(
    name: str,
    *,
    schema: str,
    source: str,
    epsilon: str,
    title: str = "",
    remark: str = "",
    dialect: Mapping[str, str | int] | None = None,
    places: Mapping[str, Place] | None = None,
    database: Mapping[str, str] | None = None,
) -> str:
    """The text of a short spec; everything that it omits has a default.

    Args:
        name: the release's name.
        schema: file of the schema.
        source: file of the records.
        epsilon: epsilon of the whole release.
        title: title of the release.
        remark: a line at the top.
        dialect: the entries that declare how the table is written, if that must be declared.
        places: where its columns are in a line, if it is text without separators.
        database: the entries of the source instead, if it is a table in a database.
    """
    lines = [f"# {remark}"] if remark else []
    is_plain = name[0].isalpha() and name not in {"null", "true", "false"}
    lines.append(f"name: {name if is_plain else _literal(name)}")
    if title:
        lines.append(f"title: {_literal(title)}")
    lines += [
        f"dataset: {_literal(schema)}",
        f"source:{_source(source, dialect or {}, places or {}) if database is None else _table(database)}",
        f"epsilon: {epsilon} # of the whole release",
    ]
    return "\n".join(lines) + "\n"


def _source(path: str, dialect: Mapping[str, str | int], places: Mapping[str, Place]) -> str:
    """The source of a spec, after its key: the path alone, unless it has further entries."""
    if places:
        return "\n".join(["", "  kind: file", f"  path: {_literal(path)}", "  columns:", *map(_placed, places.items())])
    if not dialect:
        return f" {_literal(path)}"
    entries = {"kind": "file", "path": path, **dialect}
    plain = {"kind", "encoding"}
    stated = (f"{name}: {value if name in plain else _literal(value)}" for name, value in entries.items())
    return f" {{{', '.join(stated)}}}"


def _table(database: Mapping[str, str]) -> str:
    """The source of a spec that is a table in a database."""
    stated = (f"{name}: {_literal(value)}" for name, value in database.items())
    return f" {{kind: database, {', '.join(stated)}}}"


def _placed(column: tuple[str, Place]) -> str:
    """The line of a spec that says where a column is in a line of text."""
    name, place = column
    decimals = f", decimals: {place.decimals}" if place.decimals else ""
    return f"    - {{name: {_literal(name)}, start: {place.start}, width: {place.width}{decimals}}}"


def column_lines(column: Described) -> list[str]:
    """The lines of a column in a schema."""
    parts = list(_arguments(column))
    head = f"{_literal(column.name)}: {column.form}("
    short = f"        {head}{', '.join(parts)}),"
    if len(short) <= _WIDEST and not any("\n" in part for part in parts):
        return [short]
    lines = [f"        {head}"]
    for part in parts:
        lines += [f"            {line}" for line in f"{part},".split("\n")]
    return [*lines, "        ),"]


def _arguments(column: Described) -> Iterator[str]:
    """The arguments of a column, each as text."""
    if column.groups is not None:
        yield f"{column.groups.upper()}_CHAPTERS"
        yield f"by={column.groups}_chapter"
    elif column.form in {"nominal", "ordered", "boolean"}:
        yield from _named(column)
    elif column.form == "numeric":
        yield from _numeric(column)
    elif column.form == "dates":
        yield from (_literal(column.low), _literal(column.high))
        if column.period != "day":
            yield f"by={_literal(column.period)}"
    named = {
        "written": column.written,
        "missing": column.missing or None,
        "missing_as": column.missing_as,
        "label": column.label or None,
    }
    for name, value in named.items():
        if value is not None:
            yield f"{name}={_list(value) if isinstance(value, tuple) else _literal(value)}"


def _named(column: Described) -> Iterator[str]:
    """The arguments of a column of names, codes or truth values."""
    if column.values:
        yield _values(column.values, labelled=column.form == "boolean")
    if column.other is not None:
        yield f"other={_literal(column.other)}"
    if column.digits is not None:
        yield f"digits={column.digits}"


def _numeric(column: Described) -> Iterator[str]:
    """The arguments of a column of numbers."""
    yield repr(column.low)
    yield repr(column.high)
    if column.step != 1:
        yield f"step={column.step!r}"
    if column.rounds:
        yield "round=True"
    if column.clips:
        yield "clip=True"
    if column.bins is not None:
        yield f"bins={_list(column.bins) if isinstance(column.bins, tuple) else repr(column.bins)}"
    if column.also:
        yield f"also={_values(column.also, labelled=True)}"


def _values(values: Sequence[tuple[str | int | float, str]], *, labelled: bool = False) -> str:
    """A list of values, or a mapping if any has a label."""
    if not labelled and not any(label for _, label in values):
        return _list([value for value, _ in values])
    whole = "{" + ", ".join(f"{_literal(value)}: {_literal(label)}" for value, label in values) + "}"
    if len(whole) <= _WIDEST - 20:
        return whole
    return "{\n" + "".join(f"    {_literal(value)}: {_literal(label)},\n" for value, label in values) + "}"


def _list(values: Sequence[str | int | float]) -> str:
    whole = "[" + ", ".join(map(_literal, values)) + "]"
    if len(whole) <= _WIDEST - 20:
        return whole
    lines, line = [], ""
    for value in map(_literal, values):
        if line and len(line) + len(value) > _WIDEST - 24:
            lines.append(line)
            line = ""
        line += f"{value}, "
    lines.append(line)
    return "[\n" + "".join(f"    {each.rstrip()}\n" for each in lines) + "]"


def _literal(value: object) -> str:
    """A value as a literal of Python; texts are also valid YAML."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def described_in_words(draft: Draft) -> Mapping[str, int]:
    """Number of columns of each form in a draft."""
    words = {"dates": "of dates", "identifier": "never released"}
    forms = [column.form for column in draft.columns]
    return {words.get(form, form): forms.count(form) for form in _FUNCTIONS if form in forms}
