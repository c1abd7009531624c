"""Describes a table of people by one pandera schema: its checks are the public domain, its metadata the rest.

No source is read and no row is validated here. No part of a description is ever learnt from data.
"""

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandera.pandas import Check, Column, DataFrameSchema, Parser

from deniable.foundation.domain import MAX_CARDINALITY, Attribute, Domain, Kind, Value
from deniable.foundation.errors import InvalidInput
from deniable.foundation.rules import Rule
from schemas.plain_text import fault_of_cell, fault_of_line, fault_of_name, fault_of_paragraph
from schemas.rules import Statement, TotalStatement

Universe: TypeAlias = Callable[[pd.DataFrame], pd.Series]
Recode: TypeAlias = Callable[[pd.DataFrame], pd.DataFrame]

# Marks a value that is not a number in a numeric column: it is not null, and in no public range.
UNREADABLE = np.inf

# Numbers are read as float64, which represents integers exactly up to here.
_LARGEST_NUMBER = 2**53
_MOST_COLUMNS = 10_000


def nominal(
    values: Sequence[Value] | Mapping[Any, str],
    *,
    buckets: Iterable[Collection[Value]] = (),
    missing: Sequence[Value] = (),
    label: str = "",
) -> Column:
    """Describe a nominal column, whose values are names or codes.

    Args:
        values: the values in public order, or each value with its label.
        buckets: groups of values that form one bucket when the column is a parent; other values have their own.
        missing: the source's codes for missing values.
        label: description of the column, for readers.

    Returns:
        The column; its check `isin` is the domain.

    Raises:
        InvalidInput: values have several types, or are unsuitable for files (NaN, text with control characters, text
            that spreadsheets read as a formula), or buckets overlap or contain other values.
    """
    listed = tuple(values)
    groups = [tuple(group) for group in buckets]
    grouped = [value for group in groups for value in group]
    _require_text("the label of a column", label)
    if len({type(value) for value in listed}) != 1:
        raise InvalidInput(f"the values of a column must be of one type, got {_types(listed)}: {label}.")
    for value in listed:
        _require_value(value, label)
    explained = dict(values) if isinstance(values, Mapping) else {}
    for text in explained.values():
        _require_text(f"the text that explains a value of the column {label!r}", text)
    if len(set(grouped)) != len(grouped) or not set(grouped) <= set(listed):
        raise InvalidInput(
            f"the buckets of a column must consist of its values, each in one bucket only, got others: {label}."
        )
    first_of_bucket = {value: group[0] for group in groups for value in group}
    return _column(
        "nominal",
        listed,
        checks=[Check.isin(list(listed))],
        keys=[first_of_bucket.get(value, value) for value in listed],
        missing=missing,
        label=label,
        labels=explained,
    )


def numeric(
    low: float,
    high: float,
    *,
    step: int = 1,
    width: int | None = None,
    edges: Sequence[float] | None = None,
    missing: Sequence[Value] = (),
    label: str = "",
) -> Column:
    """Describe a numeric column: low, low + step ... high. The values are integers unless `low` is a float.

    Args:
        low: the smallest value.
        high: the largest value.
        step: distance of neighbouring values.
        width: width of the buckets, the first from `low`; without it and `edges`, each value has its own bucket.
        edges: the values at which a new bucket starts, ascending; `low` need not be among them.
        missing: the source's codes for missing values.
        label: description of the column, for readers.

    Returns:
        The column; its check `in_range` is the domain.

    Raises:
        InvalidInput: the range is invalid, or both a width and edges are given.
    """
    _require_text("the label of a column", label)
    if not max(abs(low), abs(high)) <= _LARGEST_NUMBER:
        raise InvalidInput(
            f"a numeric column must be within {-_LARGEST_NUMBER:,} to {_LARGEST_NUMBER:,}, where numbers are read "
            f"exactly, got a larger bound: {label}."
        )
    if not (high >= low and step >= 1 and (high - low) % step == 0):
        raise InvalidInput(f"a numeric column must go from low to high in whole steps, got {low} to {high} in {step}.")
    if (high - low) / step >= MAX_CARDINALITY:
        raise InvalidInput(f"a numeric column must have at most {MAX_CARDINALITY} values, got more; use a larger step.")
    if width is not None and edges is not None:
        raise InvalidInput("a numeric column must have a width or edges of its buckets, got both; leave one out.")
    values = _grid(low, high, step)
    keys: list[float]
    if width is not None:
        keys = [(value - low) // width for value in values]
    elif edges is not None:
        keys = np.searchsorted(edges, values, side="right").tolist()
    else:
        keys = list(values)
    return _column(
        "numeric",
        values,
        checks=[Check.in_range(low, high), Check(_on_grid(low, step), name=f"steps_of_{step}")],
        keys=keys,
        missing=missing,
        label=label,
        step=step,
    )


def table(
    columns: Mapping[str, Column],
    *,
    description: str = "",
    target: str | None = None,
    reads: Mapping[str, type[float] | type[str]] | None = None,
    missing: Mapping[str, Sequence[Value]] | None = None,
    universe: Universe | None = None,
    recode: Recode | None = None,
    rules: Sequence[Statement] = (),
    totals: Sequence[TotalStatement] = (),
) -> DataFrameSchema:
    """Describe a table.

    The schema parses before it checks: values become numbers or text, rows outside the universe are dropped, and the
    rest is recoded. Missing values pass: their treatment is not part of the description.

    Args:
        columns: the attributes in public order.
        description: description of the table, for readers.
        target: the attribute that classifiers predict in evaluation.
        reads: the source's columns that `universe` and `recode` need, each `float` or `int` if it holds numbers and
            `str` if it holds text. By default the attributes themselves.
        missing: codes for missing values of columns that are read and are not attributes.
        universe: decides for each row alone, by a public rule, whether it is in scope. Its docstring is published. A
            comparison with a missing value is false, so such rows are out of scope. Rows with text where a number must
            be are always in scope, as invalid rows.
        recode: computes the attributes from the columns that are read, row by row. Null should stay null, and
            `UNREADABLE` unreadable; if a recode loses an unreadable value, the whole row becomes unreadable.
        rules: rules that every record keeps, made by the functions of `schemas.rules`; rows that break one are invalid.
        totals: public totals of the whole table, made by `public_total` and `public_counts` of `schemas.rules`.

    Returns:
        The schema, the only description of the table.

    Raises:
        InvalidInput: a name is not text or would be misread by pages or spreadsheets, the target is not an attribute,
            there are codes for missing values of a column that is not read, or a rule names no public source, does not
            fit the columns, or contradicts others.
    """
    _require_names(columns, reads or {}, description)
    metadata = {name: _metadata(name, column) for name, column in columns.items()}
    wanted = dict(reads) if reads is not None else {name: entry["type"] for name, entry in metadata.items()}
    sentinels = {name: entry["missing"] for name, entry in metadata.items()} | dict(missing or {})
    unread = [name for name, codes in sentinels.items() if codes and name not in wanted]
    if unread:
        raise InvalidInput(f"codes for missing values must belong to columns that are read, got some for {unread[0]}.")
    if target is not None and target not in columns:
        raise InvalidInput(f"the target must be one of {', '.join(columns)}, got {target}.")
    parsers = [Parser(_typing(wanted, sentinels), name="typed")]
    if universe is not None:
        parsers.append(Parser(_filter(universe), name="universe"))
    if recode is not None:
        parsers.append(Parser(_row_by_row(recode), name="recode"))
    values = {name: _values(column, metadata[name]) for name, column in columns.items()}
    stated = tuple(statement(values) for statement in rules)
    schema = DataFrameSchema(
        dict(columns),
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
            "universe": _published_words(universe),
            "rules": stated,
            "totals": tuple(statement(values) for statement in totals),
        },
    )
    if stated or totals:
        # Refuses rules that do not fit, or cannot be kept.
        _ = domain_of(schema).components
    return schema


def domain_of(schema: DataFrameSchema) -> Domain:
    """The public domain that a schema's checks and metadata state.

    Raises:
        InvalidInput: the schema was not made by `table`.
    """
    attributes = []
    for name, column in schema.columns.items():
        metadata = _metadata(name, column)
        attributes.append(
            Attribute(
                name=name,
                values=_values(column, metadata),
                kind=metadata["kind"],
                buckets=metadata["buckets"],
            )
        )
    known = _table_metadata(schema)
    return Domain(
        tuple(attributes), target=known["target"], rules=known.get("rules", ()), totals=known.get("totals", ())
    )


def _keeps(columns: Mapping[str, Column], rule: Rule) -> Callable[[pd.DataFrame], pd.Series]:
    """Check of whether rows keep a rule; rows in which one of its values is missing or invalid pass."""
    own = {name: columns[name] for name in rule.attributes if name in columns}
    domain = Domain(
        tuple(
            Attribute(name, values := _values(column, column.metadata or {}), "nominal", tuple(range(len(values))))
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
        kept[known] = rule.holds(domain, np.stack(codes, axis=1)[known].astype(np.uint16))
        return pd.Series(kept, frame.index)

    return keeps


def columns_read(schema: DataFrameSchema) -> tuple[str, ...]:
    """Names of the source's columns that a schema needs; no others leave the source."""
    return cast("tuple[str, ...]", _table_metadata(schema)["reads"])


def holds_text(schema: DataFrameSchema, name: str) -> bool:
    """Whether an attribute's values are text."""
    return _metadata(name, schema.columns[name])["type"] is str


def labels_of(schema: DataFrameSchema) -> dict[str, dict[str, str]]:
    """The labels of values, by attribute and by value as text, if the schema has any."""
    labels = {name: _metadata(name, column)["labels"] for name, column in schema.columns.items()}
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


def _require_text(what: str, text: object) -> None:
    """Refuse a text that pages cannot show."""
    if fault := fault_of_line(text):
        raise InvalidInput(f"{what} {fault}.")


def _require_value(value: object, label: str) -> None:
    """Refuse a value that cannot be read exactly, or would be misread by a spreadsheet."""
    if isinstance(value, str):
        fault = fault_of_cell(value)
    elif not isinstance(value, int | float):
        fault = f"must be text or numbers, got {type(value).__name__}; write it as one of them"
    else:
        exact = -_LARGEST_NUMBER <= value <= _LARGEST_NUMBER
        fault = None if exact else f"must be numbers of at most {_LARGEST_NUMBER:,}, got another; write it as text"
    if fault is not None:
        raise InvalidInput(f"the values of a column {fault}: {label}.")


def _published_words(universe: Universe | None) -> str:
    """The published description of a universe."""
    words = (inspect.getdoc(universe) or "") if universe is not None else ""
    if fault := fault_of_paragraph(words):
        raise InvalidInput(f"the docstring of a universe {fault}.")
    return words


def _column(
    kind: Kind,
    values: Sequence[Value],
    *,
    checks: Sequence[Check],
    keys: Sequence[Value],
    missing: Sequence[Value],
    label: str,
    step: int = 1,
    labels: Mapping[Value, str] | None = None,
) -> Column:
    """Make a column; values with equal keys share a bucket, and buckets are numbered in order of appearance."""
    number: dict[Value, int] = {}
    value_type = type(values[0])
    readable = [] if value_type is str else [Check(np.isfinite, name="number")]
    return Column(
        checks=[*readable, *checks],
        nullable=True,
        title=label,
        metadata={
            "kind": kind,
            "type": value_type,
            "buckets": tuple(number.setdefault(key, len(number)) for key in keys),
            "missing": tuple(missing),
            "step": step,
            "labels": dict(labels or {}),
        },
    )


def _metadata(name: str, column: Column) -> dict[str, Any]:
    """The metadata of `nominal` or `numeric` on a column."""
    metadata: dict[str, Any] = column.metadata or {}
    if "kind" not in metadata:
        raise InvalidInput(f"column {name} must be described by schemas.table.nominal or numeric.")
    return metadata


def _table_metadata(schema: DataFrameSchema) -> dict[str, Any]:
    """The metadata of `table` on a schema."""
    metadata: dict[str, Any] = schema.metadata or {}
    if "reads" not in metadata:
        raise InvalidInput("a table schema must be made by schemas.table.table.")
    return metadata


def _values(column: Column, metadata: Mapping[str, Any]) -> tuple[Value, ...]:
    """The values that a column's checks allow, in code order."""
    statistics = {check.name: check.statistics for check in column.checks}
    if "isin" in statistics:
        return tuple(statistics["isin"]["allowed_values"])
    return _grid(statistics["in_range"]["min_value"], statistics["in_range"]["max_value"], metadata["step"])


def _grid(low: float, high: float, step: int) -> tuple[float, ...]:
    """The numbers low, low + step ... high, of the type of `low`."""
    return tuple(low + step * index for index in range(int((high - low) // step) + 1))


def _on_grid(low: float, step: int) -> Callable[[pd.Series], pd.Series]:
    """Check that numbers are whole steps above `low`; values that are not numbers are left to the other checks."""
    return lambda column: ~np.isfinite(column) | ((column - low) % step == 0)


def _types(values: Iterable[Value]) -> str:
    """Names of the types of some values."""
    return " and ".join(sorted({type(value).__name__ for value in values})) or "no value"


def _typing(wanted: Mapping[str, type], sentinels: Mapping[str, Sequence[Value]]) -> Recode:
    """Make a parser that turns values into numbers or text."""

    def typed(frame: pd.DataFrame) -> pd.DataFrame:
        # A table from elsewhere may lack a column; pandera reports this better than a KeyError would.
        present = [name for name in wanted if name in frame]
        return pd.DataFrame(
            {name: _typed(frame[name], sentinels.get(name, ()), text=wanted[name] is str) for name in present},
            index=frame.index,
        )

    return typed


def _typed(column: pd.Series, missing: Sequence[Value], *, text: bool) -> pd.Series:
    """Turn a column into numbers (float64) or text; null and the codes for missing values become null.

    Only distinct values are converted: a census column has few of them, and text is slow.
    """
    if not text and not missing and pd.api.types.is_numeric_dtype(column):
        return pd.Series(column.to_numpy(np.float64, na_value=np.nan), column.index)
    codes, distinct = pd.factorize(column)  # null has code -1
    if text:
        return pd.Series(_texts(distinct, missing).take(codes, allow_fill=True), column.index)
    return pd.Series(np.append(_numbers(distinct, missing), np.nan)[codes], column.index)


def _numbers(distinct: Any, missing: Sequence[Value]) -> NDArray[np.float64]:
    """Numbers of distinct values: `UNREADABLE` if a value is not a number, null if it means missing."""
    values = pd.Series(distinct, dtype=object)
    numbers: NDArray[np.float64] = pd.to_numeric(values, errors="coerce").to_numpy(np.float64, copy=True)
    numbers[np.isnan(numbers)] = UNREADABLE
    codes = [code for code in missing if not isinstance(code, str)]
    numbers[values.isin(list(missing)).to_numpy() | np.isin(numbers, codes)] = np.nan
    return numbers


def _texts(distinct: Any, missing: Sequence[Value]) -> Any:
    """Texts of distinct values, integers without a decimal point; null if a value means missing."""
    texts = [str(int(value)) if _is_whole(value) else str(value) for value in distinct]
    sentinels = {str(code) for code in missing}
    return pd.array([None if text in sentinels else text for text in texts], dtype="str")


def _is_whole(value: object) -> bool:
    """Whether a value is an integer that a file happens to store as a float."""
    return isinstance(value, float) and value.is_integer()


def _filter(universe: Universe) -> Recode:
    """Make a parser that drops the rows out of scope."""

    def in_universe(frame: pd.DataFrame) -> pd.DataFrame:
        with _returning("universe"):
            inside = universe(frame)
        return frame[inside.to_numpy(dtype=bool) | _unreadable_rows(frame)]

    return in_universe


def _row_by_row(recode: Recode) -> Recode:
    """Guard a recode: one row out for each row in, with the same label, and no invalid value becomes valid."""

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
        return result

    return recoded


@contextmanager
def _returning(what: str) -> Iterator[None]:
    """Keep a rule of a schema from ending the program; an interrupt by the user still does."""
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
