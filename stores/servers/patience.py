"""How long a server that does not answer is waited for: the same time for the ledger's, for MLflow's and for Prefect's.

A server that was waited for in vain is asked only briefly until it answers again: whoever fails because of it has more
to ask of it on the way out.
"""

import math
import os
from collections.abc import Iterator

from deniable.foundation.errors import DeniableError, InvalidInput

PATIENCE_VARIABLE = "DENIABLE_PATIENCE_S"
"""For how many seconds a server is waited for."""

DEFAULT_PATIENCE_S = 120.0
_FIRST_S, _LONGEST_S = 0.5, 30.0
_BRIEFLY_S = 3.0

_in_vain: set[str] = set()


class ServerDown(DeniableError):
    """A server that a release needs does not answer; trying again later is safe."""


def patience_s() -> float:
    """For how many seconds a server that does not answer is waited for.

    Raises:
        InvalidInput: DENIABLE_PATIENCE_S holds no number of seconds.
    """
    said = os.environ.get(PATIENCE_VARIABLE, "")
    try:
        seconds = float(said) if said else DEFAULT_PATIENCE_S
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise InvalidInput(f"{PATIENCE_VARIABLE} must be a number of seconds from 0 on, got {said}; correct it.")
    return seconds


def pauses(server: str) -> Iterator[float]:
    """Seconds to pause between asking a server again and again, longer and longer, until its time is up.

    Args:
        server: what it is known by.
    """
    left, pause = min(_BRIEFLY_S, patience_s()) if server in _in_vain else patience_s(), _FIRST_S
    while left > 0:
        yield min(pause, left)
        left -= pause
        pause = min(2 * pause, _LONGEST_S)


def doublings(first_s: float) -> int:
    """How often a client asks again that doubles its pauses from a first one, so that they add up to the patience.

    Args:
        first_s: the first pause, in seconds.
    """
    return math.ceil(math.log2(patience_s() / first_s + 1))


def is_given_up(server: str) -> bool:
    """Whether a server was waited for in vain, and has not answered since."""
    return server in _in_vain


def note_answer(server: str, *, answered: bool) -> None:
    """Note whether a server answered in the end."""
    if answered:
        _in_vain.discard(server)
    else:
        _in_vain.add(server)
