"""How kernels are compiled: without the interpreter's lock, kept in numba's cache, and called only as they are used.

The wrappers by which Python or C would call a kernel take as long to compile as a small kernel.
"""

from typing import Any, NoReturn

import numba
from numba.np import linalg


def _without_blas() -> NoReturn:
    """Tell numba that there is no BLAS."""
    raise ImportError("kernels use no BLAS, whose sums depend on the processor.")


# Otherwise numba imports SciPy's linear algebra when the first kernel is called, which takes as long as many kernels.
linalg.ensure_blas = _without_blas

_ALL: dict[str, Any] = {"nogil": True, "cache": True, "no_cfunc_wrapper": True}

kernel = numba.njit(**_ALL)
"""Compiles a function that Python calls, and other kernels may."""

inner_kernel = numba.njit(**_ALL | {"no_cpython_wrapper": True})
"""Compiles a function that only kernels call; a call by Python would end the process."""
