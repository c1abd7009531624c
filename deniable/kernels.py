"""How kernels are compiled: without the interpreter's lock, kept in numba's cache, and called only as they are used.

Also how they request memory before they read it.

The wrappers by which Python or C would call a kernel take as long to compile as a small kernel.
"""

# numba's and llvmlite's functions have no types
# mypy: disallow-untyped-calls=False

from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

_ALL: dict[str, Any] = {"nogil": True, "cache": True, "no_cfunc_wrapper": True}

kernel = numba.njit(**_ALL)
"""Compiles a function that Python calls, and other kernels may."""

inner_kernel = numba.njit(**_ALL | {"no_cpython_wrapper": True})
"""Compiles a function that only kernels call; a call by Python would end the process."""


def _fetch_ahead(typing_context: Any, array: Any, place: Any) -> Any:  # noqa: ARG001 - numba's form
    """Request an element from memory, so that a later access waits less; place counts elements in the flat array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        start = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        number, bytes_ = ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [bytes_, number, number, number])
        request = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        # For reading, to be kept in every cache, data.
        how = [ir.Constant(number, each) for each in (0, 3, 1)]
        builder.call(request, [builder.bitcast(builder.gep(start, [arguments[1]]), bytes_), *how])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


fetch_ahead: Any = intrinsic(_fetch_ahead)
