"""Printers of graph functions."""

from __future__ import annotations

from tilewright.ir.expr import Var as Size
from tilewright.ir.node import Node
from tilewright.ir.rewrite import walk
from tilewright.relax.expr import Binding, Function, SeqExpr, Var
from tilewright.relax.script.printer.state import GraphState
from tilewright.relax.sizes import symbolic_vars_of
from tilewright.script.printer.core import FUNCTIONS, STATEMENTS, Printer, prints
from tilewright.script.printer.functions import written_name


@prints(FUNCTIONS, Function)
def _function(p: Printer, function: Function, name: str | None) -> None:
    name, attrs = written_name(p, function, name)
    options = ["private=True"] if function.global_symbol is None else []
    _print(p, function, name, attrs, options)


def print_local_function(p: Printer, function: Function, var: Var) -> None:
    """Print a function inside of another one, where it is the value of `var`."""
    name = p.names.define(var, var.name_hint)
    _print(p, function, name, dict(function.attrs), [])


def _print(
    p: Printer, function: Function, name: str, attrs: dict[str, object], options: list[str]
) -> None:
    state = p.state(GraphState)
    known_around = [size for size in symbolic_vars_of(function) if p.names.find(size) is not None]
    if not function.is_pure:
        options = ["pure=False", *options]
    decorator = f"@{p.options.relax_prefix}.function"
    p.line(f"{decorator}({', '.join(options)})" if options else decorator)
    p.names.push()
    with state.function():
        with state.signature():
            params = ", ".join([_parameter(p, param) for param in function.params])
            returned = function.ret_struct_info
            result = "" if returned is None else f" -> {p.expr(returned)}"
        p.header(function, f"def {name}({params}){result}:")
        p.indent()
        mentioned = _print_body(p, function, state, attrs, known_around)
        p.dedent()
    p.names.pop()
    for size in mentioned:
        state.mention(size)


def _parameter(p: Printer, param: Var) -> str:
    known = "" if param.struct_info is None else f": {p.expr(param.struct_info)}"
    return f"{p.mark(param, p.names.define(param, param.name_hint))}{known}"


def _print_body(
    p: Printer,
    function: Function,
    state: GraphState,
    attrs: dict[str, object],
    known_around: list[Size],
) -> list[Size]:
    """Print the statements, after the symbolic sizes that they mention.

    Returns:
        the sizes of the functions around this one that it mentions.
    """
    for size in own_sizes(function.body):
        if p.names.find(size) is None:
            p.names.define(size, size.name)
    start = len(p.lines)
    if attrs:
        p.line(f"{p.options.relax_prefix}.func_attr({p.dictionary(attrs)})")
    body = function.body
    if isinstance(body, SeqExpr):
        for block in body.blocks:
            STATEMENTS[block.__class__](p, block)
        body = body.body
    p.line(f"return {p.expr(body)}")
    statements = p.lines[start:]
    del p.lines[start:]
    outer = set(known_around)
    for size in state.mentioned:
        if size not in outer:
            p.line(f"{p.names.find(size)} = {p.new_var(size)}")
    p.lines.extend(statements)
    return [size for size in state.mentioned if size in outer]


def own_sizes(body: Node) -> list[Size]:
    """Symbolic sizes that a body mentions, without those of functions inside of it alone."""
    found: dict[Size, None] = {}
    for node in walk(body, skip=_is_opaque):
        if isinstance(node, Size):
            found[node] = None
        elif isinstance(node, Binding) and not isinstance(node.value, Function):
            known = node.var.struct_info
            found.update(dict.fromkeys(() if known is None else symbolic_vars_of(known)))
    return list(found)


def _is_opaque(node: object) -> bool:
    """Whether no size below a node is printed where the node is."""
    return isinstance(node, (Function, Var))
