"""Reads unambiguous JSON: no repeated names, no NaN or infinity, exactly the expected names.

The input may be hostile, designed to exhaust memory or time: its size, its depth, and the length of its numbers are
bounded.

The meaning of the values does not belong here. For writing, see `canonical` (ledger).
"""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from math import isfinite
from typing import NoReturn

from deniable.foundation.errors import InvalidInput
from deniable.foundation.exact_numbers import is_too_long

_MOST_VALUES = 5_000_000
_DEEPEST = 100
_LONGEST_NUMBER = 300
_NUMERAL = re.compile(r"\s*[-+]?[\d_.]+e[-+]?[\d_]+\s*", re.IGNORECASE)


def parsed(text: str, what: str) -> object:
    """Read JSON.

    Args:
        text: the JSON.
        what: a name for the error message, such as `the envelope`.

    Raises:
        InvalidInput: it is not JSON, or is ambiguous.
    """
    if sum(map(text.count, "[{,")) > _MOST_VALUES:
        raise InvalidInput(f"{what} must have at most {_MOST_VALUES:,} values, got more.")
    try:
        value: object = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_no_number, parse_int=_whole, parse_float=_decimal
        )
        _require_shallow(value)
    except _Ambiguous as error:
        raise InvalidInput(f"{what} must be unambiguous JSON, got {error}.") from None
    except (ValueError, RecursionError):
        raise InvalidInput(f"{what} must be JSON, got something else.") from None
    return value


def members(value: object, names: Sequence[str], what: str) -> Mapping[str, object]:
    """Read a value as an object with exactly the given names.

    Raises:
        InvalidInput: it is not an object, or has other names.
    """
    if not isinstance(value, dict) or set(value) != set(names):
        raise InvalidInput(f"{what} must have {', '.join(names)} and nothing else.")
    return value


def same(one: object, other: object) -> bool:
    """Equality as in JSON: true is not 1, and 1 is not 1.0."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    return type(one) is type(other) and one == other


class _Ambiguous(Exception):
    """JSON that two parsers could read differently."""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise _Ambiguous("a name twice")
    return values


def _whole(text: str) -> int:
    _require_short(text)
    return int(text)


def _decimal(text: str) -> float:
    _require_short(text)
    value = float(text)
    if not isfinite(value):
        raise _Ambiguous("a number beyond all that is read")
    return value


def _require_short(text: str) -> None:
    if len(text) > _LONGEST_NUMBER:
        raise _Ambiguous(f"a number of more than {_LONGEST_NUMBER} digits")


def _require_shallow(value: object) -> None:
    """Refuse values that are nested too deeply, and numbers that are too long."""
    level, depth = [value], 0
    while level:
        if depth > _DEEPEST:
            raise _Ambiguous(f"lists or objects nested more than {_DEEPEST} deep")
        texts = (each for each in level if isinstance(each, str) and _NUMERAL.fullmatch(each))
        if any(map(is_too_long, texts)):
            raise _Ambiguous("a number with more digits than are read")
        lists = (each for each in level if isinstance(each, list))
        objects = (each.values() for each in level if isinstance(each, dict))
        level, depth = [inner for outer in chain(lists, objects) for inner in outer], depth + 1


def _no_number(name: str) -> NoReturn:
    raise _Ambiguous(f"the number {name}")
