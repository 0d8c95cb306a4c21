"""Numbers out of expressions: what schedules and operators of users take apart shapes with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tilewright.arith import Analyzer
from tilewright.error import ArgumentValueError, ShapeError
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr, FloatImm, IntImm, is_const_int

__all__ = [
    "ceil_div",
    "equal_const_int",
    "get_const_float",
    "get_const_int",
    "get_const_tuple",
    "get_float_tuple",
    "get_max_power2_factor",
    "prod",
    "ravel_index",
    "simplify",
    "unravel_index",
]


def get_const_int(expr: object) -> int:
    """The value of a constant integer, or of an expression that simplifies to one.

    Raises:
        ArgumentValueError: for anything else.
    """
    found = simplify(expr)
    if isinstance(found, int):
        return found
    if isinstance(found, IntImm):
        return found.value
    raise ArgumentValueError(f"expected a constant integer, got {expr!r}")


def get_const_float(expr: object) -> float:
    """The value of a constant float.

    Raises:
        ArgumentValueError: for anything else.
    """
    found = simplify(expr)
    if isinstance(found, float):
        return found
    if isinstance(found, FloatImm):
        return found.value
    raise ArgumentValueError(f"expected a constant float, got {expr!r}")


def get_const_tuple(in_tuple: Sequence[Any]) -> tuple[Any, ...]:
    """Constant extents as Python integers; symbolic ones stay expressions."""
    extents = map(simplify, in_tuple)
    return tuple(extent.value if isinstance(extent, IntImm) else extent for extent in extents)


def get_float_tuple(in_tuple: Sequence[Any]) -> tuple[float, ...]:
    """Constants as Python floats."""
    return tuple(map(get_const_float, in_tuple))


def equal_const_int(expr: object, value: int) -> bool:
    """Whether an expression is the constant `value`."""
    found = simplify(expr)
    return isinstance(found, (int, IntImm)) and int(found) == value


def simplify(expr: Any) -> Any:
    """`expr` simplified; Python numbers stay as they are."""
    return Analyzer().simplify(expr) if isinstance(expr, Expr) else expr


def prod(x: Sequence[Any]) -> Expr:
    """The product of extents; 1 of none."""
    return as_expr(math.prod(x[1:], start=x[0]) if x else 1)


def ceil_div(a: Any, b: Any) -> Any:
    """`a / b`, rounded up."""
    return (a + (b - 1)) // b


def get_max_power2_factor(n: int, max_value: int | None = None) -> int:
    """The largest power of 2 that divides `n`, not above `max_value`."""
    factor = 1
    while n % (2 * factor) == 0 and (max_value is None or 2 * factor <= max_value):
        factor *= 2
    return factor


def ravel_index(indices: Sequence[Any], shape: Sequence[Any]) -> Any:
    """The position, in row-major order, of the element at `indices`.

    Raises:
        ShapeError: if there is not one index per dimension.
    """
    if len(indices) != len(shape):
        raise ShapeError(f"{len(indices)} indices for {len(shape)} dimensions")
    position: Any = 0
    for index, extent in zip(indices, shape, strict=True):
        position = position * extent + index
    return position


def unravel_index(idx: Any, shape: Sequence[Any]) -> list[Any]:
    """The indices of the element at position `idx` in row-major order; any, if there are none."""
    if any(is_const_int(as_expr(extent), 0) for extent in shape):
        return [idx for _ in shape]
    indices = []
    for extent in reversed(shape[1:]):
        indices.append(idx % extent)
        idx = idx // extent
    return [idx, *reversed(indices)] if shape else []
