"""Loads and stores."""

from __future__ import annotations

from typing import Any

from tilewright.error import CodegenError
from tilewright.ir.convert import const
from tilewright.ir.dtype import INT32, DType
from tilewright.ir.expr import Broadcast, Cast, Expr, IntImm, Max, Min, Ramp, Shuffle
from tilewright.target.codegen.llvm.addresses import address, addresses
from tilewright.target.codegen.llvm.conversions import broadcast
from tilewright.target.codegen.llvm.emitter import FunctionEmitter, emits
from tilewright.target.codegen.llvm.leading_lanes import store_leading_lanes, stores_in_parts
from tilewright.target.codegen.llvm.nearby import nearby_vectors
from tilewright.target.codegen.llvm.types import (
    HALVES,
    constant,
    mangled,
    memory_type,
    splat,
    value_type,
)
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.stmt import BufferStore
from tilewright.tir.transform.analysis.masks import leading_lanes
from tilewright.tir.transform.stream_stores import alignment_of

# --- values in memory ------------------------------------------------------------------------


def _from_memory(emitter: FunctionEmitter, raw: str, dtype: DType) -> str:
    """The register value of a loaded representation."""
    if dtype.element in HALVES:
        return emitter.halves.widened(raw, dtype)
    if dtype.is_bool:
        zero = splat("i8", "0", dtype.lanes)
        return emitter.pure(f"icmp ne {memory_type(dtype)} {raw}, {zero}", raw)
    return raw


def _to_memory(emitter: FunctionEmitter, value: str, dtype: DType) -> str:
    """The representation of a register value in memory."""
    if dtype.element in HALVES:
        return emitter.halves.narrowed(value, dtype)
    if dtype.is_bool:
        return emitter.pure(f"zext {value_type(dtype)} {value} to {memory_type(dtype)}", value)
    return value


# --- loads -----------------------------------------------------------------------------------


@emits(BufferLoad)
def _load(emitter: FunctionEmitter, load: BufferLoad) -> str:
    index = _single_index(load)
    dtype, lanes = load.dtype, load.dtype.lanes
    ty, align = memory_type(dtype), load.buffer.dtype.element.itemsize
    local = load.buffer.scope() == "local"
    if index.dtype.lanes == 1:
        pointer = address(emitter, load.buffer, index)
        if load.predicate is not None:
            return _guarded_load(emitter, load, pointer)
        return _from_memory(emitter, emitter.load(ty, pointer, align, local=local), dtype)
    if isinstance(index, Broadcast) and load.predicate is None and load.buffer.dtype.lanes == 1:
        scalar = load.buffer.dtype
        element_type = memory_type(scalar)
        pointer = address(emitter, load.buffer, index.value)
        raw = emitter.load(element_type, pointer, align, local=local)
        return broadcast(emitter, _from_memory(emitter, raw, scalar), scalar, index.lanes)
    if _is_contiguous(index):
        pointer = address(emitter, load.buffer, index.base)  # type: ignore[attr-defined]
        if load.predicate is None:
            raw = emitter.load(ty, pointer, align, local=local)
            return _from_memory(emitter, raw, dtype)
        mask = _mask(emitter, load.predicate, lanes)
        function = _masked(emitter, "load", dtype)
        raw = emitter.value(
            f"call {ty} {function}(ptr {pointer}, i32 {align}, <{lanes} x i1> {mask}, "
            f"{ty} zeroinitializer)"
        )
        return _from_memory(emitter, raw, dtype)
    if load.buffer.dtype.lanes == 1:
        shuffled = nearby_vectors(load)
        if shuffled is not None:
            return emitter.operand(shuffled)
    return _gather(emitter, load, index)


def _guarded_load(emitter: FunctionEmitter, load: BufferLoad, pointer: str) -> str:
    """A scalar load that happens only if its predicate holds; 0 otherwise."""
    assert load.predicate is not None
    ty, align = memory_type(load.dtype), load.buffer.dtype.element.itemsize
    condition = emitter.operand(load.predicate)
    code = f"load {ty}, ptr {pointer}, align {align}"
    return emitter.choose(
        condition,
        lambda: _from_memory(emitter, emitter.value(code), load.dtype),
        lambda: constant(0, load.dtype),
        load.dtype,
    )


def _gather(emitter: FunctionEmitter, load: BufferLoad, index: Expr) -> str:
    dtype, lanes = load.dtype, load.dtype.lanes
    ty, align = memory_type(dtype), load.buffer.dtype.element.itemsize
    pointers = addresses(emitter, load.buffer, index)
    mask = splat("i1", "true", lanes)
    if load.predicate is not None:
        mask = _mask(emitter, load.predicate, lanes)
    function = _masked(emitter, "gather", dtype)
    raw = emitter.value(
        f"call {ty} {function}(<{lanes} x ptr> {pointers}, i32 {align}, "
        f"<{lanes} x i1> {mask}, {ty} zeroinitializer)"
    )
    return _from_memory(emitter, raw, dtype)


def _mask(emitter: FunctionEmitter, predicate: Expr, lanes: int) -> str:
    count = leading_lanes(predicate)
    if isinstance(count, IntImm):
        # Some backends decide for each lane at run time unless the mask is a constant.
        return f"<{', '.join(f'i1 {int(n < count.value)}' for n in range(lanes))}>"
    if count is not None and count.dtype.bits == 64:
        # A vector has more lanes of 32 bits, and a number of lanes fits in them.
        number = Cast(INT32, Min(Max(count, const(0, count.dtype)), const(lanes, count.dtype)))
        predicate = Ramp(const(0), const(1), lanes) < Broadcast(number, lanes)
    mask = emitter.operand(predicate)
    if predicate.dtype.lanes == 1:
        return broadcast(emitter, mask, predicate.dtype, lanes)
    return mask


def _masked(emitter: FunctionEmitter, kind: str, dtype: DType) -> str:
    """The masked memory intrinsic `kind` for vectors of `dtype`: load, store, gather, scatter."""
    lanes, ty = dtype.lanes, memory_type(dtype)
    bits = DType("int16" if dtype.element in HALVES else "int8" if dtype.is_bool else dtype.element)
    scattered = kind in ("gather", "scatter")
    pointers, mask = f"<{lanes} x ptr>" if scattered else "ptr", f"<{lanes} x i1>"
    suffix = f"{mangled(bits.with_lanes(lanes))}.{f'v{lanes}p0' if scattered else 'p0'}"
    name = f"llvm.masked.{kind}.{suffix}"
    if kind in ("load", "gather"):
        return emitter.module.declare(name, ty, (pointers, "i32", mask, ty))
    return emitter.module.declare(name, "void", (ty, pointers, "i32", mask))


# --- stores ----------------------------------------------------------------------------------


@emits(BufferStore)
def _store(emitter: FunctionEmitter, store: BufferStore) -> None:
    index = _single_index(store)
    if _is_backwards(index) and store.buffer.dtype.lanes == 1:
        value = _reversed(store.value)
        emitter.statement(store.replace(value=value, **_forwards(index, store.predicate)))
        return
    dtype = store.value.dtype
    ty, align = memory_type(dtype), store.buffer.dtype.element.itemsize
    value = emitter.operand(store.value)
    if index.dtype.lanes == 1:
        raw = _to_memory(emitter, value, dtype)
        pointer = address(emitter, store.buffer, index)
        if store.predicate is None:
            emitter.store(ty, raw, pointer, align, local=store.buffer.scope() == "local")
        else:
            code = f"store {ty} {raw}, ptr {pointer}, align {align}"
            _guarded_store(emitter, store.predicate, code)
        return
    raw, lanes = _to_memory(emitter, value, dtype), dtype.lanes
    if _is_contiguous(index):
        pointer = address(emitter, store.buffer, index.base)  # type: ignore[attr-defined]
        if store.predicate is not None:
            _store_lanes(emitter, raw, dtype, pointer, store.predicate)
        elif store.buffer.data in emitter.streamed:
            emitter.module.needs_nontemporal = True
            code = f"store {ty} {raw}, ptr {pointer}, align {alignment_of(lanes * align)}"
            emitter.effect(f"{code}, !nontemporal !0")
        else:
            emitter.store(ty, raw, pointer, align, local=store.buffer.scope() == "local")
        return
    mask = splat("i1", "true", lanes)
    if store.predicate is not None:
        mask = _mask(emitter, store.predicate, lanes)
    pointers = addresses(emitter, store.buffer, index)
    function = _masked(emitter, "scatter", dtype)
    emitter.effect(
        f"call void {function}({ty} {raw}, <{lanes} x ptr> {pointers}, i32 {align}, "
        f"<{lanes} x i1> {mask})"
    )


def _store_lanes(
    emitter: FunctionEmitter, raw: str, dtype: DType, pointer: str, predicate: Expr
) -> None:
    """A store of those of the lanes next to each other for which the predicate holds."""
    count = leading_lanes(predicate)
    if count is not None and stores_in_parts(emitter, dtype, count):
        store_leading_lanes(emitter, raw, dtype, pointer, count)
        return
    mask, lanes = _mask(emitter, predicate, dtype.lanes), dtype.lanes
    function, align = _masked(emitter, "store", dtype), dtype.element.itemsize
    emitter.effect(
        f"call void {function}({memory_type(dtype)} {raw}, ptr {pointer}, i32 {align}, "
        f"<{lanes} x i1> {mask})"
    )


def _guarded_store(emitter: FunctionEmitter, predicate: Expr, code: str) -> None:
    condition = emitter.operand(predicate)
    then, after = emitter.label("then"), emitter.label("after")
    emitter.branch(condition, then, after)
    emitter.start_block(then)
    emitter.effect(code)
    emitter.jump(after)
    emitter.start_block(after)


def _single_index(access: Any) -> Expr:
    if len(access.indices) != 1:
        raise CodegenError(f"target llvm: `{access!r}` is not one-dimensional; flatten it first")
    return access.indices[0]


def _is_contiguous(index: Expr) -> bool:
    return isinstance(index, Ramp) and isinstance(index.stride, IntImm) and index.stride.value == 1


def _is_backwards(index: Expr) -> bool:
    return isinstance(index, Ramp) and isinstance(index.stride, IntImm) and index.stride.value == -1


def _reversed(vector: Expr) -> Expr:
    """The lanes of a vector, last first."""
    lanes = vector.dtype.lanes
    return Shuffle((vector,), tuple(IntImm(INT32, lanes - 1 - lane) for lane in range(lanes)))


def _forwards(index: Any, predicate: Expr | None) -> dict[str, Any]:
    """The index and the predicate of a backwards access, in forward order."""
    first = index.base - (index.lanes - 1)
    forwards = Ramp(first, IntImm(index.stride.dtype, 1), index.lanes)
    if predicate is not None and predicate.dtype.lanes > 1:
        predicate = _reversed(predicate)
    return {"indices": (forwards,), "predicate": predicate}
