"""Rows of floats in compiled code, four entries at a time, which the compiler does not do by itself in short rows.

Every entry is multiplied and added in the order of a loop over single entries, so each digit is the same. A row's
width is a multiple of four; its padding is 0. What the numbers mean does not belong here (fitting).
"""

# numba infers the types of intrinsics
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from deniable.kernels import kernel
from deniable.models.loglinear.vectors import shuffled, transposed

LANES = 4
"""Number of entries in a vector."""
_BYTES = 8
_SHIFT = LANES.bit_length() - 1
_INT, _LONG, _FLOAT = ir.IntType(32), ir.IntType(64), ir.DoubleType()
_VECTOR = ir.VectorType(_FLOAT, LANES)


@kernel
def padded(size):
    """The smallest multiple of four that is at least a size."""
    return (size + LANES - 1) // LANES * LANES


def _generated(function: Any) -> Any:
    """A function that compiled code calls, and that generates the code of the call."""
    return intrinsic(function)


def _starts(context, builder, signature, arguments, places):
    """Addresses of the arrays among the arguments."""
    return [context.make_array(signature.args[place])(context, builder, arguments[place]).data for place in places]


def _pointer(builder, start, place):
    return builder.bitcast(builder.gep(start, [place]), _VECTOR.as_pointer())


def _read(builder, start, place):
    return builder.load(_pointer(builder, start, place), align=_BYTES)


def _write(builder, start, place, vector):
    builder.store(vector, _pointer(builder, start, place), align=_BYTES)


def _splat(builder, number):
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, ir.Constant(_INT, 0))
    return shuffled(builder, one, one, [0] * LANES)


def _along(builder, width):
    """A loop over a row, four entries at a time."""
    return cgutils.for_range(builder, builder.lshr(width, ir.Constant(_LONG, _SHIFT)))


def _entry(builder, loop):
    return builder.shl(loop.index, ir.Constant(_LONG, _SHIFT))


@_generated
def scale_four(typing_context, table, begin, width, scales, places, number, sums):  # noqa: ARG001, D417 - numba's form, here and below
    """Multiply four successive rows, each by a row of scales, and store the four sums of their products.

    Args:
        table: the rows, flat.
        begin: where the first of the four begins.
        width: width of all rows.
        scales: rows of scales, flat.
        places: where the row of scales of each row of the table begins.
        number: number of the first of the four rows in `places`.
        sums: shape (4,); filled. Each is added from the first entry to the last.
    """

    def generate(context, builder, signature, arguments):
        table, scales, places, sums = _starts(context, builder, signature, arguments, (0, 3, 4, 6))
        _, begin, width, _, _, number, _ = arguments
        lanes = [ir.Constant(_LONG, lane) for lane in range(LANES)]
        rows = [builder.add(begin, builder.mul(width, lane)) for lane in lanes]
        own = [builder.load(builder.gep(places, [builder.add(number, lane)])) for lane in lanes]
        added = cgutils.alloca_once_value(builder, ir.Constant(_VECTOR, [0.0] * LANES))
        with _along(builder, width) as loop:
            x = _entry(builder, loop)
            products = []
            for row, scale in zip(rows, own, strict=True):
                place = builder.add(row, x)
                product = builder.fmul(_read(builder, table, place), _read(builder, scales, builder.add(scale, x)))
                _write(builder, table, place, product)
                products.append(product)
            for column in transposed(builder, products):
                builder.store(builder.fadd(builder.load(added), column), added)
        _write(builder, sums, lanes[0], builder.load(added))
        return context.get_dummy_value()

    number_type = types.int64
    return types.void(table, number_type, number_type, scales, places, number_type, sums), generate


@_generated
def multiply_and_add(typing_context, table, begin, width, factor, weight, target, place):  # noqa: ARG001, D417
    """Multiply a row by a factor, and add the product, times a weight, to a row of another array.

    Args:
        table: rows, flat.
        begin: where the row begins.
        width: width of both rows.
        factor: the factor.
        weight: the weight.
        target: the other array, flat.
        place: where its row begins.
    """

    def generate(context, builder, signature, arguments):
        table, target = _starts(context, builder, signature, arguments, (0, 5))
        _, begin, width, factor, weight, _, place = arguments
        factor, weight = _splat(builder, factor), _splat(builder, weight)
        with _along(builder, width) as loop:
            x = _entry(builder, loop)
            own, other = builder.add(begin, x), builder.add(place, x)
            product = builder.fmul(_read(builder, table, own), factor)
            _write(builder, table, own, product)
            _write(builder, target, other, builder.fadd(_read(builder, target, other), builder.fmul(weight, product)))
        return context.get_dummy_value()

    number, share = types.int64, types.float64
    return types.void(table, number, number, share, share, target, number), generate


@_generated
def add_row(typing_context, table, begin, width, target, place):  # noqa: ARG001
    """Add a row to a row of another array; the arguments are those of `multiply_and_add`."""

    def generate(context, builder, signature, arguments):
        table, target = _starts(context, builder, signature, arguments, (0, 3))
        _, begin, width, _, place = arguments
        with _along(builder, width) as loop:
            x = _entry(builder, loop)
            other = builder.add(place, x)
            own = _read(builder, table, builder.add(begin, x))
            _write(builder, target, other, builder.fadd(_read(builder, target, other), own))
        return context.get_dummy_value()

    return types.void(table, types.int64, types.int64, target, types.int64), generate
