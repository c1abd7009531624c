"""Groups of an attribute's values and their names, for pictures that have room for few names.

The choice of groups for learning does not belong here (deniable.learners).
"""

from collections.abc import Mapping, Sequence
from typing import Final

from deniable.foundation.domain import Attribute

MOST_GROUPS: Final = 24
"""Number of groups of one attribute that a picture can show."""


def groups_to_show(attribute: Attribute, most: int = MOST_GROUPS) -> tuple[int, ...]:
    """Assign values to a few groups: the values themselves, the schema's buckets, or runs of neighbouring values.

    Args:
        attribute: the attribute.
        most: the largest number of groups.

    Returns:
        The group number of each value, from 0 without gaps.
    """
    if attribute.cardinality <= most:
        return tuple(range(attribute.cardinality))
    if attribute.bucket_count <= most:
        return tuple(attribute.buckets)
    return tuple(number * most // attribute.cardinality for number in range(attribute.cardinality))


def group_names(attribute: Attribute, groups: Sequence[int], labels: Mapping[str, str]) -> tuple[str, ...]:
    """Names of groups of values, from the meanings of the values.

    Args:
        attribute: the attribute.
        groups: group of each value.
        labels: meaning of each value, by the value as text.

    Returns:
        One name per group: the value's own name for a single value, the ends of a range of numbers, or else its values.
    """
    held: list[list[object]] = [[] for _ in range(max(groups) + 1)]
    for value, group in zip(attribute.values, groups, strict=True):
        held[group].append(value)
    return tuple(_name(attribute, values, labels) for values in held)


def _name(attribute: Attribute, values: Sequence[object], labels: Mapping[str, str]) -> str:
    if len(values) == 1:
        return label_of(values[0], labels)
    written = [written_value(value) for value in values]
    return f"{written[0]} to {written[-1]}" if attribute.is_ordered else ", ".join(written)


def label_of(value: object, labels: Mapping[str, str]) -> str:
    """A value as text, with its meaning."""
    written = written_value(value)
    meaning = labels.get(str(value), "")
    return f"{written} {meaning}" if meaning else written


def written_value(value: object) -> str:
    """A value without superfluous digits; an empty text is shown as `(empty)`."""
    return f"{value:g}" if isinstance(value, float) else str(value) or "(empty)"
