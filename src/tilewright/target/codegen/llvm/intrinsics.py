"""Operators that are instructions or intrinsics of LLVM: mathematics, bits, selections."""

from __future__ import annotations

from typing import Final

from tilewright.error import CodegenError
from tilewright.ir.dtype import FLOAT32, FLOAT64, INT32, DType
from tilewright.ir.expr import Call
from tilewright.target.codegen.llvm.conversions import assemble, cast, extract
from tilewright.target.codegen.llvm.emitter import FunctionEmitter, emits
from tilewright.target.codegen.llvm.pieces import joined, lanes_of
from tilewright.target.codegen.llvm.types import HALVES, constant, mangled, splat, value_type

INTRINSICS: Final = {
    "tir.fabs": "fabs",
    "tir.sqrt": "sqrt",
    "tir.floor": "floor",
    "tir.ceil": "ceil",
    "tir.trunc": "trunc",
    "tir.round": "rint",
    "tir.nearbyint": "rint",
    "tir.copysign": "copysign",
    "tir.popcount": "ctpop",
}
BIT_OPS: Final = {"tir.bitwise_and": "and", "tir.bitwise_or": "or", "tir.bitwise_xor": "xor"}


@emits(*INTRINSICS)
def _intrinsic_call(emitter: FunctionEmitter, call: Call) -> str:
    operands = [emitter.operand(arg) for arg in call.args]
    name = INTRINSICS[call.op.name]  # type: ignore[attr-defined]
    return intrinsic(emitter, name, call.dtype, *operands)


def intrinsic(emitter: FunctionEmitter, name: str, dtype: DType, *operands: str) -> str:
    """A call of the overloaded LLVM intrinsic `name`, all of whose types are `dtype`."""
    ty = value_type(dtype)
    suffix = mangled(FLOAT32.with_lanes(dtype.lanes) if dtype.element in HALVES else dtype)
    function = emitter.module.declare(f"llvm.{name}.{suffix}", ty, (ty,) * len(operands))
    args = ", ".join(f"{ty} {operand}" for operand in operands)
    return emitter.halves.rounded(emitter.pure(f"call {ty} {function}({args})", *operands), dtype)


@emits("tir.likely")
def _likely(emitter: FunctionEmitter, call: Call) -> str:
    return emitter.operand(call.args[0])


@emits("tir.assume")
def _assume(emitter: FunctionEmitter, call: Call) -> str:
    function = emitter.module.declare("llvm.assume", "void", ("i1",))
    emitter.effect(f"call void {function}(i1 {emitter.operand(call.args[0])})")
    return "0"


@emits("tir.undef")
def _undef(emitter: FunctionEmitter, call: Call) -> str:
    del emitter, call
    return "0"


@emits("tir.if_then_else")
def _if_then_else(emitter: FunctionEmitter, call: Call) -> str:
    condition, yes, no = call.args
    test = emitter.operand(condition)
    if condition.dtype.lanes > 1:
        return emitter.select(test, emitter.operand(yes), emitter.operand(no), call.dtype)
    return emitter.choose(
        test, lambda: emitter.operand(yes), lambda: emitter.operand(no), call.dtype
    )


@emits("tir.any_lane")
def _any_lane(emitter: FunctionEmitter, call: Call) -> str:
    return any_lane(emitter, emitter.operand(call.args[0]), call.args[0].dtype)


def any_lane(emitter: FunctionEmitter, mask: str, dtype: DType) -> str:
    """Whether a condition holds for any lane; `dtype` is that of the conditions."""
    if dtype.lanes == 1:
        return mask
    ty = value_type(dtype)
    function = emitter.module.declare(f"llvm.vector.reduce.or.v{dtype.lanes}i1", "i1", (ty,))
    return emitter.pure(f"call i1 {function}({ty} {mask})", mask)


@emits("tir.fma")
def _fma(emitter: FunctionEmitter, call: Call) -> str:
    operands = [emitter.operand(arg) for arg in call.args]
    dtype = call.dtype
    native = emitter.module.target.has_fma and dtype.element not in HALVES
    if native or dtype.bits == 64:
        return intrinsic(emitter, "fma", dtype, *operands)
    # In double the product is exact, and the sum is rounded such that rounding it again does
    # no harm. LLVM would call a function for each lane.
    wide = FLOAT64.with_lanes(dtype.lanes)
    a, b, c = (cast(emitter, operand, dtype, wide) for operand in operands)
    product = emitter.pure(f"fmul {value_type(wide)} {a}, {b}", a, b)
    return cast(emitter, emitter.halves.sum_rounded_to_odd(product, c, wide), wide, dtype)


@emits("tir.isnan")
def _isnan(emitter: FunctionEmitter, call: Call) -> str:
    value, ty = emitter.operand(call.args[0]), value_type(call.args[0].dtype)
    return emitter.pure(f"fcmp uno {ty} {value}, {value}", value)


@emits("tir.isinf", "tir.isfinite")
def _compare_size(emitter: FunctionEmitter, call: Call) -> str:
    dtype = call.args[0].dtype
    size = intrinsic(emitter, "fabs", dtype, emitter.operand(call.args[0]))
    condition = "oeq" if call.op.name == "tir.isinf" else "olt"  # type: ignore[attr-defined]
    infinity = constant(float("inf"), dtype)
    return emitter.pure(f"fcmp {condition} {value_type(dtype)} {size}, {infinity}", size)


@emits("tir.shift_left", "tir.shift_right")
def _shift(emitter: FunctionEmitter, call: Call) -> str:
    right = "ashr" if call.dtype.is_int else "lshr"
    op = "shl" if call.op.name == "tir.shift_left" else right  # type: ignore[attr-defined]
    dtype, ty = call.dtype, value_type(call.dtype)
    a, b = (emitter.operand(arg) for arg in call.args)
    if b.startswith("%"):
        # An amount that is too large is poison in LLVM.
        limit = splat(value_type(dtype.element), str(dtype.bits - 1), dtype.lanes)
        b = emitter.pure(f"and {ty} {b}, {limit}", b)
    return emitter.pure(f"{op} {ty} {a}, {b}", a, b)


@emits("tir.bitwise_not")
def _bitwise_not(emitter: FunctionEmitter, call: Call) -> str:
    a, ty = emitter.operand(call.args[0]), value_type(call.dtype)
    ones = splat(value_type(call.dtype.element), "-1", call.dtype.lanes)
    return emitter.pure(f"xor {ty} {a}, {ones}", a)


@emits("tir.clz")
def _clz(emitter: FunctionEmitter, call: Call) -> str:
    dtype = call.args[0].dtype
    ty, value = value_type(dtype), emitter.operand(call.args[0])
    function = emitter.module.declare(f"llvm.ctlz.{mangled(dtype)}", ty, (ty, "i1"))
    count = emitter.pure(f"call {ty} {function}({ty} {value}, i1 false)", value)
    return cast(emitter, count, DType(f"uint{dtype.bits}").with_lanes(dtype.lanes), call.dtype)


@emits("tir.ldexp")
def _ldexp(emitter: FunctionEmitter, call: Call) -> str:
    value, exponent = (emitter.operand(arg) for arg in call.args)
    if call.args[1].dtype is call.dtype and emitter.module.target.has_avx512:
        return _scaled(emitter, value, exponent, call.dtype)
    ty = value_type(call.dtype)
    target = INT32.with_lanes(call.dtype.lanes)
    exponent = cast(emitter, exponent, call.args[1].dtype, target)
    suffix = f"{mangled(call.dtype)}.{mangled(target)}"
    power = value_type(target)
    function = emitter.module.declare(f"llvm.ldexp.{suffix}", ty, (ty, power))
    result = emitter.pure(
        f"call {ty} {function}({ty} {value}, {power} {exponent})", value, exponent
    )
    return emitter.halves.rounded(result, call.dtype)


def _scaled(emitter: FunctionEmitter, value: str, exponent: str, dtype: DType) -> str:
    """By the instruction of AVX-512, which takes whole numbers as floats."""
    full = 512 // dtype.bits
    register = dtype.with_lanes(full)
    ty, mask = value_type(register), f"i{full}"
    name = f"llvm.x86.avx512.mask.scalef.p{'s' if dtype.bits == 32 else 'd'}.512"
    function = emitter.module.declare(name, ty, (ty, ty, ty, mask, "i32"))
    pieces: list[str] = []
    for start in range(0, dtype.lanes, full):
        a, b = (lanes_of(emitter, v, dtype, start, full) for v in (value, exponent))
        arguments = f"{ty} {a}, {ty} {b}, {ty} zeroinitializer, {mask} -1, i32 4"
        pieces.append(emitter.pure(f"call {ty} {function}({arguments})", a, b))
    return joined(emitter, pieces, register, dtype.lanes)


@emits("tir.lookup")
def _lookup(emitter: FunctionEmitter, call: Call) -> str:
    """By the instruction of AVX-512 that takes lanes of two registers."""
    index, table = (emitter.operand(arg) for arg in call.args)
    halves = [lanes_of(emitter, table, call.args[1].dtype, start, 16) for start in (0, 16)]
    numbers, register = call.args[0].dtype, FLOAT32.with_lanes(16)
    ty, wide = value_type(register), value_type(INT32.with_lanes(16))
    function = emitter.module.declare("llvm.x86.avx512.vpermi2var.ps.512", ty, (ty, wide, ty))
    pieces: list[str] = []
    for start in range(0, numbers.lanes, 16):
        places = lanes_of(emitter, index, numbers, start, 16)
        arguments = f"{ty} {halves[0]}, {wide} {places}, {ty} {halves[1]}"
        pieces.append(emitter.pure(f"call {ty} {function}({arguments})", *halves, places))
    return joined(emitter, pieces, register, call.dtype.lanes)


@emits("tir.nextafter")
def _nextafter(emitter: FunctionEmitter, call: Call) -> str:
    """By the function of the C library, lane by lane."""
    dtype, lanes = call.dtype.element, call.dtype.lanes
    if dtype in HALVES:
        raise CodegenError(f"target llvm has no `nextafter` of dtype {dtype!s}; cast to float32")
    operands = [emitter.operand(arg) for arg in call.args]
    ty = value_type(dtype)
    results: list[str] = []
    for lane in range(lanes):
        a, b = (extract(emitter, operand, lanes, lane, dtype) for operand in operands)
        name = "nextafter" if dtype.bits == 64 else "nextafterf"
        function = emitter.module.declare(name, ty, (ty, ty))
        results.append(emitter.pure(f"call {ty} {function}({ty} {a}, {ty} {b})", a, b))
    return assemble(emitter, results, call.dtype)


@emits(*BIT_OPS)
def _bit_operation(emitter: FunctionEmitter, call: Call) -> str:
    a, b = (emitter.operand(arg) for arg in call.args)
    operation = BIT_OPS[call.op.name]  # type: ignore[attr-defined]
    return emitter.pure(f"{operation} {value_type(call.dtype)} {a}, {b}", a, b)
