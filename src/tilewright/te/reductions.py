"""The reducers that everyone needs: sums, products, extrema, and logical ones.

The names hide Python's own, so nothing else is in this file.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.arithmetic import logical_and, logical_or, maximum, minimum, negative
from tilewright.ir.convert import as_expr, const
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr
from tilewright.te.reducer import Reducer, comm_reducer, is_axis
from tilewright.tir.op.dtypes import infinity, max_value, min_value


def _lowest(dtype: DType) -> Expr:
    return negative(infinity(dtype)) if dtype.code in ("float", "bfloat") else min_value(dtype)


def _highest(dtype: DType) -> Expr:
    return infinity(dtype) if dtype.code in ("float", "bfloat") else max_value(dtype)


sum = comm_reducer(lambda x, y: x + y, lambda dtype: const(0, dtype), name="sum")
prod = comm_reducer(lambda x, y: x * y, lambda dtype: const(1, dtype), name="prod")
max = comm_reducer(maximum, _lowest, name="max")
min = comm_reducer(minimum, _highest, name="min")
_all = comm_reducer(logical_and, lambda dtype: const(True, dtype), name="all")
_any = comm_reducer(logical_or, lambda dtype: const(False, dtype), name="any")


def all(*args: Any, axis: Any = None, where: Any = None, init: Any = None) -> Any:
    """Whether all conditions hold; with `axis`, whether the one condition holds along it."""
    return _logical("all", _all, logical_and, args, axis, where, init)


def any(*args: Any, axis: Any = None, where: Any = None, init: Any = None) -> Any:
    """Whether some condition holds; with `axis`, whether the one condition holds somewhere."""
    return _logical("any", _any, logical_or, args, axis, where, init)


def _logical(
    name: str,
    reducer: Reducer,
    combine: Callable[[Any, Any], Expr],
    args: tuple[Any, ...],
    axis: Any,
    where: Any,
    init: Any,
) -> Any:
    if len(args) == 2 and is_axis(args[1]):
        args, axis = args[:1], args[1]
    if not args or (axis is not None and len(args) != 1):
        raise ArgumentError(f"te.{name}: expected conditions, or one condition and an axis")
    if axis is None:
        return functools.reduce(combine, args[1:], as_expr(args[0]))
    return reducer(args[0], axis, where=where, init=init)
