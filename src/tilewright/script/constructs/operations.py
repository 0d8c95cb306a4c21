"""The operators of `tilewright.tir.op` as scripts call them: with a `dtype`, where one is given."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Final

import tilewright.tir.op as op
from tilewright.error import DTypeError
from tilewright.ir.convert import cast
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Call, Expr
from tilewright.ir.op import CallEffectKind, Op


def accepting_dtype(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which may also be told the dtype of its result by keyword.

    Text printed by older systems has ``dtype=`` in every call.
    """
    names = list(inspect.signature(function).parameters)
    if "dtype" in names[1:]:
        return function

    @functools.wraps(function)
    def operation(*args: Any, **keywords: Any) -> Any:
        if "dtype" not in keywords:
            return function(*args, **keywords)
        dtype = keywords.pop("dtype")
        if names[:1] == ["dtype"]:
            return function(dtype, *args, **keywords)
        return _with_dtype(function(*args, **keywords), dtype)

    return operation


def _with_dtype(result: Any, dtype: Any) -> Any:
    """A result in the dtype that the call says; a call that is made for its effect stays as it is.

    Raises:
        DTypeError: for a pointer where a number is asked for, or the other way round.
    """
    target = DType(dtype)
    if not isinstance(result, Expr) or result.dtype is target or _has_effect(result):
        return result
    if not (_is_number(result.dtype) and _is_number(target)):
        raise DTypeError(f"dtype={target!s} of {result!r}, which is of dtype {result.dtype!s}")
    return cast(target, result)


def _has_effect(expr: Expr) -> bool:
    return (
        isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.effect > CallEffectKind.PURE
    )


def _is_number(dtype: DType) -> bool:
    return dtype.is_integral or dtype.is_float


OPERATIONS: Final = {
    name: accepting_dtype(value) for name, value in vars(op).items() if inspect.isfunction(value)
}
"""The operators by name."""
