"""Printers of loops."""

from __future__ import annotations

from typing import Any

from tilewright.ir.expr import IntImm, Var, is_const_int
from tilewright.script.printer.buffers import same, stop_of
from tilewright.script.printer.core import STATEMENTS, Printer, prints, quoted
from tilewright.script.printer.statements import print_scope
from tilewright.tir.stmt import For, ForKind
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
