"""Printers of calls and of the nodes of tensor expressions."""

from __future__ import annotations

from typing import Any

from tilewright.error import TVMError
from tilewright.ir.dtype import INT32, DType
from tilewright.ir.expr import Call, Expr, IntImm, StringImm
from tilewright.ir.module import GlobalVar
from tilewright.ir.op import Op
from tilewright.script.printer.buffers import same
from tilewright.script.printer.core import ATOM, EXPRESSIONS, Printer, Rendered, prints, quoted
from tilewright.tir import op as functions
from tilewright.tir.expr import CommReducer, IterVar, ProducerLoad, Reduce
from tilewright.tir.index_map import IndexMap


@prints(EXPRESSIONS, Call)
def _call(p: Printer, node: Call) -> Rendered:
    op = node.op
    if not isinstance(op, Op):
        return _call_of_function(p, node)
    arguments = [p.expr(argument) for argument in node.args]
    dtype = quoted(node.dtype)
    if not p.options.verbose_expr:
        for name in _function_names(op):
            for place in (None, 0, len(arguments)):
                if _gives(name, node, place):
                    if place is not None:
                        arguments.insert(place, dtype)
                    return f"{p.tir}{name}({', '.join(arguments)})", ATOM
    parts = [dtype, quoted(op.name), *arguments]
    return f"{p.tir}call_intrin({', '.join(parts)})", ATOM


def _function_names(op: Op) -> list[str]:
    """Names that its function may have: ``tir.tvm_call_packed`` is made by `call_packed`."""
    name = op.name.removeprefix("tir.")
    return [n for n in dict.fromkeys((name.removeprefix("tvm_"), name)) if hasattr(functions, n)]


def _gives(name: str, node: Call, dtype_at: int | None) -> bool:
    """Whether the function of that name builds `node` again, given its operands.

    Args:
        name: a function of `tilewright.tir.op`.
        node: the call.
        dtype_at: the position of the dtype among the arguments, if it is one.
    """
    operands = [_as_written(argument) for argument in node.args]
    if dtype_at is not None:
        operands.insert(dtype_at, node.dtype)
    try:
        result = getattr(functions, name)(*operands)
    except (TVMError, TypeError, AttributeError, ValueError):
        return False
    return (
        isinstance(result, Call)
        and result.op is node.op
        and result.dtype is node.dtype
        and len(result.args) == len(node.args)
        and all(map(same, result.args, node.args))
    )


def _as_written(argument: Expr) -> Any:
    """The Python value that the text of an argument evaluates to."""
    if isinstance(argument, IntImm):
        return argument.value if argument.dtype is INT32 else argument
    return argument.value if isinstance(argument, StringImm) else argument


def _call_of_function(p: Printer, node: Call) -> Rendered:
    callee = p.expr(node.op) if isinstance(node.op, GlobalVar) else p.value(node.op)
    if node.dtype is DType("void"):
        return f"{callee}({p.exprs(node.args)})", ATOM
    return f"{p.tir}Call({quoted(node.dtype)}, {callee}, [{p.exprs(node.args)}])", ATOM


@prints(EXPRESSIONS, IterVar)
def _iter_var(p: Printer, node: IterVar) -> Rendered:
    name = p.names.find(node.var)
    var = name if name is not None else p.expr(node.var)
    dom = "None" if node.dom is None else p.expr(node.dom)
    kind = "".join(part.capitalize() for part in node.iter_type.name.split("_"))
    return f"{p.tir}iter_var({var}, {dom}, {quoted(kind)}, {quoted(node.thread_tag)})", ATOM


@prints(EXPRESSIONS, ProducerLoad)
def _producer_load(p: Printer, node: ProducerLoad) -> Rendered:
    return f"{node.producer.name}[{p.exprs(node.indices)}]", ATOM


@prints(EXPRESSIONS, CommReducer)
def _comm_reducer(p: Printer, node: CommReducer) -> Rendered:
    p.names.push()
    names = ", ".join([p.names.define(v, v.name) for v in (*node.lhs, *node.rhs)])
    result = p.expr(node.result[0]) if len(node.result) == 1 else p.tuple(node.result)
    p.names.pop()
    identity = p.exprs(node.identity_element)
    return f"{p.tir}comm_reducer(lambda {names}: {result}, [{identity}])", ATOM


@prints(EXPRESSIONS, IndexMap)
def _index_map(p: Printer, node: IndexMap) -> Rendered:
    p.names.push()
    names = ", ".join([p.names.define(var, var.name) for var in node.initial_indices])
    dtypes = [var.dtype for var in node.initial_indices]
    indices = [_new_index(p, index, dtypes[0] if dtypes else INT32) for index in node.final_indices]
    p.names.pop()
    result = f"({indices[0]},)" if len(indices) == 1 else f"({', '.join(indices)})"
    parts = [f"lambda {names}: {result}" if names else f"lambda: {result}"]
    if node.inverse_index_map is not None:
        parts.append(f"inverse_index_map={p.expr(node.inverse_index_map)}")
    if any(dtype is not INT32 for dtype in dtypes):
        same = all(dtype is dtypes[0] for dtype in dtypes)
        parts.append(f"index_dtype={p.value(dtypes[0] if same else dtypes)}")
    return f"{p.tir}index_map({', '.join(parts)})", ATOM


def _new_index(p: Printer, index: Expr, dtype: DType) -> str:
    """The text of one result; a number alone would be read as one of type `dtype`."""
    if isinstance(index, IntImm) and not index.dtype is dtype is p.options.int_dtype:
        return f"{p.tir}{index.dtype}({index.value})"
    return p.expr(index)


@prints(EXPRESSIONS, Reduce)
def _reduce(p: Printer, node: Reduce) -> Rendered:
    parts = [
        p.expr(node.combiner), f"[{p.exprs(node.source)}]", f"[{p.exprs(node.axis)}]",
        p.expr(node.condition), str(node.value_index), f"[{p.exprs(node.init)}]",
    ]  # fmt: skip
    return f"{p.tir}Reduce({', '.join(parts)})", ATOM
