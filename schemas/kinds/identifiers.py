"""Columns that are never released: those that name people or things, and free text."""

from collections.abc import Sequence

from pandera.pandas import Column

from deniable.foundation.domain import Value
from schemas.kinds.description import FREE_TEXT, IDENTIFIER, Description, column_of
from schemas.kinds.values import require_text


def identifier(*, missing: Sequence[Value] = (), label: str = "") -> Column:
    """Describe a column that names people or things, such as a patient's number. It is never released.

    It is read only if `table` names it as `person`.

    Args:
        missing: the source's codes for missing values.
        label: description of the column, for readers.

    Returns:
        The column, which is no attribute.
    """
    require_text("the label of a column", label)
    return column_of(Description(kind=IDENTIFIER, label=label, missing=tuple(missing)))


def free_text(*, label: str = "") -> Column:
    """Describe a column of free text, such as a doctor's notes, which `table` refuses with advice.

    Args:
        label: description of the column, for readers.

    Returns:
        The column, which no table may have.
    """
    return column_of(Description(kind=FREE_TEXT, label=label))
