"""Parts of arrays, and elements at places that other arrays say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright import topi
from tilewright.error import ArgumentError
from tilewright.ir.convert import const
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.relax.expr import Call, RelaxExpr, ShapeExpr, Tuple
from tilewright.relax.op.broadcasting import with_extents
from tilewright.relax.op.rules import (
    agreeing,
    array_like,
    axis_of,
    checked,
    integers,
    require_elements,
    sized,
    with_elements,
)
from tilewright.relax.op.table import Inference, call, register
from tilewright.relax.op.view import tensor_to_shape
from tilewright.relax.struct_info import (
    UNKNOWN_NDIM,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tilewright.te.compute import compute
from tilewright.te.tensor import Tensor
from tilewright.topi.indexing import check_mode
from tilewright.topi.slicing import dynamic_slice_extents, slices

# --- take -----------------------------------------------------------------------------------


def _infer_take(inference: Inference) -> StructInfo:
    info = inference.tensor(0)
    checked(inference, check_mode, inference.attr("mode"))
    if isinstance(inference.struct_info(1), PrimStructInfo):
        places: tuple[Expr, ...] | None = ()
        rank = 0
    else:
        indices = integers(inference, 1)
        places, rank = indices.extents, indices.ndim
    if inference.attr("axis") is None:
        if info.extents is not None and places is not None:
            require_elements(inference, info.extents, range(info.ndim), places)
        return array_like(info, places, rank)
    if info.ndim == UNKNOWN_NDIM:
        return array_like(info, None)
    axis = axis_of(inference, info.ndim)
    if info.extents is None or places is None:
        unknown = rank == UNKNOWN_NDIM
        return array_like(info, None, UNKNOWN_NDIM if unknown else info.ndim - 1 + rank)
    require_elements(inference, info.extents, [axis], places)
    return array_like(info, (*info.extents[:axis], *places, *info.extents[axis + 1 :]))


def _legalize_take(builder: Any, expr: Call) -> Any:
    axis: Any = expr.attrs["axis"]
    mode = expr.attrs["mode"]
    x, extents = sized(builder, expr.args[0])
    axes = range(len(extents)) if axis is None else [axis % len(extents)]
    indices, places = expr.args[1], ()
    if isinstance(indices.struct_info, TensorStructInfo):
        indices, places = sized(builder, indices)
    x = with_elements(builder, x, axes, places)

    def take_at(x: Tensor, index: Any) -> Tensor:
        where = index if isinstance(index, Tensor) else compute((), lambda: index, "index")
        return topi.take(x, where, axis, mode=mode)

    return builder.call_te(take_at, x, indices, primfunc_name_hint="take")


_TAKE = register("take", ("x", "indices"), _infer_take, _legalize_take)


def take(x: Any, indices: Any, axis: int | None = None, mode: str = "clip") -> Call:
    """The elements of `x` at `indices` along `axis`.

    Args:
        x: the array.
        indices: integers of any shape, which stands in the result in place of the dimension; or
            one scalar.
        axis: the dimension; None for the place among all elements.
        mode: what indices outside of the dimension are: ``"clip"`` for the nearest element,
            ``"wrap"`` for the place modulo the extent, ``"fast"`` if there are none.
    """
    return call(_TAKE, x, indices, attrs={"axis": axis, "mode": mode})


# --- slices ---------------------------------------------------------------------------------


def _scalars(inference: Inference, position: int) -> list[Expr | None]:
    """The values of a tuple of scalars; None for those that are not known."""
    info = inference.struct_info(position)
    fields = info.fields if isinstance(info, TupleStructInfo) else ()
    if not isinstance(info, TupleStructInfo) or not all(
        isinstance(field, PrimStructInfo) for field in fields
    ):
        inference.error(f"{inference.name_of(position)} must be a tuple of scalars, it is {info!r}")
    return [field.value for field in fields if isinstance(field, PrimStructInfo)]


def _infer_strided_slice(inference: Inference) -> StructInfo:
    info = inference.tensor(0)
    bounds = [_scalars(inference, position) for position in range(1, len(inference.call.args))]
    if info.extents is None or any(value is None for values in bounds for value in values):
        return array_like(info, None, info.ndim)
    axes, begin, end, *strides = bounds
    parts = checked(
        inference, slices, info.extents, begin, end, strides[0] if strides else None, axes,
        inference.attr("assume_inbound"), "end", inference.analyzer,
    )  # fmt: skip
    return array_like(
        info, [parts[n].extent if n in parts else e for n, e in enumerate(info.extents)]
    )


def _legalize_strided_slice(builder: Any, expr: Call) -> Any:
    inbound = bool(expr.attrs["assume_inbound"])

    def part(x: Tensor, axes: Any, begin: Any, end: Any, strides: Any = None) -> Tensor:
        return topi.strided_slice(x, begin, end, strides, axes, assume_inbound=inbound)

    return builder.call_te(part, *expr.args, primfunc_name_hint="strided_slice")


_STRIDED_SLICE = register(
    "strided_slice", ("x", "axes", "begin", "end", "strides*"),
    _infer_strided_slice, _legalize_strided_slice,
)  # fmt: skip


def strided_slice(
    x: Any,
    axes: Sequence[Any],
    begin: Sequence[Any],
    end: Sequence[Any],
    strides: Sequence[Any] | None = None,
    assume_inbound: bool = False,
) -> Call:
    """The part ``begin:end:strides`` of some dimensions, with the meaning that it has in Python.

    Args:
        x: the array.
        axes: the dimensions.
        begin: the first index of each; negative ones count from the end.
        end: where to stop.
        strides: the distance of two elements, 1 by default.
        assume_inbound: whether bounds of symbolic dimensions are known to be inside of them.
    """
    operands = [axes, begin, end] + ([] if strides is None else [strides])
    for operand in operands:
        if not isinstance(operand, (RelaxExpr, tuple, list)):
            raise ArgumentError(
                "R.strided_slice: axes, begin, end and strides are lists with one entry for each "
                f"axis, got {operand!r}"
            )
    tuples = [o if isinstance(o, RelaxExpr) else Tuple(list(o)) for o in operands]
    return call(_STRIDED_SLICE, x, *tuples, attrs={"assume_inbound": bool(assume_inbound)})


def _infer_dynamic_strided_slice(inference: Inference) -> StructInfo:
    info = inference.tensor(0)
    for position in (1, 2, 3):
        bounds = integers(inference, position)
        if bounds.ndim not in (1, UNKNOWN_NDIM) or bounds.dtype not in (INT64, None):
            inference.error(f"{inference.name_of(position)} must be a vector of int64")
        if bounds.extents is not None and isinstance(bounds.extents[0], IntImm):
            count = bounds.extents[0].value
            if info.ndim not in (count, UNKNOWN_NDIM):
                inference.error(
                    f"{inference.name_of(position)} has {count} elements for {info.ndim} dimensions"
                )
    return array_like(info, None, info.ndim)


def _legalize_dynamic_strided_slice(builder: Any, expr: Call) -> Any:
    x = with_extents(builder, expr.args[0])
    info = x.struct_info
    assert isinstance(info, TensorStructInfo)
    rank = const(info.ndim, INT64)
    bounds = [agreeing(builder, bound, {0: rank}) for bound in expr.args[1:]]
    extents = builder.emit(
        builder.call_te(
            lambda a, *bounds: dynamic_slice_extents(a.shape, *bounds),
            x, *bounds, primfunc_name_hint="slice_shape",
        )
    )  # fmt: skip
    sizes = [Var(f"s{n}", INT64) for n in range(info.ndim)]
    shape = builder.emit(tensor_to_shape(extents))
    builder.match_cast(shape, ShapeStructInfo(sizes))
    return builder.call_te(
        topi.dynamic_strided_slice, x, *bounds, ShapeExpr(sizes),
        primfunc_name_hint="dynamic_strided_slice",
    )  # fmt: skip


_DYNAMIC_STRIDED_SLICE = register(
    "dynamic_strided_slice", ("x", "begin", "end", "strides"),
    _infer_dynamic_strided_slice, _legalize_dynamic_strided_slice,
)  # fmt: skip


def dynamic_strided_slice(x: Any, begin: Any, end: Any, strides: Any) -> Call:
    """The part ``begin:end:strides`` of `x`, where each is a vector of int64, one per axis."""
    return call(_DYNAMIC_STRIDED_SLICE, x, begin, end, strides)
