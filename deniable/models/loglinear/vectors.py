"""Vectors of eight 32-bit integers for compiled code: what the compiler does not find in loops by itself.

It makes vectors of loops only over neighbours in memory. Rows of a table lie anywhere; here eight of them are added,
and exchanged for their columns, in registers. The compiler turns vectors into what the processor has. What the numbers
mean does not belong here (kernels).
"""

# numba infers the types of intrinsics
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False
# mypy: disallow-subclassing-any=False

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model

LANES = 8
"""Numbers in a vector."""
HALF, PAIR = LANES // 2, LANES // 4
"""Numbers in short rows."""
_INT, _LONG = ir.IntType(32), ir.IntType(64)
_VECTOR = ir.VectorType(_INT, LANES)
_BYTES = 4
_ARRAYS_OF_ROWS = (0, 2, 6)


def _generated(function: Any) -> Any:
    """A function that compiled code calls, and that writes the code of the call."""
    return intrinsic(function)


class _Eight(types.Type):
    def __init__(self) -> None:
        super().__init__(name="eight")


@register_model(_Eight)
class _EightModel(models.PrimitiveModel):
    def __init__(self, manager: Any, numba_type: Any) -> None:
        super().__init__(manager, numba_type, _VECTOR)


_EIGHT = _Eight()


def row_width(size: int | np.int64) -> int:
    """Number of entries of a table's row, padding included: 2, 4, or a multiple of 8."""
    return PAIR if size <= PAIR else HALF if size <= HALF else -(-int(size) // LANES) * LANES


def _every(number):
    return ir.Constant(_VECTOR, [number] * LANES)


def _start(context, builder, array_type, array):
    return context.make_array(array_type)(context, builder, array).data


def _read(builder, start, place, lanes=LANES):
    pointer = builder.bitcast(builder.gep(start, [place]), ir.VectorType(_INT, lanes).as_pointer())
    return builder.load(pointer, align=_BYTES)


def _write(builder, start, place, vector):
    builder.store(vector, builder.bitcast(builder.gep(start, [place]), _VECTOR.as_pointer()), align=_BYTES)


def shuffled(builder, first, second, lanes):
    """A vector of some lanes of two others, whose lanes are numbered one after the other."""
    return builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(_INT, len(lanes)), lanes))


def _splat(builder, number):
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, ir.Constant(_INT, 0))
    return shuffled(builder, one, one, [0] * LANES)


def _larger(builder, own, other):
    return builder.select(builder.icmp_signed(">", own, other), own, other)


def transposed(builder, rows):
    """Rows of a square as columns: blocks of 1, 2, 4 ... are exchanged across the diagonal, half of the rows each."""
    size = len(rows)
    for width in (1 << level for level in range(size.bit_length() - 1)):
        exchanged = list(rows)
        for i in (i for i in range(size) if not i & width):
            own, other = rows[i], rows[i + width]
            first = [lane - width + size if lane & width else lane for lane in range(size)]
            second = [lane + size if lane & width else lane + width for lane in range(size)]
            exchanged[i], exchanged[i + width] = (shuffled(builder, own, other, lanes) for lanes in (first, second))
        rows = exchanged
    return rows


def _rows_added(lanes):
    @_generated
    def rows_added(typing_context, tables, entry, starts, record, stride, groups, room, place):  # noqa: ARG001 - numba's form, here and below
        def generate(context, builder, signature, arguments):
            tables, begins, filled = (
                _start(context, builder, signature.args[i], arguments[i]) for i in _ARRAYS_OF_ROWS
            )
            _, entry, _, record, stride, groups, _, place = arguments
            tables, begins = builder.gep(tables, [entry]), builder.gep(begins, [record])
            none = ir.Constant(ir.VectorType(_INT, lanes), [0] * lanes)
            sums = [cgutils.alloca_once_value(builder, none) for _ in range(LANES)]
            with cgutils.for_range(builder, groups) as loop:
                first = builder.mul(loop.index, stride)
                for r, row in enumerate(sums):
                    begin = builder.load(builder.gep(begins, [builder.add(first, ir.Constant(_LONG, r))]))
                    own = _read(builder, tables, builder.zext(begin, _LONG), lanes)
                    builder.store(builder.add(builder.load(row), own), row)
            rows = [shuffled(builder, row, row, [*range(lanes)] * (LANES // lanes)) for row in map(builder.load, sums)]
            columns = transposed(builder, rows)[:lanes]
            best = columns[0]
            for i, column in enumerate(columns):
                best = _larger(builder, best, column)
                _write(builder, filled, builder.add(place, ir.Constant(_LONG, i * LANES)), column)
            return best

        number = types.int64
        return _EIGHT(tables, number, starts, number, number, number, room, number), generate

    return rows_added


add_rows, add_rows_of_four, add_rows_of_two = (_rows_added(lanes) for lanes in (LANES, HALF, PAIR))
"""Fill `room`, from a place on, with the sums of eight records' rows, entry by entry; the largest sum of each record.

    Args:
        tables: the tables of all groups, flat, 32-bit integers.
        entry: number of the first entry that is read of a row.
        starts: where the rows begin, 32-bit integers: that of record r and group g at g * stride + r.
        record: number of the first record.
        stride: distance of two groups in `starts`.
        groups: number of groups, of each of which a row is added.
        room: for each entry the sums of the eight records, flat, 32-bit integers.
        place: where the sums of the first entry begin.
"""


@_generated
def eight(typing_context, number):  # noqa: ARG001
    """A vector of eight equal numbers."""
    return _EIGHT(types.int32), lambda _, builder, __, arguments: _splat(builder, arguments[0])


@_generated
def load(typing_context, numbers, place):  # noqa: ARG001
    """The eight numbers of an array from a place on."""

    def generate(context, builder, signature, arguments):
        return _read(builder, _start(context, builder, signature.args[0], arguments[0]), arguments[1])

    return _EIGHT(numbers, types.int64), generate


@_generated
def store(typing_context, numbers, place, vector):  # noqa: ARG001
    """Put a vector into an array from a place on."""

    def generate(context, builder, signature, arguments):
        _write(builder, _start(context, builder, signature.args[0], arguments[0]), arguments[1], arguments[2])
        return context.get_dummy_value()

    return types.void(numbers, types.int64, vector), generate


@_generated
def plus(typing_context, own, other):  # noqa: ARG001
    """The sums of two vectors."""
    return _EIGHT(own, other), lambda _, builder, __, arguments: builder.add(*arguments)


@_generated
def minus(typing_context, own, other):  # noqa: ARG001
    """The differences of two vectors."""
    return _EIGHT(own, other), lambda _, builder, __, arguments: builder.sub(*arguments)


@_generated
def larger(typing_context, own, other):  # noqa: ARG001
    """The larger of each two numbers."""
    return _EIGHT(own, other), lambda _, builder, __, arguments: _larger(builder, *arguments)


@_generated
def if_at_most(typing_context, own, limit, then, otherwise):  # noqa: ARG001
    """One of two numbers: the first where a third is at most its limit."""

    def generate(_, builder, __, arguments):
        own, limit, then, otherwise = arguments
        return builder.select(builder.icmp_signed("<=", own, limit), then, otherwise)

    return _EIGHT(own, limit, then, otherwise), generate


@_generated
def looked_up(typing_context, table, places, mask):  # noqa: ARG001
    """The entries of a table at the places that a vector's numbers name with the bits of a mask."""

    def generate(context, builder, signature, arguments):
        start = _start(context, builder, signature.args[0], arguments[0])
        places = builder.and_(arguments[1], _splat(builder, arguments[2]))
        found = ir.Constant(_VECTOR, ir.Undefined)
        pairs = builder.bitcast(places, ir.VectorType(_LONG, LANES // 2))
        for i in range(0, LANES, 2):
            # Two places leave the vector at once.
            both = builder.extract_element(pairs, ir.Constant(_INT, i // 2))
            first, second = (
                builder.and_(both, ir.Constant(_LONG, 0xFFFFFFFF)),
                builder.lshr(both, ir.Constant(_LONG, 32)),
            )
            for lane, place in ((i, first), (i + 1, second)):
                found = builder.insert_element(
                    found, builder.load(builder.gep(start, [place])), ir.Constant(_INT, lane)
                )
        return found

    return _EIGHT(table, places, types.int32), generate


@_generated
def shifted(typing_context, own, by, bits, more):  # noqa: ARG001
    """Numbers shifted to the right, by other numbers without their lowest bits and as much more, at most by 31."""

    def generate(_, builder, __, arguments):
        own, by, bits, more = arguments
        places = builder.add(builder.lshr(by, _splat(builder, bits)), _splat(builder, more))
        most = _every(31)
        return builder.lshr(own, builder.select(builder.icmp_unsigned("<", places, most), places, most))

    return _EIGHT(own, by, types.int32, types.int32), generate


@_generated
def share(typing_context, words, own):  # noqa: ARG001
    """Words times numbers of at most 2^31, out of 2^32."""

    def generate(_, builder, __, arguments):
        wide = ir.VectorType(_LONG, LANES)
        product = builder.mul(*(builder.zext(vector, wide) for vector in arguments))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, [32] * LANES)), _VECTOR)

    return _EIGHT(words, own), generate


@_generated
def count_below(typing_context, numbers, place, word):  # noqa: ARG001
    """How many of the eight numbers from a place on are below a word, all of them without signs."""

    def generate(context, builder, signature, arguments):
        own = _read(builder, _start(context, builder, signature.args[0], arguments[0]), arguments[1])
        below = builder.icmp_unsigned("<", own, _splat(builder, arguments[2]))
        return builder.zext(builder.ctpop(builder.bitcast(below, ir.IntType(LANES))), _LONG)

    return types.int64(numbers, types.int64, types.uint32), generate


@_generated
def count_within(typing_context, numbers, place, width, limit):  # noqa: ARG001
    """How many of the eight numbers from a place on come before the first whose share exceeds a limit.

    A share of width + 1 words begins at 0; numbers are out of 2^30, and the limit is at most the width, both without
    signs.
    """

    def generate(context, builder, signature, arguments):
        wide = ir.VectorType(_LONG, LANES)
        own = _read(builder, _start(context, builder, signature.args[0], arguments[0]), arguments[1])
        own, width, limit = (
            builder.zext(vector, wide) for vector in (own, _splat(builder, arguments[2]), _splat(builder, arguments[3]))
        )
        scaled = builder.lshr(builder.add(builder.mul(own, width), own), ir.Constant(wide, [30] * LANES))
        beyond = builder.bitcast(builder.icmp_signed(">", scaled, limit), ir.IntType(LANES))
        return builder.zext(builder.cttz(beyond, ir.Constant(ir.IntType(1), 0)), _LONG)

    return types.int64(numbers, types.int64, types.uint32, types.uint32), generate
