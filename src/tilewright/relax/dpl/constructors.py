"""Patterns as users write them, and those of single values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.module import GlobalVar
from tilewright.ir.op import Op
from tilewright.relax.dpl.matching import Matching
from tilewright.relax.dpl.pattern import (
    CallPattern,
    DFPattern,
    ExprPattern,
    TupleGetItemPattern,
    TuplePattern,
    as_pattern,
)
from tilewright.relax.expr import Constant, DataflowVar, ExternFunc, ShapeExpr, Var


class WildcardPattern(DFPattern):
    """Anything."""

    def ways(self, expr: Any, matching: Matching) -> Iterator[Any]:
        yield expr


class VarPattern(DFPattern):
    """A variable.

    Args:
        name: its name; empty for any.
        kind: its class.
    """

    def __init__(self, name: str = "", kind: type[Var] = Var) -> None:
        self.name, self.kind = _name(name), kind

    def ways(self, expr: Any, matching: Matching) -> Iterator[Any]:
        if isinstance(expr, self.kind) and self.name in ("", expr.name_hint):
            yield expr


class ConstantPattern(DFPattern):
    """A constant array."""

    def ways(self, expr: Any, matching: Matching) -> Iterator[Any]:
        value = matching.value(expr)
        if isinstance(value, Constant):
            yield value


class FunctionNamePattern(DFPattern):
    """The name of a function of the module, or of the registry.

    Args:
        kind: `GlobalVar` or `ExternFunc`.
        name: the name; empty for any.
    """

    def __init__(self, kind: type[GlobalVar | ExternFunc], name: str = "") -> None:
        self.kind, self.name = kind, _name(name)

    def ways(self, expr: Any, matching: Matching) -> Iterator[Any]:
        if isinstance(expr, self.kind):
            name = expr.name_hint if isinstance(expr, GlobalVar) else expr.global_symbol
            if self.name in ("", name):
                yield expr


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise ArgumentError(f"expected a name, got {name!r}")
    return name


def wildcard() -> WildcardPattern:
    """Anything."""
    return WildcardPattern()


def is_var(name: str = "") -> VarPattern:
    """A variable, of that name if one is given."""
    return VarPattern(name)


def is_dfv(name: str = "") -> VarPattern:
    """A variable of a dataflow block."""
    return VarPattern(name, DataflowVar)


def is_gv(name: str = "") -> FunctionNamePattern:
    """The name of a function of the module."""
    return FunctionNamePattern(GlobalVar, name)


def is_const() -> ConstantPattern:
    """A constant array."""
    return ConstantPattern()


def is_expr(expr: Any) -> ExprPattern:
    """This very expression, or an equal one."""
    return ExprPattern(expr)


def is_shape(shape: Sequence[Any]) -> ExprPattern:
    """This shape as a value."""
    return ExprPattern(ShapeExpr(shape))


def is_op(op_name: str) -> ExprPattern:
    """The operator of that name, such as ``"relax.matmul"``.

    Raises:
        UnknownNameError: if there is none.
    """
    return ExprPattern(Op.get(op_name))


def is_tuple(fields: Sequence[Any], unordered: bool = False) -> TuplePattern:
    """A tuple of these fields."""
    if not isinstance(fields, (tuple, list)):
        raise ArgumentError(f"is_tuple: expected a list of patterns, got {fields!r}")
    return TuplePattern(fields, unordered)


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """A field of a tuple."""
    return TupleGetItemPattern(tuple_value, index)


def is_call_tir(
    func_name: str, args: Sequence[Any] | DFPattern | None = None, tir_vars: Any = None
) -> CallPattern:
    """The call of the tensor program of that name in the module.

    Args:
        func_name: the name; empty for any.
        args: the patterns of its operands, or of the tuple of them; None for any.
        tir_vars: the pattern of the sizes that follow them; None for any, or for none.
    """
    return _kernel_call("relax.call_tir", is_gv(func_name), args, tir_vars)


def is_call_dps_packed(
    func_name: str, args: Sequence[Any] | DFPattern | None = None
) -> CallPattern:
    """The call of the registered function of that name, which writes its results."""
    return _kernel_call("relax.call_dps_packed", FunctionNamePattern(ExternFunc, func_name), args)


def _kernel_call(op_name: str, callee: DFPattern, args: Any, tir_vars: Any = None) -> CallPattern:
    operands: list[Any] = [callee, wildcard() if args is None else as_pattern(args)]
    if tir_vars is not None:
        operands.append(as_pattern(tir_vars))
    return CallPattern(is_op(op_name), operands, varg_default_wildcard=tir_vars is None)


def is_call_packed(func_name: str, args: Sequence[Any] | None = None) -> CallPattern:
    """The call of the registered function of that name."""
    return CallPattern(FunctionNamePattern(ExternFunc, func_name), args)


def has_attr(attrs: Mapping[str, Any], pattern: DFPattern | None = None) -> DFPattern:
    """A call or a function with these attributes."""
    return (pattern or wildcard()).has_attr(attrs)


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> DFPattern:
    """An array of that dtype."""
    return (pattern or wildcard()).has_dtype(dtype)


def has_shape(shape: Sequence[Any], pattern: DFPattern | None = None) -> DFPattern:
    """An array of that shape."""
    return (pattern or wildcard()).has_shape(shape)
