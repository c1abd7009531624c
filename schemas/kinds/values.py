"""Texts and values that a column may have, and what marks those of a source that it cannot read."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from deniable.foundation.errors import InvalidInput
from schemas.plain_text import fault_of_cell, fault_of_line

# Marks a value that is not a number in a numeric column: it is not null, and in no public range.
UNREADABLE = np.inf
# The same in a column of text: no value may contain a control character.
UNREADABLE_TEXT = "\0"

# Numbers are read as float64, which represents integers exactly up to here.
LARGEST_NUMBER = 2**53


def require_text(what: str, text: object) -> None:
    """Refuse a text that pages cannot show."""
    if fault := fault_of_line(text):
        raise InvalidInput(f"{what} {fault}.")


def require_value(value: object, label: str) -> None:
    """Refuse a value that cannot be read exactly, or would be misread by a spreadsheet."""
    if isinstance(value, str):
        fault = fault_of_cell(value)
    elif not isinstance(value, int | float):
        fault = f"must be text or numbers, got {type(value).__name__}; write it as one of them"
    else:
        exact = -LARGEST_NUMBER <= value <= LARGEST_NUMBER
        fault = None if exact else f"must be numbers of at most {LARGEST_NUMBER:,}, got another; write it as text"
    if fault is not None:
        raise InvalidInput(f"the values of a column {fault}: {label}.")


def taken(texts: Sequence[Any], codes: NDArray[np.int64]) -> Any:
    """Texts by their number; null for -1."""
    return pd.array(list(texts), dtype="str").take(codes, allow_fill=True)
