"""Begins a release when it is told to, and stays in the middle of it until a file is there.

Arguments: SPEC STATE FILE. It says `ready` on standard output, and begins at the first line that it reads.
"""

import sys
import time
from pathlib import Path

from infra.environment import prepare_environment

SPEC, STATE, FILE = map(Path, sys.argv[1:])
_A_MOMENT_S = 0.05


class Slow:
    """A watcher that keeps a release before its records are gathered."""

    def started(self, step: str) -> None:
        while step == "gather" and not FILE.exists():
            time.sleep(_A_MOMENT_S)

    def advanced(self, step: str, amount: int) -> None:
        pass

    def ended(self, step: str, *, well: bool) -> None:
        pass


if __name__ == "__main__":
    state = prepare_environment(STATE)
    from deniable.foundation.errors import DeniableError
    from flows.release import release
    from tasks.running.progress import watching

    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    with watching(Slow()):
        try:
            release(SPEC, state)
        except DeniableError as error:
            sys.exit(str(error))
