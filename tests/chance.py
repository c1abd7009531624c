"""Secrets for tests that are the same each time: a test that fails by chance fails for everybody, or for nobody.

The operating system's generator is one function of the project; in the tests' own process this takes its place. What
a command draws in a process of its own is drawn anew, and at night all of it is.
"""

import hashlib
import os


class RepeatedChance:
    """Stands where the module `secrets` does; what it gives follows from the file and the number of the call."""

    def __init__(self) -> None:
        self.begin("")

    def begin(self, name: str) -> None:
        """Count from 0 again, for the file of tests of this name."""
        self._name, self._calls, self._process = name, 0, os.getpid()

    def token_bytes(self, size: int) -> bytes:
        """Make the next secret, of `size` bytes."""
        self._calls += 1
        # Processes that were forked from this one must not make the same secrets.
        fork = "" if os.getpid() == self._process else f" in {os.getpid()}"
        return hashlib.shake_256(f"{self._name} {self._calls}{fork}".encode()).digest(size)
