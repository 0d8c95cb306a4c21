"""Conversions between dtypes."""

from __future__ import annotations

from tilewright.ir.dtype import DType
from tilewright.ir.expr import Call, Cast
from tilewright.target.codegen.llvm.emitter import FunctionEmitter, emits
from tilewright.target.codegen.llvm.types import HALVES, constant, value_type


@emits(Cast)
def _cast(emitter: FunctionEmitter, expr: Cast) -> str:
    return cast(emitter, emitter.operand(expr.value), expr.value.dtype, expr.dtype)


def cast(emitter: FunctionEmitter, value: str, source: DType, target: DType) -> str:
    """`value` converted from `source` to `target`, which have the same lanes."""
    if source is target:
        return value
    old, new = value_type(source), value_type(target)
    if target.is_bool:
        zero = constant(0, source)
        op = "fcmp une" if source.is_float else "icmp ne"
        return emitter.pure(f"{op} {old} {value}, {zero}", value)
    if source.is_handle or target.is_handle:
        op = "ptrtoint" if source.is_handle else "inttoptr"
        if old == new:
            return value
        return emitter.pure(f"{op} {old} {value} to {new}", value)
    if source.is_float and target.is_float:
        return _cast_float(emitter, value, source, target)
    if source.is_float:
        op = "fptosi" if target.is_int else "fptoui"
        # A value out of range is poison in LLVM; freezing makes it some number instead.
        converted = emitter.pure(f"{op} {old} {value} to {new}", value)
        return emitter.pure(f"freeze {new} {converted}", converted)
    if target.is_float:
        op = "sitofp" if source.is_int else "uitofp"
        return emitter.halves.rounded(emitter.pure(f"{op} {old} {value} to {new}", value), target)
    if target.bits < source.bits:
        return emitter.pure(f"trunc {old} {value} to {new}", value)
    if target.bits == source.bits:
        return value
    op = "sext" if source.is_int else "zext"
    return emitter.pure(f"{op} {old} {value} to {new}", value)


def _cast_float(emitter: FunctionEmitter, value: str, source: DType, target: DType) -> str:
    old, new = value_type(source), value_type(target)
    if source.bits == 64:
        if target.element in HALVES:
            value = emitter.halves.rounded_to_odd(value, source)
        else:
            value = emitter.pure(f"fptrunc {old} {value} to {new}", value)
    elif target.bits == 64:
        value = emitter.pure(f"fpext {old} {value} to {new}", value)
    return emitter.halves.rounded(value, target)


@emits("tir.reinterpret")
def _reinterpret(emitter: FunctionEmitter, call: Call) -> str:
    source, target = call.args[0].dtype, call.dtype
    value = emitter.operand(call.args[0])
    if source.element in HALVES:
        value = emitter.halves.narrowed(value, source)
        source = DType("int16").with_lanes(source.lanes)
    if target.element in HALVES:
        bits = DType("int16").with_lanes(target.lanes)
        return emitter.halves.widened(_bitcast(emitter, value, source, bits), target)
    return _bitcast(emitter, value, source, target)


def _bitcast(emitter: FunctionEmitter, value: str, source: DType, target: DType) -> str:
    old, new = value_type(source), value_type(target)
    if old == new:
        return value
    if "ptr" in (old, new):
        op = "ptrtoint" if old == "ptr" else "inttoptr"
        return emitter.pure(f"{op} {old} {value} to {new}", value)
    return emitter.pure(f"bitcast {old} {value} to {new}", value)
