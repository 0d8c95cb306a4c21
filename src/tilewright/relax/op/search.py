"""Choosing elements, and where the largest and smallest ones are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright import topi
from tilewright.ir.convert import const
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr, is_const_int
from tilewright.relax.expr import Call
from tilewright.relax.op.agreement import at_least, require_at_least, sized
from tilewright.relax.op.broadcasting import (
    broadcast_info,
    call_broadcasting,
    operand_dtype,
    with_numbers,
)
from tilewright.relax.op.inference import Inference
from tilewright.relax.op.table import call, register
from tilewright.relax.op.unary import is_number
from tilewright.relax.struct_info import UNKNOWN_NDIM, TensorStructInfo

# --- where ----------------------------------------------------------------------------------


def _infer_where(inference: Inference) -> TensorStructInfo:
    condition = inference.tensor(0)
    if condition.dtype is not None and not condition.dtype.is_bool:
        inference.error(
            f"argument `condition` must have dtype bool, it has {condition.dtype!s}; compare it "
            "with not_equal"
        )
    return broadcast_info(inference, (0, 1, 2), operand_dtype(inference, (1, 2)))


def _legalize_where(builder: Any, expr: Call) -> Any:
    dtype = expr.struct_info.dtype  # type: ignore[union-attr]  # that of the condition is bool
    return call_broadcasting(builder, expr, topi.where, "where", (0, 1, 2), dtype)


_WHERE = register("where", ("condition", "x1", "x2"), _infer_where, _legalize_where)


def where(condition: Any, x1: Any, x2: Any) -> Call:
    """`x1` where `condition` holds, else `x2`; all of them broadcast.

    A Python number takes the dtype of the other one.
    """
    return call(_WHERE, condition, *with_numbers(x1, x2))


# --- argmax, argmin -------------------------------------------------------------------------


def _infer_place(inference: Inference) -> TensorStructInfo:
    info = inference.tensor(0)
    axis, keepdims = inference.call.attrs.get("axis"), inference.call.attrs["keepdims"]
    if info.dtype is not None and not is_number(info.dtype):
        inference.error(f"argument `x` must have numbers, it has {info.dtype!s}")
    if info.ndim == UNKNOWN_NDIM:
        ndim = 0 if axis is None and not keepdims else UNKNOWN_NDIM
        return TensorStructInfo(() if ndim == 0 else None, INT64, info.vdevice, ndim)
    reduced = range(info.ndim) if axis is None else [inference.axis(axis, info.ndim)]
    if info.extents is not None:
        _require_elements(inference, info.extents, reduced)
    if info.extents is None:
        ndim = info.ndim if keepdims else info.ndim - len(reduced)
        return TensorStructInfo(None, INT64, info.vdevice, ndim)
    one = const(1, INT64)
    shape = [one if n in reduced else e for n, e in enumerate(info.extents)]
    if not keepdims:
        shape = [e for n, e in enumerate(info.extents) if n not in reduced]
    return TensorStructInfo(shape, INT64, info.vdevice)


def _require_elements(
    inference: Inference, extents: Sequence[Expr], reduced: Sequence[int]
) -> None:
    """Nothing has no largest element; an empty result needs none."""
    if not any(is_const_int(e, 0) for n, e in enumerate(extents) if n not in reduced):
        require_at_least(inference, 0, extents, dict.fromkeys(reduced, 1))


def _place(name: str, kernel: Callable[..., Any]) -> Callable[[Any, int | None, bool], Call]:
    def legalize(builder: Any, expr: Call) -> Any:
        x, extents = sized(builder, expr.args[0])
        axis, ndim = expr.attrs.get("axis"), len(extents)
        if not any(is_const_int(extent, 0) for extent in extents):
            reduced = range(ndim) if axis is None else [axis % ndim]
            x = at_least(builder, x, dict.fromkeys(reduced, 1))
        return builder.call_te(
            kernel, x, axis, expr.attrs["keepdims"], dtype="int64", primfunc_name_hint=name
        )

    op = register(name, ("x",), _infer_place, legalize)

    def make(x: Any, axis: int | None, keepdims: bool) -> Call:
        attrs: dict[str, Any] = {"keepdims": bool(keepdims)}
        if axis is not None:
            attrs["axis"] = int(axis)
        return call(op, x, attrs=attrs)

    return make


_ARGMAX, _ARGMIN = _place("argmax", topi.argmax), _place("argmin", topi.argmin)


def argmax(x: Any, axis: int | None = None, keepdims: bool = False) -> Call:
    """Where the first of the largest elements is, as int64; a NaN counts as the largest.

    The same as numpy's `argmax`, also of equal elements and in every schedule.

    Args:
        x: the array.
        axis: along which dimension; None for the place among all elements in a row.
        keepdims: whether the dimension stays, with extent 1.
    """
    return _ARGMAX(x, axis, keepdims)


def argmin(x: Any, axis: int | None = None, keepdims: bool = False) -> Call:
    """Where the first of the smallest elements is, or the first NaN; see `argmax`."""
    return _ARGMIN(x, axis, keepdims)
