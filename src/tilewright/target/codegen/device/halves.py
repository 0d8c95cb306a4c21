"""Numbers of half types, where a language computes with them itself.

What it has no operation for is computed in float, and rounded: sums, products and quotients of
float16 are the same then, because float has more than twice as many bits.
"""

from __future__ import annotations

from typing import Any

from tilewright.ir.expr import Add, Call, Div, FloatImm, Max, Min, Mul, Sub
from tilewright.target.codegen.c.emitter import Precedence, Text
from tilewright.target.codegen.c.emitter import emits as emits_c
from tilewright.target.codegen.c.integers import SUMS
from tilewright.target.codegen.device.emitter import KernelEmitter, emits

CLASSIFICATIONS = ("tir.isnan", "tir.isinf", "tir.isfinite")


@emits(FloatImm, Min, Max, Div)
def _rounded(emitter: KernelEmitter, expr: Any) -> Text:
    """What C computes in float."""
    text = emits_c.nodes[expr.__class__](emitter, expr)
    return emitter.round(expr.dtype, text) if emitter.is_native(expr.dtype) else text


@emits(Add, Sub, Mul)
def _sum(emitter: KernelEmitter, expr: Any) -> Text:
    if not emitter.is_native(expr.dtype):
        return emits_c.nodes[expr.__class__](emitter, expr)
    operator, precedence = SUMS[type(expr)]
    left, right = emitter.code(expr.a, precedence), emitter.code(expr.b, precedence + 1)
    return Text(f"{left} {operator} {right}", precedence)


@emits("tir.fma")
def _fma(emitter: KernelEmitter, call: Call) -> Text:
    if not emitter.is_native(call.dtype):
        return emits_c.calls["tir.fma"](emitter, call)
    return Text(f"tw_fma_{emitter.half_helper(call.dtype)}({emitter.arguments(call.args)})")


@emits(*CLASSIFICATIONS)
def _classification(emitter: KernelEmitter, call: Call) -> Text:
    name = call.op.name.removeprefix("tir.")  # type: ignore[attr-defined]
    return Text(f"({name}({emitter.as_float(call.args[0])}) != 0)", Precedence.PRIMARY)
