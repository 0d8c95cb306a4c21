"""Data types as functions: `T.float32(1)` is a constant, `T.int64()` a new variable."""

from __future__ import annotations

from typing import Any, Final

from tilewright.error import ArgumentError, DTypeError
from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.dtype import HANDLE, DType
from tilewright.ir.expr import Expr, SizeVar, StringImm, Var
from tilewright.ir.types import PointerType, PrimType


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
    if not size.dtype.is_integral or size.dtype.is_bool or size.dtype.is_vector:
        raise DTypeError(f"{what} is a scalar integer, got {size!r} of dtype {size.dtype!s}")
    return size
