"""How much tests draw: all of it at night, a part of it before a merge, little where somebody waits.

What is asserted is the same. The variable TESTS says `nightly` or `quick`, as the make targets of these names do; else
it is a merge's. By day the same is drawn each time; at night it is drawn anew.
"""

import os
from collections.abc import Sequence
from typing import TypeVar

_SHARES = {"nightly": 1.0, "merge": 0.25, "quick": 0.05}
_TESTS = os.environ.get("TESTS", "merge")
_SHARE = _SHARES[_TESTS]

_Position = TypeVar("_Position")


def drawn(nightly: int, least: int = 5) -> int:
    """How many examples or positions to draw, of so many at night."""
    return max(least, round(nightly * _SHARE))


def spread(nightly: Sequence[_Position], least: int = 5) -> list[_Position]:
    """Positions to try, of those at night: evenly apart, and the first and the last among them."""
    count = min(len(nightly), drawn(len(nightly), max(least, 2)))
    return [nightly[round(number * (len(nightly) - 1) / (count - 1))] for number in range(count)]


def is_night() -> bool:
    """Tell whether all is tested, tests that are marked `nightly` as well."""
    return _TESTS == "nightly"


def repeats() -> bool:
    """Tell whether secrets and examples are the same as the last time."""
    return not is_night()
