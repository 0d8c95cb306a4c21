"""Tensors that are made of numbers."""

from __future__ import annotations

from typing import Any

from tilewright.relax import op
from tilewright.relax.expr import PrimValue
from tilewright.relax.expr import const as constant
from tilewright.relax.frontend.nn.op.operator import tensor_operator
from tilewright.relax.frontend.nn.tensor import shape_expr


@tensor_operator
def full(shape: Any, fill_value: Any, dtype: str = "float32") -> Any:
    """A tensor of equal elements.

    Args:
        shape: the extents.
        fill_value: a number, or a tensor without dimensions.
        dtype: of the elements.
    """
    if isinstance(fill_value, (bool, int, float)):
        fill_value = constant(fill_value, dtype)
    return op.full(shape_expr(shape), fill_value, dtype)


@tensor_operator
def zeros(shape: Any, dtype: str = "float32") -> Any:
    """A tensor of zeros."""
    return op.zeros(shape_expr(shape), dtype)


@tensor_operator
def ones(shape: Any, dtype: str = "float32") -> Any:
    """A tensor of ones."""
    return op.ones(shape_expr(shape), dtype)


@tensor_operator
def empty(shape: Any, dtype: str = "float32") -> Any:
    """A tensor whose elements do not matter; they are zeros."""
    return op.zeros(shape_expr(shape), dtype)


@tensor_operator
def arange(start: Any, end: Any = None, step: Any = 1, dtype: str | None = "float32") -> Any:
    """The numbers from `start`, or 0 if there is no `end`, to before `end`.

    Args:
        start: the first number; the end if that is not given.
        end: the first number that is too large.
        step: from one to the next.
        dtype: of the elements.
    """
    if end is None:
        start, end = 0, start
    return op.arange(*map(PrimValue, (start, end, step)), dtype=dtype)
