"""Columns of truth values, whichever way a source writes them."""

from collections.abc import Mapping, Sequence

from pandera.pandas import Column

from deniable.foundation.domain import FALSE, TRUE, TRUTH_VALUES, Value
from deniable.foundation.errors import InvalidInput
from schemas.kinds.description import Description, column_of
from schemas.kinds.missing import with_missing_as
from schemas.kinds.names import groups_become
from schemas.kinds.values import require_text
from schemas.written_forms import USUAL_TRUTHS, folded


def boolean(
    labels: Mapping[str, str] | None = None,
    *,
    true: Sequence[Value] = (),
    false: Sequence[Value] = (),
    missing: Sequence[Value] = (),
    missing_as: str | None = None,
    label: str = "",
) -> Column:
    """Describe a column of truth values. The values are `false` and `true`, whichever way the source writes them.

    These are read, in any case of letters: true, t, yes, y, 1 and 1.0 as true; false, f, no, n, 0 and 0.0 as false. A
    released table has true and false as text, and truth values in Parquet; a missing value is an empty field, or null.

    Args:
        labels: the meaning of `false` and of `true`.
        true: further codes of the source for true, such as `ja` or 2.
        false: further codes of the source for false.
        missing: the source's codes for missing values.
        missing_as: the name of missing values on pages and in questions; their rows are then kept. By default they are
            left out.
        label: description of the column, for readers.

    Returns:
        The column; its check `isin` is the domain.

    Raises:
        InvalidInput: a code means two of true, false and missing, or there is a label of another value.
    """
    require_text("the label of a column", label)
    explained: dict[Value, str] = dict(labels.items()) if labels else {}
    if not set(explained) <= set(TRUTH_VALUES):
        raise InvalidInput(f"the labels of a boolean column must be those of false and true, got others: {label}.")
    for text in explained.values():
        require_text(f"the text that explains a value of the column {label!r}", text)
    own = {folded(code): value for value, codes in ((TRUE, true), (FALSE, false)) for code in codes}
    absent = {folded(code) for code in missing}
    if len(own) < len({*map(str, true)}) + len({*map(str, false)}) or absent & set(own):
        raise InvalidInput(f"a code of a boolean column must be true, false or missing, got one that is two: {label}.")
    known = {code: value for code, value in (USUAL_TRUTHS | own).items() if code not in absent}
    column = column_of(
        Description(
            kind="nominal",
            label=label,
            values=TRUTH_VALUES,
            buckets=(0, 1),
            labels={value: text for value, text in explained.items() if text},
            missing=tuple(missing),
            becomes=groups_become(lambda code: known.get(folded(code)), TRUTH_VALUES),
            is_boolean=True,
        )
    )
    return column if missing_as is None else with_missing_as(column, missing_as)
