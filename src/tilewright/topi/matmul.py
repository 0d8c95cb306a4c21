"""Products of arrays along some of their dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright import te
from tilewright.error import ArgumentError, ShapeError
from tilewright.ir.convert import cast
from tilewright.ir.dtype import promote
from tilewright.te import Tensor
from tilewright.topi import nn
from tilewright.topi.empty import or_neutral
from tilewright.topi.nn.normalization import checked_axes
from tilewright.topi.nn.window import require_equal
from tilewright.topi.precision import accumulator


def matmul(a: Tensor, b: Tensor, transp_a: bool = False, transp_b: bool = False) -> Tensor:
    """The product of two matrices, either of them transposed if asked for."""
    for name, tensor in (("a", a), ("b", b)):
        if tensor.ndim != 2:
            raise ShapeError(
                f"matmul: `{name}` is a matrix, it has {tensor.ndim} dimensions; topi.nn.matmul "
                "takes more"
            )
    return nn.matmul(a, b, transpose_a=transp_a, transpose_b=transp_b)


def tensordot(a: Tensor, b: Tensor, axes: int | Sequence[Any] | None = 2) -> Tensor:
    """The sum of products of `a` and `b` along `axes`, as numpy has it.

    Args:
        a: an array.
        b: another one.
        axes: how many dimensions, the last ones of `a` and the first ones of `b`, are added over;
            or a list of those of `a` and a list of those of `b`.
    """
    left, right = _axes(a, b, 2 if axes is None else axes)
    for u, v in zip(left, right, strict=True):
        require_equal("tensordot", "the extents of a sum", a.shape[u], b.shape[v])
    rest_a = [n for n in range(a.ndim) if n not in left]
    rest_b = [n for n in range(b.ndim) if n not in right]
    steps = [te.reduce_axis((0, a.shape[n]), f"k{position}") for position, n in enumerate(left)]

    dtype = promote(a.dtype, b.dtype)
    wide = accumulator(dtype)

    def element(*place: Any) -> Any:
        of_a = dict(zip([*rest_a, *left], [*place[: len(rest_a)], *steps], strict=True))
        of_b = dict(zip([*rest_b, *right], [*place[len(rest_a) :], *steps], strict=True))
        left_item = cast(wide, a(*(of_a[n] for n in range(a.ndim))))
        product = left_item * cast(wide, b(*(of_b[n] for n in range(b.ndim))))
        return te.sum(product, axis=steps) if steps else product

    shape = [*(a.shape[n] for n in rest_a), *(b.shape[n] for n in rest_b)]
    total = te.compute(shape, element, "T_tensordot", "tensordot")
    total = or_neutral(total, [a.shape[n] for n in left])
    if wide is dtype:
        return total
    return te.compute(total.shape, lambda *i: cast(dtype, total(*i)), "T_cast", "elemwise")


def _axes(a: Tensor, b: Tensor, axes: int | Sequence[Any]) -> tuple[list[int], list[int]]:
    if isinstance(axes, int):
        if not 0 <= axes <= min(a.ndim, b.ndim):
            raise ArgumentError(
                f"tensordot: `axes` is {axes}, for {a.ndim} and {b.ndim} dimensions"
            )
        return list(range(a.ndim - axes, a.ndim)), list(range(axes))
    left, right = (list(x) if isinstance(x, (list, tuple)) else [x] for x in axes)
    if len(left) != len(right):
        raise ArgumentError(f"tensordot: `axes` lists {len(left)} and {len(right)} dimensions")
    return list(checked_axes("tensordot", a, left)), list(checked_axes("tensordot", b, right))
