"""Begins a release on a signal, and stops in the middle of it until a file exists.

Arguments: SPEC STATE FOLDER NAME. It makes FOLDER/NAME when it is ready, begins once FOLDER/now exists, and continues
once FOLDER/on exists.
"""

import sys
import time
from pathlib import Path

from infra.environment import prepare_environment

SPEC, STATE, FOLDER = map(Path, sys.argv[1:4])
NAME = sys.argv[4]
_A_MOMENT_S = 0.05


def wait_for(name: str) -> None:
    while not (FOLDER / name).exists():
        time.sleep(_A_MOMENT_S)


class Slow:
    """A watcher that stops a release before its records are gathered."""

    def started(self, step: str) -> None:
        if step == "gather":
            wait_for("on")

    def advanced(self, step: str, amount: int) -> None:
        pass

    def ended(self, step: str, *, well: bool) -> None:
        pass


if __name__ == "__main__":
    state = prepare_environment(STATE)
    from deniable.foundation.errors import DeniableError
    from flows.release import release
    from tasks.running.progress import watching

    (FOLDER / NAME).touch()
    wait_for("now")
    with watching(Slow()):
        try:
            release(SPEC, state)
        except DeniableError as error:
            sys.exit(str(error))
