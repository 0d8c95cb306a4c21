"""Tensors that are given by a formula of their indices alone, and triangles of matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tilewright.error import ArgumentError, ShapeError
from tilewright.ir.arithmetic import floordiv, maximum, select
from tilewright.ir.convert import cast, const, exact_expr
from tilewright.ir.dtype import FLOAT64, INT64, DType
from tilewright.ir.expr import Expr, FloatImm, IntImm
from tilewright.te.compute import compute
from tilewright.te.tensor import Tensor, shape_text
from tilewright.topi import tag


def full(shape: Any, dtype: str, fill_value: Any, name: str = "T_full") -> Tensor:
    """A tensor whose elements are all `fill_value`, a number or a tensor without dimensions."""
    value = cast(dtype, fill_value)
    return compute(shape, lambda *_: value, name, tag.INJECTIVE)


def full_like(x: Tensor, fill_value: Any) -> Tensor:
    """A tensor of the shape and dtype of `x` whose elements are all `fill_value`."""
    return full(x.shape, x.dtype, fill_value, "T_full_like")


def arange_length(start: Any, stop: Any, step: Any) -> Expr:
    """How many numbers ``start, start + step, ...`` there are before `stop`, as int64.

    Raises:
        ArgumentError: if it would depend on floats that are not known, or `step` is 0.
    """
    bounds = [exact_expr(value) for value in (start, stop, step)]
    if isinstance(bounds[2], (IntImm, FloatImm)) and bounds[2].value == 0:
        raise ArgumentError("arange: the step is 0")
    if all(isinstance(bound, (IntImm, FloatImm)) for bound in bounds):
        first, last, distance = (bound.value for bound in bounds)  # type: ignore[attr-defined]
        if not all(map(math.isfinite, (first, last, distance))):
            raise ArgumentError(f"arange: from {first} to {last} by {distance} has no length")
        return const(max(0, math.ceil((last - first) / distance)), INT64)
    if not all(bound.dtype.is_integral for bound in bounds) or not isinstance(bounds[2], IntImm):
        raise ArgumentError(
            "arange: the length is known only for constants, or integers with a constant step"
        )
    first, last = (cast(INT64, bound) for bound in bounds[:2])
    distance = bounds[2].value
    span = last - first if distance > 0 else first - last
    steps = abs(distance)
    return maximum(floordiv(span + (steps - 1), steps), const(0, INT64))


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: str = "float32") -> Tensor:
    """The numbers ``start, start + step, ...`` before `stop`; from 0 if only one is given."""
    if stop is None:
        start, stop = 0, start
    target = DType(dtype)
    # The numbers themselves are computed in a type that holds all of them, and rounded once.
    wide = FLOAT64 if target.is_float else INT64 if target.bits < 64 else target
    first, distance = cast(wide, start), cast(wide, step)
    return compute(
        (arange_length(start, stop, step),),
        lambda i: cast(target, first + cast(wide, i) * distance),
        "T_arange",
        tag.INJECTIVE,
    )


def trilu(data: Tensor, k: Any, upper: bool) -> Tensor:
    """The upper or lower triangle of matrices, with zeros elsewhere.

    Args:
        data: a matrix, or several.
        k: the last diagonal that is kept: 0 for the main one, more for one further up.
        upper: whether the part above the diagonal is kept, or the one below.
    """
    if data.ndim < 2:
        raise ShapeError(
            f"topi.trilu: a matrix has two dimensions, the shape is {shape_text(data.shape)}"
        )
    diagonal = cast(INT64, k)

    def element(*ax: Any) -> Expr:
        row, column = cast(INT64, ax[-2]), cast(INT64, ax[-1])
        kept = column - row >= diagonal if upper else column - row <= diagonal
        return select(kept, data(*ax), const(0, data.dtype))

    return compute(data.shape, element, "trilu", tag.INJECTIVE)


def meshgrid(a_tuple: Sequence[Tensor], indexing: str = "ij") -> list[Tensor]:
    """The coordinates of all points of a grid, one tensor for each of its dimensions.

    Args:
        a_tuple: the coordinates along each dimension, vectors or scalars.
        indexing: ``"ij"`` for dimensions in their order, ``"xy"`` with the first two exchanged.
    """
    if indexing not in ("ij", "xy"):
        raise ArgumentError(f"topi.meshgrid: indexing is 'ij' or 'xy', got {indexing!r}")
    for position, item in enumerate(a_tuple):
        if item.ndim > 1:
            raise ShapeError(f"topi.meshgrid: tensor {position} has {item.ndim} dimensions")
    order = list(range(len(a_tuple)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    one = const(1, "int32")
    shape = [a_tuple[n].shape[0] if a_tuple[n].ndim else one for n in order]

    def along(n: int) -> Tensor:
        source, place = a_tuple[n], order.index(n)
        return compute(
            shape,
            lambda *ax: source(ax[place]) if source.ndim else source(),
            "T_meshgrid",
            tag.INJECTIVE,
        )

    return [along(n) for n in range(len(a_tuple))]
