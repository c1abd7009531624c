"""Runs a release, or a refresh, and kills this process at one moment, as `kill -9` or the signal KILLED_BY does.

Arguments: SPEC STATE MOMENT STEP, and SOURCE for a refresh, or `--discover` and the options of a discovery.

MOMENT is `before` or `after` a step, or `during` it, when its first file is complete but not yet renamed into place; or
`renaming`, `removing` or `writing` a file whose path contains STEP; or `noting` in the vault that the release is
`finished` or `reported`; or `printing`, when the command is about to print a text that contains STEP. This changes
nothing in the project: steps are announced to watchers, and Python's audit hooks report every rename.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import TextIO

from infra.environment import prepare_environment

SPEC, STATE, MOMENT, STEP, *SOURCE = sys.argv[1:]


def die() -> None:
    os.kill(os.getpid(), signal.Signals[os.environ.get("KILLED_BY", "SIGKILL")])


class Executioner:
    """A watcher that kills the process."""

    def __init__(self) -> None:
        self.running: list[str] = []

    def started(self, step: str) -> None:
        if ("before", step) == (MOMENT, STEP):
            die()
        self.running.append(step)

    def advanced(self, step: str, amount: int) -> None:
        pass

    def ended(self, step: str, *, well: bool) -> None:
        self.running.remove(step)
        if ("after", step) == (MOMENT, STEP) and well:
            die()

    def told(self, event: str, arguments: tuple[object, ...]) -> None:
        """Kill the process at the right audit event of Python."""
        if event == "os.rename":
            if MOMENT == "during" and STEP in self.running:
                die()
            if MOMENT == "renaming" and STEP in str(arguments[1]):
                die()
            if MOMENT == "noting" and str(arguments[1]).endswith("/release.json") and noted(arguments[0]):
                die()
        if event == "open" and MOMENT == "writing" and str(arguments[0]).endswith(STEP):
            die()
        if event == "os.remove" and MOMENT == "removing" and str(arguments[0]).endswith(STEP):
            die()


def noted(place: object) -> bool:
    """Whether the note that is about to be written is the moment to kill the process."""
    said: dict[str, bool] = json.loads(Path(str(place)).read_text())
    return said[STEP]


class LastWords:
    """A standard output that kills the process before it prints a certain text."""

    def __init__(self, out: TextIO) -> None:
        self.out = out

    def write(self, text: str) -> int:
        if STEP in text:
            die()
        return self.out.write(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self.out, name)


if __name__ == "__main__" and MOMENT == "printing":
    from deniable.cli.dispatch import main

    sys.stdout = LastWords(sys.stdout)  # type: ignore[assignment] # what is used of it is there
    sys.exit(main(["release", "make", SPEC, "--state", STATE]))

if __name__ == "__main__":
    state = prepare_environment(Path(STATE))
    from deniable.cli.dispatch import main
    from flows.refresh import refresh
    from flows.release import release
    from tasks.running.progress import watching

    executioner = Executioner()
    sys.addaudithook(executioner.told)
    with watching(executioner):
        if SOURCE[:1] == ["--discover"]:
            main(["table", "discover", SPEC, "--state", STATE, *SOURCE[1:]])
        elif SOURCE:
            refresh(Path(SPEC), state, Path(SOURCE[0]))
        else:
            release(Path(SPEC), state)
