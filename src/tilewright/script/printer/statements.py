"""Printers of statements other than loops and blocks."""

from __future__ import annotations

from typing import Any

from tilewright.ir.expr import Call, Let, is_const_int
from tilewright.ir.node import Node
from tilewright.ir.rewrite import walk
from tilewright.ir.structural import structural_equal
from tilewright.script.printer.buffers import (
    buffer_arguments,
    buffer_name,
    declare_undeclared,
    subscript,
)
from tilewright.script.printer.core import STATEMENTS, Printer, prints, quoted
from tilewright.script.printer.declarations import ScopeKey, scope_items
from tilewright.tir.buffer import Range
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.stmt import (
    Allocate,
    AllocateConst,
    AssertStmt,
    AttrStmt,
    BufferRealize,
    BufferStore,
    DeclBuffer,
    Evaluate,
    IfThenElse,
    LetStmt,
    Prefetch,
    SeqStmt,
    Stmt,
    While,
)


def print_scope(p: Printer, key: ScopeKey, body: Stmt) -> None:
    """Print the statements of a scope at the current indentation."""
    buffers = p.declarations.buffers.get(key)
    for position, (stmt, is_flat) in enumerate(scope_items(body)):
        if buffers is not None:
            for buffer in buffers.get(position, ()):
                declare_undeclared(p, buffer)
        if is_flat:
            _FLAT[stmt.__class__](p, stmt)
        else:
            print_stmt(p, stmt)


def print_stmt(p: Printer, stmt: Stmt) -> None:
    """Print one statement with everything in it."""
    STATEMENTS[stmt.__class__](p, stmt)


def print_body(p: Printer, owner: Stmt, field: str, body: Stmt) -> None:
    """Print the indented body of a compound statement."""
    p.enter()
    print_scope(p, (id(owner), field), body)
    p.leave()


@prints(STATEMENTS, BufferStore)
def _store(p: Printer, node: BufferStore) -> None:
    name, value = buffer_name(p, node.buffer), p.expr(node.value)
    if node.predicate is not None:
        predicate = p.expr(node.predicate)
        indices = p.exprs(node.indices)
        p.header(node, f"{name}.vstore([{indices}], {value}, predicate={predicate})")
    else:
        p.header(node, f"{name}[{subscript(p, node.indices)}] = {value}")


@prints(STATEMENTS, Evaluate)
def _evaluate(p: Printer, node: Evaluate) -> None:
    text = p.expr(node.value)
    p.header(node, text if node.value.__class__ is Call else f"{p.tir}evaluate({text})")


@prints(STATEMENTS, SeqStmt)
def _seq(p: Printer, node: SeqStmt) -> None:
    if not node.seq:
        p.header(node, "pass")
    for stmt in node.seq:
        print_stmt(p, stmt)


@prints(STATEMENTS, IfThenElse)
def _if(p: Printer, node: IfThenElse) -> None:
    _branches(p, node, "if")


def _branches(p: Printer, node: IfThenElse, keyword: str) -> None:
    p.header(node, f"{keyword} {p.expr(node.condition)}:")
    print_body(p, node, "then_case", node.then_case)
    if node.else_case is None:
        return
    if isinstance(node.else_case, IfThenElse) and _fits_elif(p, node):
        _branches(p, node.else_case, "elif")
        return
    p.line("else:")
    print_body(p, node, "else_case", node.else_case)


def _fits_elif(p: Printer, node: IfThenElse) -> bool:
    """Whether nothing has to be declared between ``else:`` and the ``if`` below it."""
    assert isinstance(node.else_case, IfThenElse)
    return (id(node), "else_case") not in p.declarations.buffers and not any(
        isinstance(inner, Let) for inner in walk(node.else_case.condition)
    )


@prints(STATEMENTS, While)
def _while(p: Printer, node: While) -> None:
    p.header(node, f"while {p.expr(node.condition)}:")
    print_body(p, node, "body", node.body)


@prints(STATEMENTS, Prefetch)
def _prefetch(p: Printer, node: Prefetch) -> None:
    bounds = p.exprs(node.bounds)
    p.header(node, f"{p.tir}prefetch({buffer_name(p, node.buffer)}, [{bounds}])")


# --- statements whose body is the rest of the scope, or indented -----------------------------


def _with(p: Printer, node: Any, call: str, name: str | None = None) -> None:
    p.header(node, f"with {call}:" if name is None else f"with {call} as {name}:")


@prints(STATEMENTS, LetStmt)
def _nested_let(p: Printer, node: LetStmt) -> None:
    value = p.expr(node.value)
    p.names.push()
    name = p.names.define(node.var, node.var.name)
    p.before(f"{name} = {p.new_var(node.var)}")
    _with(p, node, f"{p.tir}LetStmt({value}, var={name})")
    print_body(p, node, "body", node.body)
    p.names.pop()


def _flat_let(p: Printer, node: LetStmt) -> None:
    value = p.expr(node.value)
    name = p.names.define(node.var, node.var.name)
    p.header(node, f"{name}: {p.var_type(node.var)} = {value}")


def _allocate_call(p: Printer, node: Allocate) -> str:
    annotation = node.buffer_var.type_annotation
    scope = getattr(annotation, "storage_scope", "global")
    parts = [f"[{p.exprs(node.extents)}]", quoted(node.dtype), quoted(scope)]
    if not is_const_int(node.condition, 1):
        parts.append(f"condition={p.expr(node.condition)}")
    if node.annotations:
        parts.append(f"annotations={p.dictionary(node.annotations)}")
    return f"{p.tir}allocate({', '.join(parts)})"


def _allocate_const_call(p: Printer, node: AllocateConst) -> str:
    parts = [_array_text(node.data), quoted(node.dtype), f"[{p.exprs(node.extents)}]"]
    if node.annotations:
        parts.append(f"annotations={p.dictionary(node.annotations)}")
    return f"{p.tir}allocate_const({', '.join(parts)})"


def _array_text(data: Any) -> str:
    """The elements of a numpy array as nested lists; infinities and NaN as strings."""
    items = data.tolist() if hasattr(data, "tolist") else data

    def text(item: Any) -> str:
        if isinstance(item, (list, tuple)):
            return f"[{', '.join(map(text, item))}]"
        if isinstance(item, float) and item - item != 0:
            return f'float("{item}")'
        return repr(item)

    return text(items)


_ALLOCATIONS: dict[type, Any] = {Allocate: _allocate_call, AllocateConst: _allocate_const_call}


@prints(STATEMENTS, *_ALLOCATIONS)
def _nested_allocate(p: Printer, node: Any) -> None:
    call = _ALLOCATIONS[node.__class__](p, node)
    p.names.push()
    _with(p, node, call, p.names.define(node.buffer_var, node.buffer_var.name))
    print_body(p, node, "body", node.body)
    p.names.pop()


def _flat_allocate(p: Printer, node: Any) -> None:
    call = _ALLOCATIONS[node.__class__](p, node)
    name = p.names.define(node.buffer_var, node.buffer_var.name)
    p.header(node, f"{name} = {call}")


@prints(STATEMENTS, DeclBuffer)
def _nested_decl_buffer(p: Printer, node: DeclBuffer) -> None:
    call = f"{p.tir}decl_buffer({buffer_arguments(p, node.buffer)})"
    p.names.push()
    _with(p, node, call, p.define_buffer(node.buffer))
    print_body(p, node, "body", node.body)
    p.names.pop()


def _flat_decl_buffer(p: Printer, node: DeclBuffer) -> None:
    call = f"{p.tir}decl_buffer({buffer_arguments(p, node.buffer)})"
    p.header(node, f"{p.define_buffer(node.buffer)} = {call}")


def _is_thread_launch(node: AttrStmt) -> bool:
    """Whether `T.launch_thread` makes this statement again."""
    axis = node.node
    if not isinstance(axis, IterVar) or not isinstance(axis.dom, Range) or not axis.thread_tag:
        return False
    is_virtual = axis.thread_tag.split(".")[0] == "vthread"
    return (
        node.attr_key == ("virtual_thread" if is_virtual else "thread_extent")
        and axis.iter_type == IterType.THREAD_INDEX
        and is_const_int(axis.dom.min, 0)
        and axis.dom.min.dtype is axis.var.dtype is node.value.dtype
        and structural_equal(axis.dom.extent, node.value)
    )


def _attr_call(p: Printer, node: AttrStmt) -> str:
    target = p.expr(node.node) if isinstance(node.node, Node) else p.value(node.node)
    return f"{p.tir}attr({target}, {quoted(node.attr_key)}, {p.expr(node.value)})"


@prints(STATEMENTS, AttrStmt)
def _nested_attr(p: Printer, node: AttrStmt) -> None:
    if _is_thread_launch(node):
        call = f"{p.tir}launch_thread({quoted(node.node.thread_tag)}, {p.expr(node.value)})"
        p.names.push()
        _with(p, node, call, p.names.define(node.node.var, node.node.var.name))
        print_body(p, node, "body", node.body)
        p.names.pop()
        return
    _with(p, node, _attr_call(p, node))
    print_body(p, node, "body", node.body)


def _flat_attr(p: Printer, node: AttrStmt) -> None:
    if _is_thread_launch(node):
        call = f"{p.tir}launch_thread({quoted(node.node.thread_tag)}, {p.expr(node.value)})"
        p.header(node, f"{p.names.define(node.node.var, node.node.var.name)} = {call}")
    else:
        p.header(node, _attr_call(p, node))


@prints(STATEMENTS, AssertStmt)
def _nested_assert(p: Printer, node: AssertStmt) -> None:
    _with(p, node, f"{p.tir}Assert({p.expr(node.condition)}, {p.expr(node.message)})")
    print_body(p, node, "body", node.body)


def _flat_assert(p: Printer, node: AssertStmt) -> None:
    p.header(node, f"assert {p.expr(node.condition)}, {p.expr(node.message)}")


def _realize_call(p: Printer, node: BufferRealize) -> str:
    from tilewright.tir.buffer import BufferRegion

    parts = [p.expr(BufferRegion(node.buffer, node.bounds)), quoted(node.buffer.scope())]
    if not is_const_int(node.condition, 1):
        parts.append(p.expr(node.condition))
    return f"{p.tir}realize({', '.join(parts)})"


@prints(STATEMENTS, BufferRealize)
def _nested_realize(p: Printer, node: BufferRealize) -> None:
    _with(p, node, _realize_call(p, node))
    print_body(p, node, "body", node.body)


def _flat_realize(p: Printer, node: BufferRealize) -> None:
    p.header(node, _realize_call(p, node))


_FLAT: dict[type, Any] = {
    LetStmt: _flat_let,
    Allocate: _flat_allocate,
    AllocateConst: _flat_allocate,
    DeclBuffer: _flat_decl_buffer,
    AttrStmt: _flat_attr,
    AssertStmt: _flat_assert,
    BufferRealize: _flat_realize,
}
