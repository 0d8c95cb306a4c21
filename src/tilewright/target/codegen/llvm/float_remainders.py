"""Remainders of divisions of floats, with the sign of the dividend.

LLVM calls a function of the C library for each lane, which takes tens of cycles. Where the quotient
has few enough digits, it takes a division and a multiplication that rounds once.
"""

from __future__ import annotations

from typing import Final

from tilewright.ir.dtype import BOOL, FLOAT32, DType
from tilewright.ir.expr import Call
from tilewright.target.codegen.llvm.emitter import FunctionEmitter, emits
from tilewright.target.codegen.llvm.intrinsics import any_lane, intrinsic
from tilewright.target.codegen.llvm.types import HALVES, constant, value_type

LARGEST_QUOTIENT: Final = {32: 2.0**23, 64: 2.0**52}
"""All whole numbers up to here, and the next one, are floats of so many bits."""


@emits("tir.fmod")
def _fmod(emitter: FunctionEmitter, call: Call) -> str:
    return float_remainder(emitter, call.dtype, *(emitter.operand(arg) for arg in call.args))


def float_remainder(emitter: FunctionEmitter, dtype: DType, a: str, b: str) -> str:
    """What is left of `a` when multiples of `b` are taken away.

    The quotient is rounded to the nearest float, so its whole part may be too large by one, but not
    too small; the remainder is then the negative one. Both are floats, so nothing is rounded.
    """
    working = FLOAT32.with_lanes(dtype.lanes) if dtype.element in HALVES else dtype
    ty = value_type(working)
    if not emitter.module.target.has_fma:
        return emitter.halves.rounded(emitter.pure(f"frem {ty} {a}, {b}", a, b), dtype)
    size, divisor = (intrinsic(emitter, "fabs", working, operand) for operand in (a, b))
    quotient = emitter.pure(f"fdiv {ty} {size}, {divisor}", size, divisor)
    limit = constant(LARGEST_QUOTIENT[working.bits], working)
    infinity = constant(float("inf"), working)
    is_large = emitter.pure(f"fcmp uge {ty} {quotient}, {limit}", quotient)
    is_infinite = emitter.pure(f"fcmp oeq {ty} {divisor}, {infinity}", divisor)
    mask = value_type(BOOL.with_lanes(dtype.lanes))
    is_special = emitter.pure(f"or {mask} {is_large}, {is_infinite}", is_large, is_infinite)

    def by_multiplication() -> str:
        whole = intrinsic(emitter, "trunc", working, quotient)
        negative = emitter.pure(f"fneg {ty} {whole}", whole)
        rest = intrinsic(emitter, "fma", working, negative, divisor, size)
        is_below = emitter.pure(f"fcmp olt {ty} {rest}, {constant(0.0, working)}", rest)
        next_rest = emitter.pure(f"fadd {ty} {rest}, {divisor}", rest, divisor)
        found = emitter.select(is_below, next_rest, rest, working)
        return intrinsic(emitter, "copysign", working, found, a)

    result = emitter.choose(
        any_lane(emitter, is_special, BOOL.with_lanes(dtype.lanes)),
        lambda: emitter.value(f"frem {ty} {a}, {b}"),
        by_multiplication,
        working,
    )
    return emitter.halves.rounded(result, dtype)
