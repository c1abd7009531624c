"""Errors, with messages that are safe to show to anyone who runs a release.

A message states what must hold, what was received and what to do. It never quotes a confidential value.
"""

import errno

# What the system's loader says if there is no room for a library.
_NOT_LOADED = ("failed to map segment", "annot allocate memory", "annot create shared object descriptor")


class DeniableError(Exception):
    """Base class of errors whose message may be shown unchanged."""


class InvalidInput(DeniableError, ValueError):
    """An argument, a spec, a schema or a source that cannot be used."""


class Refused(DeniableError):
    """A valid request that must not be carried out."""


class RefusedForGood(Refused):
    """A request that would be refused again whenever it is repeated: public values or draws already made decide it."""


def lacks_memory(error: BaseException | None) -> bool:
    """Whether an error, or one that led to it, was caused by a lack of memory; a library may be too large to load."""
    while error is not None:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return True
        if isinstance(error, ImportError) and any(words in str(error) for words in _NOT_LOADED):
            return True
        error = error.__cause__ or error.__context__
    return False
