"""How much tests draw: all of it at night, a part of it before a merge, little where somebody waits.

What is asserted is the same. The variable TESTS says `nightly` or `quick`, as the make targets of these names do; else
it is a merge's. By day the same is drawn each time; at night it is drawn anew.
"""

import os

_SHARES = {"nightly": 1.0, "merge": 0.25, "quick": 0.05}
_TESTS = os.environ.get("TESTS", "merge")
_SHARE = _SHARES[_TESTS]


def drawn(nightly: int, least: int = 5) -> int:
    """How many examples or positions to draw, of so many at night."""
    return max(least, round(nightly * _SHARE))


def repeats() -> bool:
    """Tell whether secrets and examples are the same as the last time."""
    return _TESTS != "nightly"
