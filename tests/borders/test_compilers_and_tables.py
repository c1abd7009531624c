"""What this project relies on in numba, llvmlite and Dask, beyond what they document."""

import inspect
from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.core import cgutils
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic

from deniable.models.implementations import implements


def test_numba_builds_loops_and_memory_of_a_function_by_hand() -> None:
    once: Any = cgutils.alloca_once_value
    each_of: Any = cgutils.for_range

    @intrinsic
    def total_below(typing_context: Any, count: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            total = once(builder, arguments[0].type(0))
            with each_of(builder, arguments[0]) as loop:
                builder.store(builder.add(builder.load(total), loop.index), total)
            return builder.load(total)

        return types.int64(types.int64), build

    @njit
    def use(count: Any) -> Any:
        return total_below(count)  # type: ignore[call-arg]

    assert int(use(5)) == 10
    assert callable(cgutils.get_or_insert_function)


class _Floats(NamedTuple):
    numbers: Any


def test_numba_calls_the_kernel_that_was_registered_for_a_type_of_arrays() -> None:
    def total(_: Any) -> Any:
        raise TypeError("compiled code must call the kernel that is registered for the type")

    @implements(total, _Floats)
    @njit
    def total_of_floats(given: Any) -> Any:
        return given.numbers.sum()

    @njit
    def call(given: Any) -> Any:
        return total(given)

    assert isinstance(total_of_floats, Dispatcher)
    assert float(call(_Floats(np.ones(3)))) == 3


def test_dask_names_workers_that_were_killed_and_encrypts_by_files() -> None:
    import distributed  # noqa: PLC0415 - installed with a cluster
    from distributed.scheduler import KilledWorker  # noqa: PLC0415 - installed with a cluster
    from distributed.security import Security  # noqa: PLC0415

    assert issubclass(KilledWorker, Exception)
    assert {"tls_ca_file", "tls_client_cert", "tls_worker_cert"} <= set(Security.__slots__)
    assert "security" in inspect.signature(distributed.Client.__init__).parameters
