"""Waiting for a server that does not answer: the same time for the ledger, for MLflow and for Prefect.

After an unsuccessful wait, later requests wait only briefly until the server answers again, because a process that
fails sends further requests while it ends.
"""

import math
import os
from collections.abc import Iterator

from deniable.foundation.errors import DeniableError, InvalidInput

PATIENCE_VARIABLE = "DENIABLE_PATIENCE_S"
"""Number of seconds to wait for a server."""

DEFAULT_PATIENCE_S = 120.0
_FIRST_S, _LONGEST_S = 0.5, 30.0
_BRIEFLY_S = 3.0

_in_vain: set[str] = set()


class ServerDown(DeniableError):
    """A server that a release needs does not answer; trying again later is safe."""


def patience_s() -> float:
    """Number of seconds to wait for a server that does not answer.

    Raises:
        InvalidInput: DENIABLE_PATIENCE_S is not a number of seconds.
    """
    said = os.environ.get(PATIENCE_VARIABLE, "")
    try:
        seconds = float(said) if said else DEFAULT_PATIENCE_S
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise InvalidInput(f"{PATIENCE_VARIABLE} must be a number of seconds, 0 or more, got {said}; correct it.")
    return seconds


def pauses(server: str) -> Iterator[float]:
    """Increasing pauses between requests to a server, in seconds, until the waiting time is over.

    Args:
        server: its identifier.
    """
    left, pause = min(_BRIEFLY_S, patience_s()) if server in _in_vain else patience_s(), _FIRST_S
    while left > 0:
        yield min(pause, left)
        left -= pause
        pause = min(2 * pause, _LONGEST_S)


def doublings(first_s: float) -> int:
    """Number of retries of a client that doubles its pauses, so that they add up to the waiting time.

    Args:
        first_s: the first pause, in seconds.
    """
    return math.ceil(math.log2(patience_s() / first_s + 1))


def is_given_up(server: str) -> bool:
    """Whether waiting for a server failed, and it has not answered since."""
    return server in _in_vain


def note_answer(server: str, *, answered: bool) -> None:
    """Note whether a server answered in the end."""
    if answered:
        _in_vain.discard(server)
    else:
        _in_vain.add(server)
