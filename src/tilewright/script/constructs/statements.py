"""Statements other than loops, blocks and declarations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.error import ArgumentError, DTypeError
from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.expr import Expr, FloatImm, IntImm, StringImm, Var
from tilewright.ir.expr import Let as LetNode
from tilewright.ir.node import Node, Span
from tilewright.script.builder import (
    BranchFrame,
    FunctionFrame,
    IfFrame,
    WhileFrame,
    WrapFrame,
    add_statement,
    enclosing,
)
from tilewright.script.builder.stack import current_span
from tilewright.script.constructs.access import as_region, index_items, store
from tilewright.script.constructs.dtypes import as_size, type_of_annotation
from tilewright.tir.buffer import Buffer, Range
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.stmt import (
    AssertStmt,
    AttrStmt,
    BufferRealize,
    Evaluate,
    Prefetch,
    Stmt,
)
from tilewright.tir.stmt import (
    LetStmt as LetStmtNode,
)


def as_condition(value: object, what: str) -> Expr:
    """`value` as a scalar bool expression."""
    condition = as_expr(value)
    if condition.dtype != "bool":
        raise DTypeError(
            f"{what} needs a scalar bool, got {condition!r} of dtype {condition.dtype!s}"
        )
    return condition


# --- effects --------------------------------------------------------------------------------


def evaluate(value: object) -> None:
    """Evaluate an expression for its effect."""
    expr = StringImm(value) if isinstance(value, str) else as_expr(value)
    add_statement(Evaluate(expr, current_span()))


def buffer_store(buffer: Buffer, value: Any, indices: Any, predicate: Any = None) -> None:
    """Store `value` at `indices`, as ``buffer[indices] = value`` does.

    Args:
        buffer: where to.
        value: a scalar, or a vector if an index is a slice.
        indices: one per dimension.
        predicate: a bool vector: only these lanes are stored.
    """
    if not isinstance(buffer, Buffer):
        raise ArgumentError(f"T.buffer_store expects a buffer, got {buffer!r}")
    mask = None if predicate is None else as_expr(predicate)
    add_statement(store(buffer, value, index_items(indices), mask))


def prefetch(buffer: Buffer, bounds: Any) -> None:
    """Bring a region of a buffer into the cache."""
    if not isinstance(buffer, Buffer):
        raise ArgumentError(f"T.prefetch expects a buffer, got {buffer!r}")
    items = bounds if isinstance(bounds, (list, tuple)) else [bounds]
    ranges = []
    for item in items:
        if not isinstance(item, Range):
            raise ArgumentError(f"T.prefetch expects T.Range(begin, end), got {item!r}")
        ranges.append(item)
    if len(ranges) != buffer.ndim:
        raise ArgumentError(f"T.prefetch: {buffer.name} has {buffer.ndim} dimensions")
    add_statement(Prefetch(buffer, tuple(ranges), current_span()))


# --- scopes ---------------------------------------------------------------------------------


def attr(node: Any, attr_key: str, value: Any) -> WrapFrame:
    """The rest of the scope with an attribute of `node`, such as a pragma."""
    if not isinstance(attr_key, str):
        raise ArgumentError(f"T.attr expects the name of an attribute, got {attr_key!r}")
    target = as_expr(node) if isinstance(node, (bool, int, float, str)) else node
    if target is not None and not isinstance(target, Node):
        raise ArgumentError(f"T.attr expects a variable, a buffer or a number, got {node!r}")
    setting = as_expr(value)

    def wrap(body: Stmt, span: Span | None) -> Stmt:
        return AttrStmt(target, attr_key, setting, body, span)

    return WrapFrame("T.attr", None, wrap)


def launch_thread(thread: Var | str, extent: Any) -> WrapFrame:
    """The rest of the scope run by `extent` GPU threads; gives the index of the thread.

    Args:
        thread: a tag such as ``"threadIdx.x"``, or a variable made by `T.env_thread`.
        extent: how many.
    """
    size = as_size(extent, "the extent of T.launch_thread")
    if isinstance(thread, str) and not thread:
        raise ArgumentError('T.launch_thread needs a tag, such as "threadIdx.x"')
    if isinstance(thread, str):
        var, tag = Var("", size.dtype), thread
    else:
        function = enclosing(FunctionFrame)
        known = function.env_threads.get(thread) if function and isinstance(thread, Var) else None
        if known is None:
            raise ArgumentError("T.launch_thread expects a tag, or a variable from T.env_thread")
        var, tag = known.var, known.thread_tag
        size = cast(var.dtype, size)
    axis = IterVar(
        Range.from_min_extent(const(0, size.dtype), size), var, IterType.THREAD_INDEX, tag
    )
    key = "virtual_thread" if tag.split(".")[0] == "vthread" else "thread_extent"

    def wrap(body: Stmt, span: Span | None) -> Stmt:
        return AttrStmt(axis, key, size, body, span)

    return WrapFrame("T.launch_thread", var, wrap)


def realize(buffer_slice: Any, storage_scope: str, condition: object = True) -> WrapFrame:
    """The rest of the scope with memory for a region of a buffer."""
    region = as_region(buffer_slice)
    guard = as_condition(condition, "T.realize")
    if region.buffer.scope() != storage_scope:
        raise ArgumentError(
            f"T.realize: {region.buffer.name} has scope {region.buffer.scope()!r}, "
            f"not {storage_scope!r}"
        )

    def wrap(body: Stmt, span: Span | None) -> Stmt:
        return BufferRealize(region.buffer, region.region, guard, body, span)

    return WrapFrame("T.realize", None, wrap)


def Assert(condition: object, message: object = "") -> WrapFrame:
    """The rest of the scope, unless `condition` fails: that stops with `message`."""
    test = as_condition(condition, "assert")
    if isinstance(message, str):
        message = StringImm(message)
    if not isinstance(message, StringImm):
        raise ArgumentError(f"the message of an assertion is a string, got {message!r}")
    text = message

    def wrap(body: Stmt, span: Span | None) -> Stmt:
        return AssertStmt(test, text, body, span)

    return WrapFrame("T.Assert", None, wrap)


def LetStmt(value: Any, type_annotation: Any = None, *, var: Var | None = None) -> WrapFrame:
    """The rest of the scope with a variable that stands for `value`.

    Args:
        value: an expression.
        type_annotation: the type of the variable, such as `T.int32`; that of the value by default.
        var: an existing variable to define.
    """
    expr = as_expr(value)
    if var is None and type_annotation is not None:
        var = type_of_annotation(type_annotation)
        if var is None:
            raise ArgumentError(f"expected a type such as T.int32, got {type_annotation!r}")
    if var is None:
        var = Var("", expr.dtype)
    if not isinstance(var, Var):
        raise ArgumentError(f"T.LetStmt defines a variable, got {var!r}")
    bound = let_value(expr, var)
    defined = var

    def wrap(body: Stmt, span: Span | None) -> Stmt:
        return LetStmtNode(defined, bound, body, span)

    return WrapFrame("T.LetStmt", var, wrap)


def let_value(expr: Expr, var: Var) -> Expr:
    """`expr` as the value of `var`: of the same dtype; constants are converted."""
    if expr.dtype is var.dtype:
        return expr
    if isinstance(expr, (IntImm, FloatImm)) and not var.dtype.is_handle:
        return const(expr.value, var.dtype)
    raise DTypeError(
        f"`{var.name}` has dtype {var.dtype!s}, but its value {expr!r} has {expr.dtype!s}: "
        f'write T.Cast("{var.dtype!s}", ...)'
    )


def let(v: Var, value: Any, body: Any = None) -> Any:
    """`v` stands for `value` in the expression `body`, or without one in the rest of the scope."""
    if body is None:
        return LetStmt(value, var=v)
    return Let(body, {v: value})


def Let(expr: Any, where: Mapping[Var, Any]) -> Expr:
    """`expr` with a variable bound to a value: ``where={x: value}``."""
    if not isinstance(where, Mapping) or len(where) != 1:
        raise ArgumentError("T.Let expects where={variable: value} with one variable")
    ((var, value),) = where.items()
    if not isinstance(var, Var):
        raise ArgumentError(f"T.Let defines a variable, got {var!r}")
    return LetNode(var, let_value(as_expr(value), var), as_expr(expr))


# --- control --------------------------------------------------------------------------------


def If(condition: object) -> IfFrame:
    """A conditional, as a context manager around `T.Then()` and `T.Else()`."""
    return IfFrame(as_condition(condition, "T.If"))


def Then() -> BranchFrame:
    """What runs if the condition of the `T.If` around holds."""
    return BranchFrame("Then")


def Else() -> BranchFrame:
    """What runs if the condition of the `T.If` around does not hold."""
    return BranchFrame("Else")


def While(condition: object) -> WhileFrame:
    """A loop that runs while `condition` holds, as a context manager."""
    return WhileFrame(as_condition(condition, "T.While"))


__all__ = [
    "Assert", "Else", "If", "Let", "LetStmt", "Then", "While", "attr", "buffer_store", "evaluate",
    "launch_thread", "let", "prefetch", "realize",
]  # fmt: skip
