"""Sorting, the largest elements, and distinct elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright import topi
from tilewright.error import ArgumentError, require_one_of
from tilewright.ir.convert import const
from tilewright.ir.dtype import INT64, DType
from tilewright.relax.expr import Call
from tilewright.relax.op.base import call_pure_packed
from tilewright.relax.op.rules import array_like, at_least, axis_of, sized
from tilewright.relax.op.table import Inference, call, register
from tilewright.relax.op.unary import infer_same, is_number
from tilewright.relax.struct_info import UNKNOWN_NDIM, StructInfo, TensorStructInfo, TupleStructInfo
from tilewright.runtime.ndarray import array
from tilewright.runtime.registry import register_func
from tilewright.te.tensor import extent_text

__all__ = ["argsort", "nonzero", "sort", "topk", "unique"]


def _infer_same(inference: Inference) -> TensorStructInfo:
    info = infer_same(inference, is_number, "numbers")
    if info.ndim != UNKNOWN_NDIM:
        inference.axis(inference.call.attrs["axis"], info.ndim)
    dtype = inference.attr("dtype") or info.dtype
    return TensorStructInfo(info.shape, dtype, info.vdevice, info.ndim)


def _legalize_sort(builder: Any, expr: Call) -> Any:
    attrs = expr.attrs
    return builder.call_te(
        topi.sort, expr.args[0], attrs["axis"], not attrs["descending"], primfunc_name_hint="sort"
    )


_SORT = register("sort", ("x",), _infer_same, _legalize_sort)


def sort(x: Any, axis: int = -1, descending: bool = False) -> Call:
    """The elements in order along `axis`; a NaN counts as larger than all numbers."""
    return call(_SORT, x, attrs={"axis": int(axis), "descending": bool(descending)})


def _legalize_argsort(builder: Any, expr: Call) -> Any:
    attrs = expr.attrs
    return builder.call_te(
        topi.argsort, expr.args[0], None, attrs["axis"], not attrs["descending"],
        str(attrs["dtype"]), primfunc_name_hint="argsort",
    )  # fmt: skip


_ARGSORT = register("argsort", ("data",), _infer_same, _legalize_argsort)


def argsort(data: Any, axis: int = -1, descending: bool = False, dtype: str = "int32") -> Call:
    """Where the elements are, in the order of `sort`; equal elements stay in their order."""
    attrs = {"axis": int(axis), "descending": bool(descending), "dtype": DType(dtype)}
    return call(_ARGSORT, data, attrs=attrs)


def _infer_topk(inference: Inference) -> StructInfo:
    info, attrs = infer_same(inference, is_number, "numbers"), inference.call.attrs
    if info.ndim != UNKNOWN_NDIM:
        inference.axis(attrs["axis"], info.ndim)
    shape: Any = None
    if info.extents is not None:
        axis = attrs["axis"] % info.ndim
        shape = list(info.extents)
        if attrs["k"] >= 1:
            count = const(attrs["k"], INT64)
            if inference.analyzer.can_prove(shape[axis] < count):
                inference.error(f"{attrs['k']} elements are wanted of {extent_text(shape[axis])}")
            shape[axis] = count
    values, places = (
        TensorStructInfo(shape, dtype, info.vdevice, info.ndim)
        for dtype in (info.dtype, attrs["dtype"])
    )
    if attrs["ret_type"] == "both":
        return TupleStructInfo([values, places])
    return values if attrs["ret_type"] == "values" else places


def _legalize_topk(builder: Any, expr: Call) -> Any:
    attrs = expr.attrs
    data, extents = sized(builder, expr.args[0])
    data = at_least(builder, data, {attrs["axis"] % len(extents): attrs["k"]})
    return builder.call_te(
        topi.topk, data, attrs["k"], attrs["axis"], attrs["ret_type"],
        not attrs["largest"], str(attrs["dtype"]), primfunc_name_hint="topk",
    )  # fmt: skip


_TOPK = register("topk", ("data",), _infer_topk, _legalize_topk)


def topk(
    data: Any, k: int = 1, axis: int = -1, ret_type: str = "both", largest: bool = True,
    dtype: str = "int32",
) -> Call:  # fmt: skip
    """The `k` largest elements along `axis` in order, and where they are.

    Args:
        data: the array.
        k: how many; less than 1 for all.
        axis: the dimension.
        ret_type: ``"both"`` for a tuple of both, ``"values"`` or ``"indices"`` for one of them.
        largest: whether the largest ones are wanted, not the smallest ones.
        dtype: of the places.
    """
    require_one_of("R.topk: `ret_type`", ret_type, ("both", "values", "indices"))
    if not isinstance(k, int):
        raise ArgumentError(f"R.topk: `k` is an integer, got {k!r}")
    attrs = {
        "k": k, "axis": int(axis), "ret_type": ret_type, "largest": bool(largest),
        "dtype": DType(dtype),
    }  # fmt: skip
    return call(_TOPK, data, attrs=attrs)


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
    del builder
    axis = expr.attrs["axis"]
    options = [int(bool(expr.attrs[flag])) for flag in ("sorted", *_FLAGS)]
    # No dimension is called -1 any more: None has no value of its own among the arguments.
    info = expr.args[0].struct_info
    assert isinstance(info, TensorStructInfo)
    number = -1 if axis is None else axis % info.ndim
    return call_pure_packed(
        "relax.unique", expr.args[0], *options, number, sinfo_args=expr.struct_info
    )


@register_func("relax.unique")
def _unique(data: Any, is_sorted: int, index: int, inverse: int, counts: int, axis: int) -> Any:
    values, first, where, times = np.unique(
        data.numpy(), True, True, True, axis=None if axis < 0 else axis
    )
    if not is_sorted:
        order = np.argsort(first)
        values, first, times = values.take(order, max(axis, 0)), first[order], times[order]
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
) -> Call:
    """The different elements of `x`.

    Args:
        x: the array.
        sorted: whether they are in ascending order; otherwise each is where it is first in `x`.
        return_index: whether to return where each one is first, too.
        return_inverse: whether to return which of them each element is, too.
        return_counts: whether to return how often each one occurs, too.
        axis: the dimension along which parts of `x` are compared; None for its elements.
    """
    attrs = {
        "sorted": bool(sorted),
        "return_index": bool(return_index),
        "return_inverse": bool(return_inverse),
        "return_counts": bool(return_counts),
        "axis": axis,
    }
    return call(_UNIQUE, x, attrs=attrs)


def _infer_nonzero(inference: Inference) -> StructInfo:
    info = inference.tensor(0)
    return TensorStructInfo(None, INT64, info.vdevice, 2)


def _legalize_nonzero(builder: Any, expr: Call) -> Any:
    del builder
    return call_pure_packed("relax.nonzero", expr.args[0], sinfo_args=expr.struct_info)


@register_func("relax.nonzero")
def _nonzero(data: Any) -> Any:
    places = np.nonzero(np.atleast_1d(data.numpy()))
    return array(np.stack(places).astype("int64")[: data.numpy().ndim])


_NONZERO = register("nonzero", ("x",), _infer_nonzero, _legalize_nonzero)


def nonzero(x: Any) -> Call:
    """Where the elements of `x` are that are not 0: one row per dimension, one column for each."""
    return call(_NONZERO, x)
