"""Reads data frames into the codes of a schema: pandas, polars, Arrow, or a mapping from names to columns.

A frame that others can read as Arrow (`__arrow_c_stream__`) is read so if pyarrow is installed. No message here has a
value of the frame or a number of its rows.
"""

import importlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.errors import InvalidInput
from deniable.record.released_table import codes_of_texts

_LISTS = ("to_pylist", "to_list", "tolist")


def codes_of_frame(frame: Any, domain: Domain, *, drop_invalid: bool = False) -> Codes:
    """The codes of a frame's rows.

    Args:
        frame: the confidential table; columns that the schema does not have are not read.
        domain: the public domain.
        drop_invalid: whether rows with a value outside the domain are left out, each by itself.

    Returns:
        Codes, shape (rows, m).

    Raises:
        InvalidInput: it is no table, lacks a column, or has a value outside the domain.
    """
    columns = _columns(frame, domain.names)
    coded = [_codes(attribute, columns[attribute.name]) for attribute in domain.attributes]
    if len({len(each) for each in coded}) != 1:
        raise InvalidInput("the columns of a table must be equally long, and these are not; correct the table.")
    rows = np.stack(coded, axis=1)
    valid = (rows >= 0).all(axis=1)
    if not drop_invalid and not valid.all():
        wrong = [name for name, column in zip(domain.names, rows.T, strict=True) if (column < 0).any()]
        raise InvalidInput(
            f"every value must be in the schema's domain, and {' and '.join(wrong)} have others or none: correct the "
            "schema by what is publicly known, or leave such rows out with drop_invalid=True."
        )
    return rows[valid].astype(np.uint16)


def _columns(frame: Any, names: Sequence[str]) -> Mapping[str, Any]:
    """The wanted columns, by name."""
    arrow = _arrow() if hasattr(frame, "__arrow_c_stream__") else None
    if arrow is not None:
        frame = arrow.table(frame)
    known = frame if isinstance(frame, Mapping) else getattr(frame, "column_names", getattr(frame, "columns", None))
    if known is None or not isinstance(known, Iterable):
        raise InvalidInput(
            f"the table must be a data frame of pandas, polars or Arrow, or a mapping from names to columns, and is a "
            f"{type(frame).__name__}."
        )
    there = [str(name) for name in known]
    missing = [name for name in names if name not in there]
    if missing:
        raise InvalidInput(
            f"the table must have every column of the schema, and lacks {', '.join(missing)}; add them, or leave them "
            "out of the schema."
        )
    return {name: frame[name] for name in names}


def _arrow() -> Any | None:
    try:
        return importlib.import_module("pyarrow")
    except ImportError:
        return None


def _codes(attribute: Attribute, column: Any) -> NDArray[np.int64]:
    """The code of each value of a column, -1 for values outside the domain."""
    values, places = _distinct(column)
    is_whole = isinstance(attribute.values[0], int)
    texts = [_text(value, is_whole=is_whole, is_float=isinstance(attribute.values[0], float)) for value in values]
    return codes_of_texts(attribute, texts)[places]


def _distinct(column: Any) -> tuple[list[Any], NDArray[np.int64]]:
    """The distinct values of a column, and the place of each row's value among them."""
    if hasattr(column, "dictionary_encode"):
        # Of Arrow.
        merged = column.combine_chunks() if hasattr(column, "combine_chunks") else column
        merged = merged.dictionary_encode("encode") if not hasattr(merged, "dictionary") else merged
        if not hasattr(merged, "dictionary"):
            # An empty chunked array.
            return [], np.zeros(0, np.int64)
        return [*merged.dictionary.to_pylist(), None], _whole(merged.indices, len(merged.dictionary))
    listed = next((getattr(column, name)() for name in _LISTS if hasattr(column, name)), None)
    known: dict[Any, int] = {}
    places = [known.setdefault((type(value), value), len(known)) for value in _hashable(column, listed)]
    return [value for _, value in known], np.asarray(places, np.int64)


def _whole(indices: Any, size: int) -> NDArray[np.int64]:
    """Arrow's indices as integers; a null index is beyond all, and its value is missing."""
    places: NDArray[np.int64] = indices.fill_null(size).to_numpy(zero_copy_only=False).astype(np.int64)
    return places


def _hashable(column: Any, listed: Any) -> Iterable[Any]:
    """The values of a column; NaN differs from itself, and counts as missing."""
    for value in column if listed is None else listed:
        plain = value.item() if isinstance(value, np.generic) else value
        yield None if plain is None or plain != plain or str(plain) == "<NA>" else _simple(plain)  # noqa: PLR0124


def _simple(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool) else str(value)


def _text(value: Any, *, is_whole: bool, is_float: bool) -> str:
    """A value as released tables have it; a whole number may be held as a float, as pandas does beside missing ones."""
    if value is None or value != value:  # noqa: PLR0124 - NaN
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if is_whole and isinstance(value, float) and value.is_integer():
        return str(int(value))
    if is_float and isinstance(value, int):
        return str(float(value))
    return str(value)
