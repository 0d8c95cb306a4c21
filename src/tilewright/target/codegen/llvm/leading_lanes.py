"""Stores of the first lanes of a vector, as at the end of a row.

Few processors have fast masked stores: AMD's Zen 3 takes 12 cycles for 8 floats (A. Fog,
Instruction Tables, 2022), and without AVX or SVE it is a branch for each lane. Parts of 4, 2 and 1
lanes, as the bits of the number of lanes say, take a few cycles.
"""

from __future__ import annotations

from typing import Final

from tilewright.ir.dtype import VOID, DType
from tilewright.ir.expr import Expr, const_int_value
from tilewright.target.codegen.llvm.conversions import extract
from tilewright.target.codegen.llvm.emitter import FunctionEmitter
from tilewright.target.codegen.llvm.types import HALVES, memory_type, value_type

MOST_UNKNOWN: Final = 8
"""How many stores of a function may take branches."""


def stores_in_parts(emitter: FunctionEmitter, dtype: DType, count: Expr) -> bool:
    """Whether storing the first `count` lanes of `dtype` in parts is the fastest way.

    A number that is not known takes a branch for each part: only for single registers, and for the
    first few of a function. More of them are a tile that was unrolled.

    One part is never worse than a mask. A mask with one lane must not reach LLVM 22, which stores
    all four bytes of a lane that was a 32-bit integer before, for AVX-512.
    """
    target, known = emitter.module.target, const_int_value(count)
    if not target.features.isdisjoint({"avx512vl", "sve"}):
        return known is not None and known.bit_count() == 1
    if known is not None:
        return True
    if dtype.lanes.bit_count() != 1 or dtype.lanes * dtype.bits > target.vector_bits:
        return False
    return emitter.partial_stores < MOST_UNKNOWN


def store_leading_lanes(
    emitter: FunctionEmitter, value: str, dtype: DType, pointer: str, count: Expr
) -> None:
    """Store the first `count` lanes of a value in parts of powers of two.

    Args:
        value: a register with what is stored, as it is in memory.
        dtype: its dtype, with all lanes.
    """
    # In memory, numbers that are computed in another type, and booleans, are integers.
    if dtype.element in HALVES or dtype.is_bool:
        dtype = DType(f"int{8 * dtype.element.itemsize}").with_lanes(dtype.lanes)
    known = const_int_value(count)
    if known is None:
        emitter.partial_stores += 1
        number = emitter.operand(count)
        _store_some(emitter, value, dtype, pointer, number, value_type(count.dtype))
        return
    known, first = max(0, min(known, dtype.lanes)), 0
    for lanes in _powers_of_two(dtype.lanes):
        if known & lanes:
            part = _part(emitter, value, dtype, first, lanes)
            _store(emitter, part, dtype.with_lanes(lanes), pointer, str(first))
            first += lanes


def _store_some(
    emitter: FunctionEmitter, value: str, dtype: DType, pointer: str, count: str, ty: str
) -> None:
    """Store as many lanes as `count`, a register of type `ty`, says."""

    def all_lanes() -> str:
        _store(emitter, value, dtype, pointer, "0")
        return ""

    def some_lanes() -> str:
        emitter.choose(emitter.pure(f"icmp sgt {ty} {count}, 0", count), parts, lambda: "", VOID)
        return ""

    def parts() -> str:
        left, before = value, dtype
        for lanes in _powers_of_two(dtype.lanes // 2):
            left = _store_half(emitter, left, before, pointer, count, ty)
            before = dtype.with_lanes(lanes)
        return ""

    is_whole = emitter.pure(f"icmp sge {ty} {count}, {dtype.lanes}", count)
    emitter.choose(is_whole, all_lanes, some_lanes, VOID)


def _store_half(
    emitter: FunctionEmitter, value: str, dtype: DType, pointer: str, count: str, ty: str
) -> str:
    """Store the first half of the lanes that are left, if so many are to be stored.

    Args:
        value: a register with the lanes that are left.
        dtype: its dtype.

    Returns:
        The half of the lanes that is left then.
    """
    lanes = dtype.lanes // 2
    half = dtype.with_lanes(lanes)
    bit = emitter.pure(f"and {ty} {count}, {lanes}", count)
    larger = emitter.pure(f"and {ty} {count}, {-dtype.lanes}", count)

    def stored() -> str:
        _store(emitter, _part(emitter, value, dtype, 0, lanes), half, pointer, larger, ty)
        return _part(emitter, value, dtype, lanes, lanes) if lanes > 1 else ""

    def kept() -> str:
        return _part(emitter, value, dtype, 0, lanes) if lanes > 1 else ""

    is_stored = emitter.pure(f"icmp ne {ty} {bit}, 0", bit)
    return emitter.choose(is_stored, stored, kept, half if lanes > 1 else VOID)


def _powers_of_two(most: int) -> list[int]:
    """Powers of two up to `most`, the largest first."""
    return [1 << bit for bit in reversed(range(most.bit_length()))]


def _part(emitter: FunctionEmitter, value: str, dtype: DType, first: int, lanes: int) -> str:
    """A register with some lanes of a value."""
    if lanes == 1:
        return extract(emitter, value, dtype.lanes, first, dtype.element)
    picks = ", ".join(f"i32 {lane}" for lane in range(first, first + lanes))
    ty, mask = memory_type(dtype), f"<{lanes} x i32> <{picks}>"
    return emitter.pure(f"shufflevector {ty} {value}, {ty} poison, {mask}", value)


def _store(
    emitter: FunctionEmitter, value: str, dtype: DType, pointer: str, first: str, ty: str = "i64"
) -> None:
    """Store a value from the element `first` of an array on."""
    element = memory_type(dtype.element)
    place = emitter.pure(f"getelementptr {element}, ptr {pointer}, {ty} {first}", pointer, first)
    align = dtype.element.itemsize
    emitter.effect(f"store {memory_type(dtype)} {value}, ptr {place}, align {align}")
