"""Operators on shapes as values: from arrays, and back."""

from __future__ import annotations

from typing import Any

from tilewright.ir.dtype import INT64
from tilewright.relax.expr import Call, Constant, RelaxExpr, ShapeExpr
from tilewright.relax.op.inference import Inference
from tilewright.relax.op.table import call, register
from tilewright.relax.struct_info import (
    UNKNOWN_NDIM,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
)


def _shape_of(inference: Inference) -> StructInfo:
    tensor = inference.tensor(0)
    return ShapeStructInfo(tensor.extents, tensor.ndim)


def _shape_from_elements(inference: Inference) -> StructInfo:
    tensor = inference.tensor(0)
    if tensor.ndim not in (1, UNKNOWN_NDIM) or tensor.dtype not in (INT64, None):
        inference.error(f"a shape is made of a 1-dimensional array of int64, it is {tensor!r}")
    rank = tensor.extents[0] if tensor.extents is not None else None
    known = getattr(rank, "value", None)
    operand = inference.call.args[0]
    if isinstance(operand, Constant):
        return ShapeStructInfo([int(extent) for extent in operand.data.numpy()])
    return ShapeStructInfo(ndim=UNKNOWN_NDIM if known is None else int(known))


def _elements_of_shape(inference: Inference) -> StructInfo:
    info = inference.struct_info(0)
    if not isinstance(info, ShapeStructInfo):
        inference.error(f"{inference.name_of(0)} must be a shape, it is {info!r}")
    if info.ndim == UNKNOWN_NDIM:
        return TensorStructInfo(None, INT64, ndim=1)
    return TensorStructInfo((info.ndim,), INT64)


SHAPE_OF = register("shape_of", ("expr",), _shape_of)
TENSOR_TO_SHAPE = register("tensor_to_shape", ("expr",), _shape_from_elements)
SHAPE_TO_TENSOR = register("shape_to_tensor", ("expr",), _elements_of_shape)


def shape_of(expr: RelaxExpr) -> Call:
    """The shape of an array."""
    return call(SHAPE_OF, expr)


def tensor_to_shape(expr: RelaxExpr) -> Call:
    """The shape whose extents are the elements of a 1-dimensional array of int64."""
    return call(TENSOR_TO_SHAPE, expr)


def shape_to_tensor(expr: Any) -> Call:
    """The 1-dimensional array of int64 whose elements are the extents of a shape."""
    return call(SHAPE_TO_TENSOR, expr if isinstance(expr, RelaxExpr) else ShapeExpr(expr))


def get_shape_of(expr: Any) -> Any:
    """The shape of an array: a `ShapeExpr` if it is known, otherwise the call of `shape_of`."""
    info = getattr(expr, "struct_info", None)
    known = info.shape if isinstance(info, TensorStructInfo) else None
    return shape_of(expr) if known is None else known
