"""Shapes as values, and the same elements in the same order in another shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright import topi
from tilewright.error import ArgumentError
from tilewright.ir.arithmetic import select
from tilewright.ir.convert import const
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr, IntImm, is_const_int
from tilewright.relax.expr import Call, Constant, RelaxExpr, ShapeExpr
from tilewright.relax.op.rules import array_like, axes_of, checked, shape_argument
from tilewright.relax.op.table import Inference, call, register
from tilewright.relax.struct_info import UNKNOWN_NDIM, ShapeStructInfo, StructInfo, TensorStructInfo
from tilewright.te.tensor import extent_text
from tilewright.topi.reshape import is_minus_one, number_of_elements, reshaped


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


# --- reshape --------------------------------------------------------------------------------


def _infer_reshape(inference: Inference) -> StructInfo:
    info, shape = inference.tensor(0), shape_argument(inference, 1)
    target = inference.call.args[1]
    if info.extents is not None and shape.values is not None:
        checked(inference, reshaped, info.extents, shape.values, inference.analyzer)
        total, wanted = number_of_elements(info.extents), number_of_elements(shape.values)
        if inference.differ(total, wanted):
            inference.error(
                f"the array has {extent_text(total)} elements, the shape {extent_text(wanted)}"
            )
    return TensorStructInfo(target, info.dtype, info.vdevice, shape.ndim)


def _legalize_reshape(builder: Any, expr: Call) -> Any:
    data = _with_elements_of(builder, expr.args[0], expr.args[1])
    return builder.call_te(topi.reshape, data, expr.args[1], primfunc_name_hint="reshape")


def _with_elements_of(builder: Any, data: RelaxExpr, shape: RelaxExpr) -> RelaxExpr:
    """`data`, with a check that it has the number of elements of `shape`, unless that is known."""
    info = data.struct_info
    assert isinstance(info, TensorStructInfo)
    if info.extents is None or not isinstance(shape, ShapeExpr):
        return data
    total, wanted = number_of_elements(info.extents), number_of_elements(shape.values)
    if not info.extents or builder.analyzer.can_prove_equal(total, wanted):
        return data
    # No array has an extent of -1.
    first = select(total == wanted, info.extents[0], const(-1, INT64))
    guarded = info.replace(shape=ShapeExpr((first, *info.extents[1:])))
    return builder.match_cast(builder.match_cast(data, guarded), info)


_RESHAPE = register("reshape", ("x", "shape"), _infer_reshape, _legalize_reshape, is_view=True)


def reshape(x: Any, shape: Any) -> Call:
    """`x` in another shape, with the elements in the same row-major order.

    Args:
        x: the array.
        shape: the extents; one may be -1 for what is left, if the shape of `x` is known.
    """
    if isinstance(shape, ShapeExpr):
        shape = shape.values
    if not isinstance(shape, RelaxExpr):
        listed = list(shape) if isinstance(shape, (tuple, list)) else [shape]
        shape = ShapeExpr(_without_minus_one(x, listed))
    return call(_RESHAPE, x, shape)


def _without_minus_one(x: Any, shape: Sequence[Any]) -> Sequence[Any]:
    if not any(is_minus_one(extent) for extent in shape):
        return shape
    info = getattr(x, "struct_info", None)
    extents = info.extents if isinstance(info, TensorStructInfo) else None
    if extents is None:
        raise ArgumentError(
            "R.reshape: an extent of -1 needs an array of known shape; bind the array to a "
            "variable first, or give all extents"
        )
    return reshaped("R.reshape", extents, list(shape))


# --- dimensions of extent 1 -----------------------------------------------------------------


def _infer_expand_dims(inference: Inference) -> StructInfo:
    info = inference.tensor(0)
    if info.ndim == UNKNOWN_NDIM:
        return info.replace(shape=None)
    axis: Any = inference.attr("axis")
    count = len(axis) if isinstance(axis, tuple) else 1
    rank = info.ndim + count
    places = axes_of(inference, rank)
    if info.extents is None:
        return array_like(info, None, rank)
    rest = iter(info.extents)
    one = const(1, INT64)
    return array_like(info, [one if n in places else next(rest) for n in range(rank)])


def _legalize_expand_dims(builder: Any, expr: Call) -> Any:
    axes = expr.attrs["axis"]
    axes = axes if isinstance(axes, tuple) else (axes,)
    return builder.call_te(topi.expand_dims, expr.args[0], axes, primfunc_name_hint="expand_dims")


_EXPAND_DIMS = register(
    "expand_dims", ("x",), _infer_expand_dims, _legalize_expand_dims, is_view=True
)


def expand_dims(x: Any, axis: int | Sequence[int]) -> Call:
    """`x` with new dimensions of extent 1, which are dimensions `axis` of the result."""
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else axis
    return call(_EXPAND_DIMS, x, attrs={"axis": axes})


def _infer_squeeze(inference: Inference) -> StructInfo:
    info = inference.tensor(0)
    axis = inference.attr("axis")
    if info.ndim == UNKNOWN_NDIM or (axis is None and info.extents is None):
        return TensorStructInfo(None, info.dtype, info.vdevice)
    if axis is None:
        assert info.extents is not None
        return array_like(info, [e for e in info.extents if not is_const_int(e, 1)])
    dropped = axes_of(inference, info.ndim)
    if info.extents is None:
        return array_like(info, None, info.ndim - len(dropped))
    for n in dropped:
        extent = info.extents[n]
        if inference.differ(extent, const(1, INT64)):
            inference.error(
                f"dimension {n} has extent {extent_text(extent)}, only extents of 1 can go"
            )
    return array_like(info, [e for n, e in enumerate(info.extents) if n not in dropped])


def _legalize_squeeze(builder: Any, expr: Call) -> Any:
    data, axis = expr.args[0], expr.attrs["axis"]
    info = data.struct_info
    assert isinstance(info, TensorStructInfo)
    if axis is not None and info.extents is not None:
        data = _with_ones(builder, data, info, info.extents, axis)
    return builder.call_te(topi.squeeze, data, axis, primfunc_name_hint="squeeze")


def _with_ones(
    builder: Any, data: RelaxExpr, info: TensorStructInfo, extents: tuple[Expr, ...], axis: Any
) -> RelaxExpr:
    """`data`, with a check that the dimensions `axis` have extent 1, unless that is known."""
    axes = {n % info.ndim for n in (axis if isinstance(axis, tuple) else (axis,))}
    wanted = [const(1, INT64) if n in axes else extent for n, extent in enumerate(extents)]
    if all(isinstance(extents[n], IntImm) for n in axes):
        return data
    return builder.match_cast(data, info.replace(shape=ShapeExpr(wanted)))


_SQUEEZE = register("squeeze", ("x",), _infer_squeeze, _legalize_squeeze, is_view=True)


def squeeze(x: Any, axis: int | Sequence[int] | None = None) -> Call:
    """`x` without the dimensions `axis`, which have extent 1; without all such for None."""
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else axis
    return call(_SQUEEZE, x, attrs={"axis": axes})


# --- flatten --------------------------------------------------------------------------------


def _infer_flatten(inference: Inference) -> StructInfo:
    info = inference.tensor(0)
    if info.extents is None:
        return array_like(info, None, 1)
    return array_like(info, [inference.analyzer.simplify(number_of_elements(info.extents))])


def _legalize_flatten(builder: Any, expr: Call) -> Any:
    return builder.call_te(
        lambda x: topi.reshape(x, (number_of_elements(x.shape),)),
        expr.args[0],
        primfunc_name_hint="reshape",
    )


_FLATTEN = register("flatten", ("x",), _infer_flatten, _legalize_flatten, is_view=True)


def flatten(x: Any) -> Call:
    """All elements of `x` in a row."""
    return call(_FLATTEN, x)
