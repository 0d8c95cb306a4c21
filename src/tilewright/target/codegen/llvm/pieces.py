"""Vectors in pieces of the width of a register."""

from __future__ import annotations

from tilewright.ir.dtype import DType
from tilewright.target.codegen.llvm.emitter import FunctionEmitter
from tilewright.target.codegen.llvm.types import value_type


def lanes_of(emitter: FunctionEmitter, value: str, dtype: DType, start: int, count: int) -> str:
    """`count` lanes of a vector from `start`; lanes past its end are undefined."""
    if dtype.lanes == count:
        return value
    if dtype.lanes == 1:
        whole = value_type(dtype.with_lanes(count))
        return emitter.pure(
            f"insertelement {whole} poison, {value_type(dtype)} {value}, i64 0", value
        )
    return picked(emitter, value, "poison", dtype, range(start, start + count), dtype.lanes)


def joined(emitter: FunctionEmitter, pieces: list[str], dtype: DType, lanes: int) -> str:
    """The first `lanes` lanes of vectors of `dtype`, one after the other."""
    result, count = pieces[0], dtype.lanes
    for piece in pieces[1:]:
        wide = picked(emitter, piece, "poison", dtype, range(count), dtype.lanes)
        picks = range(count + dtype.lanes)
        result = picked(emitter, result, wide, dtype.with_lanes(count), picks, len(picks))
        count = len(picks)
    if lanes == count:
        return result
    if lanes == 1:
        ty = value_type(dtype.with_lanes(count))
        return emitter.pure(f"extractelement {ty} {result}, i64 0", result)
    return picked(emitter, result, "poison", dtype.with_lanes(count), range(lanes), count)


def picked(emitter: FunctionEmitter, a: str, b: str, dtype: DType, picks: range, known: int) -> str:
    """A shuffle of two vectors; picks from `known` on are undefined lanes."""
    ty = value_type(dtype)
    numbers = ", ".join(f"i32 {pick if pick < known else 'poison'}" for pick in picks)
    mask = f"<{len(picks)} x i32> <{numbers}>"
    return emitter.pure(f"shufflevector {ty} {a}, {ty} {b}, {mask}", a, b)
