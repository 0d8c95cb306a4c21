"""Parts of tensors, and tensors with a part replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tilewright.arith import Analyzer
from tilewright.error import ArgumentError, ShapeError
from tilewright.ir.arithmetic import floordiv, floormod, maximum, minimum, select
from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.expr import Expr, IntImm
from tilewright.te.compute import compute
from tilewright.te.tensor import Tensor, as_shape, shape_text
from tilewright.tir.op.control import all as all_of
from tilewright.tir.op.control import if_then_else
from tilewright.topi import tag
from tilewright.topi.operands import as_int, normalized_axes, normalized_axis, nth

LARGEST = (1 << 31) - 1
"""An end at or above it is the end of the dimension, for any extent."""


class Slice(NamedTuple):
    """Every `stride`-th element from `begin` on, `extent` of them."""

    begin: Expr
    stride: int
    extent: Expr

    def place(self, index: Expr) -> Expr:
        """Where element `index` of the part is."""
        return self.begin + (index if self.stride == 1 else index * self.stride)


def slice_of(
    owner: str,
    extent: Expr,
    begin: Any,
    end: Any,
    stride: int,
    assume_inbound: bool,
    analyzer: Analyzer,
) -> Slice:
    """What ``begin:end:stride`` is of a dimension, as in Python.

    With `assume_inbound`, the bounds of a symbolic extent are known to be inside of it and in
    order, so that they need not be limited.
    """
    dtype = extent.dtype
    backwards = stride < 0
    low = const(-1 if backwards else 0, dtype)
    high = extent - 1 if backwards else extent

    def bound(value: Any, default: Expr) -> Expr:
        number = value.value if isinstance(value, IntImm) else value
        if number is None or (isinstance(number, int) and abs(number) >= LARGEST):
            ends_high = default is high if number is None else number > 0
            return high if ends_high else low
        expr = as_expr(value)
        if not expr.dtype.is_integral or expr.dtype.is_bool:
            raise ArgumentError(f"{owner}: bounds of slices are integers, got {expr!r}")
        expr = cast(dtype, expr)
        if isinstance(number, int):
            expr = extent + number if number < 0 else expr
            inside = isinstance(extent, IntImm) or not assume_inbound
        else:
            if analyzer.can_prove(expr < 0):
                expr = expr + extent
            inside = not assume_inbound
            if inside and not analyzer.can_prove(expr >= 0):
                expr = select(expr < 0, expr + extent, expr)
        return minimum(maximum(expr, low), high) if inside else expr

    first = analyzer.simplify(bound(begin, high if backwards else low))
    last = analyzer.simplify(bound(end, low if backwards else high))
    span = first - last if backwards else last - first
    step = abs(stride)
    count = floordiv(span + (step - 1), step) if step > 1 else as_expr(span)
    count = analyzer.simplify(count)
    if not assume_inbound and not analyzer.can_prove(count >= 0):
        count = analyzer.simplify(maximum(count, const(0, dtype)))
    return Slice(first, stride, count)


def slices(
    owner: str,
    shape: Sequence[Expr],
    begin: Any,
    end: Any,
    strides: Any,
    axes: Any,
    assume_inbound: bool,
    slice_mode: str = "end",
    analyzer: Analyzer | None = None,
) -> dict[int, Slice]:
    """The slices of the dimensions that are sliced; see `strided_slice` for the arguments."""
    analyzer = analyzer or Analyzer()
    begins, ends = _listed(begin), _listed(end)
    if slice_mode not in ("end", "size"):
        raise ArgumentError(f"{owner}: slice_mode is 'end' or 'size', got {slice_mode!r}")
    if axes is None:
        places: Sequence[int] = range(len(begins))
        if len(begins) > len(shape):
            raise ShapeError(f"{owner}: {len(begins)} slices for {len(shape)} dimensions")
    else:
        places = normalized_axes(owner, list(_listed(axes)), len(shape))
    steps = _listed(strides) if strides is not None else []
    steps = steps or [1] * len(places)
    if len(steps) == 1:
        steps = list(steps) * len(places)
    if not len(begins) == len(ends) == len(places) == len(steps):
        raise ArgumentError(
            f"{owner}: {len(begins)} begins, {len(ends)} ends and {len(steps)} strides for "
            f"{len(places)} axes; give one of each per axis"
        )
    found = {}
    for n, first, last, step in zip(places, begins, ends, steps, strict=True):
        stride = as_int(owner, "a stride", step)
        if slice_mode == "size":
            last = None if _is_int(last, -1) else first + last
            stride = 1
        if stride == 0:
            raise ArgumentError(f"{owner}: the stride of axis {n} is 0")
        found[n] = slice_of(owner, shape[n], first, last, stride, assume_inbound, analyzer)
    return found


def _listed(values: Any) -> list[Any]:
    return list(values) if isinstance(values, (tuple, list)) else [values]


def _is_int(value: Any, number: int) -> bool:
    return isinstance(value, (int, IntImm)) and int(getattr(value, "value", value)) == number


def strided_slice(
    a: Tensor,
    begin: Any,
    end: Any,
    strides: Any = None,
    axes: Any = None,
    slice_mode: str = "end",
    assume_inbound: bool = True,
) -> Tensor:
    """The part ``begin:end:strides`` of each dimension, with the meaning that it has in Python.

    Args:
        a: the tensor.
        begin: the first index for each axis.
        end: where to stop; in slice mode ``"size"``, how many elements, -1 for all that are left.
        strides: the distance of two elements, 1 by default.
        axes: the dimensions; by default the first ones.
        slice_mode: what `end` is, ``"end"`` or ``"size"``.
        assume_inbound: whether bounds of symbolic dimensions are known to be inside of them.
    """
    parts = slices(
        "topi.strided_slice", a.shape, begin, end, strides, axes, assume_inbound, slice_mode
    )
    shape = [parts[n].extent if n in parts else extent for n, extent in enumerate(a.shape)]

    def element(*ax: Expr) -> Expr:
        return a(*(parts[n].place(index) if n in parts else index for n, index in enumerate(ax)))

    return compute(shape, element, "T_strided_slice", tag.INJECTIVE)


def dynamic_strided_slice(
    a: Tensor, begin: Tensor, end: Tensor, strides: Tensor, output_shape: Any
) -> Tensor:
    """The part ``begin:end:strides``, where these are vectors that are known at run time.

    Args:
        a: the tensor.
        begin: the first index of each dimension.
        end: where to stop.
        strides: the distance of two elements.
        output_shape: the shape of the result, which they must have been made for.
    """
    owner = "topi.dynamic_strided_slice"
    for name, bounds in (("begin", begin), ("end", end), ("strides", strides)):
        if bounds.ndim != 1 or not _is_int(bounds.shape[0], a.ndim):
            raise ShapeError(
                f"{owner}: {name} has one element for each of {a.ndim} dimensions, its shape is "
                f"{shape_text(bounds.shape)}"
            )

    def element(*ax: Expr) -> Expr:
        indices = []
        for n, (index, extent) in enumerate(zip(ax, a.shape, strict=True)):
            stride = cast("int64", strides(n))
            first = _limited(begin(n), cast("int64", extent), stride)
            indices.append(first + cast("int64", index) * stride)
        return a(*indices)

    return compute(as_shape(output_shape, owner), element, "T_strided_slice", tag.INJECTIVE)


def dynamic_slice_extents(
    extents: Sequence[Expr], begin: Tensor, end: Tensor, strides: Tensor
) -> Tensor:
    """The shape of `dynamic_strided_slice`, as a vector of int64."""

    def element(i: Expr) -> Expr:
        length = nth([cast("int64", extent) for extent in extents], i)
        stride = cast("int64", strides(i))
        first, last = (_limited(bound(i), length, stride) for bound in (begin, end))
        span = select(stride < 0, first - last, last - first)
        step = maximum(select(stride < 0, 0 - stride, stride), const(1, "int64"))
        return maximum(floordiv(span + step - 1, step), const(0, "int64"))

    return compute((len(extents),), element, "T_slice_shape", tag.INJECTIVE)


def _limited(bound: Expr, length: Expr, stride: Expr) -> Expr:
    """A bound of a slice, counted from the end if it is negative, moved into the dimension."""
    value = cast("int64", bound)
    value = select(value < 0, value + length, value)
    low = select(stride < 0, const(-1, "int64"), const(0, "int64"))
    return minimum(maximum(value, low), select(stride < 0, length - 1, length))


def strided_set(a: Tensor, v: Tensor, begin: Any, end: Any, strides: Any = None) -> Tensor:
    """`a` with the elements of `v` in place of the part ``begin:end:strides``."""
    parts = slices("topi.strided_set", a.shape, begin, end, strides, None, False)
    if v.ndim != a.ndim:
        raise ShapeError(f"topi.strided_set: {v.ndim} dimensions are set in {a.ndim}")

    def element(*i: Expr) -> Expr:
        conditions, places = [], []
        for n, index in enumerate(i):
            if n not in parts:
                places.append(index)
                continue
            part = parts[n]
            distance = index - part.begin if part.stride > 0 else part.begin - index
            step = abs(part.stride)
            place = distance if step == 1 else floordiv(distance, step)
            conditions += [distance >= 0, place < part.extent]
            if step > 1:
                conditions.append(floormod(distance, step) == 0)
            places.append(place)
        if not conditions:
            return v(*places)
        return if_then_else(all_of(*conditions), v(*places), a(*i))

    return compute(a.shape, element, "T_strided_set", tag.INJECTIVE)


def sliding_window(
    data: Tensor, axis: int, window_shape: Sequence[int], strides: Sequence[int]
) -> Tensor:
    """All windows of `data`, over the dimensions from `axis` on.

    Args:
        data: the tensor.
        axis: the first dimension that the window moves over.
        window_shape: its extents.
        strides: how far it moves, for each dimension.

    Returns:
        Of shape ``(*leading, *positions, *window)``.
    """
    owner = "topi.sliding_window"
    first = normalized_axis(owner, axis, data.ndim)
    windows = [as_int(owner, "window_shape", w) for w in window_shape]
    steps = [as_int(owner, "strides", s) for s in strides]
    moving = data.shape[first:]
    if not len(windows) == len(steps) == len(moving):
        raise ShapeError(
            f"{owner}: {len(windows)} extents and {len(steps)} strides of a window over "
            f"{len(moving)} dimensions"
        )
    count = [
        Analyzer().simplify(floordiv(extent - window, step) + 1)
        for extent, window, step in zip(moving, windows, steps, strict=True)
    ]

    def element(*i: Expr) -> Expr:
        positions = i[first : first + len(windows)]
        inside = i[first + len(windows) :]
        moved = [p * s + w for p, s, w in zip(positions, steps, inside, strict=True)]
        return data(*i[:first], *moved)

    shape = (*data.shape[:first], *count, *windows)
    return compute(shape, element, "T_sliding_window", tag.INJECTIVE)
