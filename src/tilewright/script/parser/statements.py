"""Statements of function bodies: each kind of Python's becomes a construct."""

from __future__ import annotations

import ast
from typing import Any

from tilewright.error import DTypeError
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr, StringImm, Var
from tilewright.ir.module import GlobalVar
from tilewright.script.builder import (
    BranchFrame,
    ForFrame,
    Frame,
    FunctionFrame,
    IfFrame,
    WhileFrame,
    add_statement,
    enclosing,
    set_name,
)
from tilewright.script.constructs.access import PartialAccess, index_items, load_indices
from tilewright.script.constructs.blocks import serial
from tilewright.script.constructs.dtypes import type_of_annotation
from tilewright.script.constructs.function import MetaVar
from tilewright.script.constructs.statements import (
    Assert,
    LetStmt,
    as_condition,
    buffer_store,
    evaluate,
)
from tilewright.script.parser.core import BodyParser, parses
from tilewright.script.parser.macro import define_macro
from tilewright.script.parser.operators import binary, is_symbolic, operand
from tilewright.script.parser.scope import RangeValue
from tilewright.script.parser.source import is_iterable, kind_of
from tilewright.tir.buffer import Buffer
from tilewright.tir.expr import IterVar
from tilewright.tir.op import ret
from tilewright.tir.stmt import Stmt


def bind(parser: BodyParser, target: ast.expr, value: Any, place: ast.expr | None = None) -> None:
    """Assign `value`, which stands at `place`, to a name, several names, or an element."""
    if isinstance(target, ast.Name):
        named = parser.guarded(target, name_value, parser, target, value)
        parser.scope.define(target.id, named)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for item, part in zip(target.elts, _unpack(parser, target, value), strict=True):
            bind(parser, item.value if isinstance(item, ast.Starred) else item, part)
    elif isinstance(target, ast.Subscript):
        store(parser, target, value, place or target)
    else:
        raise parser.error(target, "expected a name or an element of a buffer")


def _unpack(parser: BodyParser, target: ast.Tuple | ast.List, value: Any) -> list[Any]:
    """One value per part of the target; a starred part takes a list."""
    if isinstance(value, (str, Expr)) or not is_iterable(value):
        raise parser.error(target, f"{len(target.elts)} names for a single value")
    values = list(value)
    starred = [i for i, item in enumerate(target.elts) if isinstance(item, ast.Starred)]
    if len(starred) > 1:
        raise parser.error(target, "only one name may be starred")
    if not starred and len(values) == len(target.elts):
        return values
    if starred and len(values) >= len(target.elts) - 1:
        start = starred[0]
        rest = len(target.elts) - start - 1
        return [*values[:start], values[start : len(values) - rest], *values[len(values) - rest :]]
    names, given = len(target.elts), len(values)
    raise parser.error(
        target, f"{names} name{'s' * (names != 1)} for {given} value{'s' * (given != 1)}"
    )


def name_value(parser: BodyParser, target: ast.Name, value: Any) -> Any:
    """What `name` stands for after ``name = value``.

    New variables and buffers get the name; constructs such as `T.allocate` are opened until the
    end of the block; numbers and expressions become let-bindings; other Python values stay.
    """
    name = target.id
    if isinstance(value, MetaVar):
        return value.value
    if isinstance(value, ForFrame):
        raise DTypeError(f"{value.describe()} is a loop: write `for {name} in ...`")
    if isinstance(value, Frame):
        opened = value.__enter__()
        if opened is None:
            raise DTypeError(f"{value.describe()} defines nothing that could be named")
        return name_value(parser, target, opened)
    if isinstance(value, (list, tuple)):
        for position, item in enumerate(value):
            if isinstance(item, (Buffer, Var)):
                set_name(item, f"{name}_{position}")
        return value
    if isinstance(value, Buffer):
        set_name(value, name)
        return value
    if isinstance(value, Var) and (not value.name or value.dtype.is_handle):
        set_name(value, name)
        return value
    if isinstance(value, IterVar):
        if not value.var.name:
            set_name(value.var, name)
        return value
    if isinstance(value, (Expr, bool, int, float)) and not isinstance(
        value, (GlobalVar, StringImm)
    ):
        var = LetStmt(value).__enter__()
        set_name(var, name)
        return var
    if isinstance(value, PartialAccess):
        value.as_expr()
    return value


def store(parser: BodyParser, target: ast.Subscript, value: Any, place: ast.expr) -> None:
    """``buffer[indices] = value``."""
    base = parser.evaluate(target.value)
    items = index_items(parser.evaluate(target.slice))
    if isinstance(base, PartialAccess):
        base, items = base.buffer, base.items + items
    if not isinstance(base, Buffer):
        written = parser.source.text_of(target.value)
        raise parser.error(target, f"`{written}` is {kind_of(base)}; only buffers can be stored to")
    indices = parser.guarded(target, load_indices, base, items)
    if isinstance(value, (Frame, Buffer, str)) or value is None:
        what = value.describe() if isinstance(value, Frame) else kind_of(value)
        raise parser.error(place, f"cannot store {what}: expected a value of {base.dtype!s}")
    parser.guarded(place, buffer_store, base, value, indices)


@parses(ast.Assign)
def _assign(parser: BodyParser, node: ast.Assign) -> None:
    value = parser.evaluate(node.value)
    for target in node.targets:
        bind(parser, target, value, node.value)


@parses(ast.AugAssign)
def _augmented(parser: BodyParser, node: ast.AugAssign) -> None:
    if not isinstance(node.target, (ast.Name, ast.Subscript)):
        raise parser.error(node.target, "expected a name or an element of a buffer")
    old = parser.evaluate(node.target)
    amount = parser.evaluate(node.value)
    value = parser.evaluate.made(binary(type(node.op), old, amount))
    bind(parser, node.target, value, node.value)


@parses(ast.AnnAssign)
def _annotated(parser: BodyParser, node: ast.AnnAssign) -> None:
    if not isinstance(node.target, ast.Name):
        raise parser.error(node.target, "only names can be annotated")
    annotation = parser.evaluate(node.annotation)
    var = parser.guarded(node.annotation, type_of_annotation, annotation)
    if var is None:
        raise parser.error(node.annotation, "expected a type such as T.int32")
    if node.value is None:
        raise parser.error(node, f"`{node.target.id}` needs a value: `{node.target.id}: ... = ...`")
    value = parser.evaluate(node.value)
    set_name(var, node.target.id)
    frame = parser.guarded(node.value, _let, value, var)
    parser.scope.define(node.target.id, frame.__enter__())


def _let(value: Any, var: Var) -> Frame:
    if isinstance(value, (Frame, str)) or value is None:
        raise DTypeError(f"expected a value of dtype {var.dtype!s}")
    if isinstance(value, Buffer):
        raise DTypeError(f"the buffer {value.name} is not a value of dtype {var.dtype!s}")
    return LetStmt(as_expr(value), var=var)


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
