"""Printers of variables, constants, and what else may stand as an argument of a call."""

from __future__ import annotations

import math

from tilewright.ir.dtype import DType
from tilewright.ir.structural import structural_equal
from tilewright.relax.expr import (
    Constant,
    DataflowVar,
    DataTypeImm,
    ExternFunc,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    const,
)
from tilewright.relax.script.printer.sizes import scalar, sizes
from tilewright.relax.script.printer.state import GraphState
from tilewright.relax.script.printer.struct_info import python_tuple, relax_call
from tilewright.relax.struct_info import FuncStructInfo, ObjectStructInfo
from tilewright.script.printer.core import ATOM, EXPRESSIONS, Printer, Rendered, prints, quoted
from tilewright.script.printer.literals import float_text


@prints(EXPRESSIONS, Var, DataflowVar)
def _var(p: Printer, node: Var) -> Rendered:
    name = p.names.find(node)
    if name is None:
        name = p.names.define(node, node.name_hint)
        if not p.state(GraphState).depth:
            known = p.expr(node.struct_info or ObjectStructInfo())
            p.before(f"{name}: {known}")
    return name, ATOM


@prints(EXPRESSIONS, Constant)
def _constant(p: Printer, node: Constant) -> Rendered:
    if not node.data.shape:
        text = _number(node)
        if text is not None:
            return relax_call(p, "const", [text, quoted(node.data.dtype)])
    return p.state(GraphState).constant(node), ATOM


def _number(node: Constant) -> str | None:
    """The only element as a Python number, if that makes the same constant again."""
    element = node.data.numpy()[()]
    dtype = DType(node.data.dtype)
    if dtype.lanes != 1 or not (dtype.is_float or dtype.is_integral):
        return None
    if dtype.is_bool:
        text, number = str(bool(element)), bool(element)
    elif dtype.is_integral:
        text, number = str(int(element)), int(element)
    else:
        number = float(element)
        text = float_text(number, dtype)
        text = text if math.isfinite(number) else f"float({text})"
    again = const(number, dtype).data.numpy()
    return text if again.tobytes() == node.data.numpy().tobytes() else None


@prints(EXPRESSIONS, Tuple)
def _tuple(p: Printer, node: Tuple) -> Rendered:
    if not node.fields:
        return f"{p.options.relax_prefix}.tuple()", ATOM
    return python_tuple([p.expr(field) for field in node.fields]), ATOM


@prints(EXPRESSIONS, TupleGetItem)
def _tuple_get_item(p: Printer, node: TupleGetItem) -> Rendered:
    # A tuple that is written out is one of Python, whose subscript would be the field itself.
    if isinstance(node.tuple_value, Tuple):
        return relax_call(p, "TupleGetItem", [p.expr(node.tuple_value), str(node.index)])
    return f"{p.operand(node.tuple_value, ATOM)}[{node.index}]", ATOM


@prints(EXPRESSIONS, ShapeExpr)
def _shape(p: Printer, node: ShapeExpr) -> Rendered:
    return relax_call(p, "shape", [f"[{', '.join(sizes(p, node.values))}]"])


@prints(EXPRESSIONS, PrimValue)
def _prim_value(p: Printer, node: PrimValue) -> Rendered:
    return relax_call(p, "prim_value", [scalar(p, node.value)])


@prints(EXPRESSIONS, StringImm)
def _string(p: Printer, node: StringImm) -> Rendered:
    return relax_call(p, "str", [quoted(node.value)])


@prints(EXPRESSIONS, DataTypeImm)
def _dtype(p: Printer, node: DataTypeImm) -> Rendered:
    return relax_call(p, "dtype", [quoted(node.value)])


@prints(EXPRESSIONS, ExternFunc)
def _extern_func(p: Printer, node: ExternFunc) -> Rendered:
    parts = [quoted(node.global_symbol)]
    if not is_opaque(node):
        parts.append(p.expr(node.struct_info))
    return relax_call(p, "ExternFunc", parts)


def is_opaque(node: ExternFunc) -> bool:
    """Whether nothing is known of a function that is found by name."""
    return structural_equal(node.struct_info, FuncStructInfo.opaque_func())
