"""Imports the libraries of the extra `sources`, which read the files of other programs, when such a file is opened."""

import importlib
from typing import Any

from deniable.foundation.errors import InvalidInput


def library_for(name: str, library: str) -> Any:
    """The library that reads a source.

    Args:
        name: the source's name in messages.
        library: the library's name for Python.

    Raises:
        InvalidInput: it is not installed.
    """
    try:
        return importlib.import_module(library)
    except ImportError:
        raise InvalidInput(
            f"{name} is read by the library {library}, which is not installed; run `make install`, or `pip install "
            "'deniable[sources]'`."
        ) from None
