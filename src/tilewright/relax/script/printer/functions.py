"""Printers of functions, blocks, bindings and branches."""

from __future__ import annotations

from tilewright.ir.expr import Var as Size
from tilewright.ir.node import Node
from tilewright.ir.rewrite import walk
from tilewright.ir.structural import structural_equal
from tilewright.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    Function,
    If,
    MatchCast,
    RelaxExpr,
    SeqExpr,
    Var,
    VarBinding,
)
from tilewright.relax.normalize import is_leaf
from tilewright.relax.script.printer.state import GraphState
from tilewright.relax.sizes import symbolic_vars_of
from tilewright.relax.struct_info import StructInfo, TupleStructInfo
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


@prints(STATEMENTS, VarBinding)
def _var_binding(p: Printer, node: VarBinding) -> None:
    if isinstance(node.value, If):
        name = p.names.define(node.var, node.var.name_hint)
        print_branches(p, node.value, name, node.var.struct_info)
    elif isinstance(node.value, Function):
        print_local_function(p, node.value, node.var)
    else:
        _assign(p, node, None)


@prints(STATEMENTS, MatchCast)
def _match_cast(p: Printer, node: MatchCast) -> None:
    _assign(p, node, None)


def _assign(p: Printer, node: Binding, name: str | None) -> None:
    """Print a binding; `name` is that of its variable, if it has one already."""
    value = p.expr(node.value)
    if isinstance(node, MatchCast):
        value = f"{p.options.relax_prefix}.match_cast({value}, {p.expr(node.struct_info)})"
    annotation = _annotation(p, node)
    name = p.names.define(node.var, node.var.name_hint) if name is None else name
    p.header(node, f"{p.mark(node.var, name)}{annotation} = {value}")


def _annotation(p: Printer, node: Binding) -> str:
    """Struct info of the variable, unless it follows from the binding."""
    known = node.var.struct_info
    stated = stated_struct_info(node)
    if stated is None and not p.options.show_all_struct_info:
        stated = node.value.struct_info
    if known is None or (stated is not None and structural_equal(stated, known)):
        return ""
    return f": {p.expr(known)}"


def stated_struct_info(node: Binding) -> StructInfo | None:
    """The struct info that is written in the binding itself; None if there is none."""
    if isinstance(node, MatchCast):
        return node.struct_info
    if isinstance(node.value, Call) and node.value.sinfo_args:
        infos = node.value.sinfo_args
        return infos[0] if len(infos) == 1 else TupleStructInfo(infos)
    return None


# --- blocks ----------------------------------------------------------------------------------


@prints(STATEMENTS, BindingBlock)
def _binding_block(p: Printer, node: BindingBlock) -> None:
    for binding in node.bindings:
        STATEMENTS[binding.__class__](p, binding)


@prints(STATEMENTS, DataflowBlock)
def _dataflow_block(p: Printer, node: DataflowBlock) -> None:
    p.header(node, f"with {p.options.relax_prefix}.dataflow():")
    p.indent()
    _binding_block(p, node)
    outputs = [b.var for b in node.bindings if not isinstance(b.var, DataflowVar)]
    p.line(f"{p.options.relax_prefix}.output({p.exprs(outputs)})")
    p.dedent()


@prints(STATEMENTS, SeqExpr)
def _sequence(p: Printer, node: SeqExpr) -> None:
    for block in node.blocks:
        STATEMENTS[block.__class__](p, block)
    p.line(p.mark(node, p.expr(node.body)))


# --- branches --------------------------------------------------------------------------------


@prints(STATEMENTS, If)
def _if(p: Printer, node: If) -> None:
    print_branches(p, node, None, None)


def print_branches(p: Printer, node: If, name: str | None, known: StructInfo | None) -> None:
    """Print a conditional, whose branches end with an assignment to `name`.

    Args:
        p: the printer.
        node: the conditional.
        name: the result; None to print the values of the branches alone.
        known: struct info of the result, declared if it differs from that of the branches.
    """
    is_said = name is not None and known is not None and node.struct_info is not None
    if is_said and not structural_equal(known, node.struct_info):
        p.line(f"{name}: {p.expr(known)}")
    p.header(node, f"if {p.expr(node.cond)}:")
    _branch(p, node.true_branch, name)
    p.line("else:")
    _branch(p, node.false_branch, name)


def _branch(p: Printer, branch: RelaxExpr, name: str | None) -> None:
    p.enter()
    blocks = list(branch.blocks) if isinstance(branch, SeqExpr) else []
    result = branch.body if isinstance(branch, SeqExpr) else branch
    last = _result_binding(blocks, result) if name is not None else None
    if last is not None:
        blocks[-1] = blocks[-1].replace(bindings=blocks[-1].bindings[:-1])
    for block in blocks:
        STATEMENTS[block.__class__](p, block)
    if last is None:
        p.line(p.expr(result) if name is None else f"{name} = {p.expr(result)}")
    elif isinstance(last.value, If):
        print_branches(p, last.value, name, last.var.struct_info)
    else:
        _assign(p, last, name)
    p.leave()


def _result_binding(blocks: list[BindingBlock], result: RelaxExpr) -> Binding | None:
    """The last binding, if it computes the result and so can be written as its assignment."""
    if not blocks or isinstance(blocks[-1], DataflowBlock) or not blocks[-1].bindings:
        return None
    last = blocks[-1].bindings[-1]
    # `y = x` alone would not bind a variable, and a function cannot be assigned.
    is_alias = isinstance(last, VarBinding) and (
        is_leaf(last.value) or isinstance(last.value, Function)
    )
    return last if result is last.var and not is_alias else None
