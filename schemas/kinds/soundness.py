"""Columns that no release can have, or with values that a source can never have."""

from schemas.kinds.description import FREE_TEXT, IDENTIFIER, Description


def fault_of_column(description: Description, read_as: type | None) -> str | None:
    """The fault of a column, to follow its name; None if none.

    Args:
        description: the column's.
        read_as: the type as which the source's column is read; None if the values are computed from other columns.
    """
    if description.kind == FREE_TEXT:
        return (
            "holds free text, which may say anything about a person, so no release can include it; leave it out, or "
            "state categories of it as a nominal column with `by`"
        )
    if description.kind == IDENTIFIER:
        return None
    if description.value_type is bool:
        return (
            "must not have True and False as values, which files write in several ways; describe it by boolean(), "
            "which reads all of them"
        )
    return None if read_as is None else _never_occurs(description, read_as)


def _never_occurs(description: Description, read_as: type) -> str | None:
    """The fault of a column with a value that the source can never have; None if there is none."""
    own = [value for value in description.values if value != description.missing_as]
    if description.becomes is not None or not own:
        return None
    is_text = isinstance(own[0], str)
    codes = {str(code) for code in description.missing} if is_text else set(description.missing)
    texts = [value for value in own if isinstance(value, str)]
    padded = [text for text in texts if text != text.strip()]
    if never := [value for value in own if value in codes]:
        return f"has the value {never[0]!r}, which can never occur, because it is also a code for missing; choose one"
    if padded:
        return (
            f"has the value {padded[0]!r}, which can never occur, because blanks around the source's codes are "
            f"removed; write {padded[0].strip()!r}"
        )
    if "" in texts:
        return "has an empty text as a value, which can never occur, because it is read as missing; use missing_as"
    if texts and read_as is not str:
        return (
            f"has the value {texts[0]!r}, which can never occur, because `reads` states that it is read as a number; "
            f"state str there"
        )
    return None
