"""Threads for independent computations of one step, most of which run compiled code without the interpreter's lock."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager


@contextmanager
def threads() -> Iterator[ThreadPoolExecutor]:
    """Provide a thread a core, and wait for all computations; after an error or an interruption, no more are begun."""
    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        yield pool
        pool.shutdown()
    finally:
        pool.shutdown(cancel_futures=True)
