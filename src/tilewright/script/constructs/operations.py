"""Operators of `tilewright.tir.op` as scripts call them, and calls of kernels by name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Final

import tilewright.tir.op as op
from tilewright.error import ArgumentError, DTypeError
from tilewright.ir.convert import cast
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Call, Expr, StringImm
from tilewright.ir.op import CallEffectKind, Op
from tilewright.tir.op.calls import call_packed


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


def call_kernel(kernel: Any, launch_args: Any, *args: object, **kwargs: object) -> Expr:
    """A call of a kernel that a registered function launches.

    It is ``T.call_packed(kernel, *args, *launch_args)``: the function gets the arguments of the
    kernel, then the numbers that say how to launch it.

    Args:
        kernel: the name under which the function is registered, see `tilewright.register_func`.
        launch_args: numbers, and lists of numbers, such as ``[[grid_x, grid_y], block]``.
        args: numbers, strings and buffers for the kernel.
        kwargs: options of a kernel compiler; none is supported.

    Raises:
        ArgumentError: for a kernel given as source code or as a Python object.
    """
    name = kernel.value if isinstance(kernel, StringImm) else kernel
    if not isinstance(name, str) or not _is_name(name):
        shown = name.strip().split("\n")[0][:60] if isinstance(name, str) else name
        raise ArgumentError(
            f"T.call_kernel: {shown!r} is not the name of a registered function, and no backend "
            "compiles kernels from source code or from Python objects; register a function that "
            "launches the kernel with tilewright.register_func, and give its name"
        )
    if kwargs:
        raise ArgumentError(
            f"T.call_kernel: a kernel that is called by name has no option {next(iter(kwargs))!r}"
        )
    return call_packed(name, *args, *_flattened(launch_args))


def _is_name(text: str) -> bool:
    """Whether `text` may name a function, such as ``"library.add-one"``, unlike source code."""
    return bool(text) and not any(letter.isspace() or letter in "(){};" for letter in text)


def _flattened(launch_args: Any) -> list[Any]:
    if not isinstance(launch_args, (list, tuple)):
        return [launch_args]
    return [value for item in launch_args for value in _flattened(item)]
