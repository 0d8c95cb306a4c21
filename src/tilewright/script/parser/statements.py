"""Statements other than assignments."""

from __future__ import annotations

import ast
from typing import Any

from tilewright.error import DTypeError
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr
from tilewright.script.builder import (
    BranchFrame,
    ForFrame,
    Frame,
    FunctionFrame,
    IfFrame,
    WhileFrame,
    add_statement,
    enclosing,
)
from tilewright.script.constructs.loops import serial
from tilewright.script.constructs.statements import Assert, as_condition, evaluate
from tilewright.script.parser.assignment import bind
from tilewright.script.parser.core import BodyParser, parses
from tilewright.script.parser.macro import define_macro
from tilewright.script.parser.operators import is_symbolic, operand
from tilewright.script.parser.scope import RangeValue
from tilewright.script.parser.source import kind_of
from tilewright.tir.op import ret
from tilewright.tir.stmt import Stmt


@parses(ast.Pass)
def _pass(parser: BodyParser, node: ast.Pass) -> None:
    del parser, node


@parses(ast.Expr)
def _expression(parser: BodyParser, node: ast.Expr) -> None:
    if isinstance(node.value, ast.Constant) and isinstance(node.value.value, (str, type(...))):
        return  # a docstring, or `...`
    value = parser.evaluate(node.value)
    if value is None:
        return
    if isinstance(value, ForFrame):
        raise parser.error(node, f"{value.describe()} is a loop: write `for i in ...:`")
    if isinstance(value, Frame):
        value.__enter__()
    elif isinstance(value, Stmt):
        add_statement(value)
    elif isinstance(value, (Expr, int, float)) or hasattr(value, "as_expr"):
        evaluate(operand(value))
    else:
        raise parser.error(node, f"this has no effect: it is {kind_of(value)}")


@parses(ast.For)
def _for(parser: BodyParser, node: ast.For) -> None:
    if node.orelse:
        raise parser.error(node.orelse[0], "a `for` in a script has no `else`")
    frame = _loop(parser, node)
    with frame:
        parser.scope.push()
        count = len(frame.loop_vars)
        if isinstance(node.target, ast.Name) and count > 1:
            raise parser.error(node.target, f"{frame.describe()} makes {count} loops, 1 name given")
        is_single = isinstance(node.target, ast.Name)
        _check_names(parser, node.target)
        bind(parser, node.target, frame.loop_vars[0] if is_single else frame.loop_vars)
        parser.block(node.body)
        parser.builder.span = frame.span
        parser.scope.pop(node.end_lineno or node.lineno)


def _check_names(parser: BodyParser, target: ast.expr) -> None:
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    for part in parts:
        name = part.value if isinstance(part, ast.Starred) else part
        if not isinstance(name, ast.Name):
            raise parser.error(part, "a loop variable is a name")


def _loop(parser: BodyParser, node: ast.For) -> ForFrame:
    value = parser.evaluate(node.iter)
    if isinstance(value, RangeValue):
        if len(value.arguments) == 3:
            raise parser.error(
                node.iter, "a loop has the step 1: count the iterations and multiply the variable"
            )
        value = parser.guarded(node.iter, serial, *value.arguments)
    if isinstance(value, ForFrame):
        return value
    expected = "T.grid, T.serial, T.parallel, T.vectorized, T.unroll, T.thread_binding or range"
    kind = value.describe() if isinstance(value, Frame) else kind_of(value)
    raise parser.error(node.iter, f"expected {expected}, got {kind}")


@parses(ast.While)
def _while(parser: BodyParser, node: ast.While) -> None:
    if node.orelse:
        raise parser.error(node.orelse[0], "a `while` in a script has no `else`")
    condition = operand(parser.evaluate(node.test))
    with WhileFrame(parser.guarded(node.test, as_condition, condition, "while")):
        parser.block(node.body)


@parses(ast.If)
def _if(parser: BodyParser, node: ast.If) -> None:
    condition = operand(parser.evaluate(node.test))
    if not isinstance(condition, Expr):
        # Python knows the condition: only one branch is part of the program.
        branch = node.body if condition else node.orelse
        if branch:
            parser.block(branch)
        return
    with IfFrame(parser.guarded(node.test, as_condition, condition, "if")):
        with BranchFrame("Then"):
            parser.block(node.body)
        if node.orelse:
            with BranchFrame("Else"):
                parser.block(node.orelse)


@parses(ast.With)
def _with(parser: BodyParser, node: ast.With) -> None:
    depth = len(parser.builder.frames)
    parser.scope.push()
    for item in node.items:
        frame = parser.evaluate(item.context_expr)
        if isinstance(frame, ForFrame):
            raise parser.error(
                item.context_expr, f"{frame.describe()} is a loop: write `for i in ...:`"
            )
        if not isinstance(frame, Frame):
            raise parser.error(
                item.context_expr,
                f"expected a construct such as T.block, got {kind_of(frame)}",
            )
        value = parser.guarded(item.context_expr, frame.__enter__)
        if item.optional_vars is not None:
            if value is None:
                raise parser.error(
                    item.optional_vars, f"{frame.describe()} defines nothing that could be named"
                )
            bind(parser, item.optional_vars, value)
    parser.block(node.body)
    header = node.items[0].context_expr
    parser.guarded(header, parser.builder.close_to, depth)
    parser.scope.pop(node.end_lineno or node.lineno)


@parses(ast.Assert)
def _assert(parser: BodyParser, node: ast.Assert) -> None:
    condition = operand(parser.evaluate(node.test))
    message = "" if node.msg is None else parser.evaluate(node.msg)
    if not is_symbolic(condition) and not isinstance(condition, Expr):
        condition = as_expr(bool(condition))
    parser.guarded(node.test, Assert, condition, message).__enter__()


@parses(ast.Return)
def _return(parser: BodyParser, node: ast.Return) -> None:
    value = None if node.value is None else operand(parser.evaluate(node.value))
    if value is None:
        evaluate(ret())
        return
    function = enclosing(FunctionFrame)
    expected = getattr(function.ret_type, "dtype", None) if function is not None else None
    place = node.value or node
    returned = parser.guarded(place, _returned, value, expected)
    evaluate(ret(returned))


def _returned(value: Any, expected: Any) -> Expr:
    expr = as_expr(value, expected)
    if expected is not None and expr.dtype is not expected:
        raise DTypeError(
            f"the function returns {expected!s}, but this has dtype {expr.dtype!s}: "
            f'write T.Cast("{expected!s}", ...)'
        )
    return expr


@parses(ast.FunctionDef)
def _function(parser: BodyParser, node: ast.FunctionDef) -> None:
    parser.scope.define(node.name, define_macro(parser.evaluate, node))
