"""The public names of the library, each imported when it is first used.

`import deniable` therefore loads nothing, and verification and questions need only NumPy and cryptography.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

_PLACES: Final = {
    "AlreadySpent": "library.synthesizer",
    "DeniableError": "foundation.errors",
    "InvalidInput": "foundation.errors",
    "Nominal": "library.schema",
    "Numeric": "library.schema",
    "OpenedRelease": "library.opened",
    "Ordered": "library.schema",
    "Plan": "library.synthesizer",
    "Questions": "library.opened",
    "Records": "library.records",
    "Refused": "foundation.errors",
    "Release": "library.release",
    "Schema": "library.schema",
    "Synthesizer": "library.synthesizer",
    "open_release": "library.opened",
    "verify": "library.opened",
}
_NEED_LEARNING: Final = {"library.synthesizer", "library.release"}
_OF_LEARNING: Final = ("scipy", "numba", "dp_accounting", "pydantic")

__all__ = list(_PLACES)


def __getattr__(name: str) -> Any:
    """Import a public name.

    Raises:
        AttributeError: there is no such name.
        ImportError: it learns, and the extra `learn` is not installed.
    """
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module 'deniable' has no attribute '{name}'")
    if place in _NEED_LEARNING and not all(map(_is_installed, _OF_LEARNING)):
        missing = ", ".join(each for each in _OF_LEARNING if not _is_installed(each))
        raise ImportError(f"deniable.{name} needs {missing}; install the learning part: pip install 'deniable[learn]'.")
    return getattr(import_module(f"deniable.{place}"), name)


def __dir__() -> list[str]:
    """The public names."""
    return sorted(_PLACES)


def _is_installed(module: str) -> bool:
    try:
        return module in sys.modules or find_spec(module) is not None
    except ImportError:
        return False
