"""Values of other dtypes: conversions, broadcasts, ramps and shuffles."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.dtype import DType
from tilewright.ir.expr import Broadcast, Call, Cast, IntImm, Ramp, Shuffle
from tilewright.target.codegen.llvm.emitter import FunctionEmitter, emits
from tilewright.target.codegen.llvm.types import HALVES, constant, splat, value_type


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


@emits(Broadcast)
def _broadcast(emitter: FunctionEmitter, expr: Broadcast) -> str:
    return broadcast(emitter, emitter.operand(expr.value), expr.value.dtype, expr.lanes)


def broadcast(emitter: FunctionEmitter, value: str, dtype: DType, lanes: int) -> str:
    """`lanes` copies of a scalar (or of a vector, one after the other)."""
    if lanes == 1:
        return value
    result = dtype.with_lanes(dtype.lanes * lanes)
    ty = value_type(dtype)
    if dtype.lanes > 1:
        pattern = ", ".join(f"i32 {lane % dtype.lanes}" for lane in range(result.lanes))
        mask = f"<{result.lanes} x i32> <{pattern}>"
        return emitter.pure(f"shufflevector {ty} {value}, {ty} poison, {mask}", value)
    if not value.startswith("%"):
        return splat(ty, value, lanes)
    whole = value_type(result)
    first = emitter.pure(f"insertelement {whole} poison, {ty} {value}, i64 0", value)
    zeros = f"<{lanes} x i32> zeroinitializer"
    return emitter.pure(f"shufflevector {whole} {first}, {whole} poison, {zeros}", first)


@emits(Ramp)
def _ramp(emitter: FunctionEmitter, expr: Ramp) -> str:
    base_dtype = expr.base.dtype
    ty = value_type(expr.dtype)
    base = broadcast(emitter, emitter.operand(expr.base), base_dtype, expr.lanes)
    element = value_type(base_dtype)
    if isinstance(expr.stride, IntImm):
        stride = expr.stride.value
        steps = ", ".join(f"{element} {lane * stride}" for lane in range(expr.lanes))
        return emitter.pure(f"add {ty} {base}, <{steps}>", base)
    stride = broadcast(emitter, emitter.operand(expr.stride), base_dtype, expr.lanes)
    steps = ", ".join(f"{element} {lane}" for lane in range(expr.lanes))
    scaled = emitter.pure(f"mul {ty} {stride}, <{steps}>", stride)
    return emitter.pure(f"add {ty} {base}, {scaled}", base, scaled)


@emits(Shuffle)
def _shuffle(emitter: FunctionEmitter, expr: Shuffle) -> str:
    values = [emitter.operand(vector) for vector in expr.vectors]
    indices = [int(i) for i in expr.indices]  # type: ignore[call-overload]
    lanes = [vector.dtype.lanes for vector in expr.vectors]
    if expr.dtype.element not in HALVES:
        return _shuffled(emitter, values, lanes, indices, expr.dtype)
    # Copies move the 16 bits of memory, and not floats that are rounded anew.
    values = [
        emitter.halves.narrowed(value, vector.dtype)
        for value, vector in zip(values, expr.vectors, strict=True)
    ]
    words = DType("int16").with_lanes(expr.dtype.lanes)
    bits = _shuffled(emitter, values, lanes, indices, words)
    return emitter.halves.widened(bits, expr.dtype)


def _shuffled(
    emitter: FunctionEmitter,
    values: list[str],
    lanes: list[int],
    indices: list[int],
    dtype: DType,
) -> str:
    """The lanes `indices` of vectors of `lanes` elements, as a value of `dtype`."""
    element = dtype.element
    if len(values) == 1 and lanes[0] > 1:
        ty = value_type(element.with_lanes(lanes[0]))
        if len(indices) == 1:
            return emitter.pure(f"extractelement {ty} {values[0]}, i64 {indices[0]}", values[0])
        pattern = ", ".join(f"i32 {i}" for i in indices)
        mask = f"<{len(indices)} x i32> <{pattern}>"
        return emitter.pure(f"shufflevector {ty} {values[0]}, {ty} poison, {mask}", values[0])
    if len(values) > 1 and len(indices) > 1 and min(lanes) == max(lanes) > 1:
        return _shuffle_vectors(emitter, values, indices, element.with_lanes(lanes[0]))
    sources = [(v, n, lane) for v, n in zip(values, lanes, strict=True) for lane in range(n)]
    chosen = [extract(emitter, *sources[i], element) for i in indices]
    return assemble(emitter, chosen, dtype)


def _shuffle_vectors(
    emitter: FunctionEmitter, values: list[str], indices: list[int], dtype: DType
) -> str:
    """The lanes `indices` of several vectors of one dtype; -1 is an undefined lane.

    LLVM shuffles two at a time: of more, each half gives its lanes, in their final places.
    """
    ty, count = value_type(dtype), len(indices)
    if len(values) > 2:
        half = (len(values) + 1) // 2
        limit = half * dtype.lanes
        low = [i if i < limit else -1 for i in indices]
        high = [i - limit if i >= limit else -1 for i in indices]
        chosen = [count + n if i >= limit else n for n, i in enumerate(indices)]
        values = [
            _shuffle_vectors(emitter, values[:half], low, dtype),
            _shuffle_vectors(emitter, values[half:], high, dtype),
        ]
        return _shuffle_vectors(emitter, values, chosen, dtype.with_lanes(count))
    a, b = values[0], values[-1] if len(values) > 1 else "poison"
    numbers = ", ".join(f"i32 {i}" if i >= 0 else "i32 poison" for i in indices)
    mask = f"<{count} x i32> <{numbers}>"
    return emitter.pure(f"shufflevector {ty} {a}, {ty} {b}, {mask}", a, b)


def extract(emitter: FunctionEmitter, value: str, lanes: int, lane: int, element: DType) -> str:
    """A lane of a vector of `lanes` elements."""
    if lanes == 1:
        return value
    ty = value_type(element.with_lanes(lanes))
    return emitter.pure(f"extractelement {ty} {value}, i64 {lane}", value)


def assemble(emitter: FunctionEmitter, lanes: Sequence[str], dtype: DType) -> str:
    """The value of `dtype` with such lanes."""
    if len(lanes) == 1:
        return lanes[0]
    whole, scalar = value_type(dtype), value_type(dtype.element)
    if not any(value.startswith("%") for value in lanes):
        return f"<{', '.join(f'{scalar} {value}' for value in lanes)}>"
    result = "poison"
    for lane, value in enumerate(lanes):
        code = f"insertelement {whole} {result}, {scalar} {value}, i64 {lane}"
        result = emitter.pure(code, result, value)
    return result
