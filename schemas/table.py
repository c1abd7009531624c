"""Describes a table of people by one pandera schema: its checks are the public domain, its metadata the rest.

The kinds of columns are in `schemas.kinds`, and may be imported from here. No source is read and no row is validated
here. No part of a description is ever learnt from data.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandera.pandas import Check, Column, DataFrameSchema, Parser

from deniable.foundation.domain import Attribute, Domain, Person, Value
from deniable.foundation.errors import InvalidInput
from deniable.foundation.rules import Rule
from schemas.kinds.booleans import boolean
from schemas.kinds.dates import dates
from schemas.kinds.description import IDENTIFIER, Description, described
from schemas.kinds.durations import duration
from schemas.kinds.identifiers import free_text, identifier
from schemas.kinds.missing import usual_missing
from schemas.kinds.names import nominal, ordered
from schemas.kinds.numbers import numeric
from schemas.kinds.open_columns import OpenColumn, open_range, open_values
from schemas.kinds.soundness import fault_of_column
from schemas.kinds.values import UNREADABLE, UNREADABLE_TEXT
from schemas.plain_text import LONGEST_NAME, fault_of_line, fault_of_name, fault_of_paragraph
from schemas.rules import DescribedColumns, Statement, TotalStatement
from schemas.written_forms import minutes_of_hhmm

__all__ = [
    "UNREADABLE",
    "boolean",
    "columns_read",
    "dates",
    "domain_of",
    "duration",
    "free_text",
    "holds_text",
    "identifier",
    "labels_of",
    "nominal",
    "numeric",
    "open_columns_of",
    "open_range",
    "open_values",
    "ordered",
    "person_of",
    "table",
]

Universe: TypeAlias = Callable[[pd.DataFrame], pd.Series]
Recode: TypeAlias = Callable[[pd.DataFrame], pd.DataFrame]

_MOST_COLUMNS = 10_000


def table(
    columns: Mapping[str, Column],
    *,
    description: str = "",
    target: str | None = None,
    reads: Mapping[str, type[float] | type[str]] | None = None,
    missing: Mapping[str, Sequence[Value]] | None = None,
    missing_as: str | None = None,
    person: str | None = None,
    most_records: int = 1,
    universe: Universe | None = None,
    recode: Recode | None = None,
    rules: Sequence[Statement] = (),
    totals: Sequence[TotalStatement] = (),
    open_columns: Mapping[str, OpenColumn] | None = None,
) -> DataFrameSchema:
    """Describe a table.

    The schema parses before it checks: values become numbers or text, rows outside the universe are dropped, the rest
    is recoded, and each column is rounded, clipped, grouped and filled as its kind states. Missing values pass, unless
    they are a value: their treatment is not part of the description.

    Args:
        columns: the attributes in public order. Identifiers among them are never released.
        description: description of the table, for readers.
        target: the attribute that classifiers predict in evaluation.
        reads: the source's columns that `universe` and `recode` need, each `float` or `int` if it holds numbers and
            `str` if it holds text. By default the attributes themselves.
        missing: codes for missing values of columns that are read but are not attributes.
        missing_as: a word such as `missing`, which becomes a value of every column that has none for missing values: no
            row is left out because a value is missing. Columns of numbers get a number with the word as its label.
        person: the identifier of people, such as a patient's number, if the table may have several records of each.
            The privacy unit is then one person with all records: at most `most_records` valid records of each are used,
            chosen at random. Rows without it are left out. It is read as text, so that 7 and 007 are two people.
        most_records: the most records of one person that are used, from 1 to 100. Noise grows in proportion to it.
        universe: decides for each row alone, by a public rule, whether it is in scope. Its docstring is published. A
            comparison with a missing value is false, so such rows are out of scope. Rows with text where a number must
            be are always in scope, as invalid rows.
        recode: computes the attributes from the columns that are read, row by row. Null should stay null, and
            `UNREADABLE` unreadable; if a recode loses an unreadable value, the whole row becomes unreadable.
        rules: rules that every record satisfies, made by the functions of `schemas.rules`; rows that violate one are
            invalid.
        totals: public totals of the whole table, made by `public_total` and `public_counts` of `schemas.rules`. With
            `person` they count people, so a column with public counts must be the same in all records of a person.
        open_columns: columns of the source that are not described yet, made by `open_values` and `open_range`. A
            release does not read them; `deniable table discover` proposes their values and ranges.

    Returns:
        The schema, the only description of the table.

    Raises:
        InvalidInput: a name is not text or would be misread by pages or spreadsheets, the target is not an attribute,
            columns hold free text or have values that can never occur, there are codes for missing values of a column
            that is not read, the person is an attribute or has too many records, an open column is described, too,
            or a rule names no public source, does not fit the columns, or contradicts others.
    """
    _require_names(columns, reads or {}, description)
    _require_open(open_columns or {}, {*columns, *([] if person is None else [person])})
    if not all(isinstance(column, Column) for column in columns.values()):
        raise InvalidInput("the columns of a table must be described by the functions of schemas.table; correct them.")
    _require_sound(columns, reads, computed=recode is not None)
    unit = None if person is None else Person(person, most_records)
    by_person = {} if person is None else {person: _identifier_of(person, columns, (missing or {}).get(person, ()))}
    columns = {name: column for name, column in columns.items() if described(column, name).is_released}
    if missing_as is not None:
        columns = {name: usual_missing(column, missing_as) for name, column in columns.items()}
    known = {name: described(column, name) for name, column in columns.items()}
    wanted = dict(reads) if reads is not None else {name: own.read_as for name, own in known.items()}
    sentinels = {name: own.missing for name, own in known.items()} | dict(missing or {})
    for name, column in by_person.items():
        wanted[name] = str
        sentinels[name] = described(column, name).missing
    unread = [name for name, codes in sentinels.items() if codes and name not in wanted]
    if unread:
        raise InvalidInput(f"codes for missing values must belong to columns that are read, got some for {unread[0]}.")
    if target is not None and target not in columns:
        raise InvalidInput(f"the target must be one of {', '.join(columns)}, got {target}.")
    forms = {name: own.plain_number for name, own in known.items() if own.plain_number is not None}
    parsers = [Parser(_typing(wanted, sentinels, forms), name="typed")]
    if universe is not None:
        parsers.append(Parser(_filter(universe), name="universe"))
    fills = any(own.missing_as is not None for own in known.values())
    if recode is not None:
        parsers.append(Parser(_row_by_row(recode, fills=fills, kept=tuple(by_person)), name="recode"))
    if fills or any(own.becomes is not None for own in known.values()):
        parsers.append(Parser(_as_described(known), name="as described"))
    attributes = {name: _attribute(name, own) for name, own in known.items()}
    values = DescribedColumns(
        {name: attribute.values for name, attribute in attributes.items()},  # noqa: PD011 - of an attribute
        {name: value for name, own in known.items() if (value := _value_for_missing(own)) is not None},
    )
    stated = tuple(statement(values) for statement in rules)
    _require_no_bins(stated, known)
    schema = DataFrameSchema(
        {**columns, **by_person},
        parsers=parsers,
        checks=[
            Check(_keeps(columns, rule), name=f"rule {number}: {rule.sentence}")
            for number, rule in enumerate(stated, 1)
        ],
        strict="filter",
        description=description,
        metadata={
            "target": target,
            "reads": tuple(wanted),
            "numbers": tuple(name for name, of in wanted.items() if of is not str),
            "universe": _published_words(universe),
            "rules": stated,
            "totals": tuple(statement(values) for statement in totals),
            "person": unit,
            "open": dict(open_columns or {}),
        },
    )
    if stated or totals:
        # Refuses rules that do not fit, or cannot be kept.
        _ = domain_of(schema).components
    return schema


def open_columns_of(schema: DataFrameSchema) -> Mapping[str, OpenColumn]:
    """The columns that a schema declares open, by name."""
    known: dict[str, Any] = schema.metadata or {}
    return dict(known.get("open", {}))


def domain_of(schema: DataFrameSchema) -> Domain:
    """The public domain that a schema's checks and metadata state.

    Raises:
        InvalidInput: the schema was not made by `table`.
    """
    descriptions = {name: described(column, name) for name, column in schema.columns.items()}
    attributes = (
        _attribute(name, description) for name, description in descriptions.items() if description.is_released
    )
    known = _table_metadata(schema)
    return Domain(
        tuple(attributes),
        target=known["target"],
        rules=known.get("rules", ()),
        totals=known.get("totals", ()),
        person=known.get("person"),
    )


def person_of(schema: DataFrameSchema) -> Person | None:
    """The people, if a table may have several records of each; None if the privacy unit is one record."""
    return cast("Person | None", _table_metadata(schema).get("person"))


def _attribute(name: str, description: Description) -> Attribute:
    return Attribute(
        name=name,
        values=description.values,
        kind=description.released_kind,
        buckets=description.buckets,
        bins=description.bins,
        missing=description.absent,
        is_boolean=description.is_boolean,
    )


def _value_for_missing(description: Description) -> Value | None:
    """The value of a column that stands for a missing one and for nothing else; None if there is none."""
    return description.absent if description.kind == "numeric" else description.missing_as


def _keeps(columns: Mapping[str, Column], rule: Rule) -> Callable[[pd.DataFrame], pd.Series]:
    """The check that rows satisfy a rule; rows in which one of its values is missing or invalid pass."""
    own = {name: columns[name] for name in rule.attributes if name in columns}
    domain = Domain(
        tuple(
            replace(_attribute(name, described(column)), buckets=tuple(range(len(described(column).values))), bins=None)
            for name, column in own.items()
        )
    )

    def keeps(frame: pd.DataFrame) -> pd.Series:
        codes = [
            pd.Index(attribute.values).get_indexer(pd.Index(frame[attribute.name].to_numpy()))
            if attribute.name in frame
            else np.full(len(frame), -1)
            for attribute in domain.attributes
        ]
        known = np.logical_and.reduce([own >= 0 for own in codes])
        kept = np.ones(len(frame), bool)
        kept[known] = rule.holds(domain, np.stack(codes, axis=1)[known].astype(domain.code_type))
        return pd.Series(kept, frame.index)

    return keeps


def columns_read(schema: DataFrameSchema) -> tuple[str, ...]:
    """Names of the source's columns that a schema needs; no others leave the source."""
    return cast("tuple[str, ...]", _table_metadata(schema)["reads"])


def numbers_read(schema: DataFrameSchema) -> tuple[str, ...]:
    """Names of the source's columns that hold numbers, as far as the schema says; open columns of numbers are some."""
    opened = [name for name, column in open_columns_of(schema).items() if column.kind == "range"]
    return (*cast("tuple[str, ...]", _table_metadata(schema)["numbers"]), *opened)


def holds_text(schema: DataFrameSchema, name: str) -> bool:
    """Whether an attribute's values are text."""
    return described(schema.columns[name], name).value_type is str


def labels_of(schema: DataFrameSchema) -> dict[str, dict[str, str]]:
    """The labels of values, by attribute and by value as text, if the schema has any."""
    labels = {name: described(column, name).labels for name, column in schema.columns.items()}
    return {name: {str(value): text for value, text in of.items()} for name, of in labels.items() if of}


def _require_names(columns: Mapping[str, Column], reads: Mapping[str, Any], description: str) -> None:
    """Refuse invalid names of columns and an invalid description."""
    if len(columns) > _MOST_COLUMNS:
        raise InvalidInput(
            f"a table must have at most {_MOST_COLUMNS:,} columns, got {len(columns):,}; leave some out."
        )
    for name in columns:
        if fault := fault_of_name(name):
            raise InvalidInput(f"the name of a column {fault}.")
    for name in reads:
        if fault := fault_of_line(name):
            raise InvalidInput(f"the name of a column that is read {fault}.")
    if fault := fault_of_paragraph(description):
        raise InvalidInput(f"the description of a table {fault}.")


def _require_open(columns: Mapping[str, OpenColumn], described: set[str]) -> None:
    """Refuse open columns that are also described, or that no schema could have."""
    for name, column in columns.items():
        if fault := fault_of_name(name):
            raise InvalidInput(f"the name of an open column {fault}.")
        if not isinstance(column, OpenColumn):
            raise InvalidInput(
                f"an open column must be made by open_values or open_range of schemas.table, and {name} is not; "
                "correct it."
            )
        if name in described:
            raise InvalidInput(f"an open column must not be described, and {name} is; leave out one of the two.")


def _published_words(universe: Universe | None) -> str:
    """The published description of a universe."""
    words = (inspect.getdoc(universe) or "") if universe is not None else ""
    if fault := fault_of_paragraph(words):
        raise InvalidInput(f"the docstring of a universe {fault}.")
    return words


def _identifier_of(person: str, columns: Mapping[str, Column], missing: Sequence[Value]) -> Column:
    """The column that distinguishes people, which need not be among those of the table, with all codes for missing."""
    if fault := fault_of_name(person, most=LONGEST_NAME):
        raise InvalidInput(f"the name of a person's column {fault}.")
    column = columns.get(person, identifier())
    if described(column, person).kind != IDENTIFIER:
        raise InvalidInput(
            f"the person must be an identifier, which is never released, and {person} is an attribute; describe it by "
            "identifier(), or leave it out of the columns."
        )
    return identifier(missing=(*missing, *described(column, person).missing), label=column.title or "")


def _require_no_bins(rules: Sequence[Rule], known: Mapping[str, Description]) -> None:
    """Refuse rules about numbers that are drawn within bins, because they could not hold exactly."""
    for rule in rules:
        binned = [name for name in rule.attributes if name in known and known[name].bins is not None]
        if binned:
            raise InvalidInput(
                f"a rule must be about columns without bins, in which numbers are drawn at the end, got {binned[0]}; "
                "leave out the bins, or the rule."
            )


def _require_sound(columns: Mapping[str, Column], reads: Mapping[str, Any] | None, *, computed: bool) -> None:
    """Refuse columns that no release can have, or whose values can never occur: all of them at once."""
    faults = []
    for name, column in columns.items():
        known = described(column, name)
        read_as = None if computed else known.read_as if reads is None else reads.get(name)
        if fault := fault_of_column(known, read_as):
            faults.append(f"column {name} {fault}.")
    if len(faults) > 1:
        faults.insert(0, f"the schema is wrong in {len(faults):,} of its columns:")
    if faults:
        raise InvalidInput("\n  ".join(faults))


def _table_metadata(schema: DataFrameSchema) -> dict[str, Any]:
    """The metadata of `table` on a schema."""
    metadata: dict[str, Any] = schema.metadata or {}
    if "reads" not in metadata:
        raise InvalidInput("a table schema must be made by schemas.table.table.")
    return metadata


def _typing(
    wanted: Mapping[str, type],
    sentinels: Mapping[str, Sequence[Value]],
    forms: Mapping[str, Callable[[str], str]],
) -> Recode:
    """Make a parser that turns values into numbers or text; numbers of a form become plain ones."""

    def typed(frame: pd.DataFrame) -> pd.DataFrame:
        # A table from elsewhere may lack a column; pandera reports this better than a KeyError would.
        present = [name for name in wanted if name in frame]
        return pd.DataFrame(
            {
                name: _typed(frame[name], sentinels.get(name, ()), text=wanted[name] is str, form=forms.get(name))
                for name in present
            },
            index=frame.index,
        )

    return typed


def _typed(
    column: pd.Series, missing: Sequence[Value], *, text: bool, form: Callable[[str], str] | None = None
) -> pd.Series:
    """Turn a column into numbers (float64) or text; null and the codes for missing values become null.

    Only distinct values are converted: a census column has few of them, and text is slow.
    """
    if not text and not missing and form is not minutes_of_hhmm and pd.api.types.is_numeric_dtype(column):
        return pd.Series(column.to_numpy(np.float64, na_value=np.nan), column.index)
    codes, distinct = pd.factorize(column)  # null has code -1
    if text:
        return pd.Series(_texts(distinct, missing).take(codes, allow_fill=True), column.index)
    return pd.Series(np.append(_numbers(distinct, missing, form), np.nan)[codes], column.index)


def _numbers(distinct: Any, missing: Sequence[Value], form: Callable[[str], str] | None = None) -> NDArray[np.float64]:
    """Numbers of distinct values: `UNREADABLE` if a value is not a number, null if it means missing."""
    values = pd.Series(distinct, dtype=object)
    # Hours and minutes are a number to the program that stores them.
    read = values.map(str) if form is minutes_of_hhmm else values
    plain = values if form is None else read.map(lambda value: form(value) if isinstance(value, str) else value)
    numbers: NDArray[np.float64] = pd.to_numeric(plain, errors="coerce").to_numpy(np.float64, copy=True)
    numbers[np.isnan(numbers)] = UNREADABLE
    codes = [code for code in missing if not isinstance(code, str)]
    stated = pd.to_numeric(values, errors="coerce") if form is minutes_of_hhmm else numbers
    numbers[values.isin(list(missing)).to_numpy() | np.isin(stated, codes)] = np.nan
    return numbers


def _texts(distinct: Any, missing: Sequence[Value]) -> Any:
    """Texts of distinct values, integers without a decimal point; null if a value means missing."""
    texts = [str(int(value)) if _is_whole(value) else str(value) for value in distinct]
    sentinels = {str(code) for code in missing}
    return pd.array([None if text in sentinels else text for text in texts], dtype="str")


def _is_whole(value: object) -> bool:
    """Whether a value is an integer that a file happens to store as a float."""
    return isinstance(value, float | np.floating) and value.is_integer()


def _filter(universe: Universe) -> Recode:
    """Make a parser that drops the rows out of scope."""

    def in_universe(frame: pd.DataFrame) -> pd.DataFrame:
        with _returning("universe"):
            inside = universe(frame)
        return frame[inside.to_numpy(dtype=bool) | _unreadable_rows(frame)]

    return in_universe


def _as_described(known: Mapping[str, Description]) -> Recode:
    """Make a parser that rounds, clips, groups and fills columns as their kinds state."""

    def described(frame: pd.DataFrame) -> pd.DataFrame:
        changed = {}
        for name, own in known.items():
            if name not in frame:
                continue
            column = frame[name] if own.becomes is None else own.becomes(frame[name])
            changed[name] = column if own.missing_as is None else column.fillna(own.missing_as)
        return frame.assign(**changed)

    return described


def _row_by_row(recode: Recode, *, fills: bool, kept: Sequence[str] = ()) -> Recode:
    """Guard a recode: one row out for each row in, with the same label, and no invalid value becomes valid.

    Args:
        recode: the recode.
        fills: whether null may become a value afterwards, so that text must be marked as unreadable too.
        kept: columns that the recode does not compute, which stay as read.
    """

    def recoded(frame: pd.DataFrame) -> pd.DataFrame:
        with _returning("recoding"):
            result = recode(frame)
        if len(result) != len(frame):
            raise InvalidInput("the recode of a table must return one row for each row; let the universe drop rows.")
        result = result.set_axis(frame.index)
        hidden = _unreadable_rows(frame) & ~_unreadable_rows(result)
        if hidden.any():
            result = result.mask(np.broadcast_to(hidden[:, None], result.shape))
            result.loc[hidden, result.select_dtypes("number").columns] = UNREADABLE
            if fills:
                result.loc[hidden, result.select_dtypes(exclude="number").columns] = UNREADABLE_TEXT
        return result.assign(**{name: frame[name] for name in kept if name in frame})

    return recoded


@contextmanager
def _returning(what: str) -> Iterator[None]:
    """Prevent a schema's function from ending the program; an interrupt by the user still does."""
    try:
        yield
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - an exit of the interpreter is silent
        kind = type(error).__name__
    else:
        return
    raise InvalidInput(f"the {what} of a table must return, but it ended the program ({kind}); remove the exit.")


def _unreadable_rows(frame: pd.DataFrame) -> NDArray[np.bool_]:
    """The rows with an unreadable value."""
    unreadable: NDArray[np.bool_] = np.isinf(frame.select_dtypes("number").to_numpy(np.float64)).any(axis=1)
    return unreadable
