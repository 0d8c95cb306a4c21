"""Elements in another order, and repeated, and what undoes that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright import topi
from tilewright.error import ArgumentValueError, ShapeError
from tilewright.ir.arithmetic import equal, select
from tilewright.ir.convert import cast
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr, is_const_int
from tilewright.relax.expr import Call, RelaxExpr, ShapeExpr, as_shape
from tilewright.relax.op.broadcasting import broadcast_extents, shape_of
from tilewright.relax.op.rules import (
    array_like,
    axes_of,
    axis_of,
    checked,
    require_value,
    requiring,
    shape_argument,
    sized,
)
from tilewright.relax.op.table import Inference, call, kernel, register
from tilewright.relax.struct_info import UNKNOWN_NDIM, StructInfo, TensorStructInfo
from tilewright.te.tensor import shape_text
from tilewright.tir.index_map import IndexMap
from tilewright.topi.reshape import number_of_elements
from tilewright.topi.shape import permutation, transform_by_map

__all__ = [
    "broadcast_to", "collapse_sum_like", "collapse_sum_to", "flip", "layout_transform",
    "permute_dims", "repeat", "tile",
]  # fmt: skip

# --- order ----------------------------------------------------------------------------------


def _infer_permute_dims(inference: Inference) -> StructInfo:
    info = inference.tensor(0)
    axes: Any = inference.attr("axes")
    if info.ndim == UNKNOWN_NDIM:
        return array_like(info, None, UNKNOWN_NDIM if axes is None else len(axes))
    order = checked(inference, permutation, axes, info.ndim)
    if info.extents is None:
        return array_like(info, None, info.ndim)
    return array_like(info, [info.extents[n] for n in order])


_PERMUTE_DIMS = register(
    "permute_dims", ("x",), _infer_permute_dims, kernel(topi.transpose, "axes")
)


def permute_dims(x: Any, axes: Sequence[int] | None = None) -> Call:
    """`x` with dimension ``axes[n]`` as dimension n; all reversed for None."""
    if axes is not None and not isinstance(axes, (tuple, list)):
        raise ArgumentValueError(f"R.permute_dims: axes are a list, got {axes!r}")
    return call(_PERMUTE_DIMS, x, attrs={"axes": None if axes is None else tuple(axes)})


def _infer_flip(inference: Inference) -> StructInfo:
    info = inference.tensor(0)
    if info.ndim != UNKNOWN_NDIM:
        axes_of(inference, info.ndim)
    return info


_FLIP = register("flip", ("data",), _infer_flip, kernel(topi.flip, "axis"))


def flip(data: Any, axis: int) -> Call:
    """`data` backwards along `axis`."""
    return call(_FLIP, data, attrs={"axis": axis})


def _infer_layout_transform(inference: Inference) -> StructInfo:
    info = inference.tensor(0)
    index_map: Any = inference.attr("index_map")
    wanted = len(index_map.initial_indices)
    if info.ndim not in (wanted, UNKNOWN_NDIM):
        inference.error(f"the index map is for {wanted} dimensions, the array has {info.ndim}")
    pad_value = inference.attr("pad_value")
    if pad_value is not None and info.dtype is not None:
        require_value(inference, pad_value, info.dtype)
    if info.extents is None:
        return array_like(info, None, len(index_map.final_indices))
    try:
        return array_like(info, index_map.map_shape(info.extents, inference.analyzer))
    except ArgumentValueError as error:
        inference.error(str(error))


def _legalize_layout_transform(builder: Any, expr: Call) -> Any:
    index_map, pad_value = expr.attrs["index_map"], expr.attrs["pad_value"]
    return builder.call_te(
        lambda x: transform_by_map(x, index_map, pad_value, index_map.map_shape(x.shape)),
        expr.args[0],
        primfunc_name_hint="layout_transform",
    )


_LAYOUT_TRANSFORM = register(
    "layout_transform", ("x",), _infer_layout_transform, _legalize_layout_transform
)


def layout_transform(
    x: Any,
    index_map: Any,
    pad_value: float | None = None,
    axis_separators: Any = None,
    input_axis_separators: Any = None,
) -> Call:
    """`x` with the elements where an index map says.

    Args:
        x: the array.
        index_map: from the old indices of an element to its new ones, as a function or an
            `IndexMap`.
        pad_value: what is put where no element goes, 0 by default.
        axis_separators: must be empty: arrays of graphs have one physical dimension.
        input_axis_separators: must be empty, too.
    """
    if axis_separators or input_axis_separators:
        raise ArgumentValueError("R.layout_transform: arrays of graphs have no axis separators")
    if not isinstance(index_map, IndexMap):
        index_map = IndexMap.from_func(index_map, index_dtype="int64")
    return call(_LAYOUT_TRANSFORM, x, attrs={"index_map": index_map, "pad_value": pad_value})


# --- repetition -----------------------------------------------------------------------------


def _infer_broadcast_to(inference: Inference) -> StructInfo:
    info, shape = inference.tensor(0), shape_argument(inference, 1)
    ranks = (info.ndim, shape.ndim)
    if UNKNOWN_NDIM not in ranks and info.ndim > shape.ndim:
        inference.error(f"an array of {info.ndim} dimensions cannot have {shape.ndim}")
    if info.extents is not None and shape.values is not None:
        try:
            broadcast_extents(info.extents, shape.values, inference.analyzer)
        except ShapeError as error:
            inference.error(str(error))
        aligned = shape.values[shape.ndim - info.ndim :]
        for extent, wanted in zip(info.extents, aligned, strict=True):
            if is_const_int(wanted, 1) and inference.differ(extent, wanted):
                inference.error(
                    f"shape {shape_text(info.extents)} cannot be repeated to "
                    f"{shape_text(shape.values)}"
                )
    return TensorStructInfo(inference.call.args[1], info.dtype, info.vdevice, shape.ndim)


_BROADCAST_TO = register(
    "broadcast_to", ("x", "shape"), _infer_broadcast_to, kernel(topi.broadcast_to)
)


def broadcast_to(x: Any, shape: Any) -> Call:
    """`x` repeated to `shape` along leading dimensions and those of extent 1."""
    return call(_BROADCAST_TO, x, as_shape(shape))


def _infer_repeat(inference: Inference) -> StructInfo:
    info = inference.tensor(0)
    repeats: Any = inference.attr("repeats")
    if inference.attr("axis") is None:
        if info.extents is None:
            return array_like(info, None, 1)
        total = number_of_elements(info.extents) * repeats
        return array_like(info, [inference.analyzer.simplify(total)])
    if info.ndim == UNKNOWN_NDIM:
        return info
    axis = axis_of(inference, info.ndim)
    if info.extents is None:
        return array_like(info, None, info.ndim)
    longer = inference.analyzer.simplify(info.extents[axis] * repeats)
    return array_like(info, [longer if n == axis else e for n, e in enumerate(info.extents)])


_REPEAT = register("repeat", ("data",), _infer_repeat, kernel(topi.repeat, "repeats", "axis"))


def repeat(data: Any, repeats: int, axis: int | None = None) -> Call:
    """Each element `repeats` times along `axis`; of all elements in a row for None."""
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 0:
        raise ArgumentValueError(f"R.repeat: repeats is a number that is >= 0, got {repeats!r}")
    return call(_REPEAT, data, attrs={"repeats": repeats, "axis": axis})


def _infer_tile(inference: Inference) -> StructInfo:
    info = inference.tensor(0)
    repeats: Any = inference.attr("repeats")
    if info.ndim == UNKNOWN_NDIM:
        return info
    rank = max(info.ndim, len(repeats))
    if info.extents is None:
        return array_like(info, None, rank)
    extents: list[Expr] = [cast(INT64, 1)] * (rank - info.ndim) + list(info.extents)
    times = [1] * (rank - len(repeats)) + list(repeats)
    simplify = inference.analyzer.simplify
    return array_like(info, [simplify(e * t) for e, t in zip(extents, times, strict=True)])


_TILE = register("tile", ("data",), _infer_tile, kernel(topi.tile, "repeats"))


def tile(data: Any, repeats: int | Sequence[int]) -> Call:
    """`data` side by side with itself, ``repeats[n]`` times along dimension n from the last."""
    times = tuple(repeats) if isinstance(repeats, (tuple, list)) else (repeats,)
    for number in times:
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise ArgumentValueError(f"R.tile: repeats are numbers >= 0, got {repeats!r}")
    return call(_TILE, data, attrs={"repeats": times})


# --- sums over what broadcasting repeated ---------------------------------------------------


def _infer_collapse(inference: Inference) -> StructInfo:
    info = inference.tensor(0)
    if info.dtype is not None and info.dtype.is_bool:
        inference.error(f"{inference.name_of(0)} must have numbers, it has bool")
    target: Any = inference.call.args[1]
    if inference.call.op is _COLLAPSE_SUM_LIKE:
        known = inference.tensor(1)
        shape, extents, ndim = known.shape, known.extents, known.ndim
    else:
        declared = shape_argument(inference, 1)
        shape, extents, ndim = target, declared.values, declared.ndim
    if info.extents is not None and extents is not None:
        try:
            whole = broadcast_extents(info.extents, extents, inference.analyzer)
        except ShapeError as error:
            inference.error(str(error))
        if len(whole) != info.ndim:
            inference.error(f"{ndim} dimensions do not broadcast to {info.ndim}")
    return TensorStructInfo(shape, info.dtype, info.vdevice, ndim)


def _legalize_collapse_sum_to(builder: Any, expr: Call) -> Any:
    data, shape = expr.args
    if isinstance(shape, ShapeExpr):
        data = _collapsible(builder, data, shape)
    return builder.call_te(topi.collapse_sum, data, shape, primfunc_name_hint="collapse_sum")


def _legalize_collapse_sum_like(builder: Any, expr: Call) -> Any:
    shape = shape_of(builder, expr.args[1])
    assert isinstance(shape, ShapeExpr)
    data = _collapsible(builder, expr.args[0], shape)
    return builder.call_te(topi.collapse_sum, data, shape, primfunc_name_hint="collapse_sum")


def _collapsible(builder: Any, data: RelaxExpr, shape: ShapeExpr) -> RelaxExpr:
    """`data`, with a check that `shape` broadcasts to its shape, unless that is known."""
    data, extents = sized(builder, data)
    offset = len(extents) - len(shape.values)
    wanted = {
        n: select(equal(target, 1), extents[n], target)
        for n, target in enumerate(shape.values, offset)
        if not is_const_int(target, 1)
    }
    return requiring(builder, data, wanted)


_COLLAPSE_SUM_TO = register(
    "collapse_sum_to", ("data", "shape"), _infer_collapse, _legalize_collapse_sum_to
)
_COLLAPSE_SUM_LIKE = register(
    "collapse_sum_like", ("data", "collapse_target"), _infer_collapse, _legalize_collapse_sum_like
)


def collapse_sum_to(data: Any, shape: Any) -> Call:
    """The sum of what broadcasting from `shape` to the shape of `data` made copies of."""
    return call(_COLLAPSE_SUM_TO, data, as_shape(shape))


def collapse_sum_like(data: Any, collapse_target: Any) -> Call:
    """`collapse_sum_to` the shape of another array."""
    return call(_COLLAPSE_SUM_LIKE, data, collapse_target)
