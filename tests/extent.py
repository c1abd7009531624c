"""How much tests draw: all of it at night, a part of it before a merge, little where somebody waits.

What is asserted is the same. The variable TESTS says `nightly` or `quick`, as the make targets of these names do; else
it is a merge's.
"""

import os

_SHARES = {"nightly": 1.0, "merge": 0.25, "quick": 0.05}
_SHARE = _SHARES[os.environ.get("TESTS", "merge")]


def drawn(nightly: int, least: int = 5) -> int:
    """How many examples or positions to draw, of so many at night."""
    return max(least, round(nightly * _SHARE))
