"""Operators whose result has as many elements as the data say.

They are calls of registered functions, which need Python when the program runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.ir.dtype import INT64
from tilewright.relax.expr import Call
from tilewright.relax.op.base import call_pure_packed
from tilewright.relax.op.inference import Inference
from tilewright.relax.op.rules import array_like, axis_of
from tilewright.relax.op.table import call, register
from tilewright.relax.struct_info import (
    UNKNOWN_NDIM,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tilewright.runtime.ndarray import array
from tilewright.runtime.registry import register_func

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
