"""Dot products of groups of four 8-bit or two 16-bit numbers, and products of small matrices.

They are computed by the instructions of the target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple

from tilewright.ir.dtype import FLOAT32, INT32, DType
from tilewright.ir.expr import Call
from tilewright.target.codegen.llvm.emitter import FunctionEmitter, emits
from tilewright.target.codegen.llvm.pieces import joined, lanes_of, picked
from tilewright.target.codegen.llvm.types import splat, value_type
from tilewright.tir.transform.lower_intrinsics import expand_intrinsic

SIGN_BIT: Final = "-128"
"""Flipping it in the bits of an int8 adds 128, and gives a uint8; and the other way round."""


class Bytes(NamedTuple):
    """A register of 8-bit integers."""

    value: str
    signed: bool


@emits("tir.dp4a")
def _dp4a(emitter: FunctionEmitter, call: Call) -> str:
    signs = [arg.dtype.is_int for arg in call.args[:2]]

    def emit(a: str, b: str, total: str, lanes: int) -> str:
        return _dot_product(emitter, Bytes(a, signs[0]), Bytes(b, signs[1]), total, lanes)

    operands = [emitter.operand(arg) for arg in call.args]
    return _in_pieces(emitter, call, operands, INT32, _most_lanes(emitter), emit)


@emits("tir.dp4a_narrow")
def _dp4a_narrow(emitter: FunctionEmitter, call: Call) -> str:
    signs = [arg.dtype.is_int for arg in call.args[:2]]

    def emit(a: str, b: str, total: str, lanes: int) -> str:
        operands = Bytes(a, signs[0]), Bytes(b, signs[1])
        features = emitter.module.target.features
        if "avx2" not in features or _has_mixed_dot_product(emitter, lanes):
            return _dot_product(emitter, *operands, total, lanes)
        return _by_pairs(emitter, *operands, total, lanes)

    operands = [emitter.operand(arg) for arg in call.args]
    return _in_pieces(emitter, call, operands, INT32, _most_lanes(emitter), emit)


@emits("tir.dp2a")
def _dp2a(emitter: FunctionEmitter, call: Call) -> str:
    operands = [emitter.operand(arg) for arg in call.args]
    if call.dtype.is_int:
        emit = partial(_sum_of_words, emitter)
        return _in_pieces(emitter, call, operands, INT32, _most_lanes(emitter), emit)
    for n in range(2):
        operands[n] = emitter.halves.narrowed(operands[n], call.args[n].dtype)
    emit, most = partial(_sum_of_bfloats, emitter), emitter.module.target.vector_bits // 32
    return _in_pieces(emitter, call, operands, FLOAT32, max(4, most), emit)


@emits("tir.mmla")
def _mmla(emitter: FunctionEmitter, call: Call) -> str:
    a, b, total = call.args
    signs = {"int8": "s", "uint8": "u", "bfloat16": "bf"}
    kind = signs[str(a.dtype.element)]
    if a.dtype is not b.dtype:
        kind += signs[str(b.dtype.element)]
    target = emitter.module.target
    feature = "bf16" if kind == "bf" else "i8mm"
    if target.architecture != "aarch64" or feature not in target.features or kind == "su":
        return emitter.operand(expand_intrinsic(call))
    x, y, start = (emitter.operand(arg) for arg in (a, b, total))
    if kind == "bf":
        x, y = (emitter.halves.narrowed(value, a.dtype) for value in (x, y))
        return _called_with_bfloats(emitter, "llvm.aarch64.neon.bfmmla", start, x, y, 4)
    return _called(emitter, f"llvm.aarch64.neon.{kind}mmla.v4i32.v16i8", start, x, y, 4)


def _in_pieces(
    emitter: FunctionEmitter,
    call: Call,
    operands: Sequence[str],
    sums: DType,
    most: int,
    emit: Callable[[str, str, str, int], str],
) -> str:
    """A dot product in pieces of the width of a register, the last of which is filled up.

    Args:
        operands: the two vectors and the sums so far; bfloat16 by its bits.
        sums: the dtype of a sum.
        most: maximum number of sums of an instruction.
        emit: emits the instructions for two vectors, sums, and their number.
    """
    lanes = call.dtype.lanes
    group = call.args[0].dtype.lanes // lanes
    dtypes = [_bits_of(arg.dtype) for arg in call.args[:2]] + [call.dtype]
    size = min(most, max(4, 1 << (lanes - 1).bit_length()))
    pieces: list[str] = []
    for start in range(0, lanes, size):
        a, b, total = (
            lanes_of(emitter, value, dtype, start * count, size * count)
            for value, dtype, count in zip(operands, dtypes, (group, group, 1), strict=True)
        )
        pieces.append(emit(a, b, total, size))
    return joined(emitter, pieces, sums.with_lanes(size), lanes)


def _bits_of(dtype: DType) -> DType:
    """The dtype in which the emitter hands on an operand."""
    return DType("int16").with_lanes(dtype.lanes) if dtype.element == "bfloat16" else dtype


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
        return _plain_dot_product(emitter, a, b, total, lanes)
    features, bits = emitter.module.target.features, 32 * lanes
    if a.signed is b.signed and bits <= 256 and "avxvnniint8" in features:
        name = f"avx2.vpdpb{'ssd' if a.signed else 'uud'}.{bits}"
        return _accumulate(emitter, name, total, a.value, b.value, lanes)
    if _has_mixed_dot_product(emitter, lanes):
        return _mixed_dot_product(emitter, a, b, total, lanes)
    return _by_words(emitter, a, b, total, lanes)


def _has_mixed_dot_product(emitter: FunctionEmitter, lanes: int) -> bool:
    """Whether there is an instruction for unsigned times signed numbers."""
    features = emitter.module.target.features
    if lanes == 16:
        return "avx512vnni" in features
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
    return _called(emitter, f"llvm.x86.{name}", total, a, b, lanes)


def _called(emitter: FunctionEmitter, name: str, total: str, a: str, b: str, lanes: int) -> str:
    ty = value_type(INT32.with_lanes(lanes))
    byte = value_type(DType("int8").with_lanes(4 * lanes))
    function = emitter.module.declare(name, ty, (ty, byte, byte))
    return emitter.pure(f"call {ty} {function}({ty} {total}, {byte} {a}, {byte} {b})", total, a, b)


def _by_words(emitter: FunctionEmitter, a: Bytes, b: Bytes, total: str, lanes: int) -> str:
    """By the instruction that multiplies 16-bit numbers and adds neighbouring products."""
    for x, y in zip(
        _even_and_odd(emitter, a, lanes), _even_and_odd(emitter, b, lanes), strict=True
    ):
        total = _sum_of_words(emitter, x, y, total, lanes)
    return total


def _by_pairs(emitter: FunctionEmitter, a: Bytes, b: Bytes, total: str, lanes: int) -> str:
    """By the instruction whose sums of two products have 16 bits, which suffice for narrow numbers;
    pairs of these are added by another one."""
    unsigned, signed = (b.value, a.value) if a.signed else (a.value, b.value)
    word, byte = value_type(_words(lanes)), value_type(DType("int8").with_lanes(4 * lanes))
    name = {4: "ssse3.pmadd.ub.sw.128", 8: "avx2.pmadd.ub.sw", 16: "avx512.pmaddubs.w.512"}[lanes]
    function = emitter.module.declare(f"llvm.x86.{name}", word, (byte, byte))
    call = f"call {word} {function}({byte} {unsigned}, {byte} {signed})"
    pairs = emitter.pure(call, unsigned, signed)
    return _sum_of_words(emitter, pairs, splat("i16", "1", 2 * lanes), total, lanes)


def _sum_of_words(emitter: FunctionEmitter, a: str, b: str, total: str, lanes: int) -> str:
    ty, word = value_type(INT32.with_lanes(lanes)), value_type(_words(lanes))
    if emitter.module.target.architecture != "x86_64":
        return _sum_of_parts(emitter, (a, b), ("sext", "sext"), _words(lanes), total, lanes)
    name = {4: "sse2.pmadd.wd", 8: "avx2.pmadd.wd", 16: "avx512.pmaddw.d.512"}[lanes]
    function = emitter.module.declare(f"llvm.x86.{name}", ty, (word, word))
    products = emitter.pure(f"call {ty} {function}({word} {a}, {word} {b})", a, b)
    return emitter.pure(f"add {ty} {total}, {products}", total, products)


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


def _plain_dot_product(emitter: FunctionEmitter, a: Bytes, b: Bytes, total: str, lanes: int) -> str:
    """By the instruction of AArch64 for operands of these signs, or else by arithmetic."""
    target = emitter.module.target
    if target.architecture == "aarch64" and lanes == 4:
        kinds = {(True, True): "sdot", (False, False): "udot"}
        kind = kinds.get((a.signed, b.signed), "usdot")
        if ("i8mm" if kind == "usdot" else "dotprod") in target.features:
            x, y = (b, a) if kind == "usdot" and a.signed else (a, b)
            name = f"llvm.aarch64.neon.{kind}.v4i32.v16i8"
            return _called(emitter, name, total, x.value, y.value, lanes)
    kinds = ["sext" if operand.signed else "zext" for operand in (a, b)]
    dtype = DType("int8").with_lanes(4 * lanes)
    return _sum_of_parts(emitter, (a.value, b.value), kinds, dtype, total, lanes)


def _sum_of_parts(
    emitter: FunctionEmitter,
    operands: Sequence[str],
    kinds: Sequence[str],
    dtype: DType,
    total: str,
    lanes: int,
) -> str:
    """The products of the first lanes of all groups, then those of the second ones, ...

    Args:
        operands: two vectors of `dtype`.
        kinds: how each becomes one of int32.
    """
    size, ty = dtype.lanes // lanes, value_type(INT32.with_lanes(lanes))
    narrow = value_type(dtype.with_lanes(lanes))
    for part in range(size):
        picks = range(part, dtype.lanes, size)
        x, y = (
            emitter.pure(f"{kind} {narrow} {chosen} to {ty}", chosen)
            for kind, chosen in zip(
                kinds,
                [picked(emitter, v, "poison", dtype, picks, dtype.lanes) for v in operands],
                strict=True,
            )
        )
        product = emitter.pure(f"mul {ty} {x}, {y}", x, y)
        total = emitter.pure(f"add {ty} {total}, {product}", total, product)
    return total


# --- bfloat16 --------------------------------------------------------------------------------


def _sum_of_bfloats(emitter: FunctionEmitter, a: str, b: str, total: str, lanes: int) -> str:
    """By the instruction of the target, or else by two multiply-adds in float32.

    Args:
        a: bits of bfloat16, as is `b`.
    """
    name = _bfloat_instruction(emitter, lanes)
    if name is not None:
        return _called_with_bfloats(emitter, name, total, a, b, lanes)
    ty = value_type(FLOAT32.with_lanes(lanes))
    for x, y in zip(_floats(emitter, a, lanes), _floats(emitter, b, lanes), strict=True):
        product = emitter.pure(f"fmul contract {ty} {x}, {y}", x, y)
        total = emitter.pure(f"fadd contract {ty} {total}, {product}", total, product)
    return total


def _called_with_bfloats(
    emitter: FunctionEmitter, name: str, total: str, a: str, b: str, lanes: int
) -> str:
    ty, word = value_type(FLOAT32.with_lanes(lanes)), value_type(_words(lanes))
    bfloat = f"<{2 * lanes} x bfloat>"
    x, y = (emitter.pure(f"bitcast {word} {bits} to {bfloat}", bits) for bits in (a, b))
    function = emitter.module.declare(name, ty, (ty, bfloat, bfloat))
    return emitter.pure(
        f"call {ty} {function}({ty} {total}, {bfloat} {x}, {bfloat} {y})", total, x, y
    )


def _bfloat_instruction(emitter: FunctionEmitter, lanes: int) -> str | None:
    target = emitter.module.target
    features = target.features
    if "avx512bf16" in features and (lanes == 16 or "avx512vl" in features):
        return f"llvm.x86.avx512bf16.dpbf16ps.{32 * lanes}"
    if target.architecture == "aarch64" and "bf16" in features and lanes == 4:
        return "llvm.aarch64.neon.bfdot.v4f32.v8bf16"
    return None


def _floats(emitter: FunctionEmitter, bits: str, lanes: int) -> tuple[str, str]:
    """The numbers with even positions and those with odd ones, as float32."""
    dtype = INT32.with_lanes(lanes)
    ty, word = value_type(dtype), value_type(_words(lanes))
    wide = value_type(FLOAT32.with_lanes(lanes))
    pairs = emitter.pure(f"bitcast {word} {bits} to {ty}", bits)
    even = emitter.pure(f"shl {ty} {pairs}, {splat('i32', '16', lanes)}", pairs)
    odd = emitter.pure(f"and {ty} {pairs}, {splat('i32', '-65536', lanes)}", pairs)
    x, y = (emitter.pure(f"bitcast {ty} {v} to {wide}", v) for v in (even, odd))
    return x, y


# --- lanes -----------------------------------------------------------------------------------


def _words(lanes: int) -> DType:
    return DType("int16").with_lanes(2 * lanes)
