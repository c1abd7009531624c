"""Makes only one process of a test run compile kernels at a time; the next one finds them in numba's cache.

Otherwise, in a new checkout, each process compiles the largest of them, thirteen core seconds, at the same time.
"""

from threading import RLock
from typing import Any

from numba.core.dispatcher import Dispatcher

from stores.locks import locked
from tests.made_once import FOLDER

_compile = Dispatcher.compile
_lock = RLock()
_depth = 0


def _compile_alone(kernel: Dispatcher, signature: Any) -> Any:
    """Compile a kernel and those that it calls, or load it from the cache, while no other process does so."""
    global _depth  # noqa: PLW0603 - a lock of a file cannot be taken twice
    with _lock:
        if _depth:
            return _compile(kernel, signature)
        _depth += 1
        try:
            with locked(FOLDER / "compiling.lock", wait=True):
                return _compile(kernel, signature)
        finally:
            _depth -= 1


Dispatcher.compile = _compile_alone
