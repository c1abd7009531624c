"""The description of a table in a database as a codebook: types, comments, enumerations and constraints of its columns.

No record is read. Values are those of an enumeration or of a constraint, never those that only occur in the records.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

import sqlalchemy as sa

from deniable.foundation.errors import InvalidInput
from schemas.codebooks.codebook import Codebook, Entry, Kind, Variable, one_line
from stores.tables.sources.databases import Place, connected, connected_to_duckdb, require_there

_KINDS: Final[Mapping[str, Kind]] = {
    r"BOOL(EAN)?": "boolean",
    r"DATE|DATETIME.*|TIMESTAMP.*": "date",
    r"TIME\b.*": "time",
    r"U?(TINY|SMALL|MEDIUM|BIG|HUGE)?INT(EGER)?\d*|SERIAL|NUMERIC.*|DECIMAL.*|REAL|FLOAT.*|DOUBLE.*|MONEY": "numeric",
    r"UUID": "identifier",
}
_SCALE: Final = re.compile(r"(?:NUMERIC|DECIMAL)\s*\(\s*\d+\s*(?:,\s*(\d+)\s*)?\)")
_WHOLE: Final = re.compile(r"U?(TINY|SMALL|MEDIUM|BIG|HUGE)?INT(EGER)?\d*|SERIAL")
_QUOTED: Final = re.compile(r"'((?:[^']|'')*)'")
_CAST: Final = re.compile(
    r"::\s*(character varying|double precision|time(stamp)? with(out)? time zone|\"?\w+\"?)(\(\d+(,\s*\d+)?\))?(\[\])?",
    re.IGNORECASE,
)
_CASTED: Final = re.compile(r"\bCAST\s*\(\s*('(?:[^']|'')*'|-?[\d.]+|\"?\w+\"?)\s+AS\s+[^()]*\)", re.IGNORECASE)
_VALUE: Final = r"('(?:[^']|'')*'|-?\d+(?:\.\d+)?)"
_AMONG: Final = re.compile(
    rf"\s*(?:IN|= ?ANY)\s*(?:ARRAY)?\s*[\[ ]?\s*({_VALUE}(?:\s*,\s*{_VALUE})*)\s*\]?\s*", re.IGNORECASE
)
_BETWEEN: Final = re.compile(rf"\s*BETWEEN\s+{_VALUE}\s+AND\s+{_VALUE}\s*", re.IGNORECASE)
_BOUNDS: Final = re.compile(rf"\s*(>=|<=)\s*{_VALUE}\s+AND\s+(\S+)\s*(>=|<=)\s*{_VALUE}\s*", re.IGNORECASE)

_OF_COLUMNS: Final = """
    SELECT column_name, data_type, comment FROM duckdb_columns()
    WHERE database_name = current_database() AND table_name = ? AND schema_name = ? ORDER BY column_index
"""
_OF_RULES: Final = """
    SELECT constraint_type, expression, constraint_column_names FROM duckdb_constraints()
    WHERE database_name = current_database() AND table_name = ? AND schema_name = ?
"""


@dataclass(frozen=True)
class _Column:
    """A column as a database describes it.

    Attributes:
        name: its name.
        type: its type.
        comment: the comment on it.
        values: the values of its enumeration.
    """

    name: str
    type: str
    comment: str
    values: tuple[str, ...]


def description_of(place: Place) -> Codebook:
    """Read the description of a table in a database.

    Args:
        place: where the table is.

    Raises:
        InvalidInput: the database does not answer, or has no such table.
    """
    require_there(place)
    columns, checks, keys = (_in_duckdb if place.is_of_duckdb else _by_inspection)(place)
    if not columns:
        raise InvalidInput(f"the database must have the table {place.table}, and this user sees none; correct it.")
    book = Codebook()
    for column in columns:
        described = _variable(column, is_key=[column.name] == keys)
        for check in checks:
            described = _checked(described, check)
        book.add(described, f"column {one_line(column.name)}")
    return book


def _by_inspection(place: Place) -> tuple[list[_Column], list[str], list[str]]:
    """Columns, conditions and the key of a table, by SQLAlchemy."""
    schema, _, table = (place.table or "").rpartition(".")
    with connected(place) as connection:
        found = sa.inspect(connection)
        if not found.has_table(table, schema or None):
            return [], [], []
        columns = [
            _Column(
                str(each["name"]),
                str(each["type"]).upper(),
                str(each.get("comment") or ""),
                tuple(each["type"].enums) if isinstance(each["type"], sa.Enum) else (),
            )
            for each in found.get_columns(table, schema or None)
        ]
        checks = [str(each["sqltext"]) for each in found.get_check_constraints(table, schema or None)]
        keys = [str(name) for name in found.get_pk_constraint(table, schema or None)["constrained_columns"]]
    return columns, checks, keys


def _in_duckdb(place: Place) -> tuple[list[_Column], list[str], list[str]]:
    """Columns, conditions and the key of a table, by DuckDB's own tables."""
    schema, _, table = (place.table or "").rpartition(".")
    named = [table, schema or "main"]
    with connected_to_duckdb(place) as connection:
        described = connection.execute(_OF_COLUMNS, named).fetchall()
        rules = connection.execute(_OF_RULES, named).fetchall()
    columns = [
        _Column(name, "ENUM" if form.startswith("ENUM(") else form.upper(), comment or "", tuple(_enumerated(form)))
        for name, form, comment in described
    ]
    keys = next((list(names) for kind, _, names in rules if kind == "PRIMARY KEY"), [])
    return columns, [expression for kind, expression, _ in rules if kind == "CHECK"], keys


def _enumerated(form: str) -> Iterator[str]:
    """The values of an enumeration, from its type as text."""
    if form.startswith("ENUM("):
        yield from (value.replace("''", "'") for value in _QUOTED.findall(form))


def _variable(column: _Column, *, is_key: bool) -> Variable:
    """The variable that a column is, by its type."""
    kind = next((kind for form, kind in _KINDS.items() if re.fullmatch(form, column.type)), None)
    scale = _SCALE.fullmatch(column.type)
    decimals = int(scale[1] or 0) if scale else None
    whole = decimals == 0 if decimals is not None else _WHOLE.fullmatch(column.type) is not None
    return Variable(
        name=column.name,
        kind="identifier" if is_key else "nominal" if column.values else kind,
        label=one_line(column.comment),
        entries=tuple(Entry(value=value) for value in column.values),
        step=Decimal(1).scaleb(-decimals) if decimals is not None else None,
        whole=whole if kind == "numeric" else None,
    )


def _checked(variable: Variable, check: str) -> Variable:
    """A variable with the values or the range to which a condition on it alone restricts it."""
    if variable.entries or variable.kind == "identifier":
        return variable
    plain = _CAST.sub("", _CASTED.sub(r"\1", check))
    # Parentheses say nothing in the forms below; within a text they would.
    parts = re.split(r"('(?:[^']|'')*')", plain)
    bare = "".join(part if place % 2 else re.sub(r"[()]", " ", part) for place, part in enumerate(parts))
    found = re.match(rf'\s*"?{re.escape(variable.name)}"?(?=\W)(.*)$', bare, re.DOTALL)
    if found is None:
        return variable
    rest = found[1]
    if among := _AMONG.fullmatch(rest):
        kind = variable.kind if variable.kind == "boolean" else "nominal"
        return replace(
            variable, kind=kind, entries=tuple(Entry(value=_text(each)) for each in re.findall(_VALUE, among[1]))
        )
    if between := _BETWEEN.fullmatch(rest):
        return _within(variable, between[1], between[2])
    if (bounds := _BOUNDS.fullmatch(rest)) and bounds[3].strip('"') == variable.name and bounds[1] != bounds[4]:
        ends = (bounds[2], bounds[5]) if bounds[1] == ">=" else (bounds[5], bounds[2])
        return _within(variable, *ends)
    return variable


def _within(variable: Variable, low: str, high: str) -> Variable:
    """A variable with a range of numbers, days or times; of text there is none."""
    if variable.kind not in {"numeric", "date", "time"}:
        return variable
    return replace(variable, entries=(Entry(value=_text(low), high=_text(high)),))


def _text(literal: str) -> str:
    """The value of a literal of SQL."""
    return literal[1:-1].replace("''", "'") if literal.startswith("'") else literal
