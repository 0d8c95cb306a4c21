"""Operators whose results have sizes that depend on elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright import topi
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Var as Size
from tilewright.relax.expr import Call, Tuple
from tilewright.relax.op.base import call_pure_packed
from tilewright.relax.op.rules import array_like, axis_of, sized
from tilewright.relax.op.table import Inference, call, register
from tilewright.relax.op.view import tensor_to_shape
from tilewright.relax.struct_info import (
    UNKNOWN_NDIM,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tilewright.runtime.ndarray import array
from tilewright.runtime.registry import register_func
from tilewright.topi.distinct import (
    run_begins,
    run_lengths,
    run_of_each,
    run_order,
    run_places,
)
from tilewright.topi.reshape import number_of_elements

__all__ = ["nonzero", "unique"]


def _infer_nonzero(inference: Inference) -> StructInfo:
    info = inference.tensor(0)
    return TensorStructInfo(None, INT64, info.vdevice, 2)


def _legalize_nonzero(builder: Any, expr: Call) -> Any:
    x, _ = sized(builder, expr.args[0])
    return _places(builder, x, expr.attrs["rows"])


def _places(builder: Any, x: Any, rows: bool = False) -> Any:
    """The call that finds the elements of `x` that are not 0, after they have been counted."""
    number = builder.emit_te(topi.count_nonzero, x, primfunc_name_hint="count_nonzero")
    count = Size("count", INT64)
    builder.match_cast(builder.emit(tensor_to_shape(number)), ShapeStructInfo([count]))
    return builder.call_te(topi.nonzero, x, count, rows, primfunc_name_hint="nonzero")


_NONZERO = register("nonzero", ("x",), _infer_nonzero, _legalize_nonzero)


def nonzero(x: Any, rows: bool = False) -> Call:
    """Where the elements of `x` are that are not 0, as int64.

    Args:
        x: the array.
        rows: whether the result has a row for each element; otherwise it has a row for each
            dimension, and a column for each element.
    """
    return call(_NONZERO, x, attrs={"rows": bool(rows)})


_FLAGS = ("return_index", "return_inverse", "return_counts")


def _infer_unique(inference: Inference) -> StructInfo:
    info = inference.tensor(0)
    axis = inference.attr("axis")
    if axis is not None and info.ndim != UNKNOWN_NDIM:
        axis_of(inference, info.ndim)
    values = array_like(info, None, 1 if axis is None else info.ndim)
    places = TensorStructInfo(None, INT64, info.vdevice, 1)
    extra = [places for flag in _FLAGS if inference.attr(flag)]
    return TupleStructInfo([values, *extra]) if extra else values


def _legalize_unique(builder: Any, expr: Call) -> Any:
    attrs = expr.attrs
    if attrs["axis"] is not None:
        return _unique_parts(expr)

    def emit(function: Any, *args: Any) -> Any:
        return builder.emit_te(function, *args, primfunc_name_hint=function.__name__)

    x, extents = sized(builder, expr.args[0])
    flat = x if len(extents) == 1 else emit(topi.reshape, x, [number_of_elements(extents)])
    order = emit(run_order, flat)
    begins = emit(run_begins, flat, order, attrs["equal_nan"])
    starts = builder.emit(_places(builder, begins))
    first = emit(run_places, order, starts)
    appearance = None if attrs["sorted"] else emit(topi.argsort, first, None, 0, 1, "int64")

    def shown(part: Any) -> Any:
        return part if appearance is None else emit(topi.take, part, appearance)

    first = shown(first)
    parts = [emit(topi.take, flat, first)]
    if attrs["return_index"]:
        parts.append(first)
    if attrs["return_inverse"]:
        run = emit(run_of_each, order, begins)
        if appearance is not None:
            run = emit(topi.take, emit(topi.invert_permutation, appearance), run)
        parts.append(run)
    if attrs["return_counts"]:
        parts.append(shown(emit(run_lengths, order, starts)))
    return parts[0] if len(parts) == 1 else Tuple(parts)


def _unique_parts(expr: Call) -> Any:
    """The call of a registered function that compares whole parts of an array."""
    info = expr.args[0].struct_info
    assert isinstance(info, TensorStructInfo)
    options = [int(bool(expr.attrs[flag])) for flag in ("sorted", *_FLAGS, "equal_nan")]
    axis = expr.attrs["axis"] % info.ndim
    return call_pure_packed(
        "relax.unique", expr.args[0], *options, axis, sinfo_args=expr.struct_info
    )


@register_func("relax.unique")
def _unique(
    data: Any, is_sorted: int, index: int, inverse: int, counts: int, equal_nan: int, axis: int
) -> Any:
    values, first, where, times = np.unique(
        data.numpy(), True, True, True, axis=axis, equal_nan=bool(equal_nan)
    )
    if not is_sorted:
        order = np.argsort(first)
        values, first, times = values.take(order, axis), first[order], times[order]
        where = np.argsort(order)[where]
    places = [
        place for place, wanted in ((first, index), (where, inverse), (times, counts)) if wanted
    ]
    if not places:
        return array(values)
    return [array(values), *(array(place.reshape(-1).astype("int64")) for place in places)]


_UNIQUE = register("unique", ("x",), _infer_unique, _legalize_unique)


def unique(
    x: Any,
    sorted: bool = True,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    equal_nan: bool = True,
) -> Call:
    """The different elements of `x`.

    Args:
        x: the array.
        sorted: whether they are in ascending order; otherwise each is where it is first in `x`.
        return_index: whether to return where each one is first, too.
        return_inverse: whether to return which of them each element is, too.
        return_counts: whether to return how often each one occurs, too.
        axis: the dimension along which parts of `x` are compared; None for its elements.
        equal_nan: whether all NaNs are one element; otherwise each is one of its own.
    """
    attrs = {
        "sorted": bool(sorted),
        "return_index": bool(return_index),
        "return_inverse": bool(return_inverse),
        "return_counts": bool(return_counts),
        "axis": axis,
        "equal_nan": bool(equal_nan),
    }
    return call(_UNIQUE, x, attrs=attrs)
