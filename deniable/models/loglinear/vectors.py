"""Vectors of eight 32-bit numbers for compiled code: what the compiler does not find in loops by itself.

It makes vectors of loops only over neighbours in memory. Rows of a table lie anywhere; here eight of them are added or
multiplied, and exchanged for their columns, in registers. The compiler turns vectors into what the processor has. What
the numbers mean does not belong here (kernels).
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
_INT, _LONG, _FLOAT = ir.IntType(32), ir.IntType(64), ir.FloatType()
_VECTOR, _FLOATS = (ir.VectorType(number, LANES) for number in (_INT, _FLOAT))
SCRAMBLED = 16
"""Halves of words that are scrambled at a time."""
_BYTES = 4
_ARRAYS_OF_ROWS = (0, 2, 6)


def _generated(function: Any) -> Any:
    """A function that compiled code calls, and that writes the code of the call."""
    return intrinsic(function)


class _Eight(types.Type):
    def __init__(self) -> None:
        super().__init__(name="eight")


class _EightFloats(types.Type):
    def __init__(self) -> None:
        super().__init__(name="eight_floats")


@register_model(_Eight)
class _EightModel(models.PrimitiveModel):
    def __init__(self, manager: Any, numba_type: Any) -> None:
        super().__init__(manager, numba_type, _VECTOR)


@register_model(_EightFloats)
class _EightFloatsModel(models.PrimitiveModel):
    def __init__(self, manager: Any, numba_type: Any) -> None:
        super().__init__(manager, numba_type, _FLOATS)


_EIGHT, _EIGHT_FLOATS = _Eight(), _EightFloats()


def row_width(size: int | np.int64) -> int:
    """Number of entries of a table's row, padding included: 2, 4, or a multiple of 8."""
    return PAIR if size <= PAIR else HALF if size <= HALF else -(-int(size) // LANES) * LANES


def _every(number):
    return ir.Constant(_VECTOR, [number] * LANES)


def _start(context, builder, array_type, array):
    return context.make_array(array_type)(context, builder, array).data


def _read(builder, start, place, lanes=LANES):
    pointer = builder.bitcast(builder.gep(start, [place]), ir.VectorType(start.type.pointee, lanes).as_pointer())
    return builder.load(pointer, align=_BYTES)


def _write(builder, start, place, vector):
    builder.store(vector, builder.bitcast(builder.gep(start, [place]), vector.type.as_pointer()), align=_BYTES)


def shuffled(builder, first, second, lanes):
    """A vector of some lanes of two others, whose lanes are numbered one after the other."""
    return builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(_INT, len(lanes)), lanes))


def _splat(builder, number):
    none = ir.Constant(ir.VectorType(number.type, LANES), ir.Undefined)
    one = builder.insert_element(none, number, ir.Constant(_INT, 0))
    return shuffled(builder, one, one, [0] * LANES)


def _larger(builder, own, other):
    return builder.select(builder.icmp_signed(">", own, other), own, other)


def _bits(builder, lanes):
    """The lanes that are true, as the bits of a number."""
    return builder.bitcast(lanes, ir.IntType(LANES))


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


def _each_row(builder, lanes, arguments, arrays, combined, neutral):
    """The sums, or products, of eight records' rows over the groups, as columns; see `add_rows`."""
    _, entry, _, record, stride, groups, *_ = arguments
    tables, begins, _ = arrays
    tables, begins = builder.gep(tables, [entry]), builder.gep(begins, [record])
    none = ir.Constant(ir.VectorType(tables.type.pointee, lanes), [neutral] * lanes)
    rows = [cgutils.alloca_once_value(builder, none) for _ in range(LANES)]
    with cgutils.for_range(builder, groups) as loop:
        first = builder.mul(loop.index, stride)
        for r, row in enumerate(rows):
            begin = builder.load(builder.gep(begins, [builder.add(first, ir.Constant(_LONG, r))]))
            own = _read(builder, tables, builder.zext(begin, _LONG), lanes)
            builder.store(combined(builder.load(row), own), row)
    whole = [shuffled(builder, row, row, [*range(lanes)] * (LANES // lanes)) for row in map(builder.load, rows)]
    return transposed(builder, whole)[:lanes]


def _rows_added(lanes):
    @_generated
    def rows_added(typing_context, tables, entry, starts, record, stride, groups, room, place):  # noqa: ARG001 - numba's form, here and below
        def generate(context, builder, signature, arguments):
            arrays = [_start(context, builder, signature.args[i], arguments[i]) for i in _ARRAYS_OF_ROWS]
            columns = _each_row(builder, lanes, arguments, arrays, builder.add, 0)
            best = columns[0]
            for i, column in enumerate(columns):
                best = _larger(builder, best, column)
                _write(builder, arrays[-1], builder.add(arguments[-1], ir.Constant(_LONG, i * LANES)), column)
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


def _rows_multiplied(lanes):
    @_generated
    def rows_multiplied(typing_context, tables, entry, starts, record, stride, groups, room, place, total):  # noqa: ARG001
        def generate(context, builder, signature, arguments):
            arrays = [_start(context, builder, signature.args[i], arguments[i]) for i in _ARRAYS_OF_ROWS]
            *_, place, running = arguments
            for i, column in enumerate(_each_row(builder, lanes, arguments, arrays, builder.fmul, 1.0)):
                running = builder.fadd(running, column)
                _write(builder, arrays[-1], builder.add(place, ir.Constant(_LONG, i * LANES)), running)
            return running

        number = types.int64
        return _EIGHT_FLOATS(tables, number, starts, number, number, number, room, number, total), generate

    return rows_multiplied


multiply_rows, multiply_rows_of_four, multiply_rows_of_two = (_rows_multiplied(lanes) for lanes in (LANES, HALF, PAIR))
"""Fill `room` with the running sums of the products of eight records' rows; their new totals.

Arguments are those of `add_rows`, in floating-point numbers, and the totals before.
"""


@_generated
def eight(typing_context, number):  # noqa: ARG001
    """A vector of eight equal numbers."""
    made = _EIGHT_FLOATS if number == types.float32 else _EIGHT
    return made(number), lambda _, builder, __, arguments: _splat(builder, arguments[0])


@_generated
def load(typing_context, numbers, place):  # noqa: ARG001
    """The eight numbers of an array from a place on."""

    def generate(context, builder, signature, arguments):
        return _read(builder, _start(context, builder, signature.args[0], arguments[0]), arguments[1])

    made = _EIGHT_FLOATS if numbers.dtype == types.float32 else _EIGHT
    return made(numbers, types.int64), generate


@_generated
def store(typing_context, numbers, place, vector):  # noqa: ARG001
    """Put a vector into an array from a place on."""

    def generate(context, builder, signature, arguments):
        _write(builder, _start(context, builder, signature.args[0], arguments[0]), arguments[1], arguments[2])
        return context.get_dummy_value()

    return types.void(numbers, types.int64, vector), generate


def _number_by_number(vectors, operation):
    @_generated
    def combined(typing_context, own, other):  # noqa: ARG001
        return vectors(own, other), lambda _, builder, __, arguments: operation(builder, *arguments)

    return combined


plus, minus, larger = (_number_by_number(_EIGHT, each) for each in (ir.IRBuilder.add, ir.IRBuilder.sub, _larger))
"""The sums, the differences, and the larger, of each two numbers of two vectors."""
product, difference = (_number_by_number(_EIGHT_FLOATS, each) for each in (ir.IRBuilder.fmul, ir.IRBuilder.fsub))
"""The products and the differences of each two floating-point numbers of two vectors."""


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
        return builder.zext(builder.ctpop(_bits(builder, below)), _LONG)

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
        beyond = _bits(builder, builder.icmp_signed(">", scaled, limit))
        return builder.zext(builder.cttz(beyond, ir.Constant(ir.IntType(1), 0)), _LONG)

    return types.int64(numbers, types.int64, types.uint32, types.uint32), generate


@_generated
def tickets(typing_context, words, totals):  # noqa: ARG001
    """Words out of 2^32, of which each is a share of its total, in floating-point numbers."""

    def generate(_, builder, __, arguments):
        words, totals = arguments
        part = builder.fmul(totals, ir.Constant(_FLOATS, [2.0**-32] * LANES))
        return builder.fmul(builder.uitofp(words, _FLOATS), part)

    return _EIGHT_FLOATS(words, totals), generate


@_generated
def if_not_above(typing_context, own, limit, then, otherwise):  # noqa: ARG001
    """One of two numbers: the first where a third, in floating point as its limit, is at most that."""

    def generate(_, builder, __, arguments):
        own, limit, then, otherwise = arguments
        return builder.select(builder.fcmp_ordered("<=", own, limit), then, otherwise)

    return then(own, limit, then, otherwise), generate


@_generated
def which_near(typing_context, own, low, high, slack):  # noqa: ARG001
    """The lanes, as bits, whose number is not further than a slack from one of two others, in floating point."""

    def generate(_, builder, __, arguments):
        own, low, high, slack = arguments
        near = [builder.fcmp_ordered("<=", builder.fsub(*pair), slack) for pair in ((own, low), (high, own))]
        return builder.zext(_bits(builder, builder.or_(*near)), _LONG)

    return types.int64(own, low, high, slack), generate


@_generated
def count_nearly_within(typing_context, numbers, place, width, limit, slack):  # noqa: ARG001
    """How many of the eight numbers from a place on come before the first whose share of a width exceeds a limit.

    -1 if the share of one of these, or of that first, is not further than a slack from the limit. All are
    floating-point numbers.
    """

    def generate(context, builder, signature, arguments):
        own = _read(builder, _start(context, builder, signature.args[0], arguments[0]), arguments[1])
        width, limit, slack = (_splat(builder, number) for number in arguments[2:])
        above = builder.fsub(builder.fmul(own, width), limit)
        beyond, near, far = (
            _bits(builder, builder.fcmp_ordered(sign, above, other))
            for sign, other in ((">", ir.Constant(_FLOATS, [0.0] * LANES)), ("<=", slack), ("<", builder.fneg(slack)))
        )
        upto = builder.xor(beyond, builder.sub(beyond, ir.Constant(beyond.type, 1)))
        doubtful = builder.and_(builder.and_(near, builder.not_(far)), upto)
        first = builder.zext(builder.cttz(beyond, ir.Constant(ir.IntType(1), 0)), _LONG)
        is_clear = builder.icmp_unsigned("==", doubtful, ir.Constant(doubtful.type, 0))
        return builder.select(is_clear, first, ir.Constant(_LONG, -1))

    number = types.float32
    return types.int64(numbers, types.int64, number, number, number), generate


@_generated
def scramble(typing_context, halves, place, flips):  # noqa: ARG001
    """Replace the 16 halves from a place on, a multiple of 16, by the reversed bits of their scrambled places.

    Each bit of a place is exchanged where the half at the place without this bit and the lower ones has the bit. The
    four lowest bits differ among the 16 places; `flips` has the others, and the first half's fourth.
    """

    def generate(context, builder, signature, arguments):
        start, (_, place, flips) = _start(context, builder, signature.args[0], arguments[0]), arguments
        short, wide = ir.IntType(16), ir.VectorType(ir.IntType(16), SCRAMBLED)
        at = builder.bitcast(builder.gep(start, [place]), wide.as_pointer())
        own = builder.load(at, align=2)

        def splat(number):
            one = builder.insert_element(ir.Constant(wide, ir.Undefined), number, ir.Constant(_INT, 0))
            return shuffled(builder, one, one, [0] * SCRAMBLED)

        places = builder.add(splat(builder.trunc(place, short)), ir.Constant(wide, [*range(SCRAMBLED)]))
        found = builder.xor(places, splat(builder.and_(builder.trunc(flips, short), ir.Constant(short, -8))))
        for bit in (1, 2, 4):
            firsts = [lane & -2 * bit for lane in range(SCRAMBLED)]
            exchanged = builder.and_(shuffled(builder, own, own, firsts), ir.Constant(wide, [bit] * SCRAMBLED))
            found = builder.xor(found, exchanged)
        kind = ir.FunctionType(wide, [wide])
        reverse = cgutils.get_or_insert_function(builder.module, kind, f"llvm.bitreverse.v{SCRAMBLED}i16")
        builder.store(builder.call(reverse, [found]), at, align=2)
        return context.get_dummy_value()

    return types.void(halves, types.int64, types.int64), generate
