"""Lets compiled code call the kernels of a network's kind through the functions of `sequential_kernels`.

Numba's own `overload` puts one more function between caller and kernel. As numba compiles all that a function calls
along with it, such a function takes as long to compile as the kernel. The kernels do not belong here.
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from collections.abc import Callable
from typing import Any

from numba import types
from numba.core.dispatcher import Dispatcher
from numba.core.typing.templates import AbstractTemplate, infer_global


def implements(function: Callable[..., Any], arrays: type) -> Callable[[Dispatcher], Dispatcher]:
    """Make a kernel the implementation of a function for a kind of arrays.

    Args:
        function: called by compiled code, the arrays first.
        arrays: the named tuple of the arrays.
    """

    def register(kernel: Dispatcher) -> Dispatcher:
        called = types.Dispatcher(kernel)

        class Template(AbstractTemplate):
            key = function

            def generic(self, args, kws):
                if getattr(args[0], "instance_class", None) is not arrays:
                    return None
                return called.get_call_type(self.context, args, kws)

            def get_impl_key(self, sig):
                return called.get_overload(sig)

        infer_global(function, types.Function(Template))
        return kernel

    return register
