"""Secrets for tests that are the same each time: a test that fails by chance fails for everyone or for no one.

The project calls the operating system's generator in one function, which this module replaces in the tests' own
process. Draws of a command in a separate process are new, and at night all draws are.
"""

import hashlib
import os


class RepeatedChance:
    """A replacement for the module `secrets`; its output follows from the test file and the number of the call."""

    def __init__(self) -> None:
        self.begin("")

    def begin(self, name: str) -> None:
        """Count from 0 again, for the test file of this name."""
        self._name, self._calls, self._process = name, 0, os.getpid()

    def token_bytes(self, size: int) -> bytes:
        """Make the next secret, of `size` bytes."""
        self._calls += 1
        # Processes forked from this one must not make the same secrets.
        fork = "" if os.getpid() == self._process else f" in {os.getpid()}"
        return hashlib.shake_256(f"{self._name} {self._calls}{fork}".encode()).digest(size)
