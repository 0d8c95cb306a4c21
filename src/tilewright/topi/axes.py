"""Dimensions of a tensor as users name them: from the end, several, or all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.error import ArgumentError, ShapeError
from tilewright.ir.expr import IntImm


def as_int(owner: str, name: str, value: Any) -> int:
    """A constant integer argument.

    Raises:
        ArgumentError: if it is something else.
    """
    if isinstance(value, IntImm):
        return value.value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ArgumentError(f"{owner}: {name} is a constant integer, got {value!r}")
    return value.__index__()


def normalized_axis(owner: str, axis: Any, ndim: int) -> int:
    """`axis` counted from the front.

    Raises:
        ShapeError: if there is no such dimension.
    """
    number = as_int(owner, "axis", axis)
    if not -ndim <= number < ndim:
        raise ShapeError(f"{owner}: axis {number} is out of range for {ndim} dimensions")
    return number % ndim


def normalized_axes(owner: str, axis: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions that `axis` names, one, several or None for all, counted from the front.

    Raises:
        ShapeError: if there is no such dimension, or one is named twice.
    """
    if axis is None:
        return tuple(range(ndim))
    listed: Sequence[Any] = axis if isinstance(axis, (tuple, list)) else (axis,)
    found = tuple(normalized_axis(owner, item, ndim) for item in listed)
    if len(set(found)) != len(found):
        raise ShapeError(f"{owner}: axes {tuple(listed)} name a dimension twice")
    return found
