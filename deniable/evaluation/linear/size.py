"""How many numbers a record has for linear classifiers; specs are checked by it, without compiled code."""

from collections.abc import Sequence
from typing import Final

from deniable.foundation.domain import Attribute

MOST_NUMBERS: Final = 1000
"""Largest number of numbers of a record: Newton's steps solve a system of so many equations."""


def numbers_of(attributes: Sequence[Attribute]) -> int:
    """How many numbers a record has: one for each value of a category, one for a number, and a constant."""
    return 1 + sum(1 if each.kind == "numeric" else each.cardinality for each in attributes)
