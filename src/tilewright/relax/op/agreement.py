"""Extents that must agree, and are checked when the program runs where they are symbolic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.ir.dtype import FLOAT16, FLOAT32, DType
from tilewright.ir.expr import Expr
from tilewright.relax.expr import RelaxExpr
from tilewright.relax.op.broadcasting import with_extents
from tilewright.relax.op.inference import Inference
from tilewright.relax.struct_info import TensorStructInfo


def require_agreement(inference: Inference, what: str, a: Expr, b: Expr) -> None:
    """Refuse a call with two extents that are known to be different."""
    if inference.differ(a, b):
        inference.error(f"{what}: {a!r} and {b!r} differ")


def agreeing(builder: Any, value: RelaxExpr, extents: Mapping[int, Expr]) -> RelaxExpr:
    """`value`, with a check that it has `extents` along some dimensions, unless that is known."""
    value, known = sized(builder, value)
    wanted = [
        extents[axis]
        if axis in extents and not builder.analyzer.can_prove_equal(extent, extents[axis])
        else extent
        for axis, extent in enumerate(known)
    ]
    if all(a is b for a, b in zip(wanted, known, strict=True)):
        return value
    info = value.struct_info
    assert isinstance(info, TensorStructInfo)
    return builder.match_cast(value, TensorStructInfo(wanted, info.dtype, info.vdevice))


def sized(builder: Any, value: RelaxExpr) -> tuple[RelaxExpr, tuple[Expr, ...]]:
    """An array of which the extents have names, and the extents."""
    value = with_extents(builder, value)
    info = value.struct_info
    assert isinstance(info, TensorStructInfo)
    assert info.extents is not None
    return value, info.extents


def accumulator(dtype: DType) -> DType:
    """In which dtype products of `dtype` are added: half precision has too few digits."""
    return FLOAT32 if dtype is FLOAT16 or dtype.code == "bfloat" else dtype
