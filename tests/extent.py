"""How much tests draw: everything at night, a part before a merge, and little if someone is waiting.

The assertions are the same. The variable TESTS is `nightly` or `quick`, as set by the make targets; otherwise the
extent is that of a merge. By day, the draws are the same each time; at night, they are new.
"""

import os
from collections.abc import Sequence
from typing import TypeVar

_SHARES = {"nightly": 1.0, "merge": 0.25, "quick": 0.05}
_TESTS = os.environ.get("TESTS", "merge")
_SHARE = _SHARES[_TESTS]

_Position = TypeVar("_Position")


def drawn(nightly: int, least: int = 5) -> int:
    """Return how many examples or positions to draw, given the number at night."""
    return max(least, round(nightly * _SHARE))


def spread(nightly: Sequence[_Position], least: int = 5, most: int | None = None) -> list[_Position]:
    """Return the positions to try among those at night: evenly spaced, including the first and the last.

    Args:
        nightly: all positions.
        least: how many to try at least.
        most: how many to try at most, except at night.
    """
    count = min(len(nightly), drawn(len(nightly), max(least, 2)))
    if most is not None and not is_night():
        count = min(count, most)
    return [nightly[round(number * (len(nightly) - 1) / (count - 1))] for number in range(count)]


def is_night() -> bool:
    """Whether everything is tested, including tests marked `nightly`."""
    return _TESTS == "nightly"


def left_out() -> tuple[str, ...]:
    """Return the markers of tests that are not run."""
    return {"nightly": (), "merge": ("nightly",), "quick": ("nightly", "slow")}[_TESTS]


def repeats() -> bool:
    """Whether secrets and examples are the same in every run."""
    return not is_night()
