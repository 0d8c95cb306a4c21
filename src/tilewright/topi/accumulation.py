"""Accumulation: the dtype of sums, and reductions over empty ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright import te, tir
from tilewright.ir.arithmetic import logical_and
from tilewright.ir.convert import as_expr
from tilewright.ir.dtype import FLOAT32, DType
from tilewright.ir.expr import Expr, IntImm
from tilewright.te import Tensor


def accumulator(dtype: DType) -> DType:
    """Dtype of sums of elements of `dtype`: single precision for half precision."""
    return FLOAT32 if dtype.is_float and dtype.bits < FLOAT32.bits else dtype


def or_neutral(reduced: Tensor, extents: Sequence[Expr], neutral: Any = 0) -> Tensor:
    """`reduced`, or `neutral` everywhere if one of the extents that it was reduced over is 0."""
    value = as_expr(neutral, reduced.dtype)
    if any(isinstance(extent, IntImm) and extent.value == 0 for extent in extents):
        return te.compute(reduced.shape, lambda *_: value, "T_nothing", "elemwise")
    unknown = [extent for extent in extents if not isinstance(extent, IntImm)]
    if not unknown:
        return reduced
    is_something: Expr = unknown[0] > 0
    for extent in unknown[1:]:
        is_something = logical_and(is_something, extent > 0)
    return te.compute(
        reduced.shape,
        lambda *i: tir.Select(is_something, reduced(*i), value),
        "T_or_nothing",
        "elemwise",
    )
