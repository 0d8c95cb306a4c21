"""Dtypes and operators as scripts write them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Final

import tilewright.tir.op as op
from tilewright.error import ArgumentError, DTypeError
from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.dtype import HANDLE, DType, PointerType, PrimType
from tilewright.ir.expr import Call, Expr, SizeVar, StringImm, Var
from tilewright.ir.op import CallEffectKind, Op
from tilewright.tir.op.calls import call_packed


class DTypeFunction(str):
    """The name of a dtype that can also be called, and used as the annotation of a parameter.

    ``T.float32(x)`` converts a number or an expression; ``T.float32()`` is a new variable.
    """

    __slots__ = ()

    def __call__(self, value: object = None, *, is_size_var: bool = False) -> Any:
        dtype = DType(self)
        if value is None:
            return (SizeVar if is_size_var else Var)("", dtype)
        if isinstance(value, str):
            return const(_special_float(value, dtype), dtype)
        if isinstance(value, (bool, int, float)):
            return const(value, dtype)
        return cast(dtype, value)

    def __repr__(self) -> str:
        return f"T.{self!s}"


def _special_float(text: str, dtype: DType) -> float:
    if dtype.is_float:
        try:
            return float(text)
        except ValueError:
            pass
    raise DTypeError(f"T.{dtype!s}({text!r}): expected a number, or 'inf', '-inf' or 'nan'")


class HandleFunction(DTypeFunction):
    """The type of pointers: ``T.handle()``, or ``T.handle("float32", "global")`` to elements."""

    __slots__ = ()

    def __call__(
        self,
        dtype: Any = None,
        storage_scope: str = "global",
        *,
        is_size_var: bool = False,
    ) -> Any:
        if isinstance(dtype, Expr):
            return cast(HANDLE, dtype)
        scope = as_text(storage_scope, "the storage scope")
        annotation = None if dtype is None else PointerType(PrimType(DType(dtype)), scope)
        return (SizeVar if is_size_var else Var)("", HANDLE, annotation)


class VoidFunction(DTypeFunction):
    """The type of a function without a result."""

    __slots__ = ()

    def __call__(self, value: object = None, *, is_size_var: bool = False) -> Any:
        raise DTypeError("T.void is the type of functions that return nothing; it has no values")


ELEMENTS: Final = (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "bfloat16", "e4m3_float8", "e5m2_float8",
)  # fmt: skip
LANES: Final = (2, 4, 8, 16, 32, 64)


def _functions() -> dict[str, DTypeFunction]:
    found: dict[str, DTypeFunction] = {name: DTypeFunction(name) for name in ELEMENTS}
    for element in (*ELEMENTS, "bool"):
        for lanes in LANES:
            name = f"{element}x{lanes}"
            found[name] = DTypeFunction(name)
    found["bool"] = found["boolean"] = DTypeFunction("bool")
    found["handle"] = HandleFunction("handle")
    found["void"] = VoidFunction("void")
    return found


DTYPE_FUNCTIONS: Final = _functions()
"""All names that `T` has for dtypes."""


def ptr(dtype: str, storage_scope: str = "global", is_size_var: bool = False) -> Var:
    """A new pointer variable to elements of `dtype`, also as the annotation of a parameter."""
    return DTYPE_FUNCTIONS["handle"](dtype, storage_scope, is_size_var=is_size_var)  # type: ignore[call-arg]


def buffer_var(dtype: str, storage_scope: str = "global") -> Var:
    """A new pointer variable to elements of `dtype`."""
    return ptr(dtype, storage_scope)


def type_of_annotation(annotation: object) -> Var | None:
    """A new variable of the type that an annotation such as ``T.int32`` stands for."""
    if isinstance(annotation, VoidFunction):
        return None
    if isinstance(annotation, DTypeFunction):
        return annotation()
    if isinstance(annotation, Var):
        return type(annotation)("", annotation.dtype, annotation.type_annotation)
    if isinstance(annotation, str):
        return Var("", DType(annotation))
    return None


def as_text(value: object, what: str) -> str:
    """`value` as a string, such as a storage scope."""
    if isinstance(value, StringImm):
        return value.value
    if not isinstance(value, str):
        raise ArgumentError(f"{what} is a string, got {value!r}")
    return str(value)


def as_size(value: object, what: str) -> Expr:
    """`value` as a scalar integer, such as an extent."""
    size = as_expr(value)
    if not size.dtype.is_scalar_integer:
        raise DTypeError(f"{what} is a scalar integer, got {size!r} of dtype {size.dtype!s}")
    return size


def _parameter_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the parameters; `inspect.signature` takes long for so many functions."""
    signature = getattr(function, "__signature__", None)
    if signature is not None:
        return tuple(signature.parameters)
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def accepting_dtype(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which may also be told the dtype of its result by keyword.

    Text printed by older systems has ``dtype=`` in every call.
    """
    names = _parameter_names(inspect.unwrap(function))
    if "dtype" in names[1:]:
        return function

    @functools.wraps(function)
    def operation(*args: Any, **keywords: Any) -> Any:
        if "dtype" not in keywords:
            return function(*args, **keywords)
        dtype = keywords.pop("dtype")
        if names[:1] == ("dtype",):
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
