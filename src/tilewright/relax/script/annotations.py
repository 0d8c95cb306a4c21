"""Struct info as scripts write it: `R.Tensor`, `R.Shape`, `R.Prim`, `R.Object`, `R.Tuple`, ...

A string among the extents stands for a symbolic size, or an expression of some. It means something
in a script only: Python itself evaluates the annotations of a function, too, before the decorator
reads them, and gets a `Deferred` for them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable as Function
from typing import Any, Final

from tilewright.error import ArgumentError, ScriptError
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr
from tilewright.ir.module import VDevice
from tilewright.relax.expr import RelaxExpr
from tilewright.relax.script.context import GraphBuilder, graph_builder
from tilewright.relax.struct_info import (
    UNKNOWN_NDIM,
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tilewright.script.builder.stack import is_reading_module
from tilewright.script.constructs.function import lookup_vdevice
from tilewright.script.parser.evaluator import Evaluator
from tilewright.script.parser.scope import MISSING, Scope
from tilewright.script.parser.source import kind_of, source_of_text


class Deferred:
    """Struct info whose meaning depends on the enclosing script."""

    def __init__(self, written: str) -> None:
        self._written = written

    def __repr__(self) -> str:
        return f"{self._written} with symbolic sizes, outside of a script"


class _NeedsScriptError(ArgumentError):
    """Something that is known while a script is read only."""

    def __init__(self) -> None:
        super().__init__("names of sizes and devices in struct info mean something in scripts only")


class StructInfoFunction:
    """`R.Tensor` and such: struct info of unknown contents, or a function that makes it."""

    def __init__(self, make: Function[..., StructInfo], doc: str) -> None:
        self._make = make
        self.__name__ = make.__name__.removeprefix("_").capitalize()
        self.__doc__ = doc
        self.__wrapped__ = make  # for inspect.signature

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        try:
            return self._make(*args, **keywords)
        except _NeedsScriptError:
            return Deferred(repr(self))

    def __repr__(self) -> str:
        return f"R.{self.__name__}"


def as_struct_info(value: object) -> StructInfo:
    """The struct info that an annotation stands for.

    Raises:
        ArgumentError: for anything else.
    """
    if isinstance(value, StructInfoFunction):
        value = value()
    if isinstance(value, StructInfo):
        return value
    if isinstance(value, Deferred):
        raise _NeedsScriptError
    given = repr(value) if value is None or isinstance(value, (int, float, str)) else kind_of(value)
    raise ArgumentError(f"expected struct info such as R.Tensor((2, 3), 'float32'), got {given}")


# --- symbolic sizes --------------------------------------------------------------------------


def _extent(value: Any) -> Any:
    """An extent; a string becomes the symbolic size, or the expression of some, that it names."""
    if not isinstance(value, str):
        return value
    builder = graph_builder()
    if builder is None or not builder.functions:
        raise _NeedsScriptError
    if value.isidentifier():
        return builder.size_named(value)
    try:
        return _expression(builder, value)
    except ScriptError as error:
        raise ArgumentError(f"the extent {value!r}: {error.msg}") from None


def _expression(builder: GraphBuilder, text: str) -> Any:
    from tilewright.script import tir

    source = source_of_text(text, builder.allowance)
    body = source.tree.body
    if len(body) != 1 or not isinstance(body[0], ast.Expr):
        raise ArgumentError(f"the extent {text!r} is not an expression")
    function = builder.function
    around = Scope((*function.names, {"T": tir}))
    sizes: dict[str, Any] = {}
    for node in ast.walk(body[0]):
        if isinstance(node, ast.Name):
            size = builder.find_size(node.id)
            is_new = node.id in function.candidates or around.find(node.id) is MISSING
            if size is None and function.in_signature and is_new:
                size = builder.size_named(node.id)
            if size is not None:
                sizes[node.id] = size
    return Evaluator(source, Scope((sizes, *function.names, {"T": tir})))(body[0].value)


def _extents(shape: Any) -> list[Any]:
    if isinstance(shape, (str, bytes)) or not hasattr(shape, "__iter__"):
        raise ArgumentError(f"a shape is a sequence of extents, got {shape!r}")
    return [_extent(value) for value in shape]


# --- the functions ---------------------------------------------------------------------------


def _tensor(
    shape: Any = None, dtype: Any = None, vdevice: Any = None, ndim: int = UNKNOWN_NDIM
) -> StructInfo:
    if isinstance(shape, str) and dtype is None:
        shape, dtype = None, shape
    if shape is not None and not isinstance(shape, RelaxExpr):
        shape = _extents(shape)
    return TensorStructInfo(shape, dtype, device_of("R.Tensor", vdevice), _rank(ndim))


def _rank(ndim: Any) -> int:
    if not isinstance(ndim, int) or isinstance(ndim, bool) or ndim < UNKNOWN_NDIM:
        raise ArgumentError(f"ndim is a number of dimensions, got {ndim!r}")
    return ndim


def device_of(caller: str, value: Any) -> VDevice | None:
    """A device, or the one that a text such as ``"cuda:1"`` means in the module."""
    if value is None or isinstance(value, VDevice):
        return value
    if not isinstance(value, str):
        raise ArgumentError(f"{caller}: a device is one of I.vdevice, or a name, got {value!r}")
    kind, _, number = value.partition(":")
    number = number.partition(":")[0] or "0"
    if not number.isdecimal():
        raise ArgumentError(f"{caller}: a device is named like 'cuda:0', got {value!r}")
    if not is_reading_module():
        if graph_builder() is not None:
            raise ArgumentError(
                f"{caller}: {value!r} names a device of the module: put the function into a class "
                "with @I.ir_module and I.module_global_infos"
            )
        raise _NeedsScriptError
    return lookup_vdevice(kind, int(number))


def _shape(values: Any = None, ndim: int = UNKNOWN_NDIM) -> StructInfo:
    return ShapeStructInfo(None if values is None else _extents(values), _rank(ndim))


def _prim(dtype: Any = None, value: Any = None) -> StructInfo:
    if value is None and isinstance(dtype, (Expr, int, float)):
        dtype, value = None, dtype
    return PrimStructInfo(dtype, None if value is None else as_expr(_extent(value)))


def _object() -> StructInfo:
    return ObjectStructInfo()


def _tuple(*fields: Any) -> StructInfo:
    if len(fields) == 1 and isinstance(fields[0], (list, tuple)):
        fields = tuple(fields[0])
    return TupleStructInfo([as_struct_info(field) for field in fields])


def _callable(
    params: Any = None, ret: Any = None, purity: bool | None = None, derive_func: Any = None
) -> StructInfo:
    result = None if ret is None else as_struct_info(ret)
    if params is None:
        return FuncStructInfo.opaque_func(ret=result, derive_func=derive_func, purity=bool(purity))
    if not isinstance(params, (list, tuple)):
        params = [params]
    return FuncStructInfo(
        [as_struct_info(param) for param in params], result, purity is not False, derive_func
    )


Tensor: Final = StructInfoFunction(
    _tensor,
    """An array.

    Args:
        shape: its extents, strings for symbolic sizes; or a shape.
        dtype: type of its elements.
        vdevice: where it is: a device of the module, such as ``"cuda:0"``.
        ndim: number of dimensions, where the shape is not given.
    """,
)
Shape: Final = StructInfoFunction(_shape, "A shape, by its extents or their number `ndim`.")
Prim: Final = StructInfoFunction(_prim, "A scalar, by its dtype or by the value that it has.")
Object: Final = StructInfoFunction(_object, "Any value.")
Tuple: Final = StructInfoFunction(_tuple, "Several values.")
Callable: Final = StructInfoFunction(
    _callable,
    """A function.

    Args:
        params: struct info of each parameter; by default anything.
        ret: struct info of the result; by default anything.
        purity: whether a call has no effect but its result; by default if `params` are given.
        derive_func: gives what a call returns, where `params` are not given: a function from the
            call to struct info, or the name under which one is registered.
    """,
)
