"""Reads JSON that all readers read alike: no name twice, no number that is none, exactly the names that are expected.

What the values mean does not belong here; how they are written is in `canonical` (ledger).
"""

import json
from collections.abc import Mapping, Sequence
from typing import NoReturn

from deniable.errors import InvalidInput


def parsed(text: str, what: str) -> object:
    """Read JSON.

    Args:
        text: the JSON.
        what: what it is, for the error: `the envelope`.

    Raises:
        InvalidInput: it is no JSON, or two readers could read it differently.
    """
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except _Ambiguous as error:
        raise InvalidInput(f"{what} must be JSON that all readers read alike, got {error}.") from None
    except (ValueError, RecursionError):
        raise InvalidInput(f"{what} must be JSON, got something else.") from None


def members(value: object, names: Sequence[str], what: str) -> Mapping[str, object]:
    """Take a value as an object that has exactly some names.

    Raises:
        InvalidInput: it is no object, or has other names.
    """
    if not isinstance(value, dict) or set(value) != set(names):
        raise InvalidInput(f"{what} must have {', '.join(names)} and nothing else.")
    return value


def same(one: object, other: object) -> bool:
    """Equality as JSON has it: true is not 1, and 1 is not 1.0."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    return type(one) is type(other) and one == other


class _Ambiguous(Exception):
    """What two readers could read differently."""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise _Ambiguous("a name twice")
    return values


def _no_number(name: str) -> NoReturn:
    raise _Ambiguous(f"the number {name}")
