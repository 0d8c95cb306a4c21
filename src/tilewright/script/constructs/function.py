"""What is said about the function as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.error import ArgumentError, DiagnosticError
from tilewright.ir.expr import Var
from tilewright.ir.types import PointerType, PrimType, Type
from tilewright.script.builder import FunctionFrame, require
from tilewright.script.constructs.attributes import constant_attributes
from tilewright.script.constructs.dtypes import type_of_annotation
from tilewright.tir.buffer import Buffer
from tilewright.tir.expr import IterType, IterVar

_INSIDE = "a function, such as `@T.prim_func`"


def func_attr(attrs: Mapping[str, Any]) -> None:
    """Set attributes of the function, such as ``{"tir.noalias": True}``."""
    values = constant_attributes(attrs, "T.func_attr")
    require(FunctionFrame, "T.func_attr", _INSIDE).set_attrs(values)


def func_name(name: str) -> None:
    """Set the name of the function."""
    require(FunctionFrame, "T.func_name", _INSIDE).name = name


def func_ret(ret_type: object) -> None:
    """Set the type of the value that the function returns, such as `T.int32`."""
    require(FunctionFrame, "T.func_ret", _INSIDE).ret_type = returned_type(ret_type)


def returned_type(annotation: object) -> Type | None:
    """The type that a return annotation stands for; None for no value."""
    if annotation is None or isinstance(annotation, (PrimType, PointerType)):
        return annotation
    var = type_of_annotation(annotation)
    if var is None:
        if isinstance(annotation, str):  # T.void
            return None
        raise DiagnosticError(f"expected a type such as T.int32, got {annotation!r}")
    return var.type_annotation or PrimType(var.dtype)


def arg(name: str, obj: Var | Buffer) -> Var | Buffer:
    """Append a parameter to the function."""
    if not isinstance(obj, (Var, Buffer)):
        raise ArgumentError(f"T.arg expects a variable or a buffer, got {obj!r}")
    return require(FunctionFrame, "T.arg", _INSIDE).add_param(name, obj)


def env_thread(thread_tag: str, dtype: str = "int32") -> Var:
    """A variable for the index of a GPU thread, whose extent `T.launch_thread` gives."""
    if not isinstance(thread_tag, str) or not thread_tag:
        raise ArgumentError(f"T.env_thread expects a tag such as 'threadIdx.x', got {thread_tag!r}")
    frame = require(FunctionFrame, "T.env_thread", _INSIDE)
    var = type_of_annotation(str(dtype))
    assert var is not None
    frame.env_threads[var] = IterVar(None, var, IterType.THREAD_INDEX, thread_tag)
    return var


def target(config: Any, host: Any = None) -> Any:
    """A target, for the attribute ``"target"`` of a function."""
    from tilewright.target import Target

    return Target(config, host)


class MetaVar:
    """A Python value that an assignment keeps as it is, instead of computing it at run time."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __iter__(self) -> Any:
        return (MetaVar(item) for item in self.value)


def meta_var(value: Any) -> MetaVar:
    """Mark a value so that ``x = T.meta_var(value)`` names it without a let-binding."""
    return MetaVar(value)
