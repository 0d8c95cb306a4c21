"""Dot products of groups of four 8-bit integers, by the instructions of the target."""

from __future__ import annotations

from typing import Final, NamedTuple

from tilewright.ir.dtype import INT32, DType
from tilewright.ir.expr import Call
from tilewright.target.codegen.llvm.emitter import FunctionEmitter, emits
from tilewright.target.codegen.llvm.types import mangled, splat, value_type

SIGN_BIT: Final = "-128"
"""Flipping it in the bits of an int8 adds 128, and gives a uint8; and the other way round."""


class Bytes(NamedTuple):
    """A register of 8-bit integers."""

    value: str
    signed: bool


@emits("tir.dp4a")
def _dp4a(emitter: FunctionEmitter, call: Call) -> str:
    """In pieces of the width of a register, the last of which is filled up."""
    operands = [emitter.operand(arg) for arg in call.args]
    dtypes = [arg.dtype for arg in call.args]
    lanes = call.dtype.lanes
    size = min(_most_lanes(emitter), max(4, 1 << (lanes - 1).bit_length()))
    pieces: list[str] = []
    for start in range(0, lanes, size):
        a, b, total = (
            _lanes_of(emitter, value, dtype, start * groups, size * groups)
            for value, dtype, groups in zip(operands, dtypes, (4, 4, 1), strict=True)
        )
        first, second = Bytes(a, dtypes[0].is_int), Bytes(b, dtypes[1].is_int)
        pieces.append(_dot_product(emitter, first, second, total, size))
    return _joined(emitter, pieces, INT32.with_lanes(size), lanes)


def _most_lanes(emitter: FunctionEmitter) -> int:
    """The maximum number of groups of an instruction."""
    target = emitter.module.target
    if target.architecture != "x86_64":
        return 4
    features = target.features
    if target.vector_bits >= 512 and not features.isdisjoint({"avx512bw", "avx512vnni"}):
        return 16
    return 8 if target.vector_bits >= 256 and "avx2" in features else 4


def _dot_product(emitter: FunctionEmitter, a: Bytes, b: Bytes, total: str, lanes: int) -> str:
    if emitter.module.target.architecture != "x86_64":
        return _partial_sum(emitter, a, b, total, lanes)
    features, bits = emitter.module.target.features, 32 * lanes
    if a.signed is b.signed and bits <= 256 and "avxvnniint8" in features:
        name = f"avx2.vpdpb{'ssd' if a.signed else 'uud'}.{bits}"
        return _accumulate(emitter, name, total, a.value, b.value, lanes)
    if "avx512vnni" in features if bits == 512 else _has_short_dot_product(emitter):
        return _mixed_dot_product(emitter, a, b, total, lanes)
    return _by_words(emitter, a, b, total, lanes)


def _has_short_dot_product(emitter: FunctionEmitter) -> bool:
    features = emitter.module.target.features
    return "avxvnni" in features or {"avx512vnni", "avx512vl"} <= features


# --- x86 -------------------------------------------------------------------------------------


def _mixed_dot_product(emitter: FunctionEmitter, a: Bytes, b: Bytes, total: str, lanes: int) -> str:
    """By the instruction that multiplies unsigned by signed numbers.

    Of two operands of one kind the second is moved by 128, which is exact, and the sum of the
    first, times 128, taken off again: ``a * b == a * (b + 128) - 128 * a``. That part does not
    depend on the sum so far, nor on the second operand, so that it is shared.
    """
    name = f"avx512.vpdpbusd.{32 * lanes}"
    if a.signed is not b.signed:
        unsigned, signed = (b, a) if a.signed else (a, b)
        return _accumulate(emitter, name, total, unsigned.value, signed.value, lanes)
    dtype = INT32.with_lanes(lanes)
    ty, byte = value_type(dtype), value_type(DType("int8").with_lanes(4 * lanes))
    offset, zero = splat("i8", SIGN_BIT, 4 * lanes), splat("i32", "0", lanes)
    moved = emitter.pure(f"xor {byte} {b.value}, {offset}", b.value)
    factors = (offset, a.value) if a.signed else (a.value, offset)
    excess = _accumulate(emitter, name, zero, *factors, lanes)
    start = emitter.pure(f"sub {ty} {zero}, {excess}", excess)
    operands = (moved, a.value) if a.signed else (a.value, moved)
    products = _accumulate(emitter, name, start, *operands, lanes)
    return emitter.pure(f"add {ty} {total}, {products}", total, products)


def _accumulate(emitter: FunctionEmitter, name: str, total: str, a: str, b: str, lanes: int) -> str:
    ty = value_type(INT32.with_lanes(lanes))
    byte = value_type(DType("int8").with_lanes(4 * lanes))
    function = emitter.module.declare(f"llvm.x86.{name}", ty, (ty, byte, byte))
    return emitter.pure(f"call {ty} {function}({ty} {total}, {byte} {a}, {byte} {b})", total, a, b)


def _by_words(emitter: FunctionEmitter, a: Bytes, b: Bytes, total: str, lanes: int) -> str:
    """By the instruction that multiplies 16-bit numbers and adds neighbouring products."""
    ty, word = value_type(INT32.with_lanes(lanes)), value_type(_words(lanes))
    name = {4: "sse2.pmadd.wd", 8: "avx2.pmadd.wd", 16: "avx512.pmaddw.d.512"}[lanes]
    function = emitter.module.declare(f"llvm.x86.{name}", ty, (word, word))
    for x, y in zip(
        _even_and_odd(emitter, a, lanes), _even_and_odd(emitter, b, lanes), strict=True
    ):
        products = emitter.pure(f"call {ty} {function}({word} {x}, {word} {y})", x, y)
        total = emitter.pure(f"add {ty} {total}, {products}", total, products)
    return total


def _even_and_odd(emitter: FunctionEmitter, operand: Bytes, lanes: int) -> tuple[str, str]:
    """The bytes with even numbers and those with odd ones, as 16-bit numbers."""
    word, eight = value_type(_words(lanes)), splat("i16", "8", 2 * lanes)
    byte = value_type(DType("int8").with_lanes(4 * lanes))
    pairs = emitter.pure(f"bitcast {byte} {operand.value} to {word}", operand.value)
    high = emitter.pure(f"shl {word} {pairs}, {eight}", pairs)
    shift = "ashr" if operand.signed else "lshr"
    even, odd = (emitter.pure(f"{shift} {word} {v}, {eight}", v) for v in (high, pairs))
    return even, odd


# --- other machines --------------------------------------------------------------------------


def _partial_sum(emitter: FunctionEmitter, a: Bytes, b: Bytes, total: str, lanes: int) -> str:
    """LLVM's own operation, for which it chooses the instructions."""
    dtype = INT32.with_lanes(lanes)
    ty, wide = value_type(dtype), value_type(INT32.with_lanes(4 * lanes))
    byte = value_type(DType("int8").with_lanes(4 * lanes))
    x, y = (
        emitter.pure(f"{'s' if o.signed else 'z'}ext {byte} {o.value} to {wide}", o.value)
        for o in (a, b)
    )
    products = emitter.pure(f"mul {wide} {x}, {y}", x, y)
    suffix = f"{mangled(dtype)}.{mangled(INT32.with_lanes(4 * lanes))}"
    name = f"llvm.vector.partial.reduce.add.{suffix}"
    function = emitter.module.declare(name, ty, (ty, wide))
    return emitter.pure(f"call {ty} {function}({ty} {total}, {wide} {products})", total, products)


# --- lanes -----------------------------------------------------------------------------------


def _lanes_of(emitter: FunctionEmitter, value: str, dtype: DType, start: int, count: int) -> str:
    """`count` lanes of a vector from `start`; lanes past its end are undefined."""
    if dtype.lanes == count:
        return value
    if dtype.lanes == 1:
        whole = value_type(dtype.with_lanes(count))
        return emitter.pure(
            f"insertelement {whole} poison, {value_type(dtype)} {value}, i64 0", value
        )
    return _picked(emitter, value, "poison", dtype, range(start, start + count), dtype.lanes)


def _joined(emitter: FunctionEmitter, pieces: list[str], dtype: DType, lanes: int) -> str:
    """The first `lanes` lanes of vectors of `dtype`, one after the other."""
    result, count = pieces[0], dtype.lanes
    for piece in pieces[1:]:
        wide = _picked(emitter, piece, "poison", dtype, range(count), dtype.lanes)
        picks = range(count + dtype.lanes)
        result = _picked(emitter, result, wide, dtype.with_lanes(count), picks, len(picks))
        count = len(picks)
    if lanes == count:
        return result
    if lanes == 1:
        ty = value_type(dtype.with_lanes(count))
        return emitter.pure(f"extractelement {ty} {result}, i64 0", result)
    return _picked(emitter, result, "poison", dtype.with_lanes(count), range(lanes), count)


def _picked(
    emitter: FunctionEmitter, a: str, b: str, dtype: DType, picks: range, known: int
) -> str:
    """A shuffle of two vectors; picks from `known` on are undefined lanes."""
    ty = value_type(dtype)
    numbers = ", ".join(f"i32 {pick if pick < known else 'poison'}" for pick in picks)
    mask = f"<{len(picks)} x i32> <{numbers}>"
    return emitter.pure(f"shufflevector {ty} {a}, {ty} {b}, {mask}", a, b)


def _words(lanes: int) -> DType:
    return DType("int16").with_lanes(2 * lanes)
