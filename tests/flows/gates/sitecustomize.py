"""Makes a process of the tests wait at a moment: Python runs this first in every process that finds it on its path.

A file in the folder that DENIABLE_TEST_GATES names is a gate. Its name is part of a path, with `+` for `/`. A process
that is about to rename a file to such a path marks the gate as reached, and waits until the gate is removed.
"""

import contextlib
import os
import sys
import time

_GATES = os.environ["DENIABLE_TEST_GATES"]


def _wait(event: str, arguments: tuple[object, ...]) -> None:
    if event != "os.rename" or str(arguments[1]).startswith(_GATES):
        return
    for gate in os.listdir(_GATES):  # noqa: PTH208 - as early as this, as little as possible
        place = os.path.join(_GATES, gate)  # noqa: PTH118
        if not gate.endswith(".reached") and gate.replace("+", "/") in str(arguments[1]):
            with contextlib.suppress(FileNotFoundError):
                os.rename(place, f"{place}.reached")  # noqa: PTH104
                with open(f"{place}.reached", "w") as reached:  # noqa: PTH123
                    reached.write(str(os.getpid()))
                while os.path.exists(f"{place}.reached"):  # noqa: PTH110
                    time.sleep(0.02)


sys.addaudithook(_wait)
