"""Operators on the elements of three arrays, which broadcast."""

from __future__ import annotations

from typing import Any

from tilewright import topi
from tilewright.relax.expr import Call
from tilewright.relax.op.broadcasting import (
    broadcast_info,
    call_broadcasting,
    operand_dtype,
    with_numbers,
)
from tilewright.relax.op.inference import Inference
from tilewright.relax.op.table import call, register
from tilewright.relax.op.unary import is_number
from tilewright.relax.struct_info import StructInfo


def _infer_ewise_fma(inference: Inference) -> StructInfo:
    dtype = operand_dtype(inference, (0, 1, 2))
    if dtype is not None and not is_number(dtype):
        inference.error(f"the arguments must have numbers, they have {dtype!s}")
    return broadcast_info(inference, (0, 1, 2), dtype)


def _multiply_add(a: Any, b: Any, c: Any) -> Any:
    return topi.add(topi.multiply(a, b), c)


_EWISE_FMA = register(
    "ewise_fma",
    ("x1", "x2", "x3"),
    _infer_ewise_fma,
    lambda builder, expr: call_broadcasting(builder, expr, _multiply_add, "ewise_fma", (0, 1, 2)),
)


def ewise_fma(x1: Any, x2: Any, x3: Any) -> Call:
    """x1 * x2 + x3."""
    return call(_EWISE_FMA, *with_numbers(x1, x2, x3))
