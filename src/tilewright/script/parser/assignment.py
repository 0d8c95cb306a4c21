"""Assignments: naming values, let-bindings, and stores into buffers."""

from __future__ import annotations

import ast
from typing import Any

from tilewright.error import DTypeError
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr, StringImm, Var
from tilewright.ir.module import GlobalVar
from tilewright.script.builder import ForFrame, Frame, set_name
from tilewright.script.constructs.access import PartialAccess, index_items, load_indices
from tilewright.script.constructs.dtypes import type_of_annotation
from tilewright.script.constructs.function import MetaVar
from tilewright.script.constructs.statements import LetStmt, buffer_store
from tilewright.script.parser.core import BodyParser, parses
from tilewright.script.parser.operators import binary
from tilewright.script.parser.source import is_iterable, kind_of
from tilewright.tir.buffer import Buffer
from tilewright.tir.expr import IterVar


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
