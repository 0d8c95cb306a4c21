"""Sorting, and the largest elements."""

from __future__ import annotations

from typing import Any

from tilewright import topi
from tilewright.error import ArgumentError, require_one_of
from tilewright.ir.convert import const
from tilewright.ir.dtype import INT64, DType
from tilewright.relax.expr import Call
from tilewright.relax.op.rules import at_least, sized
from tilewright.relax.op.table import Inference, call, register
from tilewright.relax.op.unary import infer_same, is_number
from tilewright.relax.struct_info import (
    UNKNOWN_NDIM,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tilewright.te.tensor import extent_text

__all__ = ["argsort", "sort", "topk"]


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
