"""Groups of an attribute's values, and what they are called where pictures have room for few names.

How groups are chosen for learning does not belong here (deniable.learners).
"""

from collections.abc import Mapping, Sequence
from typing import Final

from deniable.foundation.domain import Attribute

MOST_GROUPS: Final = 24
"""Groups of one attribute that a picture can tell apart."""


def groups_to_show(attribute: Attribute, most: int = MOST_GROUPS) -> tuple[int, ...]:
    """Group of each value, so that there are few: the values, the schema's buckets, or runs of neighbouring values.

    Args:
        attribute: the attribute.
        most: number of groups.

    Returns:
        The number of each value's group, from 0 without a gap.
    """
    if attribute.cardinality <= most:
        return tuple(range(attribute.cardinality))
    if attribute.bucket_count <= most:
        return tuple(attribute.buckets)
    return tuple(number * most // attribute.cardinality for number in range(attribute.cardinality))


def group_names(attribute: Attribute, groups: Sequence[int], labels: Mapping[str, str]) -> tuple[str, ...]:
    """Names of groups of values, by what the values stand for.

    Args:
        attribute: the attribute.
        groups: group of each value.
        labels: what a value stands for, by the value as text.

    Returns:
        A name a group: the value's own where it is alone, ends of a range of numbers, else the values that it holds.
    """
    held: list[list[object]] = [[] for _ in range(max(groups) + 1)]
    for value, group in zip(attribute.values, groups, strict=True):
        held[group].append(value)
    return tuple(_name(attribute, values, labels) for values in held)


def _name(attribute: Attribute, values: Sequence[object], labels: Mapping[str, str]) -> str:
    if len(values) == 1:
        return label_of(values[0], labels)
    written = [written_value(value) for value in values]
    return f"{written[0]} to {written[-1]}" if attribute.kind == "numeric" else ", ".join(written)


def label_of(value: object, labels: Mapping[str, str]) -> str:
    """A value as it is written, and what it stands for."""
    written = written_value(value)
    meaning = labels.get(str(value), "")
    return f"{written} {meaning}" if meaning else written


def written_value(value: object) -> str:
    """A value without needless digits; an empty text is still something to see."""
    return f"{value:g}" if isinstance(value, float) else str(value) or "(empty)"
