"""Matrices in the last two dimensions of tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tilewright import te
from tilewright.error import DTypeError, ShapeError
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import INT64
from tilewright.te import Tensor
from tilewright.topi import tag
from tilewright.topi.nn.window import require_equal, simplified
from tilewright.topi.utils import unravel_index


def require_matrices(owner: str, x: Tensor, square: bool = False) -> None:
    """Refuse what has less than two dimensions, and other numbers than float32 and float64."""
    if x.ndim < 2:
        raise ShapeError(f"topi.linalg.{owner}: a matrix has 2 dimensions, not {x.ndim}")
    if str(x.dtype) not in ("float32", "float64"):
        raise DTypeError(f"topi.linalg.{owner}: expected float32 or float64, got {x.dtype!s}")
    if square:
        require_equal(f"linalg.{owner}", "rows and columns of a square matrix", *x.shape[-2:])


def in_one_batch(x: Tensor, rank: int = 2, transpose: bool = False) -> Tensor:
    """All matrices of a tensor one after the other, ``(batch, m, n)``; or vectors, for rank 1."""
    outer, inner = x.shape[: x.ndim - rank], x.shape[x.ndim - rank :]
    number = simplified(math.prod(outer, start=const(1, INT64)))
    extents = [cast(INT64, extent) for extent in (reversed(inner) if transpose else inner)]

    def element(batch: Any, *place: Any) -> Any:
        return x(*unravel_index(batch, outer), *(reversed(place) if transpose else place))

    return te.compute((number, *extents), element, "T_matrices", tag.INJECTIVE)


def in_batches(
    x: Tensor, outer: Sequence[Any], extents: Sequence[Any], transpose: bool = False
) -> Tensor:
    """The inverse of `in_one_batch`: dimensions `outer` in place of the first one.

    Args:
        x: ``(batch, ...)``.
        outer: the extents of the batches.
        extents: those of each matrix or vector; `x` may have more elements, which are left out.
        transpose: whether the matrices of `x` are transposed.
    """
    count = len(outer)

    def element(*place: Any) -> Any:
        batch: Any = const(0, INT64)
        for index, extent in zip(place, outer, strict=False):
            batch = batch * extent + index
        inner = place[count:]
        return x(batch, *(reversed(inner) if transpose else inner))

    return te.compute((*outer, *extents), element, "T_batches", tag.INJECTIVE)
