"""Reductions, and running sums and products.

The names hide Python's own, as they do in numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from tilewright import topi
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import FLOAT32, INT64, DType
from tilewright.ir.expr import Expr
from tilewright.relax.expr import Call
from tilewright.relax.op.rules import array_like, axes_of, axis_of
from tilewright.relax.op.table import Inference, call, kernel, named, register
from tilewright.relax.op.unary import infer_same, is_float, is_number
from tilewright.relax.struct_info import UNKNOWN_NDIM, StructInfo
from tilewright.te.tensor import Tensor
from tilewright.topi.operands import normalized_axes
from tilewright.topi.reshape import number_of_elements

__all__ = ["cumprod", "cumsum", "max", "mean", "min", "prod", "std", "sum", "variance"]

Kernel = Callable[[Tensor, Any, bool], Tensor]


def _infer_reduction(inference: Inference, floats_only: bool) -> StructInfo:
    if floats_only:
        info = infer_same(inference, is_float, "a float dtype")
    else:
        info = infer_same(inference, is_number, "numbers")
    keepdims = bool(inference.attr("keepdims"))
    if info.ndim == UNKNOWN_NDIM:
        known = inference.attr("axis") is None and not keepdims
        return array_like(info, () if known else None)
    axes = axes_of(inference, info.ndim)
    if info.extents is None:
        rank = info.ndim if keepdims else info.ndim - len(axes)
        return array_like(info, None, rank) if rank else array_like(info, ())
    return array_like(info, reduced_extents(info.extents, axes, keepdims))


def reduced_extents(
    extents: Sequence[Expr], axes: Collection[int], keepdims: bool
) -> Sequence[Expr]:
    """The shape of what is left of an array after a reduction along `axes`."""
    if keepdims:
        return [const(1, INT64) if n in axes else e for n, e in enumerate(extents)]
    return [e for n, e in enumerate(extents) if n not in axes]


def _reduction(
    name: str, doc: str, function: Kernel, floats_only: bool = False
) -> Callable[..., Call]:
    def infer(inference: Inference) -> StructInfo:
        return _infer_reduction(inference, floats_only)

    op = register(name, ("x",), infer, kernel(function, "axis", "keepdims", name=name))
    doc = f"""{doc}

    Args:
        x: the array.
        axis: a dimension, several, or None for all of them.
        keepdims: whether the result has dimensions of extent 1 in place of those in `axis`.
    """

    @named(name, doc)
    def make(x: Any, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Call:
        axes = tuple(axis) if isinstance(axis, (tuple, list)) else axis
        return call(op, x, attrs={"axis": axes, "keepdims": bool(keepdims)})

    return make


def _count(x: Tensor, axis: Any, dtype: DType) -> Any:
    axes = normalized_axes("R.mean", axis, x.ndim)
    return cast(dtype, number_of_elements([x.shape[n] for n in axes]))


def _in_enough_digits(kernel: Kernel) -> Kernel:
    """The kernel in float32 for shorter floats, whose sums would have few digits."""

    def wide(x: Tensor, axis: Any, keepdims: bool) -> Tensor:
        if x.dtype.bits >= 32:
            return kernel(x, axis, keepdims)
        return topi.cast(kernel(topi.cast(x, FLOAT32), axis, keepdims), x.dtype)

    return wide


def _mean(x: Tensor, axis: Any, keepdims: bool) -> Tensor:
    return topi.divide(topi.sum(x, axis, keepdims), _count(x, axis, x.dtype))


def _variance(x: Tensor, axis: Any, keepdims: bool) -> Tensor:
    distance = topi.subtract(x, _mean(x, axis, True))
    return _mean(topi.multiply(distance, distance), axis, keepdims)


def _std(x: Tensor, axis: Any, keepdims: bool) -> Tensor:
    return topi.sqrt(_variance(x, axis, keepdims))


sum = _reduction("sum", "The sum along `axis`.", topi.sum)
prod = _reduction("prod", "The product along `axis`.", topi.prod)
max = _reduction("max", "The largest element along `axis`; NaN if there is a NaN.", topi.max)
min = _reduction("min", "The smallest element along `axis`; NaN if there is a NaN.", topi.min)
mean = _reduction("mean", "The mean along `axis`.", _in_enough_digits(_mean), True)
variance = _reduction(
    "variance", "The mean square distance from the mean along `axis`.",
    _in_enough_digits(_variance), True,
)  # fmt: skip
std = _reduction(
    "std", "The square root of the variance along `axis`.", _in_enough_digits(_std), True
)


# --- running sums and products --------------------------------------------------------------


def _infer_scan(inference: Inference) -> StructInfo:
    info = inference.tensor(0)
    dtype: Any = inference.attr("dtype") or info.dtype
    if dtype is not None and not is_number(dtype):
        inference.error(f"what is combined must be numbers, not {dtype!s}; give dtype=")
    if inference.attr("axis") is not None:
        if info.ndim != UNKNOWN_NDIM:
            axis_of(inference, info.ndim)
        return array_like(info, info.extents, info.ndim, dtype)
    if info.extents is None:
        return array_like(info, None, 1, dtype)
    total = inference.analyzer.simplify(number_of_elements(info.extents))
    return array_like(info, [total], dtype=dtype)


def _scan(name: str, doc: str) -> Callable[..., Call]:
    legalize = kernel(getattr(topi, name), "axis", "dtype", "exclusive", name=name)
    op = register(name, ("data",), _infer_scan, legalize)
    doc = f"""{doc}

    Args:
        data: the array.
        axis: the dimension; None for all elements in a row.
        dtype: of the result, and what is combined; by default that of `data`.
        exclusive: whether the element itself is left out.
    """

    @named(name, doc)
    def make(
        data: Any, axis: int | None = None, dtype: str | None = None, exclusive: bool = False
    ) -> Call:
        kind = None if dtype is None else DType(dtype)
        return call(op, data, attrs={"axis": axis, "dtype": kind, "exclusive": bool(exclusive)})

    return make


cumsum = _scan("cumsum", "The sums of the elements up to each one along `axis`.")
cumprod = _scan("cumprod", "The products of the elements up to each one along `axis`.")
