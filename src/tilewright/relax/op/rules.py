"""Rules that tensor programs and graphs share: what they refuse, inference refuses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tilewright.error import ArgumentError, DTypeError, ShapeError
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, FloatImm, IntImm
from tilewright.relax.expr import ShapeExpr
from tilewright.relax.op.inference import Inference
from tilewright.relax.struct_info import (
    UNKNOWN_NDIM,
    PrimStructInfo,
    ShapeStructInfo,
    TensorStructInfo,
)
from tilewright.topi.axes import normalized_axes, normalized_axis

Result = TypeVar("Result")


def checked(inference: Inference, rule: Callable[..., Result], *args: Any) -> Result:
    """``rule(owner, *args)``, where `owner` names the operator; what it refuses is reported."""
    owner = f"R.{inference.call.op.name.removeprefix('relax.')}"  # type: ignore[union-attr]
    try:
        return rule(owner, *args)
    except (ArgumentError, DTypeError, ShapeError) as error:
        inference.error(str(error).removeprefix(f"{owner}: "))


def axis_of(inference: Inference, ndim: int, name: str = "axis") -> int:
    """The attribute `name`, a dimension, counted from the front."""
    return checked(inference, normalized_axis, inference.attr(name), ndim)


def axes_of(inference: Inference, ndim: int, name: str = "axis") -> tuple[int, ...]:
    """The attribute `name`, dimensions (all for None), counted from the front."""
    return checked(inference, normalized_axes, inference.attr(name), ndim)


def array_like(
    info: TensorStructInfo,
    extents: Sequence[Any] | None,
    ndim: int = UNKNOWN_NDIM,
    dtype: DType | None = None,
) -> TensorStructInfo:
    """An array of another shape, on the same device.

    Args:
        info: the array.
        extents: the shape; None where only the rank is known.
        ndim: the rank, for unknown extents.
        dtype: of the elements; by default those of `info`.
    """
    kind = dtype or info.dtype
    if extents is None:
        return TensorStructInfo(None, kind, info.vdevice, ndim)
    return TensorStructInfo(ShapeExpr(extents), kind, info.vdevice)


def shape_argument(inference: Inference, position: int) -> ShapeStructInfo:
    """The struct info of argument `position`, a shape."""
    info = inference.struct_info(position)
    if not isinstance(info, ShapeStructInfo):
        inference.error(f"{inference.name_of(position)} must be a shape, it is {info!r}")
    return info


def result_dtype(dtype: Any) -> DType | None:
    """An optional dtype of a result; ``"void"`` stands for that of the inputs, as None does."""
    chosen = DType(dtype) if dtype else None
    return None if chosen == "void" else chosen


def scalar_argument(inference: Inference, position: int) -> Expr | None:
    """The value of argument `position`, a scalar; None if it is not known."""
    info = inference.struct_info(position)
    if not isinstance(info, PrimStructInfo):
        inference.error(f"{inference.name_of(position)} must be a scalar, it is {info!r}")
    return info.value


def require_value(inference: Inference, value: Any, dtype: DType) -> None:
    """Refuse a number that is no value of a dtype; an expression that is not known passes."""
    number: Any = value.value if isinstance(value, (IntImm, FloatImm)) else value
    if isinstance(number, Expr):
        return
    number = number.item() if hasattr(number, "item") else number  # a scalar of numpy
    whole = isinstance(number, int) or (isinstance(number, float) and number.is_integer())
    fits = dtype.is_float and isinstance(number, (int, float))
    fits = fits or (dtype.is_bool and whole and number in (0, 1))
    fits = fits or (dtype.is_integral and whole and dtype.min_int <= number <= dtype.max_int)
    if not fits:
        inference.error(f"{number!r} is no value of the dtype {dtype!s} of the array")


def integers(inference: Inference, position: int) -> TensorStructInfo:
    """The struct info of argument `position`, an array of integers."""
    info = inference.tensor(position)
    if info.dtype is not None and (not info.dtype.is_integral or info.dtype.is_bool):
        inference.error(
            f"{inference.name_of(position)} must have integers, it has {info.dtype!s}; convert it "
            "with astype"
        )
    return info
