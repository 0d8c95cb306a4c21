"""Printers of loops and blocks."""

from __future__ import annotations

from typing import Any

from tilewright.ir.expr import Expr, IntImm, Var, is_const_int
from tilewright.script.printer.buffers import (
    buffer_arguments,
    declare_symbolic,
    match_arguments,
    same,
    stop_of,
)
from tilewright.script.printer.core import STATEMENTS, Printer, prints, quoted
from tilewright.script.printer.statements import print_scope
from tilewright.tir.buffer import Buffer
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.stmt import Block, BlockRealize, For, ForKind
from tilewright.tir.substitute import variables_of

_KINDS = {
    ForKind.SERIAL: "serial",
    ForKind.PARALLEL: "parallel",
    ForKind.VECTORIZED: "vectorized",
    ForKind.UNROLLED: "unroll",
    ForKind.THREAD_BINDING: "thread_binding",
}


@prints(STATEMENTS, For)
def _for(p: Printer, node: For) -> None:
    nest = _perfect_nest(p, node)
    if len(nest) > 1:
        domain = f"{p.tir}grid({p.exprs(loop.extent for loop in nest)})"
    else:
        domain = _domain(p, node)
    p.names.push()
    names = [p.mark(v, p.names.define(v, v.name)) for v in (loop.loop_var for loop in nest)]
    p.header(node, f"for {', '.join(names)} in {domain}:")
    for loop in nest:
        p.loops[loop.loop_var] = loop
    p.indent()
    print_scope(p, (id(nest[-1]), "body"), nest[-1].body)
    p.dedent()
    for loop in nest:
        del p.loops[loop.loop_var]
    p.names.pop()


def _perfect_nest(p: Printer, outer: For) -> list[For]:
    """The loops from `outer` inwards that are written as one `T.grid`."""
    nest = [outer]
    if not p.options.syntax_sugar or p.is_underlined(outer) or not _is_plain(outer):
        return nest
    outer_vars: set[Var] = {outer.loop_var}
    loop: Any = outer.body
    while (
        loop.__class__ is For
        and _is_plain(loop)
        and not p.is_underlined(loop)
        and (id(nest[-1]), "body") not in p.declarations.buffers
        and (is_const_int(loop.extent) or outer_vars.isdisjoint(variables_of(loop.extent)))
    ):
        nest.append(loop)
        outer_vars.add(loop.loop_var)
        loop = loop.body
    return nest


def _is_plain(loop: For) -> bool:
    """Whether `T.grid` makes this loop."""
    return (
        loop.kind == ForKind.SERIAL
        and is_const_int(loop.min, 0)
        and not loop.annotations
        and loop.thread_binding is None
        and loop.loop_var.__class__ is Var
        and loop.min.dtype is loop.extent.dtype is loop.loop_var.dtype
    )


def _domain(p: Printer, node: For) -> str:
    low, extent = node.min, node.extent
    if is_const_int(low, 0) and low.dtype is extent.dtype:
        bounds = p.expr(extent)
    else:
        bounds = f"{p.expr(low)}, {p.expr(stop_of(low, extent))}"
    if node.kind == ForKind.SERIAL and not node.annotations:
        return f"range({bounds})"
    parts = [bounds]
    if node.kind == ForKind.THREAD_BINDING and node.thread_binding is not None:
        parts.append(f"thread={quoted(node.thread_binding.thread_tag)}")
    if node.annotations:
        parts.append(f"annotations={p.dictionary(node.annotations)}")
    return f"{p.tir}{_KINDS[node.kind]}({', '.join(parts)})"


def is_loop_range(loop: For, low: object, extent: object) -> bool:
    """Whether the loop runs over exactly this range."""
    return _same_size(loop.min, low) and _same_size(loop.extent, extent)


def _same_size(a: object, b: object) -> bool:
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        return a.value == b.value and a.dtype is b.dtype
    return same(a, b)


_AXES = {
    IterType.DATA_PAR: "spatial",
    IterType.COMM_REDUCE: "reduce",
    IterType.ORDERED: "scan",
    IterType.OPAQUE: "opaque",
}


@prints(STATEMENTS, BlockRealize)
def _block_realize(p: Printer, node: BlockRealize) -> None:
    block = node.block
    p.names.push()
    p.line(f"with {p.mark(block, p.mark(node, f'{p.tir}block({quoted(block.name_hint)})'))}:")
    p.indent()
    _print_axes(p, block.iter_vars, node.iter_values)
    if not is_const_int(node.predicate, 1):
        p.line(f"{p.tir}where({p.expr(node.predicate)})")
    _print_block_body(p, block)
    p.dedent()
    p.names.pop()


@prints(STATEMENTS, Block)
def _block(p: Printer, node: Block) -> None:
    p.names.push()
    p.line(f"with {p.mark(node, f'{p.tir}block({quoted(node.name_hint)}, no_realize=True)')}:")
    p.indent()
    _print_axes(p, node.iter_vars, ())
    _print_block_body(p, node)
    p.dedent()
    p.names.pop()


def print_implicit_root(p: Printer, block: Block) -> None:
    """Print the root block, with its header as a comment."""
    p.line(p.mark(block, f'# with {p.tir}block("root"):'))
    for buffer in block.alloc_buffers:
        _print_alloc_buffer(p, buffer)
    print_scope(p, (id(block), "body"), block.body)


def _print_block_body(p: Printer, block: Block) -> None:
    p.line(f"{p.tir}reads({p.exprs(block.reads)})")
    p.line(f"{p.tir}writes({p.exprs(block.writes)})")
    if block.annotations:
        p.line(f"{p.tir}block_attr({p.dictionary(block.annotations)})")
    for buffer in block.alloc_buffers:
        _print_alloc_buffer(p, buffer)
    for match in block.match_buffers:
        declare_symbolic(p, match.buffer)
        call = f"{p.tir}match_buffer({match_arguments(p, p.expr(match.source), match.buffer)})"
        p.header(match, f"{p.define_buffer(match.buffer)} = {call}")
    if block.init is not None:
        p.line(f"with {p.tir}init():")
        p.enter()
        print_scope(p, (id(block), "init"), block.init)
        p.leave()
    print_scope(p, (id(block), "body"), block.body)


def _print_alloc_buffer(p: Printer, buffer: Buffer) -> None:
    arguments = buffer_arguments(p, buffer)
    name = p.define_buffer(buffer)
    p.line(f"{p.mark(buffer, name)} = {p.tir}alloc_buffer({arguments})")


# --- iterators ------------------------------------------------------------------------------


def _print_axes(p: Printer, iter_vars: tuple[IterVar, ...], values: tuple[Expr, ...]) -> None:
    """Print the iterators, neighbours that run over whole loops as one `T.axis.remap`."""
    run: list[tuple[IterVar, Expr]] = []
    for position, iter_var in enumerate(iter_vars):
        value = values[position] if values else None
        if value is not None and _is_trivial(p, iter_var, value):
            run.append((iter_var, value))
        else:
            _print_remapped(p, run)
            run = []
            _print_axis(p, iter_var, value)
    _print_remapped(p, run)


def _is_trivial(p: Printer, iter_var: IterVar, value: Expr) -> bool:
    if not p.options.syntax_sugar or p.is_underlined(iter_var) or iter_var.dom is None:
        return False
    loop = p.loops.get(value) if isinstance(value, Var) else None
    return (
        loop is not None
        and iter_var.iter_type in (IterType.DATA_PAR, IterType.COMM_REDUCE)
        and iter_var.var.dtype is value.dtype
        and iter_var.var.__class__ is Var
        and is_loop_range(loop, iter_var.dom.min, iter_var.dom.extent)
    )


def _print_remapped(p: Printer, run: list[tuple[IterVar, Expr]]) -> None:
    if len(run) < 2:
        for iter_var, value in run:
            _print_axis(p, iter_var, value)
        return
    kinds = "".join("S" if v.iter_type == IterType.DATA_PAR else "R" for v, _ in run)
    values = p.exprs(value for _, value in run)
    names = ", ".join([_define(p, iter_var) for iter_var, _ in run])
    p.line(f"{names} = {p.tir}axis.remap({quoted(kinds)}, [{values}])")


def _define(p: Printer, iter_var: IterVar) -> str:
    return p.mark(iter_var.var, p.names.define(iter_var.var, iter_var.var.name))


def _print_axis(p: Printer, iter_var: IterVar, value: Expr | None) -> None:
    kind = _AXES.get(iter_var.iter_type, "opaque")
    parts = [] if iter_var.dom is None else [_axis_domain(p, iter_var)]
    if value is not None:
        parts.append(p.expr(value))
    if iter_var.dom is not None and iter_var.var.dtype is not iter_var.dom.extent.dtype:
        parts.append(f"dtype={quoted(iter_var.var.dtype)}")
    p.header(iter_var, f"{_define(p, iter_var)} = {p.tir}axis.{kind}({', '.join(parts)})")


def _axis_domain(p: Printer, iter_var: IterVar) -> str:
    dom = iter_var.dom
    assert dom is not None
    if is_const_int(dom.min, 0) and dom.min.dtype is dom.extent.dtype:
        return p.expr(dom.extent)
    return f"({p.expr(dom.min)}, {p.expr(stop_of(dom.min, dom.extent))})"
