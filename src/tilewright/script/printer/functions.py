"""Printers of functions and modules."""

from __future__ import annotations

from tilewright.ir.expr import Var, is_const_int
from tilewright.ir.module import BaseFunc, IRModule
from tilewright.ir.node import Node
from tilewright.ir.rewrite import walk
from tilewright.script.printer.blocks import print_implicit_root
from tilewright.script.printer.buffers import (
    declare_symbolic,
    has_plain_layout,
    match_arguments,
)
from tilewright.script.printer.core import FUNCTIONS, Printer, printer_of, prints, quoted
from tilewright.script.printer.declarations import FUNCTION, find_declarations
from tilewright.script.printer.statements import print_scope, print_stmt
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Block, BlockRealize, Stmt


def print_module(p: Printer, module: IRModule) -> None:
    """Print a module as a class."""
    p.module = module
    p.line(f"@{p.options.ir_prefix}.ir_module")
    p.line(f"class {p.options.name or 'Module'}:")
    p.indent()
    count = len(p.lines)
    if module.attrs:
        p.line(f"{p.options.ir_prefix}.module_attrs({p.dictionary(module.attrs)})")
    if module.global_infos:
        infos = p.dictionary(module.global_infos)
        p.line(f"{p.options.ir_prefix}.module_global_infos({infos})")
    for name, function in module.functions.items():
        if len(p.lines) > count:
            p.lines.append("")
        print_function(p, function, name.name_hint)
    if len(p.lines) == count:
        p.line("pass")
    p.dedent()


def print_function(p: Printer, function: BaseFunc, name: str | None = None) -> None:
    """Print a function; `name` is what its module calls it."""
    printer = printer_of(FUNCTIONS, function.__class__)
    assert printer is not None, f"there is no printer of {type(function).__name__}"
    printer(p, function, name)


def written_name(p: Printer, function: BaseFunc, name: str | None) -> tuple[str, dict[str, object]]:
    """The name in the header of a function, and the attributes that it does not imply."""
    symbol, attrs = function.global_symbol, dict(function.attrs)
    if name is None:
        name = symbol if symbol is not None else p.options.name or "main"
    written = p.function_name(name)
    if symbol == written:
        del attrs["global_symbol"]
    return written, attrs


@prints(FUNCTIONS, PrimFunc)
def _prim_func(p: Printer, function: PrimFunc, name: str | None) -> None:
    buffers = [function.buffer_map[v] for v in function.params if v in function.buffer_map]
    outer, p.declarations = (
        p.declarations,
        find_declarations(function.body, function.params, buffers),
    )
    name, attrs = written_name(p, function, name)
    p.names.push()
    is_private = function.global_symbol is None
    p.line(f"@{p.tir}prim_func(private=True)" if is_private else f"@{p.tir}prim_func")
    matched: list[Var] = []
    params = ", ".join([_parameter(p, function, param, matched) for param in function.params])
    returned = "" if function.ret_type is None else f" -> {p.expr(function.ret_type)}"
    p.header(function, f"def {name}({params}){returned}:")
    p.indent()
    if attrs:
        p.line(f"{p.tir}func_attr({p.dictionary(attrs)})")
    for param in matched:
        buffer = function.buffer_map[param]
        declare_symbolic(p, buffer)
        arguments = match_arguments(p, p.expr(param), buffer)
        defined = p.mark(buffer, p.define_buffer(buffer))
        p.line(f"{defined} = {p.tir}match_buffer({arguments})")
    print_free_variables(p)
    _print_body(p, function.body)
    p.dedent()
    p.names.pop()
    p.declarations = outer


def print_free_variables(p: Printer) -> None:
    """Print definitions of the variables that nothing defines."""
    for var in p.declarations.free:
        if p.names.find(var) is None:
            p.declare_var(var)


def _parameter(p: Printer, function: PrimFunc, param: Var, matched: list[Var]) -> str:
    buffer = function.buffer_map.get(param)
    if buffer is not None and _is_annotation(p, function, param):
        name = p.define_buffer(buffer)
        shape, dtype = p.tuple(buffer.shape), quoted(buffer.dtype)
        return f"{p.mark(buffer, p.mark(param, name))}: {p.tir}Buffer({shape}, {dtype})"
    if buffer is not None:
        matched.append(param)
    name = p.names.define(param, param.name)
    return f"{p.mark(param, name)}: {p.var_type(param)}"


def _is_annotation(p: Printer, function: PrimFunc, param: Var) -> bool:
    """Whether the buffer of `param` is written as the annotation of the parameter."""
    buffer = function.buffer_map[param]
    return (
        p.options.syntax_sugar
        and param.__class__ is Var
        and param.type_annotation is None
        and has_plain_layout(buffer)
        and id(param) not in p.declarations.used
        and p.names.find(buffer.data) is None
    )


def _print_body(p: Printer, body: Stmt) -> None:
    if body.__class__ is BlockRealize and is_implicit_root(body):
        print_implicit_root(p, body.block)  # type: ignore[attr-defined]
    else:
        print_scope(p, FUNCTION, body)


def is_implicit_root(realize: Stmt) -> bool:
    """Whether the parser adds this root block by itself."""
    assert isinstance(realize, BlockRealize)
    block = realize.block
    plain = not (
        block.iter_vars or block.reads or block.writes or block.annotations or block.match_buffers
    )
    if not plain or block.init is not None or not is_const_int(realize.predicate, 1):
        return False
    if block.alloc_buffers:
        return True
    if isinstance(block.body, BlockRealize):
        # A lone block without iterators would be taken for the root block itself.
        return bool(block.body.block.iter_vars)
    return any(isinstance(node, BlockRealize) for node in walk(block.body, skip=_is_leaf))


def _is_leaf(node: Node) -> bool:
    return not isinstance(node, Stmt) or isinstance(node, BlockRealize)


def print_fragment(p: Printer, stmt: Stmt) -> None:
    """Print a statement on its own, after declarations of its free variables."""
    p.declarations = find_declarations(stmt, (), (), fragment=True)
    print_free_variables(p)
    if isinstance(stmt, Block):
        print_stmt(p, stmt)
    else:
        print_scope(p, FUNCTION, stmt)
